"""Two models on the same data, as a page for a browser."""

from __future__ import annotations

import os
from itertools import count

from locallin.engine.files import replacing
from locallin.engine.progress import Steps
from locallin.inspection.text import plain
from locallin.inspection.unwrap import check_count
from locallin.report._compare_page import comparison_page
from locallin.report._sides import Comparison, compared
from locallin.report.build import Report

_N_PARTS = 3  # the two models, and the page


def compare(
    first,
    second,
    X,
    y=None,
    *,
    names: tuple[str, str] | None = None,
    path: str | os.PathLike | None = None,
    feature_names=None,
    rows: int | None = 50,
    title: str | None = None,
    random_state=0,
    verbose: int = 0,
) -> Report:
    """Write a page about two fitted models and what they do on the same rows.

    The page holds figures side by side with paired intervals of their differences,
    where the models agree, the rows that they tell apart, with reasons, and which
    columns matter to each. It is one file without a script that loads nothing else.

    Parameters
    ----------
    first, second : classifiers or regressors
        Two fitted classifiers, or two regressors of one target, or of quantiles of it;
        the middle quantile then counts as what is predicted. Those of the library,
        also inside of pipelines, searches and others (see
        :func:`locallin.inspection.explain`), have reasons; any other estimator of
        scikit-learn's manner may be held against them.
    X : {array-like, sparse matrix, frame} of shape (n_samples, n_features)
        Rows, as both take them; better not those of the training. Those of a pandas
        frame are called by its index.
    y : array-like of shape (n_samples,), default=None
        Their classes, or numbers. None leaves the figures out.
    names : pair of str, default=None
        What the models are called. None takes the names of their classes.
    path : str or path, default=None
        File to write to. It is replaced when the page is finished, not before.
    feature_names : sequence of str, default=None
        Names of the columns of X; see :func:`locallin.inspection.explain`.
    rows : int or None, default=50
        Largest number of rows that are shown, those farthest apart first. None shows
        all that are predicted differently.
    title : str, default=None
        Heading of the page. None names both models.
    random_state : int, RandomState instance or None, default=0
        Seed of the rows that importances are taken from, where X is large.
    verbose : int, default=0
        How much is printed. 1 is a bar in terminals and notebooks and elsewhere
        a line per part of the page, 2 is lines everywhere.

    Returns
    -------
    Report
        The page: a string, which a notebook shows as the page itself.

    See Also
    --------
    report : A page about one model, which answers back.
    locallin.inspection.global_effects : Which columns matter, as numbers.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.linear_model import LogisticRegression
    >>> from locallin import LLSVMClassifier
    >>> from locallin.report import compare
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> local = LLSVMClassifier(random_state=0).fit(X[:200], y[:200])
    >>> line = LogisticRegression().fit(X[:200], y[:200])
    >>> page = compare(line, local, X[200:], y[200:], title="Bent or straight")
    >>> "<h1>Bent or straight</h1>" in page
    True
    """
    content, _ = build_comparison(
        (first, second),
        (X, X),
        y,
        names=names,
        feature_names=feature_names,
        rows=rows,
        title=title,
        random_state=random_state,
        verbose=verbose,
    )
    if path is not None:
        with replacing(path) as file:
            file.write_text(content, encoding="utf-8")
    return Report(content, path)


def build_comparison(
    estimators,
    tables,
    y=None,
    *,
    names=None,
    feature_names=None,
    rows: int | None = 50,
    title: str | None = None,
    random_state=0,
    row_names: list[str] | None = None,
    first_row: int = 0,
    verbose: int = 0,
) -> tuple[str, Comparison]:
    """The page and its data; ``tables`` are the rows as each model takes them."""
    check_count("rows", rows)
    if names is None:
        names = [type(estimator).__name__ for estimator in estimators]
    names = [plain(name) for name in names]
    if len(names) != 2:
        raise ValueError(f"names={names!r}: give one for each of the two models.")
    if names[0] == names[1]:
        names = [f"{names[0]} (first)", f"{names[1]} (second)"]
    steps, parts = Steps("compare", _N_PARTS, verbose), count()
    data = compared(
        estimators,
        tables,
        y,
        names=names,
        feature_names=feature_names,
        random_state=random_state,
        row_names=row_names,
        first_row=first_row,
        say=lambda part: steps.step(next(parts), part),
    )
    steps.step(next(parts), "setting them side by side")
    title = f"{names[0]} and {names[1]}" if title is None else title
    content = comparison_page(data, title, rows, feature_names)
    steps.step(_N_PARTS, f"the page has {len(content) / 1000:,.0f} kB")
    return content, data
