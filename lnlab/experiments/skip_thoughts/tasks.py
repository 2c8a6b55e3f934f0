"""Evaluation of sentence vectors by logistic regression."""

import numpy as np

FOLDS = 10
INNER = 3  # folds of the inner cross-validation, which selects the regularization
CS = (1e-3, 1e-2, 1e-1, 1.0)  # inverse regularization strengths, for standardized features


def cross_validate(features: np.ndarray, labels: np.ndarray, *, auc: bool = False) -> float:
    """Return the 10-fold cross-validated accuracy of a logistic regression.

    Features are standardized, and the regularization is selected by 3-fold cross-validation, on the
    training part of each fold.

    Args:
        features: Features, one row per example.
        labels: 0 or 1.
        auc: Return the area under the ROC curve instead.
    """
    from sklearn.model_selection import StratifiedKFold

    def split(y: np.ndarray, folds: int) -> list[tuple[np.ndarray, np.ndarray]]:
        shuffled = StratifiedKFold(folds, shuffle=True, random_state=0)
        return list(shuffled.split(np.zeros(len(y)), y))

    features = features.astype(float)  # Newton's method does not converge in float32
    results = []
    for train, test in split(labels, FOLDS):
        x, y = features[train], labels[train]
        inner = split(y, INNER)
        scores = [np.mean([_score(x, y, a, b, c, auc) for a, b in inner]) for c in CS]
        results.append(_score(features, labels, train, test, CS[int(np.argmax(scores))], auc))
    return float(np.mean(results))


def _score(
    x: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray, c: float, auc: bool
) -> float:
    """Fit on training examples and return the accuracy or AUC on test examples."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    mean, std = x[train].mean(0), x[train].std(0)
    std[std == 0] = 1
    # With many examples and few features, steps of Newton's method are cheap and few are needed.
    fitted = LogisticRegression(C=c, solver="newton-cholesky", tol=1e-6)
    fitted.fit((x[train] - mean) / std, y[train])
    logits = fitted.decision_function((x[test] - mean) / std)
    return roc_auc_score(y[test], logits) if auc else np.mean((logits > 0) == y[test])


def pair_features(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the features of pairs of vectors of Tai et al. (2015): |u - v| and u * v."""
    return np.concatenate([np.abs(a - b), a * b], 1)
