"""Loss functions, named by integer codes inside kernels.

Of classes: three are functions of the margin y f(x) of each score. The multinomial loss
is one of all scores of a row together, -log softmax(f)_y; for two classes with one
score it is the logistic loss.

Of numbers: functions of the residual r = f(x) - y of each score, with one parameter p.

    HUBER                p >= |r|: r^2 / 2, else p (|r| - p / 2)
    EPSILON_INSENSITIVE  max(0, |r| - p)
    SQUARED_INSENSITIVE  max(0, |r| - p)^2 / 2
    PINBALL              p |r| where f(x) is too low, (1 - p) |r| where it is too high

Half the square is HUBER with an infinite p, and |r| EPSILON_INSENSITIVE with p = 0.
Where a score is the logarithm of the mean of y, half the deviance:

    POISSON              exp(f) - y f + y log y - y
    GAMMA                f + y exp(-f) - log y - 1

with lines in place of exponentials that are larger than any data has asked for.
Kernels are compiled for either kind: the parameter of a loss of classes is None.
"""

import numpy as np

from locallin.kernels._jit import jit

HINGE = 0
SQUARED_HINGE = 1
LOGISTIC = 2
MULTINOMIAL = 3

LOSSES = {"hinge": HINGE, "squared_hinge": SQUARED_HINGE, "logistic": LOGISTIC}

HUBER = 4
EPSILON_INSENSITIVE = 5
SQUARED_INSENSITIVE = 6
PINBALL = 7
POISSON = 8
GAMMA = 9

# Beyond it exp goes on as a line.
_LARGEST_POWER = 20.0


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
def residual_loss(loss, parameter, residual):
    """Loss of numbers."""
    size = abs(residual)
    if loss == HUBER:
        if size <= parameter:
            return 0.5 * size * size
        return parameter * (size - 0.5 * parameter)
    if loss == PINBALL:
        return size * (parameter if residual < 0.0 else 1.0 - parameter)
    violation = max(0.0, size - parameter)
    if loss == EPSILON_INSENSITIVE:
        return violation
    return 0.5 * violation * violation


@jit
def residual_slope(loss, parameter, residual):
    """Derivative of a loss of numbers by the residual; 0 in the middle of a kink."""
    if loss == HUBER:
        return max(-parameter, min(parameter, residual))
    if residual == 0.0:
        return 0.0
    if loss == PINBALL:
        return -parameter if residual < 0.0 else 1.0 - parameter
    violation = max(0.0, abs(residual) - parameter)
    slope = violation
    if loss == EPSILON_INSENSITIVE:
        slope = 1.0 if violation > 0.0 else 0.0
    return slope if residual > 0.0 else -slope


@jit
def _exp(x):
    """exp(x), or the line that touches it at the largest power."""
    power = np.exp(min(x, _LARGEST_POWER))
    return power * (1.0 + max(x - _LARGEST_POWER, 0.0))


@jit
def number_loss(loss, parameter, score, wanted):
    """Loss of a score where a number is wanted."""
    if loss == POISSON:
        least = wanted * np.log(wanted) - wanted if wanted > 0.0 else 0.0
        return _exp(score) - wanted * score + least
    if loss == GAMMA:
        return score + wanted * _exp(-score) - np.log(wanted) - 1.0
    return residual_loss(loss, parameter, score - wanted)


@jit
def number_slope(loss, parameter, score, wanted):
    """Derivative of a loss of numbers by the score."""
    if loss == POISSON:
        return np.exp(min(score, _LARGEST_POWER)) - wanted
    if loss == GAMMA:
        return 1.0 - wanted * np.exp(min(-score, _LARGEST_POWER))
    return residual_slope(loss, parameter, score - wanted)


@jit
def number_losses(loss, parameters, scores, wanted, out):
    """Losses of an array of scores (n, n_scores), with a parameter of each score."""
    for i in range(scores.shape[0]):
        for c in range(scores.shape[1]):
            out[i, c] = number_loss(loss, parameters[c], scores[i, c], wanted[i, c])


@jit
def residual_curvature(loss, parameter, residual):
    """Second derivative of a smooth loss of numbers, or the generalised one."""
    if loss == HUBER:
        return 1.0 if abs(residual) <= parameter else 0.0
    return 1.0 if abs(residual) > parameter else 0.0


@jit
def loss_curvature(loss):
    """Upper bound of the second derivative; 0 for the hinge, which has none."""
    if loss == LOGISTIC:
        return 0.25
    if loss == MULTINOMIAL:
        return 0.5
    return 2.0 if loss == SQUARED_HINGE else 0.0
