"""Labels of norms, transformations and changes."""

from lnlib.invariance import ROUNDING

#: Maps the name of a transformation to its label.
NAMES = {
    "weight_matrix_rescaling": "weight matrix re-scaling",
    "weight_matrix_recentering": "weight matrix re-centering",
    "weight_vector_rescaling": "weight vector re-scaling",
    "dataset_rescaling": "dataset re-scaling",
    "dataset_recentering": "dataset re-centering",
    "single_case_rescaling": "single training case re-scaling",
    "negative_rescaling": "negative factor",
    "input_bias": "bias before the norm",
    "feature_shift": "one feature shifted",
}
#: Shorter labels for a menu, where long ones would be cut off.
MENU = {
    "weight_matrix_rescaling": "weight matrix × s",
    "weight_matrix_recentering": "weight matrix + s",
    "weight_vector_rescaling": "weight vector × s",
    "dataset_rescaling": "dataset × s",
    "dataset_recentering": "dataset + s",
    "single_case_rescaling": "single example × s",
    "negative_rescaling": "weight matrix × −s",
    "input_bias": "bias before the norm",
    "feature_shift": "one feature + s",
}
LABELS = {
    "batch": "batch norm",
    "weight": "weight norm",
    "layer": "layer norm",
    "none": "no norm",
    "rms": "RMS norm",
}


def options(names: dict[str, str], keys: tuple[str, ...]) -> dict[str, str]:
    """Return the options of a choice, as a mapping from label to name."""
    return {names[key]: key for key in keys}


def format_change(value: float) -> str:
    """Format a change with two decimals, or in scientific notation if it is tiny."""
    if value < ROUNDING:
        return "0"
    return f"{value:.2f}" if value >= 0.005 else short(value)


def short(value: float) -> str:
    """Format a change with few characters."""
    if value < ROUNDING:
        return "0"
    if value < 0.01:
        return f"{value:.0e}".replace("e-0", "e−").replace("e-", "e−")
    if value < 9.95:
        return f"{value:.2f}" if value < 0.995 else f"{value:.1f}"
    return f"{value:.0f}"
