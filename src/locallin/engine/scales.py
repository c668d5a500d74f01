"""Columns of very different scales, told to who fits an unscaled estimator."""

import warnings

import numpy as np
from scipy import sparse

from locallin.engine.progress import frames_to_the_user

# Rows that are looked at, and how many times as wide as a usual column one may be.
_ROWS, _MOST = 1000, 100.0
# Fewer rows say nothing of a scale.
_LEAST_ROWS = 30


class FeatureScaleWarning(UserWarning):
    """Columns differ so much in scale that distances see only the widest of them.

    See Also
    --------
    locallin.encoding.TableEncoder : Scales numbers, and encodes the rest of a table.
    sklearn.preprocessing.StandardScaler : Gives all columns the same scale.
    """


def warn_of_scales(estimator, X) -> None:
    """Warn where a column varies far more than the usual one, at the line of the fit.

    Columns of a sparse matrix are counts or frequencies of words as a rule, and are
    not looked at.
    """
    if sparse.issparse(X) or X.shape[0] < _LEAST_ROWS:
        return
    rows = X[:: -(-X.shape[0] // _ROWS)]
    if sparse.issparse(rows):  # of rows that are made when asked for
        return
    with np.errstate(over="ignore", invalid="ignore"):
        widths = np.std(rows, axis=0, dtype=float)
    varied = np.sort(widths[(widths > 0) & np.isfinite(widths)])
    if len(varied) < 2:
        return
    usual = varied[(len(varied) - 1) // 2]
    ratio = varied[-1] / usual
    if ratio <= _MOST:
        return
    widest = int(np.flatnonzero(widths == varied[-1])[0])
    names = getattr(estimator, "feature_names_in_", None)
    column = f"column {widest}" if names is None else f"column {names[widest]!r}"
    name = type(estimator).__name__
    warnings.warn(
        f"The columns of X differ in scale: {column} varies {ratio:.2g} times as much "
        f"as the usual one, and {name} sees little else. Put a scaler in front, as in "
        f"make_pipeline(StandardScaler(), {name}()), or a locallin.TableEncoder.",
        FeatureScaleWarning,
        stacklevel=frames_to_the_user(),
    )
