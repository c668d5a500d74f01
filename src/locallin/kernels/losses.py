"""Loss functions of the margin y f(x), named by integer codes inside kernels."""

import numpy as np

from locallin.kernels._jit import jit

HINGE = 0
SQUARED_HINGE = 1
LOGISTIC = 2

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
def loss_curvature(loss):
    """Upper bound of the second derivative; 0 for the hinge, which has none."""
    if loss == LOGISTIC:
        return 0.25
    return 2.0 if loss == SQUARED_HINGE else 0.0
