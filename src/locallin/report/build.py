"""A model on a data set, as a page for a browser."""

from __future__ import annotations

import os
from html import escape
from itertools import count

from locallin.engine.files import replacing
from locallin.engine.progress import Steps
from locallin.inspection.unwrap import check_count
from locallin.report._data import N_PARTS, Evaluation, ReportData, collect
from locallin.report._numbers import NumberEvaluation
from locallin.report._page import page

__all__ = ["Evaluation", "NumberEvaluation", "Report", "build_report", "report"]


class Report(str):
    """A page as a string that notebooks show as a page.

    Parameters
    ----------
    content : str
        The HTML.
    path : str or path, default=None
        The file that holds it.

    Attributes
    ----------
    path : str or None
        The file that holds it.

    See Also
    --------
    report : Makes it.
    locallin.inspection.global_effects : What its first section shows.

    Examples
    --------
    >>> from locallin.report import Report
    >>> Report("<!doctype html>", "page.html")
    <Report page.html, 0.0 KB>
    """

    path: str | None

    def __new__(cls, content: str, path: str | os.PathLike | None = None):
        """Keep the file beside the text."""
        made = super().__new__(cls, content)
        made.path = None if path is None else os.fspath(path)
        return made

    def __getnewargs__(self):
        return str(self), self.path

    def __repr__(self) -> str:
        where = "" if self.path is None else f" {self.path},"
        return f"<Report{where} {len(self.encode()) / 1000:.1f} KB>"

    def _repr_html_(self) -> str:
        return (
            '<iframe title="Report" sandbox="allow-scripts" '
            'style="width:100%;height:44rem;border:1px solid #8888" '
            f'srcdoc="{escape(self)}"></iframe>'
        )


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
    verbose: int = 0,
) -> Report:
    """Write a page about a fitted model and what it does on a data set.

    The page holds which columns matter and what their values do, accuracy and
    confusions (of a regressor errors, residuals and the coverage of its intervals),
    explanations of single rows to choose from, the local models, the course of
    training, and what the model is. It is one file that loads nothing else,
    so it can be sent and archived. The same call gives the same page.

    Parameters
    ----------
    estimator : classifier or regressor
        A fitted one of the library, or one inside of pipelines, searches and
        others, see :func:`locallin.inspection.explain`; a regressor of one target,
        or of several quantiles of it.
        The RBF kernel of
        ``AtlasClassifier`` and one-vs-one votes have no local weights: the page then
        has no explanations, and says why.
    X : {array-like, sparse matrix, frame} of shape (n_samples, n_features)
        Rows, as ``estimator.predict`` takes them; better not those of the training.
        Those of a pandas frame are called by its index.
    y : array-like of shape (n_samples,), default=None
        Their classes, or numbers. None leaves accuracy and confusions out. For
        ``AtlasClassifier``, -1 is no label, as in ``fit``; of numbers NaN is none.
    path : str or path, default=None
        File to write to. It is replaced when the page is finished, not before.
    feature_names : sequence of str, default=None
        Names of the columns of X; see :func:`locallin.inspection.explain`.
    rows : int or None, default=50
        Largest number of rows that are explained: wrong ones, the least and the most
        confident (of numbers those farthest off, lowest and highest), and others at
        random. None explains all.
    title : str, default=None
        Heading of the page. None is "Model report", and the name of y where it has
        one, as a column of a frame.
    random_state : int, RandomState instance or None, default=0
        Seed of the rows that are drawn: some of those explained, and those for the
        table of local models where X is large.
    verbose : int, default=0
        How much is printed. 1 is a bar in terminals and notebooks and elsewhere
        a line per part of the page, 2 is lines everywhere.

    Returns
    -------
    Report
        The page: a string, which a notebook shows as the page itself.

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
        verbose=verbose,
    )
    if path is not None:
        with replacing(path) as file:
            file.write_text(content, encoding="utf-8")
    return Report(content, path)


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
    row_names: list[str] | None = None,
    verbose: int = 0,
) -> tuple[str, ReportData]:
    """The page and its data; the first row of X has the number ``first_row``.

    ``row_names`` are what rows are called; None takes the index of a frame.
    """
    check_count("rows", rows)
    steps, parts = Steps("report", N_PARTS, verbose), count()
    data = collect(
        estimator,
        X,
        y,
        feature_names=feature_names,
        rows=rows,
        random_state=random_state,
        first_row=first_row,
        row_names=row_names,
        say=lambda part: steps.step(next(parts), part),
    )
    if title is None:
        name = getattr(y, "name", None)
        title = "Model report" if name is None else f"Model report: {name}"
    content = page(data, title)
    steps.step(N_PARTS, f"the page has {len(content) / 1000:,.0f} kB")
    return content, data
