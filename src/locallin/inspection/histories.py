"""Histories of training that fitted estimators hold."""

import numpy as np

from locallin.methods.regression import ScoringRegressor

# Fitted attributes, in the order of the panels.
_PANELS = (
    ("objective", {"objective_history_": "objective", "energy_history_": "energy"}),
    ("held-out accuracy", {"validation_history_": "held-out accuracy"}),
    (
        "anchors per row",
        {
            "active_history_": "with a weight",
            "perplexity_history_": "effective (perplexity)",
        },
    ),
)

Histories = dict[str, dict[str, np.ndarray]]


def recorded_histories(fitted) -> tuple[Histories, str]:
    """Curves by panel and name, and the unit that they run over."""
    histories = {}
    for panel, attributes in _PANELS:
        curves = {
            label: np.asarray(getattr(fitted, attribute), dtype=float)
            for attribute, label in attributes.items()
            if len(getattr(fitted, attribute, ()))
        }
        if curves:
            histories[panel] = curves
    accuracy = "held-out accuracy"
    if isinstance(fitted, ScoringRegressor) and accuracy in histories:
        # 1 - loss / loss of a constant; R2 where the loss is the square.
        (curve,) = histories.pop(accuracy).values()
        histories["held-out D2"] = {"held-out D2": curve}
    unit = "stage" if hasattr(fitted, "energy_history_") else "epoch"
    return histories, unit
