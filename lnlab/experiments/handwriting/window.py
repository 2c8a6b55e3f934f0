"""The first layer of Graves's network: an LSTM that reads a text through a soft attention window.

The content of the window after a step is an input of the next step, so the layer cannot be computed
for all steps at once. There are two implementations: a readable one that takes one step at a time,
and a fast one with a gradient written by hand.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from lnlib.nn import LayerNormLSTMCell
from lnlib.nn.kernels.once_differentiable import once_differentiable

COMPONENT_PARAMETERS = 3  # parameters of a Gaussian component: height, sharpness, step


class WindowOutput(NamedTuple):
    """Output of the layer for each step: state, content of the window, position of the window."""

    hidden: Tensor  # (T, B, H)
    window: Tensor  # (T, B, C)
    phi: Tensor  # (T, B, U): phi


class State(NamedTuple):
    """The state that is passed from one step to the next."""

    h: Tensor  # (B, H)
    c: Tensor  # (B, H)
    position: Tensor  # (B, K): of the components, in characters from 0
    window: Tensor  # (B, C)


class WindowLSTM(nn.Module):
    """An LSTM whose inputs are the pen input and the content of a window over the text.

    ::

        h_t, c_t      = cell([x_t, w_{t-1}], h_{t-1}, c_{t-1})
        a, b, s       = exp(W_p h_t + b_p)                      K numbers each
        k_t           = k_{t-1} + s
        phi_t(u)      = sum over the K components of a exp(-b (k_t - u)^2)
        w_t           = sum over u of phi_t(u) text_u

    Graves (2013), arXiv:1308.0850, eqs. 46-51, with ``u`` from 0.

    Args:
        cell: ``nn.LSTMCell`` or :class:`~lnlib.nn.LayerNormLSTMCell` for ``I + C`` inputs.
        components: Number K of Gaussian components of the window.
    """

    def __init__(self, cell: nn.LSTMCell | LayerNormLSTMCell, components: int) -> None:
        super().__init__()
        self.cell = cell
        self.components = nn.Linear(cell.hidden_size, COMPONENT_PARAMETERS * components)

    def start(self, text: Tensor) -> State:
        """Return the state before the first step for texts ``(B, U, C)``."""
        B, _, C = text.shape
        H, K = self.cell.hidden_size, self.components.out_features // COMPONENT_PARAMETERS
        return State(*(text.new_zeros(B, n) for n in (H, H, K, C)))

    def step(self, x: Tensor, text: Tensor, state: State) -> tuple[State, Tensor]:
        """Take one step.

        Args:
            x: Shape ``(B, I)``.
            text: Shape ``(B, U, C)``, a vector for each character.
            state: The state before the step.

        Returns:
            The state after the step, and phi ``(B, U)``.
        """
        h, c = self.cell(torch.cat((x, state.window), 1), (state.h, state.c))
        height, sharp, shift = self.components(h).exp().chunk(COMPONENT_PARAMETERS, 1)
        position = state.position + shift
        distance = position.unsqueeze(2) - _character_positions(text)
        phi = (height.unsqueeze(2) * (-sharp.unsqueeze(2) * distance.square()).exp()).sum(1)
        window = torch.einsum("bu,buc->bc", phi, text)
        return State(h, c, position, window), phi

    def forward(self, x: Tensor, text: Tensor) -> WindowOutput:
        """Run over complete sequences ``(T, B, I)``, from the start of texts ``(B, U, C)``."""
        cell = self.cell
        if isinstance(cell, LayerNormLSTMCell):
            norms = (cell.layernorm_i, cell.layernorm_h, cell.layernorm_c)
            (gain_x, bias_x), (gain_h, bias_h), (gain_c, bias_c) = (
                (norm.weight, norm.bias) for norm in norms
            )
            bias, gains, eps = (
                cell.bias + bias_x + bias_h,
                (gain_x, gain_h, gain_c, bias_c),
                cell.eps,
            )
        else:
            bias, gains, eps = cell.bias_ih + cell.bias_hh, (None,) * 4, 0.0
        weights = (cell.weight_ih, cell.weight_hh, self.components.weight, self.components.bias)
        return WindowOutput(*_Window.apply(x, text, bias, *weights, *gains, eps))


def _character_positions(text: Tensor) -> Tensor:
    return torch.arange(text.shape[1], dtype=text.dtype, device=text.device)


class _Window(torch.autograd.Function):
    """:class:`WindowLSTM` over time; only what depends on the previous step is in a loop.

    The gradient is written by hand because an update of all three layers takes 1.9 times as long
    with autograd through :meth:`WindowLSTM.step` (``bench/experiments.py``).
    """

    @staticmethod
    def forward(ctx, x, text, b, weight_x, weight_h, weight_p, bias_p, *rest):
        gain_x, gain_h, gain_c, bias_c, eps = rest
        (T, B, inputs_size), H, (_, U, C) = x.shape, weight_h.shape[1], text.shape
        K, norm = len(bias_p) // COMPONENT_PARAMETERS, gain_x is not None
        weight_in, weight_w = weight_x.split((inputs_size, C), 1)
        # Without a norm, the bias is added here, once for all steps.
        inputs = torch.mm(x.reshape(T * B, inputs_size), weight_in.t())
        inputs = (inputs if norm else inputs.add_(b)).view(T, B, 4 * H)
        from_w, from_h, from_p = (w.t().contiguous() for w in (weight_w, weight_h, weight_p))
        new = x.new_empty
        summed_x = inputs  # in place: the contribution of the window is added to it
        summed_h = new(T, B, 4 * H) if norm else inputs
        gates, cells, tanhs, hidden = new(T, B, 4 * H), new(T, B, H), new(T, B, H), new(T, B, H)
        components, positions = new(T, B, COMPONENT_PARAMETERS * K), new(T, B, K)
        distance, bumps, shares = new(T, B, K, U), new(T, B, K, U), new(T, B, 1, U)
        window = new(T, B, 1, C)
        u = _character_positions(text)
        h, c, position, w = (x.new_zeros(B, n) for n in (H, H, K, C))
        statistics = []
        columns = [gates[..., i * H : j * H] for i, j in ((0, 2), (0, 1), (1, 2), (2, 3), (3, 4))]
        parts = components.unsqueeze(3).split(K, 2)
        steps = zip(
            *(s.unbind() for s in (summed_x, summed_h, gates, *columns, cells, tanhs, hidden)),
            *(s.unbind() for s in (components, *parts, positions, positions.unsqueeze(3))),
            *(s.unbind() for s in (distance, bumps, shares, window, window.squeeze(2))),
            strict=True,
        )
        for step in steps:
            a_x, a_h, gate, i_f, i, f, g, o, cell, tanh, h_next, component, *views = step
            height, sharp, shift, position_next, position_3, off, bump, phi, window_3, w_next = (
                views
            )
            a_x.addmm_(w, from_w)
            if norm:
                y_x, *stats_x = torch.native_layer_norm(a_x, (4 * H,), gain_x, b, eps)
                torch.mm(h, from_h, out=a_h)
                y_h, *stats_h = torch.native_layer_norm(a_h, (4 * H,), gain_h, None, eps)
                torch.add(y_x, y_h, out=gate)
            else:
                torch.addmm(a_x, h, from_h, out=gate)
            i_f.sigmoid_()
            g.tanh_()
            o.sigmoid_()
            torch.mul(f, c, out=cell)
            cell.addcmul_(i, g)
            if norm:
                y, *stats_c = torch.native_layer_norm(cell, (H,), gain_c, bias_c, eps)
                statistics.append((*stats_x, *stats_h, *stats_c))
                torch.tanh(y, out=tanh)
            else:
                torch.tanh(cell, out=tanh)
            torch.mul(o, tanh, out=h_next)
            torch.addmm(bias_p, h_next, from_p, out=component)
            component.exp_()
            torch.add(position, shift.squeeze(2), out=position_next)
            torch.sub(position_3, u, out=off)
            torch.mul(off, off, out=bump)
            bump.mul_(sharp).neg_().exp_()
            torch.bmm(height.transpose(1, 2), bump, out=phi)
            torch.bmm(phi, text, out=window_3)
            h, c, position, w = h_next, cell, position_next, w_next
        window, shares = window.squeeze(2), shares.squeeze(2)
        if norm:
            statistics = [torch.stack(s) for s in zip(*statistics, strict=True)]
        ctx.mark_non_differentiable(shares)
        ctx.save_for_backward(
            *(x, text, weight_x, weight_h, weight_p, gain_x, gain_h, gain_c, bias_c),
            *(summed_x, summed_h, gates, cells, tanhs, hidden, components, distance, bumps, window),
            *statistics,
        )
        return hidden, window, shares

    @staticmethod
    @once_differentiable
    def backward(ctx, dhidden, dwindow, _):
        x, text, weight_x, weight_h, weight_p, gain_x, gain_h, gain_c, bias_c, *saved = (
            ctx.saved_tensors
        )
        a_x, a_h, gates, cells, tanhs, hidden, components, *saved = saved
        distance, bumps, window, *statistics = saved
        (T, B, inputs_size), H, C = x.shape, weight_h.shape[1], text.shape[2]
        K, norm, new = components.shape[2] // COMPONENT_PARAMETERS, gain_x is not None, x.new_empty
        weight_w = weight_x[:, inputs_size:].contiguous()

        # Derivatives that do not depend on the incoming gradient.
        i, f, g, o = gates.chunk(4, 2)
        before = torch.cat((cells.new_zeros(1, B, H), cells[:-1]))
        slopes = torch.cat(
            (g * i * (1 - i), before * f * (1 - f), i * (1 - g * g), tanhs * o * (1 - o)), 2
        )
        slope_y = o * (1 - tanhs * tanhs)
        height, sharp, shift = components.chunk(COMPONENT_PARAMETERS, 2)
        # Derivatives of w_t by height and sharpness before exp, and by position.
        pull = torch.cat((bumps, bumps * distance * distance, bumps * distance), 2).flatten(0, 1)
        pull = torch.bmm(
            pull.view(T, B, -1, pull.shape[-1]).transpose(0, 1).reshape(B, -1, pull.shape[-1]), text
        )
        pull = pull.view(B, T, COMPONENT_PARAMETERS * K, C).transpose(0, 1)
        height_sharp = height * sharp
        pull = pull * torch.cat((height, -height_sharp, -2 * height_sharp), 2).unsqueeze(3)

        dgates, dcomponents = new(T, B, 4 * H), new(T, B, COMPONENT_PARAMETERS * K, 1)
        da_x, da_h = (new(T, B, 4 * H), new(T, B, 4 * H)) if norm else (dgates, dgates)
        dcells = new(T, B, H)
        dh, dc, dposition, dw = (x.new_zeros(B, n) for n in (H, H, K, C))
        slopes_3, dgates_3 = (s.unflatten(2, (4, H))[:, :, :3] for s in (slopes, dgates))
        steps = zip(
            *(s.unbind() for s in (dhidden, dwindow, pull, dcomponents, dcomponents.squeeze(3))),
            *(s.unbind() for s in (dcomponents.squeeze(3)[..., 2 * K :], shift)),
            *(s.unbind() for s in (slopes_3, dgates_3, slopes[..., 3 * H :], dgates[..., 3 * H :])),
            *(s.unbind() for s in (slope_y, f, dgates, da_x, da_h, dcells, a_x, a_h, cells)),
            *(s.unbind() for s in statistics),
            strict=True,
        )
        for step in reversed(list(steps)):
            dh_t, dw_t, pull_t, dcomponent_3, dcomponent, dcomponent_position, *views = step
            moved_t, slope_3, dgate_3, slope_o, dgate_o, slope_y_t, f_t, dgate, *views = views
            da_x_t, da_h_t, dcell, a_x_t, a_h_t, cell, *stats = views
            dw.add_(dw_t)
            torch.bmm(pull_t, dw.unsqueeze(2), out=dcomponent_3)
            dposition.add_(dcomponent_position)
            torch.mul(dposition, moved_t, out=dcomponent_position)
            dh.add_(dh_t)
            dh.addmm_(dcomponent, weight_p)
            torch.mul(slope_o, dh, out=dgate_o)
            torch.mul(slope_y_t, dh, out=dcell)  # gradient of the norm's output
            dc.add_(_norm_backward(dcell, cell, H, *stats[4:], gain_c, bias_c) if norm else dcell)
            torch.mul(slope_3, dc.unsqueeze(1), out=dgate_3)
            dc.mul_(f_t)
            if norm:
                da_x_t.copy_(_norm_backward(dgate, a_x_t, 4 * H, *stats[:2], gain_x, None))
                da_h_t.copy_(_norm_backward(dgate, a_h_t, 4 * H, *stats[2:4], gain_h, None))
            torch.mm(da_x_t, weight_w, out=dw)
            torch.mm(da_h_t, weight_h, out=dh)

        def late(s: Tensor) -> Tensor:
            return torch.cat((s.new_zeros(1, *s.shape[1:]), s[:-1])).flatten(0, 1)

        da_x, da_h = da_x.flatten(0, 1), da_h.flatten(0, 1)
        dcomponents = dcomponents.view(T * B, -1)
        dx = (
            (da_x @ weight_x[:, :inputs_size]).view(T, B, inputs_size)
            if ctx.needs_input_grad[0]
            else None
        )
        dweight_x = da_x.t() @ torch.cat((x.flatten(0, 1), late(window)), 1)
        dweight_h = da_h.t() @ late(hidden)
        dweight_p, dbias_p = dcomponents.t() @ hidden.flatten(0, 1), dcomponents.sum(0)
        dgains = [None] * 4
        if norm:
            hats = [
                (a - mean) * rstd
                for a, mean, rstd in zip(
                    (a_x, a_h, cells), statistics[::2], statistics[1::2], strict=True
                )
            ]
            dgains = [
                (d * hat).sum((0, 1)) for d, hat in zip((dgates, dgates, dcells), hats, strict=True)
            ]
            dgains.append(dcells.sum((0, 1)))
        return dx, None, dgates.sum((0, 1)), dweight_x, dweight_h, dweight_p, dbias_p, *dgains, None


def _norm_backward(dy, a, width, mean, rstd, gain, bias) -> Tensor:
    want = [True, False, False]
    return torch.ops.aten.native_layer_norm_backward(dy, a, (width,), mean, rstd, gain, bias, want)[
        0
    ]
