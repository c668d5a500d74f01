"""Loss functions, named by integer codes inside kernels.

Three are functions of the margin y f(x) of each score. The multinomial loss is one of
all scores of a row together, -log softmax(f)_y; for two classes with one score it is
the logistic loss.
"""

import numpy as np

from locallin.kernels._jit import jit

HINGE = 0
SQUARED_HINGE = 1
LOGISTIC = 2
MULTINOMIAL = 3

LOSSES = {"hinge": HINGE, "squared_hinge": SQUARED_HINGE, "logistic": LOGISTIC}


@jit
def loss_value(loss, margin):
    """Return max(0, 1 - m), its square, or log(1 + exp(-m))."""
    if loss == LOGISTIC:
        if margin > 0.0:
            return np.log1p(np.exp(-margin))
        return np.log1p(np.exp(margin)) - margin
    violation = max(0.0, 1.0 - margin)
    return violation if loss == HINGE else violation * violation


@jit
def loss_slope(loss, margin):
    """Derivative of the loss by the margin: never positive."""
    if loss == LOGISTIC:
        if margin > 0.0:
            e = np.exp(-margin)
            return -e / (1.0 + e)
        return -1.0 / (1.0 + np.exp(margin))
    violation = max(0.0, 1.0 - margin)
    if loss == HINGE:
        return -1.0 if violation > 0.0 else 0.0
    return -2.0 * violation


@jit
def multinomial(scores, label, slopes):
    """-log softmax(scores)[label]; writes its derivatives by the scores."""
    top = scores[0]
    for c in range(scores.size):
        top = max(top, scores[c])
    for c in range(scores.size):
        slopes[c] = np.exp(scores[c] - top)
    total = 0.0
    for c in range(scores.size):
        total += slopes[c]
    for c in range(scores.size):
        slopes[c] /= total
    slopes[label] -= 1.0
    return np.log(total) + top - scores[label]


@jit
def loss_curvature(loss):
    """Upper bound of the second derivative; 0 for the hinge, which has none."""
    if loss == LOGISTIC:
        return 0.25
    if loss == MULTINOMIAL:
        return 0.5
    return 2.0 if loss == SQUARED_HINGE else 0.0
