"""The column of a row that each feature of a model comes from."""

import numpy as np

from locallin.inspection.origins import MIXED, Trace, followed_by, trace


def columns_of_features(steps: list, model) -> np.ndarray:
    """For each feature that local models see, the column it was made of.

    Parameters
    ----------
    steps : list of transformers
        The fitted steps in front of the model.
    model : classifier
        The fitted classifier.
    """
    first = steps[0] if steps else model
    found = Trace(np.arange(first.n_features_in_), np.ones(first.n_features_in_))
    feature_map = getattr(model, "feature_map_", None)
    for step in [*steps, *([] if feature_map is None else [feature_map])]:
        then = trace(step, len(found.origins))
        if then is None or (then.origins == MIXED).any():
            raise TypeError(
                f"contributions=True adds up what comes from each column, but "
                f"{type(step).__name__} makes features of several columns: export "
                "without contributions."
            )
        found = followed_by(found, then)
    return found.origins
