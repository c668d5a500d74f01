"""A model card: what a fitted model is, what was measured of it, how to use it."""

import numpy as np
from sklearn.base import is_regressor
from sklearn.pipeline import Pipeline

import locallin
from locallin.engine.optional import import_optional
from locallin.inspection import global_effects
from locallin.inspection.quality import number_figures, ranking_figures, wilson
from locallin.inspection.unwrap import model_in

_NAMES = {
    "accuracy": "accuracy",
    "auc": "area under the ROC curve",
    "average_precision": "average precision",
    "log_loss": "log loss",
    "brier": "Brier score",
    "calibration_error": "calibration error",
    "rmse": "root mean squared error",
    "mae": "mean absolute error",
    "r2": "R2",
    "pinball": "pinball loss",
}
_MOST_COLUMNS = 20
_USE = """```python
from locallin.export import load

model = load("{file}")  # runs nothing: arrays, numbers and names of known classes
model.predict(rows)
```"""


def model_card(
    model,
    X=None,
    y=None,
    *,
    description: str = "",
    limitations: str = "",
    file: str = "model.skops",
):
    """Describe a fitted model on a page, with figures of rows it has not seen.

    Parameters
    ----------
    model : classifier, regressor or Pipeline
        A fitted one of the library, or a pipeline that ends in one.
    X : array, sparse matrix or frame of shape (n_samples, n_features), default=None
        Rows to judge it by: rows that it was not fitted to.
    y : array-like of shape (n_samples,), default=None
        Their labels or numbers; without them nothing is measured.
    description : str, default=""
        What the model is for, in your words.
    limitations : str, default=""
        What it is not for.
    file : str, default="model.skops"
        The file that the lines of use load.

    Returns
    -------
    skops.card.Card
        A card in Markdown: ``save(path)`` writes it, ``add`` takes more sections.

    See Also
    --------
    save : Writes the model that the card describes.
    trusted_types : What a file may hold.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from locallin import LLSVMClassifier
    >>> from locallin.export import model_card
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> clf = LLSVMClassifier(4, random_state=0).fit(X[:200], y[:200])
    >>> card = model_card(clf, X[200:], y[200:])  # doctest: +SKIP
    >>> card.save("README.md")  # doctest: +SKIP
    """
    if (X is None) != (y is None):
        raise ValueError("X and y go together: give both, or neither.")
    cards = import_optional("skops.card", "io")
    model_in(model, "model_card")  # refuses what has no local models
    last = model[-1] if isinstance(model, Pipeline) else model
    card = cards.Card(model, model_diagram=False, template=None)
    card.add(**{"Model": _plain(description) or f"A fitted `{type(last).__name__}`."})
    card.add(**{"Model/What it is": _what_it_is(model, last)})
    card.add_table(folded=True, **{"Model/Settings": _settings(model)})
    if X is not None:
        card.add_table(
            description=f"On {len(np.asarray(y)):,} rows, with intervals of 95 %:",
            **{"Evaluation": _figures(model, last, X, np.asarray(y))},
        )
        card.add_table(
            description=(
                "Mean absolute contribution to the score. Behind every prediction "
                "stands an exact sum of contributions: `locallin.inspection.explain`."
            ),
            **{"Columns that matter": _importances(model, X)},
        )
    limits = _plain(limitations) or "Not stated by whoever trained it."
    card.add(**{"Limits": limits, "Use": _USE.format(file=_plain(file))})
    return card


def _what_it_is(model, last) -> str:
    lines = [
        f"`{type(last).__name__}` of locallin {locallin.__version__}: linear around "
        f"every point, {model.n_features_in_} columns in."
    ]
    if is_regressor(last):
        lines.append("It predicts numbers.")
    else:
        names = ", ".join(f"`{_plain(name)}`" for name in last.classes_[:20])
        more = ", ..." if len(last.classes_) > 20 else ""
        lines.append(f"Classes: {names}{more}.")
    chosen = getattr(last, "chosen_", None)
    if chosen:
        words = ", ".join(f"{name} {_plain(value)}" for name, value in chosen.items())
        lines.append(f"Chosen on held-out rows: {words}.")
    return "\n\n".join(lines)


def _settings(model) -> dict[str, list[str]]:
    """Parameters of a model, but for those that are estimators themselves."""
    deep = isinstance(model, Pipeline)
    given = {
        name: value
        for name, value in sorted(model.get_params(deep=deep).items())
        if not hasattr(value, "get_params") and name not in ("steps", "memory")
    }
    return {
        "parameter": list(map(_plain, given)),
        "value": [_plain(repr(value)) for value in given.values()],
    }


def _figures(model, last, X, y: np.ndarray) -> dict[str, list[str]]:
    predicted = np.asarray(model.predict(X))
    if is_regressor(last):
        if predicted.ndim > 1:
            raise ValueError(
                f"model predicts {predicted.shape[1]} numbers of a row, and "
                "model_card judges one: leave X and y out."
            )
        found = number_figures(y.astype(float), predicted)
        known = found["intervals"]
    else:
        probable = hasattr(model, "predict_proba")
        ask = model.predict_proba if probable else model.decision_function
        hits = int(np.sum(predicted == y))
        found = ranking_figures(y, np.asarray(ask(X)), last.classes_)
        found = {"accuracy": hits / len(y), **found}
        known = {"accuracy": wilson(hits, len(y)), **found["intervals"]}
    shown = {name: found[name] for name in _NAMES if found.get(name) is not None}
    ends = (known.get(name) for name in shown)
    return {
        "figure": [_NAMES[name] for name in shown],
        "value": [f"{value:.4g}" for value in shown.values()],
        "interval": [f"{e[0]:.4g} to {e[1]:.4g}" if e else "" for e in ends],
    }


def _importances(model, X) -> dict[str, list[str]]:
    found = global_effects(model, X)
    pairs = list(zip(found.feature_names, found.importance, strict=True))
    return {
        "column": [_plain(name) for name, _ in pairs[:_MOST_COLUMNS]],
        "importance": [f"{value:.4g}" for _, value in pairs[:_MOST_COLUMNS]],
    }


def _plain(value) -> str:
    """Text that stays text in a table of Markdown."""
    text = " ".join(str(value).split())
    for mark, safe in (("&", "&amp;"), ("<", "&lt;"), ("|", "\\|"), ("`", "'")):
        text = text.replace(mark, safe)
    return text
