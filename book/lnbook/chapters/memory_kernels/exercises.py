"""The exercises of the chapter ``memory_kernels``."""

from lnbook.exercises import Function, Value


def _mean(x):
    return x.mean(-1, keepdims=True)


def _gradient(y, rstd, gain, dy):
    x_hat, d = y / gain, dy * gain
    return rstd * (d - x_hat * _mean(d * x_hat))


def _gradient_cases(rng):
    for rows, H in ((1, 2), (3, 5)):
        x_hat = rng.normal(size=(rows, H))
        x_hat /= (x_hat**2).mean(-1, keepdims=True) ** 0.5
        gain = rng.uniform(0.5, 2, size=H) * rng.choice([-1, 1], size=H)
        yield gain * x_hat, rng.uniform(0.5, 2, size=(rows, 1)), gain, rng.normal(size=(rows, H))


def _with_gain(y, rstd, gain, dy):
    d = dy * gain
    return rstd * (d - y * _mean(d * y))


def _without_gain(y, rstd, gain, dy):
    x_hat = y / gain
    return rstd * (dy - x_hat * _mean(dy * x_hat))


def _layer(y, rstd, gain, dy):
    x_hat, d = y / gain, dy * gain
    return rstd * (d - _mean(d) - x_hat * _mean(d * x_hat))


def _constant(y, rstd, gain, dy):
    return rstd * dy * gain


EXERCISES = {
    "gradient-from-the-output": Function(
        _gradient,
        cases=_gradient_cases,
        misconceptions={
            "`y` still has the gain; divide by it to get the normalized input.": _with_gain,
            "`dy` is the gradient with respect to `y`; multiply it by the gain to get the gradient "
            "with respect to `x_hat`.": _without_gain,
            "RMS norm subtracts no mean, and neither does its backward pass.": _layer,
            "the root mean square also depends on the input; this treats it as a constant.": (
                _constant
            ),
        },
        on_success="The input is not needed, as long as no gain is 0.",
    ),
    "memory-of-an-upcast": Value(
        8,
        on_success="The norms written by hand keep 12 GiB, the kernels 4.",
        misconceptions={
            12: "that is what the version written by hand keeps; the kernel also keeps an array. "
            "Or the normalized input is counted with 4 bytes per number; it is cast back to 2.",
            4: "that is what the kernel keeps, or the difference for one norm per block; there are "
            "two.",
            16: "the normalized input is cast back, so it has 2 bytes per number, and the array "
            "that the kernel keeps has to be subtracted.",
        },
        hint="multiply norms, tokens, width, and the difference in bytes per number.",
    ),
}
