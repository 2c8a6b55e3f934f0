"""How vectors of sentences are judged: by logistic regression, and nothing else is trained."""

from __future__ import annotations

import numpy as np

FOLDS = 10
INNER = 3  # folds of the rest, by which the regularization is chosen
CS = (1e-3, 1e-2, 1e-1, 1.0)  # inverse strengths of regularization, of features of deviation 1


def judged(features: np.ndarray, labels: np.ndarray, *, auc: bool = False) -> float:
    """Return the 10-fold cross-validated accuracy of a logistic regression.

    Of each fold's training part alone features are centered and scaled, and the regularization is
    chosen, by 3 folds of it.

    Args:
        features: One row a case.
        labels: 0 or 1.
        auc: Return the area under the ROC curve instead: the share of pairs of a case of 1 and one
            of 0 in which the first is thought likelier.
    """
    from sklearn.model_selection import StratifiedKFold

    def split(y: np.ndarray, folds: int) -> list[tuple[np.ndarray, np.ndarray]]:
        shuffled = StratifiedKFold(folds, shuffle=True, random_state=0)
        return list(shuffled.split(np.zeros(len(y)), y))

    features = features.astype(float)  # Newton's last steps are lost in the rounding of float32
    results = []
    for rest, held in split(labels, FOLDS):
        x, y = features[rest], labels[rest]
        inner = split(y, INNER)
        scores = [np.mean([_score(x, y, a, b, c, auc) for a, b in inner]) for c in CS]
        results.append(_score(features, labels, rest, held, CS[int(np.argmax(scores))], auc))
    return float(np.mean(results))


def _score(
    x: np.ndarray, y: np.ndarray, rest: np.ndarray, held: np.ndarray, c: float, auc: bool
) -> float:
    """Fit on some cases, and return how well others are told."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    mean, deviation = x[rest].mean(0), x[rest].std(0)
    deviation[deviation == 0] = 1
    # Of so many cases and so few features each step of Newton's is cheap, and few are needed.
    fitted = LogisticRegression(C=c, solver="newton-cholesky", tol=1e-6)
    fitted.fit((x[rest] - mean) / deviation, y[rest])
    logits = fitted.decision_function((x[held] - mean) / deviation)
    return roc_auc_score(y[held], logits) if auc else np.mean((logits > 0) == y[held])


def of_pairs(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the features of pairs of vectors, as Tai et al. (2015): |u - v| and u * v."""
    return np.concatenate([np.abs(one - other), one * other], 1)
