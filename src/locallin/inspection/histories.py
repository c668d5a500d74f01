"""Histories of training that fitted estimators hold."""

import numpy as np

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
    unit = "stage" if hasattr(fitted, "energy_history_") else "epoch"
    return histories, unit
