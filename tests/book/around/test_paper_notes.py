"""What the notes of the paper's page say, computed: Table 1, and the appendix."""

import re

import numpy as np
import pytest

import lnlib
import lnlib.nn
from tests.book.around.conftest import PAPER

H, D, N = 3, 4, 7
EXACT = 1e-12  # float64, measured 3e-15
BY_DIFFERENCES = 1e-8  # central differences, measured 3e-11


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.fixture
def x(rng):
    return rng.normal(size=(N, D)) + 0.5


@pytest.fixture
def W(rng):
    return rng.normal(size=(H, D))


NORMS = {
    "Batch": lambda x, W: lnlib.batch_norm(x @ W.T, eps=0),
    "Weight": lnlib.weight_norm,
    "Layer": lambda x, W: lnlib.layer_norm(x @ W.T, eps=0),
}


def scaled(array, factor, row=None):
    changed = array.copy()
    changed[row if row is not None else slice(None)] *= factor
    return changed


CHANGES = {
    "Weight matrix re-scaling": lambda x, W, shift: (x, 3 * W),
    "Weight matrix re-centering": lambda x, W, shift: (x, W + shift),
    "Weight vector re-scaling": lambda x, W, shift: (x, scaled(W, 3, row=0)),
    "Dataset re-scaling": lambda x, W, shift: (3 * x, W),
    "Dataset re-centering": lambda x, W, shift: (x + shift, W),
    "Single case re-scaling": lambda x, W, shift: (scaled(x, 3, row=0), W),
}


def table_1():
    rows = re.findall(r"^\| (\w[\w\s-]+), \$.*\| (yes|no) \| (yes|no) \| (yes|no) \|$", PAPER, re.M)
    return {(row[0], norm): row[i] for row in rows for i, norm in enumerate(NORMS, 1)}


def test_table_1_of_the_page_has_18_verdicts():
    assert set(table_1()) == {(change, norm) for change in CHANGES for norm in NORMS}


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("change", CHANGES)
def test_table_1_holds_when_computed(change, norm, x, W, rng):
    before = NORMS[norm](x, W)
    after = NORMS[norm](*CHANGES[change](x, W, rng.normal(size=D)))
    moved = np.abs(after - before).max()
    assert moved < EXACT if table_1()[change, norm] == "yes" else moved > 0.1


def test_a_negative_factor_flips_layer_norm(x, W):
    plain = NORMS["Layer"](x, W)
    np.testing.assert_allclose(NORMS["Layer"](-2 * x, W), -plain, atol=EXACT)  # eq. 7
    np.testing.assert_allclose(NORMS["Layer"](x, -2 * W), -plain, atol=EXACT)  # eq. 6


def test_shifting_the_data_moves_layer_norm_unless_the_rows_of_W_have_equal_sums(x, W):
    plain = NORMS["Layer"](x, W)
    assert np.abs(NORMS["Layer"](x + 2, W) - plain).max() > 0.1
    np.testing.assert_allclose(lnlib.layer_norm(x @ W.T + 2, eps=0), plain, atol=EXACT)
    equal = W - W.sum(1, keepdims=True) / D
    np.testing.assert_allclose(NORMS["Layer"](x + 2, equal), NORMS["Layer"](x, equal), atol=EXACT)


def test_a_gain_of_zero_lets_nothing_through(rng):
    x, dy = rng.normal(size=(2, N, H))
    assert np.ptp(lnlib.layer_norm(x, np.zeros(H)), axis=0).max() == 0
    assert not lnlib.layer_norm_backward(dy, x, np.zeros(H))[0].any()


def jacobian(norm, x, W, gain):
    """How each output moves with w_i, b_i, g_i of each unit: by central differences, (N, H, P)."""

    def outputs(theta):
        w, b, g = np.split(theta.reshape(H, D + 2), [D, D + 1], axis=1)
        return g[:, 0] * norm(x, w) + b[:, 0]

    theta = np.column_stack([W, np.zeros(H), gain]).ravel()
    steps = 1e-5 * np.eye(theta.size)
    return np.stack([(outputs(theta + s) - outputs(theta - s)) / 2e-5 for s in steps], axis=-1)


def fisher(J, covariance):
    """Eq. 9 for a GLM with phi = 1: the mean over the cases of J^T Cov J."""
    return np.einsum("nip,nij,njq->pq", J, covariance, J) / N


@pytest.fixture
def gain(rng):
    return 1 + 0.3 * rng.normal(size=H)


@pytest.fixture
def covariance(rng, x, W):
    """Cov[y | x] that depends on x, with outputs that are not independent."""
    p = 1 / (1 + np.exp(-(x @ W.T)))
    deviation = np.sqrt(p * (1 - p))
    correlation = np.corrcoef(rng.normal(size=(H, 2 * H)))
    return deviation[:, :, None] * correlation * deviation[:, None, :]


def blocks(F):
    """The blocks of the units: (H, H, D + 2, D + 2)."""
    return F.reshape(H, D + 2, H, D + 2).swapaxes(1, 2)


def by_eq_13(name, x, W, gain, covariance):
    a = x @ W.T
    if name == "Batch":
        mean, std = a.mean(0), a.std(0)
        dmean = np.broadcast_to(x.mean(0), (N, H, D))
        dstd = np.broadcast_to(((a - mean).T @ (x - x.mean(0)) / N) / std[:, None], (N, H, D))
    elif name == "Weight":
        mean, std = 0, np.linalg.norm(W, axis=1)
        dmean, dstd = np.zeros((N, H, D)), np.broadcast_to(W / std[:, None], (N, H, D))
    else:
        mean, std = a.mean(1, keepdims=True), a.std(1, keepdims=True)
        dmean = np.broadcast_to(x[:, None] / H, (N, H, D))
        dstd = ((a - mean) / (H * std))[:, :, None] * x[:, None]
    x_hat = (a - mean) / std
    chi = x[:, None] - dmean - x_hat[:, :, None] * dstd  # eq. 14
    q = np.concatenate(
        [(gain / std * np.ones((N, H)))[..., None] * chi, np.ones((N, H, 1)), x_hat[..., None]], -1
    )
    return np.einsum("nij,nip,njq->ipjq", covariance, q, q).reshape([H * (D + 2)] * 2) / N


@pytest.mark.parametrize("norm", NORMS)
def test_eq_13_is_exact_for_batch_and_weight_norm_and_not_for_layer_norm(
    norm, x, W, gain, covariance
):
    exact = fisher(jacobian(NORMS[norm], x, W, gain), covariance)
    off = np.abs(by_eq_13(norm, x, W, gain, covariance) - exact).max()
    assert off > 0.01 if norm == "Layer" else off < BY_DIFFERENCES


def test_a_twice_longer_weight_vector_quarters_a_block_of_batch_norm_and_halves_a_step(
    x, W, gain, covariance
):
    F = [
        blocks(fisher(jacobian(NORMS["Batch"], x, w, gain), covariance))[:, :, :D, :D]
        for w in (W, scaled(W, 2, row=0))
    ]
    np.testing.assert_allclose(F[1][0, 0], F[0][0, 0] / 4, atol=BY_DIFFERENCES)
    np.testing.assert_allclose(F[1][0, 1], F[0][0, 1] / 2, atol=BY_DIFFERENCES)
    assert np.abs(F[0][0, 1]).max() > 0.001
    assert abs(W[0] @ F[0][0, 0] @ W[0]) < BY_DIFFERENCES  # no curvature along w_i itself
    step = np.ones(D)
    lengths = [np.sqrt(step @ f[0, 0] @ step / 2) for f in F]
    np.testing.assert_allclose(lengths[1], lengths[0] / 2, atol=BY_DIFFERENCES)


def test_eq_32_drops_what_matters_unless_the_covariance_is_constant(x, W, gain, covariance):
    gains = slice(D + 1, None, D + 2)
    J = jacobian(NORMS["Batch"], x, W, gain)
    exact = fisher(J, covariance)[gains, gains]
    assert np.abs(exact - covariance.mean(0)).max() > 0.01
    constant = np.broadcast_to(np.diag([1.0, 2.0, 3.0]), (N, H, H))
    exact = fisher(J, constant)[gains, gains]
    np.testing.assert_allclose(exact, constant.mean(0), atol=BY_DIFFERENCES)


@pytest.mark.parametrize("norm", ["Layer", "Weight"])
def test_eqs_33_and_34_are_the_gain_blocks(norm, x, W, gain, covariance):
    gains = slice(D + 1, None, D + 2)
    x_hat = NORMS[norm](x, W)
    by_paper = (covariance * x_hat[:, :, None] * x_hat[:, None, :]).mean(0)
    exact = fisher(jacobian(NORMS[norm], x, W, gain), covariance)[gains, gains]
    np.testing.assert_allclose(exact, by_paper, atol=BY_DIFFERENCES)


def test_eq_35_is_one_term_of_the_form_on_its_left(x, W, covariance):
    x_1 = np.column_stack([x, np.ones(N)])
    F = np.einsum("nij,np,nq->ipjq", covariance, x_1, x_1).reshape([H * (D + 1)] * 2) / N  # eq. 12
    step, units = np.array([0.3, 0.7, 0.0]), W / np.linalg.norm(W, axis=1, keepdims=True)
    u = np.column_stack([step[:, None] * units, np.zeros(H)]).ravel()
    a = x @ units.T
    terms = np.outer(step, step) / 2 * (covariance * a[:, :, None] * a[:, None, :]).mean(0)
    np.testing.assert_allclose(u @ F @ u / 2, terms.sum(), atol=EXACT)
    assert abs(terms.sum() - terms[0, 1]) > 0.01
