"""The Fisher information of normalized generalized linear models: section 5.2 of the paper.

H outputs share an input ``x``; unit i sees ``s_i = g_i (a_i - mean_i) / std_i + b_i`` with the
summed input ``a_i = w_i . x``, and its label follows an exponential family with the natural
parameter ``s_i``. Ba, Kiros & Hinton (2016), eqs. 8-14 and 32-35. Four matrices go by one name:

============  ==================================================================================
``exact``     eq. 9: the expectation over the labels that the model itself gives
``paper``     eqs. 12-14 as printed: equal to it under batch norm, weight norm and no norm; under
              layer norm not, since there every unit's output moves with every ``w_j``
``sampled``   labels drawn from the model: right on average
``empirical`` the labels of the data: another matrix
============  ==================================================================================

Expectations over ``x`` are means over the cases of ``X``; batch norm takes its statistics from
the same cases.
"""

import numbers

import numpy as np

from lnlib import registry
from lnlib.fisher.families import FAMILIES
from lnlib.fisher.layer import Layer, real
from lnlib.norms._activations import from_likeliest, softmax_product
from lnlib.norms._arguments import check_eps

NORMS = ("none", *(name for name, norm in registry.NORMS.items() if norm.paper))
KINDS = ("exact", "paper", "sampled", "empirical")


class GLM(Layer):
    """H generalized linear models of one input, with normalized summed inputs.

    Parameters stand in the order of the paper's ``vec([W, b, g]ᵀ)``: for each unit its D weights,
    its bias, its gain. Without a norm there is no gain.

    Args:
        W: Weights, shape ``(H, D)``.
        b: Biases, shape ``(H,)``.
        g: Gains, shape ``(H,)``; ``None`` means ones, and must stand for norm ``none``.
        norm: ``none``, ``batch``, ``weight`` or ``layer``.
        family: ``gaussian``, ``bernoulli``, ``poisson``, or ``categorical``, whose H outputs are
            the logits of one label.
        phi: Scales the variance of the Gaussian; 1 for the other families, as they are defined.
        eps: Inside the root of batch and layer norm. The paper has none.

    Raises:
        ValueError: If a shape or a name is wrong.

    Example:
        >>> model = GLM(np.array([[1.0, 2.0]]), np.zeros(1), norm="none", family="gaussian")
        >>> model.fisher(np.array([[1.0, 3.0]]))
        array([[1., 3., 1.],
               [3., 9., 3.],
               [1., 3., 1.]])
    """

    def __init__(
        self,
        W: np.ndarray,
        b: np.ndarray,
        g: np.ndarray | None = None,
        *,
        norm: str,
        family: str,
        phi: float = 1.0,
        eps: float = 0.0,
    ) -> None:
        for name, value, choices in (("norm", norm, NORMS), ("family", family, tuple(FAMILIES))):
            if value not in choices:
                raise ValueError(f"GLM: {name} must be one of {', '.join(choices)}; got {value!r}")
        W, b = real("W", W), real("b", b)
        if W.ndim != 2 or 0 in W.shape:
            raise ValueError(
                f"GLM: W must be of shape (H, D), a row for each unit, got {W.shape}; "
                "W[None] for one unit"
            )
        if norm == "none" and g is not None:
            raise ValueError(
                "GLM: g must be None without a norm, got gains; a gain would only rescale W there"
            )
        g = np.ones(len(W)) if g is None else real("g", g)
        for name, a in (("b", b), ("g", g)):
            if a.shape != W.shape[:1]:
                raise ValueError(
                    f"GLM: {name} must be of shape {W.shape[:1]}, got {a.shape}; one for each unit"
                )
        if not isinstance(phi, numbers.Real) or not (phi > 0 if family == "gaussian" else phi == 1):
            raise ValueError(
                f"GLM: phi must be above 0, and 1 unless the family is gaussian, got {phi!r} for "
                f"{family}; the other families have no scale of their own"
            )
        check_eps("GLM", eps)
        super().__init__(W, b, g, norm, eps)
        self.family, self.phi = family, phi
        self._distribution = FAMILIES[family]

    def moved(self, delta: np.ndarray) -> "GLM":
        """Return the model with the parameters ``theta + delta``."""
        dW, db, dg = self._split(delta)
        g = None if dg is None else self.g + dg
        same = {"norm": self.norm, "family": self.family, "phi": self.phi, "eps": self.eps}
        return GLM(self.W + dW, self.b + db, g, **same)

    @np.errstate(under="ignore")
    def natural(self, X: np.ndarray) -> np.ndarray:
        """Return ``s``, what the family sees of each case, ``(N, H)``.

        Args:
            X: Cases, shape ``(N, D)``.
        """
        return self._forward(self._cases(X))[0]

    @np.errstate(under="ignore")
    def mean(self, X: np.ndarray) -> np.ndarray:
        """Return the expected labels, ``(N, H)``; eq. 11."""
        return self._distribution.mean(self.natural(X))

    # Distances.

    @np.errstate(under="ignore")
    def kl(self, X: np.ndarray, delta: np.ndarray) -> float:
        """Return how far the model moves when its parameters move: the left side of eq. 8.

        ::

            mean over x of KL( P(y | x; theta) || P(y | x; theta + delta) ), in nats

        Args:
            X: Cases, shape ``(N, D)``.
            delta: A step in the parameters, shape ``(size,)``.
        """
        s, end = self.natural(X), self.moved(delta).natural(X)
        d, distribution = end - s, self._distribution
        far, step = distribution.kl(s, end), np.abs(d)
        if self.family == "categorical":
            d = from_likeliest(distribution.mean(s), d)
            step = np.abs(d).max(1, keepdims=True)
        # Near 0 its terms cancel: there the integral of (1 - t) Var[d . y] at s + t d, by Gauss's
        # rule.
        near, d = np.zeros_like(far), np.where(step < 1, d, 0)
        for t, weight in zip(*np.polynomial.legendre.leggauss(8), strict=True):
            var = d * self._covariance_product(s + (1 + t) / 2 * d, d)
            var = var.sum(1, keepdims=True) if self.family == "categorical" else var
            near += weight * (1 - t) / 4 * var
        return float(np.where(step < 1, near, far).sum(1).mean()) / self.phi

    @np.errstate(under="ignore")
    def quadratic(self, X: np.ndarray, delta: np.ndarray) -> float:
        """Return ``½ deltaᵀ F delta``, the right side of eq. 8, without the matrix."""
        return float(delta @ self.fisher_product(X, delta)) / 2

    # The matrix.

    @np.errstate(under="ignore")
    def fisher(
        self,
        X: np.ndarray,
        kind: str = "exact",
        *,
        y: np.ndarray | None = None,
        samples: int = 1,
        rng: np.random.Generator | None = None,
    ) -> np.ndarray:
        """Return the Fisher information matrix, ``(size, size)``.

        Args:
            X: Cases, shape ``(N, D)``.
            kind: ``exact``, ``paper``, ``sampled`` or ``empirical``; see the top of this module.
            y: Labels for ``empirical``, shape ``(N, H)``; one-hot for the categorical family.
            samples: Labels to draw for each case, for ``sampled``.
            rng: Draws them; seed 0 if ``None``.

        Raises:
            ValueError: If ``kind`` is unknown, ``empirical`` has no labels, or ``samples`` < 1.

        Example:
            >>> rng = np.random.default_rng(0)
            >>> X, W, b = rng.normal(size=(50, 4)), rng.normal(size=(3, 4)), np.zeros(3)
            >>> batch, layer = (
            ...     GLM(W, b, norm=norm, family="bernoulli") for norm in ("batch", "layer")
            ... )
            >>> bool(np.allclose(batch.fisher(X), batch.fisher(X, kind="paper")))
            True
            >>> bool(np.allclose(layer.fisher(X), layer.fisher(X, kind="paper")))
            False
        """
        X = self._cases(X)
        if kind not in KINDS:
            raise ValueError(f"fisher: kind must be one of {', '.join(KINDS)}; got {kind!r}")
        if kind == "exact":
            return np.stack([self.fisher_product(X, e) for e in np.eye(self.size)])
        if kind == "paper":
            return self._paper(X)
        if kind == "sampled":
            return self.sampled_fisher(X, samples=samples, rng=rng)[0]
        if y is None:
            raise ValueError(
                "fisher: kind 'empirical' needs the labels y of the data, got None; kind 'sampled' "
                "draws them from the model"
            )
        y = real("y", y)
        if y.shape != (len(X), len(self.W)):
            raise ValueError(
                f"fisher: y must be of shape {(len(X), len(self.W))}, got {y.shape}; a column for "
                "each unit, one-hot for the categorical family"
            )
        expected, possible = self._distribution.labels
        wrong = ~(np.isfinite(y) & possible(y)).all(1)
        if wrong.any():
            raise ValueError(
                f"fisher: y of the {self.family} family must be {expected}, got {y[wrong][0]} for "
                f"case {wrong.argmax()}; kind 'sampled' draws such labels"
            )
        scores = self._scores(X, y)
        return scores.T @ scores / len(X)

    @np.errstate(under="ignore")
    def sampled_fisher(
        self, X: np.ndarray, *, samples: int = 1, rng: np.random.Generator | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the matrix from drawn labels, and the standard error of each of its numbers.

        Args:
            X: Cases, shape ``(N, D)``.
            samples: Labels to draw for each case, at least 1; the error needs 2.
            rng: Draws them; seed 0 if ``None``.

        Returns:
            Two arrays ``(size, size)``. The error is that of the drawing alone, the cases being
            given; NaN for one sample.
        """
        X = self._cases(X)
        if not isinstance(samples, numbers.Integral) or samples < 1:
            raise ValueError(
                f"fisher: samples must be a whole number from 1, got {samples!r}; "
                "it counts the labels to draw for each case"
            )
        rng = np.random.default_rng(0 if rng is None else rng)
        mean = self.mean(X)
        total, squares = np.zeros((2, self.size, self.size))
        for _ in range(samples):
            scores = self._scores(X, self._distribution.draw(rng, mean, self.phi))
            F = scores.T @ scores / len(X)
            total += F
            squares += F**2
        F = total / samples
        if samples < 2:
            return F, np.full_like(F, np.nan)
        var = np.maximum(squares / samples - F**2, 0) * samples / (samples - 1)
        return F, np.sqrt(var / samples)

    @np.errstate(under="ignore")
    def fisher_product(self, X: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return ``F v`` for the exact matrix, without forming it; eq. 9.

        ::

            F v = mean over x of  Jᵀ Cov[y | x] J v / phi²        J = ds / dtheta

        Args:
            X: Cases, shape ``(N, D)``.
            v: Shape ``(size,)``.

        Returns:
            Shape ``(size,)``. Time and memory are those of a few products of ``X`` with ``W``.
        """
        X = self._cases(X)
        s, *_ = forward = self._forward(X)
        ds = self._along(X, v, forward)
        return self._back(X, self._covariance_product(s, ds) / self.phi) / len(X)

    @np.errstate(under="ignore")
    def gain_metric(self, X: np.ndarray, delta_g: np.ndarray, kind: str = "exact") -> float:
        """Return ds² for a step in the gains alone: eqs. 32-34, and 35 for the plain model.

        Without a norm there are no gains; as in eq. 35, the step then goes along the unit vectors
        ``w_i / ||w_i||``.

        Args:
            X: Cases, shape ``(N, D)``.
            delta_g: The step, shape ``(H,)``.
            kind: ``exact``, from eq. 9, or ``paper``, the formulas as printed. Eq. 32, of batch
                norm, has no factors ``((a - mean) / std)²`` there: it is exact only where
                ``Cov[y | x]`` does not depend on ``a``.

        Returns:
            ``½ deltaᵀ F delta``.
        """
        X = self._cases(X)
        delta_g = real("delta_g", delta_g)
        if delta_g.shape != self.b.shape:
            raise ValueError(
                f"gain_metric: delta_g must be of shape {self.b.shape}, got {delta_g.shape}; "
                "one for each unit"
            )
        if kind == "exact":
            zero = np.zeros_like(self.b)
            if self.norm == "none":
                units = self.W / np.linalg.norm(self.W, axis=1, keepdims=True)
                return self.quadratic(X, self._join(delta_g[:, None] * units, zero, None))
            return self.quadratic(X, self._join(np.zeros_like(self.W), zero, delta_g))
        if kind != "paper":
            raise ValueError(f"gain_metric: kind must be exact or paper; got {kind!r}")
        s, x_hat, _ = self._forward(X)
        if self.norm == "none":
            x_hat = X @ self.W.T / np.linalg.norm(self.W, axis=1)
        if self.norm == "batch":  # as printed
            x_hat = np.ones_like(s)
        along = x_hat * delta_g
        total = (along * self._covariance_product(s, along)).sum()
        return float(total) / (2 * self.phi * len(X))

    # Inside.

    def _scores(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the gradient of each case's log likelihood, ``(N, size)``."""
        s, *_ = forward = self._forward(X)
        error = self._distribution.error(y, s) / self.phi
        J = np.stack([self._along(X, e, forward) for e in np.eye(self.size)])  # (size, N, H)
        return np.einsum("pnh,nh->np", J, error)

    def _covariance_product(self, s: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return ``Cov[y | x] v / phi`` for each case, ``(N, H)``."""
        p = self._distribution.slope(s)
        return softmax_product(p, v) if self.family == "categorical" else p * v

    def _covariance(self, s: np.ndarray) -> np.ndarray:
        """Return ``Cov[y | x]`` of each case, ``(N, H, H)``."""
        units = np.eye(s.shape[1])
        columns = [self._covariance_product(s, np.broadcast_to(e, s.shape)) for e in units]
        return self.phi * np.stack(columns, 2)

    def _paper(self, X: np.ndarray) -> np.ndarray:
        """Compute eq. 12, or eqs. 13-14, as printed."""
        (N, D), H = X.shape, len(self.W)
        s, x_hat, std = self._forward(X)
        if self.norm == "none":
            rows = np.broadcast_to(np.concatenate([X, np.ones((N, 1))], 1)[:, None], (N, H, D + 1))
        else:
            chi = X[:, None] - self._chi_terms(X, x_hat, std)  # eq. 14, (N, H, D)
            std = np.broadcast_to(std, s.shape)[:, :, None]
            rows = np.concatenate(
                [self.g[:, None] / std * chi, np.ones((N, H, 1)), x_hat[:, :, None]], axis=2
            )
        F = np.einsum("nij,nip,njq->ipjq", self._covariance(s), rows, rows, optimize=True)
        return F.reshape(self.size, self.size) / (N * self.phi**2)
