"""Codes with local tangents (Yu & Zhang, ICML 2010), as a transformer."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from locallin.coding.base import Coding
from locallin.coding.reconstruction import LCCCoding
from locallin.engine.input import checked_data
from locallin.engine.invariants import (
    INPUT,
    Array,
    CheckedState,
    Number,
    Part,
    Rule,
    axes_of,
)
from locallin.engine.matrix import as_rows, products
from locallin.engine.sklearn_api import (
    Interval,
    StrOptions,
    check_sample_weight,
    check_sparse_output,
    unchanged_on_error,
    validate_parameters,
)
from locallin.kernels.products import row_products
from locallin.kernels.rows import Codes


class LocalTangents(
    CheckedState, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Local coordinates, and beside each the row's place along the anchor's tangents.

    A coding alone makes a function constant around each anchor; with the tangents u of
    the data there, a linear machine on these features is linear along them ([1]_)::

        phi(x) = [ s g_j(x),  g_j(x) U_j (x - c_j) ]  for every anchor j

    where g is any coding, and c_j and U_j are the mean and the leading principal
    directions of the rows whose largest weight is on anchor j. Only the anchors that
    speak for a row have entries.

    :class:`~locallin.LLSVMClassifier` with the same coding has a weight for every
    feature in place of the tangents: more than these, in fewer operations where the
    data has few features. Tangents are for many features and many anchors, before
    any linear model.

    Parameters
    ----------
    coding : coding object or None, default=None
        Local coordinates. None is :class:`LCCCoding` with its defaults, as in the
        paper.
    n_components : int, default=8
        Number of tangents of each anchor (d). Fewer where its rows have fewer
        directions: the features of the others are zero.
    scale : float or "auto", default="auto"
        Size of the constants beside the tangents (s). "auto" is the root mean square
        length of ``U_j (x - c_j)`` over the weights, which gives both the same say.
    random_state : int, RandomState instance or None, default=None
        Seed of what is drawn at random. A coding without a seed of its own depends on
        it.

    Attributes
    ----------
    coding_ : coding object
        The fitted coding.
    means_ : ndarray of shape (n_anchors, n_features)
        Means c_j of the anchors' rows; of all rows where an anchor has none.
    tangents_ : ndarray of shape (n_anchors, n_components, n_features)
        Directions U_j, orthonormal or zero.
    scale_ : float
        The size in use.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are strings.

    See Also
    --------
    LCCCoding : The paper's coding.
    locallin.Atlas : Charts that are learned, in place of tangents at anchors.
    locallin.LLSVMClassifier : A weight for every feature at each anchor.

    References
    ----------
    .. [1] Yu and Zhang, Improved Local Coordinate Coding using Local Tangents,
       ICML 2010.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import LinearSVC
    >>> from locallin.coding import LCCCoding, LocalTangents
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> coding = LCCCoding(10, n_neighbors=3, random_state=0)
    >>> clf = make_pipeline(LocalTangents(coding, n_components=1), LinearSVC())
    >>> clf.fit(X, y).score(X, y) > 0.98
    True
    >>> clf[0].transform(X).shape
    (300, 20)
    """

    _parameter_constraints: dict = {
        "coding": [Coding, None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "scale": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "random_state": ["random_state"],
    }

    _fitted_mark = "tangents_"

    def __init__(
        self,
        coding=None,
        *,
        n_components: int = 8,
        scale: float | str = "auto",
        random_state=None,
    ):
        self.coding = coding
        self.n_components = n_components
        self.scale = scale
        self.random_state = random_state

    def _invariants(self) -> dict[str, Rule]:
        shapes: dict[str, tuple] = {"anchors_": ("anchors", "features")}
        if axes_of(self.coding_, "metric_") == 2:
            shapes = {"anchors_": ("anchors", "q"), "metric_": ("q", "features")}
        return {
            **INPUT,
            "coding_": Part(Coding, shapes),
            "means_": Array(("anchors", "features")),
            "tangents_": Array(("anchors", "components", "features")),
            "scale_": Number(above=True),
        }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        n_anchors, d, _ = self.tangents_.shape
        return n_anchors * (1 + d)

    def fit(self, X, y=None, sample_weight=None):
        """Fit the coding, and find the tangents at its anchors.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,), default=None
            Classes, for codings that look at them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        with unchanged_on_error(self):
            validate_parameters(self)
            X = checked_data(self, X, reset=True)
            weights = check_sample_weight(sample_weight, X).astype(float)
            coding = self._new_coding(int(np.count_nonzero(weights)))
            self.coding_ = coding.fit(X, y, sample_weight)
            codes = self.coding_.encode(as_rows(X), self.coding_.n_jobs)
            self.means_, self.tangents_ = local_tangents(
                X, weights, _leading_anchors(codes), *self._shape()
            )
            self.scale_ = 1.0
            features = self._features(X, codes)
            self.scale_ = self._chosen_scale(features, codes, weights)
        return self

    def _new_coding(self, n_rows: int) -> Coding:
        if self.coding is None:
            coding: Any = LCCCoding(min(100, n_rows), n_neighbors=min(10, n_rows))
        else:
            coding = clone(self.coding)
        if coding.random_state is None:
            rng = check_random_state(self.random_state)
            coding.set_params(random_state=rng.randint(np.iinfo(np.int32).max))
        return coding

    def _shape(self) -> tuple[int, int]:
        d = min(int(self.n_components), self.n_features_in_)
        return len(self.coding_.anchors_), d

    def _chosen_scale(self, features, codes: Codes, weights: np.ndarray) -> float:
        if self.scale != "auto":
            return float(self.scale)
        of_rows = np.repeat(weights, np.diff(codes.indptr))
        constants, places = features[:, 0].astype(float), features[:, 1:].astype(float)
        unit = np.abs(places).max() or 1.0
        squares = of_rows @ ((places / unit) ** 2).sum(axis=1)
        return float(unit * np.sqrt(squares / (of_rows @ constants**2))) or 1.0

    def transform(self, X):
        """Codes and tangents of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        CSR matrix of shape (n_samples, n_anchors * (1 + n_components))
            For each anchor in turn the weight, times the scale, and the tangents.
        """
        check_is_fitted(self)
        check_sparse_output(self)
        X = checked_data(self, X, reset=False)
        codes = self.coding_.encode(as_rows(X), self.coding_.n_jobs)
        features = self._features(X, codes)
        width = features.shape[1]
        columns = codes.indices[:, None].astype(np.int64) * width + np.arange(width)
        starts = codes.indptr.astype(np.int64) * width
        shape = X.shape[0], self._n_features_out
        return sparse.csr_matrix((features.ravel(), columns.ravel(), starts), shape)

    def _features(self, X, codes: Codes) -> np.ndarray:
        """Features of each code, of shape (n_codes, 1 + n_components)."""
        d = self.tangents_.shape[1]
        out = np.empty((len(codes.values), 1 + d), X.dtype)
        rows = np.repeat(np.arange(X.shape[0]), np.diff(codes.indptr))
        order = np.argsort(codes.indices, kind="stable")
        bounds = np.searchsorted(codes.indices[order], np.arange(len(self.means_) + 1))
        out[:, 0] = self.scale_
        for j in np.flatnonzero(np.diff(bounds)):
            entries = order[bounds[j] : bounds[j + 1]]
            places = _products(X[rows[entries]], self.tangents_[j])
            out[entries, 1:] = places - self.tangents_[j] @ self.means_[j]
        out *= codes.values[:, None]
        return out


def _products(X, directions: np.ndarray) -> np.ndarray:
    if sparse.issparse(X):
        return products(as_rows(X), directions)
    return row_products(np.ascontiguousarray(X), directions)


def _leading_anchors(codes: Codes) -> np.ndarray:
    """The anchor of the largest weight of each row."""
    starts = codes.indptr[:-1].astype(np.intp)
    largest = np.maximum.reduceat(codes.values, starts)
    is_largest = codes.values == np.repeat(largest, np.diff(codes.indptr))
    places = np.where(is_largest, np.arange(len(codes.values)), len(codes.values))
    return codes.indices[np.minimum.reduceat(places, starts)]


def local_tangents(
    X, weights: np.ndarray, anchors_of_rows: np.ndarray, n_anchors: int, d: int
) -> tuple[np.ndarray, np.ndarray]:
    """Means and principal directions of the rows of each anchor.

    Parameters
    ----------
    X : {ndarray, CSR matrix} of shape (n_rows, n_features)
        Rows.
    weights : ndarray of shape (n_rows,)
        Their weights.
    anchors_of_rows : ndarray of int of shape (n_rows,)
        The anchor that each row belongs to.
    n_anchors, d : int
        Number of anchors, and of directions of each.

    Returns
    -------
    means : ndarray of shape (n_anchors, n_features)
        Weighted means; that of all rows where an anchor has none.
    tangents : ndarray of shape (n_anchors, d, n_features)
        Orthonormal directions, zero beyond the rank of the rows.
    """
    shares = weights / weights.sum()
    means = np.tile(np.asarray(X.T @ shares, float), (n_anchors, 1))
    tangents = np.zeros((n_anchors, d, X.shape[1]))
    for j in range(n_anchors):
        chosen = np.flatnonzero((anchors_of_rows == j) & (weights > 0))
        if not len(chosen):
            continue
        rows = X[chosen].toarray() if sparse.issparse(X) else X[chosen]
        shares = weights[chosen] / weights[chosen].sum()
        means[j] = shares @ rows
        rows = (rows - means[j]) * np.sqrt(shares)[:, None]
        values, found = linalg.svd(rows, full_matrices=False)[1:]
        found = found[:d][values[:d] > 1e-7 * max(np.abs(means[j]).max(), values[0])]
        # The sign is free: let the largest entry decide, for the same model everywhere.
        largest = np.abs(found).argmax(axis=1)[:, None]
        signs = np.sign(np.take_along_axis(found, largest, axis=1))
        tangents[j, : len(found)] = found * signs
    return means.astype(X.dtype), tangents.astype(X.dtype)
