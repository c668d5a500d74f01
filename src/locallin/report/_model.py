"""Facts about a model: parameters that were chosen, and numbers that fitting found."""

from inspect import Parameter, signature

from sklearn.pipeline import Pipeline

from locallin.inspection.text import number
from locallin.inspection.unwrap import split_pipeline
from locallin.methods.tables import TableEstimator

_LONGEST = 120
# Names of the fitted attributes that are single numbers.
_FACTS = {
    "alpha_": "regularisation, alpha",
    "n_iter_": "epochs",
    "n_outer_iter_": "outer iterations",
    "best_score_": "best held-out accuracy, or D2",
    "dual_gap_": "duality gap",
}


def chooser_in(estimator) -> TableEstimator | None:
    """The estimator that chose its own settings, also at the end of a pipeline."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator if isinstance(estimator, TableEstimator) else None


def changed_parameters(estimator) -> list[tuple[str, str, str]]:
    """Name, value and default of the parameters that are not the defaults."""
    chooser = chooser_in(estimator)
    if chooser is not None:
        return _changed(chooser)  # it set the parameters of its parts itself
    before, classifier = split_pipeline(estimator)
    steps = [(f"{name}.", step) for name, step in before]
    found = []
    for prefix, step in [*steps, ("", classifier)]:
        if not hasattr(step, "get_params"):
            continue
        for name, value, default in _changed(step):
            found.append((f"{prefix}{name}", value, default))
    return found


def _changed(estimator) -> list[tuple[str, str, str]]:
    arguments = signature(type(estimator).__init__).parameters
    found = []
    for name, value in estimator.get_params(deep=False).items():
        default = "–"
        if name in arguments and arguments[name].default is not Parameter.empty:
            default = _short(arguments[name].default)
        if _short(value) != default:
            found.append((name, _short(value), default))
    return found


def _short(value) -> str:
    written = " ".join(repr(value).split())
    return written if len(written) <= _LONGEST else written[: _LONGEST - 1] + "…"


def fitted_facts(data) -> list[tuple[str, str]]:
    """Numbers of rows, features, classes, local models, and what fitting found."""
    model = data.classifier
    facts = [("method", type(chooser_in(data.estimator) or model).__name__)]
    if hasattr(model, "classes_"):
        labels = _first_labels(model.classes_.tolist())
        facts.append(("classes", ", ".join(map(str, labels))))
    facts += [
        ("features the model is given", f"{model.n_features_in_:,}"),
        ("local models", f"{len(data.regions):,}"),
    ]
    for attribute, name in _FACTS.items():
        value = getattr(model, attribute, None)
        if value is not None:
            facts.append((name, number(value)))
    return facts


def _first_labels(labels: list) -> list:
    return labels if len(labels) <= 20 else [*labels[:20], f"… ({len(labels)})"]
