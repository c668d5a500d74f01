"""A model on a data set, as a page for a browser."""

from __future__ import annotations

import os

from locallin.engine.files import replacing
from locallin.inspection.unwrap import check_count
from locallin.report._data import ReportData, collect
from locallin.report._page import page


def report(
    estimator,
    X,
    y=None,
    *,
    path: str | os.PathLike | None = None,
    feature_names=None,
    rows: int | None = 50,
    title: str | None = None,
    random_state=0,
) -> str:
    """Write a page about a fitted model and what it does on a data set.

    The page holds what the model is, its accuracy and confusions, its local models,
    explanations of single rows to choose from, and the course of training. It is one
    file that loads nothing else, so it can be sent and archived. The same call
    gives the same page.

    Parameters
    ----------
    estimator : classifier
        A fitted classifier of the library, or a fitted pipeline or search that ends
        in one. The RBF kernel of ``AtlasClassifier`` and one-vs-one votes have no
        local weights: the page then has no explanations, and says why.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows, as ``estimator.predict`` takes them; better not those of the training.
    y : array-like of shape (n_samples,), default=None
        Their classes. None leaves accuracy and confusions out. For
        ``AtlasClassifier``, -1 is no label, as in ``fit``.
    path : str or path, default=None
        File to write to. It is replaced when the page is finished, not before.
    feature_names : sequence of str, default=None
        Names of the features that the local models see; see
        :func:`locallin.inspection.explain`.
    rows : int or None, default=50
        Largest number of rows that are explained: wrong ones, the least and the most
        confident, and others at random. None explains all.
    title : str, default=None
        Heading of the page. None names the classifier.
    random_state : int, RandomState instance or None, default=0
        Seed of the rows that are drawn: some of those explained, and those for the
        table of local models where X is large.

    Returns
    -------
    str
        The page.

    See Also
    --------
    locallin.inspection.explain : The contributions, as numbers.
    locallin.inspection.regions : The table of local models.
    locallin.inspection.counterfactual : What would change a decision.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from locallin import LLSVMClassifier
    >>> from locallin.report import report
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> clf = LLSVMClassifier(random_state=0).fit(X[:200], y[:200])
    >>> html = report(clf, X[200:], y[200:], title="Two moons")
    >>> html.splitlines()[0], "<h1>Two moons</h1>" in html
    ('<!doctype html>', True)
    """
    content, _ = build_report(
        estimator,
        X,
        y,
        feature_names=feature_names,
        rows=rows,
        title=title,
        random_state=random_state,
    )
    if path is not None:
        with replacing(path) as file:
            file.write_text(content, encoding="utf-8")
    return content


def build_report(
    estimator,
    X,
    y=None,
    *,
    feature_names=None,
    rows: int | None = 50,
    title: str | None = None,
    random_state=0,
    first_row: int = 0,
) -> tuple[str, ReportData]:
    """The page and its data; the first row of X has the number ``first_row``."""
    check_count("rows", rows)
    data = collect(
        estimator,
        X,
        y,
        feature_names=feature_names,
        rows=rows,
        random_state=random_state,
        first_row=first_row,
    )
    if title is None:
        title = f"Report on {type(data.classifier).__name__}"
    return page(data, title), data
