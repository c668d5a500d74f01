"""The mean of several models, which is again linear around every point."""

import warnings
from collections.abc import Callable, Iterable
from copy import deepcopy
from functools import reduce
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from locallin.engine.input import checked_data
from locallin.engine.invariants import (
    Array,
    Bindings,
    Number,
    Rule,
    Text,
    count_of,
)
from locallin.engine.scales import FeatureScaleWarning, warn_of_scales
from locallin.engine.sklearn_api import (
    HasMethods,
    Interval,
    check_sample_weight,
    unchanged_on_error,
    validate_parameters,
)
from locallin.methods.base import (
    ScoringClassifier,
    encode_classes,
    weights_of_classes,
)
from locallin.methods.calibration import calibration_of, draw_folds
from locallin.methods.dullsvm import DULLSVMClassifier
from locallin.methods.dullsvm_regressor import DULLSVMRegressor
from locallin.methods.links import PROBABLE, Link
from locallin.methods.regression import ScoringRegressor
from locallin.methods.skeleton import ScoringEstimator, validated_rows


class Members(Rule):
    """Fitted models of a kind, of the same features and classes or targets."""

    def __init__(self, owner: "Ensemble"):
        self._owner = owner

    def check(self, name: str, value: Any, bindings: Bindings) -> None:
        """Refuse other objects, and members that do not fit together."""
        if not isinstance(value, list) or not value:
            bindings.refuse(name, "is no list of members")
        for member in value:
            if not isinstance(member, self._owner._kind):
                bindings.refuse(name, f"holds {type(member).__name__}")
            if not member.__sklearn_is_fitted__():
                bindings.refuse(name, "holds a member that is not fitted")
            if member.n_features_in_ != self._owner.n_features_in_:
                bindings.refuse(name, "holds a member of other features")
            flaw = self._owner._flaw_of(member)
            if flaw:
                bindings.refuse(name, f"holds a member of other {flaw}")


class Ensemble(ScoringEstimator):
    """Mean of the scores of several models that differ in their seed.

    A subclass names the kind of its members and the one it takes by default.
    """

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_members": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    _fitted_mark = "members_"
    _kind: Any
    _usual: type
    _noun: str
    _elsewhere: str
    _y_checks: dict[str, bool] = {}

    def __init__(
        self,
        estimator=None,
        n_members: int = 4,
        *,
        random_state=None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.estimator = estimator
        self.n_members = n_members
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _invariants(self) -> dict[str, Rule]:
        return {**super()._invariants(), "members_": Members(self)}

    def _flaw_of(self, member) -> str:
        """What of a member is another than of the first, in a word."""
        raise NotImplementedError

    def _take(self, X, y, sample_weight) -> tuple:
        """The first member, and checked rows, targets and weights."""
        validate_parameters(self)
        first = self._usual() if self.estimator is None else self.estimator
        if not isinstance(first, self._kind):
            raise TypeError(
                f"estimator={type(first).__name__} is no {self._noun} of locallin: the "
                f"mean of others has no local weights. {self._elsewhere} takes any."
            )
        X, y = checked_data(self, X, y, reset=True, **self._y_checks)
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, X)
        warn_of_scales(self, X)
        return first, X, y, sample_weight

    def _fit_members(self, first, rng, fit: Callable[[Any], Any]) -> list:
        """Members like the first, each fitted by ``fit``."""
        seeds = rng.randint(np.iinfo(np.int32).max, size=int(self.n_members))
        members = [self._new_member(first, int(seed)) for seed in seeds]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FeatureScaleWarning)
            for member in members:
                fit(member)
        return members

    def _fit_all(self, X, y, sample_weight) -> list:
        """Members that have been fitted to all rows, each by itself."""
        first, X, y, weights = self._take(X, y, sample_weight)
        rng = check_random_state(self.random_state)
        return self._fit_members(first, rng, lambda m: m.fit(X, y, weights))

    def _new_member(self, first, seed: int):
        member = clone(first).set_params(random_state=seed)
        if self.n_jobs is not None:
            member.set_params(n_jobs=self.n_jobs)
        if self.verbose:
            member.set_params(verbose=self.verbose)
        return member

    def _factor(self) -> float:
        """What the mean is multiplied with."""
        return 1.0

    def _mean(self, parts: Iterable[np.ndarray]) -> np.ndarray:
        total = reduce(np.add, parts)
        return total * np.asarray(self._factor() / len(self.members_), total.dtype)

    def _scores(self, X) -> np.ndarray:
        return self._mean(
            m._scores(validated_rows(m, X, finite=False)) for m in self.members_
        )

    def local_coef(self, X) -> np.ndarray:
        """Effective weights of each row: the mean of those of the members.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_scores, n_features)
            Weights; n_scores is 1 for two classes, and for one target.
        """
        X = validated_rows(self, X)
        return self._mean(member.local_coef(X) for member in self.members_)

    def local_intercept(self, X) -> np.ndarray:
        """Effective intercepts of each row: the mean of those of the members.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_scores)
            Intercepts; n_scores is 1 for two classes, and for one target.
        """
        X = validated_rows(self, X)
        return self._mean(member.local_intercept(X) for member in self.members_)


class EnsembleClassifier(Ensemble, ScoringClassifier):
    """Mean of the scores of several classifiers that differ in their seed.

    Joint learning ends in somewhat different models for different seeds. Their mean
    makes fewer errors, and is still a weighted sum of the features of a row once its
    local models are held fixed: :meth:`local_coef` is the mean of those of the members.

    Parameters
    ----------
    estimator : classifier or None, default=None
        A classifier of the library with local weights; None is
        :class:`~locallin.DULLSVMClassifier`.
    n_members : int, default=4
        Number of members. The cost of fitting and predicting grows with it.
    probability : bool, default=False
        Whether ``predict_proba`` is calibrated on held-out rows. The same rows are held
        out from all members, a fifth of them, or up to 1,000 rows each row in five
        folds; the mean is calibrated by them, which ``predict_set`` rests on as well,
        and members are not. Otherwise probabilities are those of the members, where
        they have some.
    random_state : int, RandomState instance or None, default=None
        Seed of what is drawn at random. The seeds of the members depend on it.
    n_jobs : int or None, default=None
        Number of threads. The members' own ``n_jobs`` is left as it is where None.
    verbose : int, default=0
        How much is printed. The members print it.

    Attributes
    ----------
    members_ : list of classifiers
        The members.
    scale_ : float
        What the mean is multiplied with: 1, unless it or its members are calibrated.
    proba_offset_ : ndarray of shape (n_classes,)
        What is added to the logarithms of probabilities, to free them of class
        weights or as held-out rows say.
    link_ : str
        How probabilities follow from the scores: "logistic" or "multinomial", else
        there are none.
    conformity_, conformity_counts_ : ndarray of shape (n_classes + 1, 500) and \
            (n_classes + 1,)
        What ``predict_set`` goes by: levels of one less the probability of the true
        class, over all held-out rows and those of each class, and their numbers. Not
        there where no rows were held out.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are strings.

    See Also
    --------
    LocallyLinearClassifier : Chooses settings, and takes the mean of a few members.
    sklearn.ensemble.VotingClassifier : Means of probabilities, of any classifiers.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from locallin import EnsembleClassifier, SAPLClassifier
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> clf = EnsembleClassifier(SAPLClassifier(4), 3, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.98
    True
    >>> clf.local_coef(X).shape
    (400, 1, 2)
    """

    _parameter_constraints: dict = {
        **Ensemble._parameter_constraints,
        "probability": ["boolean"],
    }

    _kind, _usual = ScoringClassifier, DULLSVMClassifier
    _noun, _elsewhere = "classifier", "sklearn.ensemble.VotingClassifier"

    def __init__(
        self,
        estimator=None,
        n_members: int = 4,
        *,
        probability: bool = False,
        random_state=None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        super().__init__(
            estimator,
            n_members,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.probability = probability

    def _invariants(self) -> dict[str, Rule]:
        return {
            **super()._invariants(),
            "scale_": Number(above=True),
            "proba_offset_": Array(("classes",)),
            "link_": Text(),
        }

    def _flaw_of(self, member) -> str:
        same = np.array_equal(member.classes_, self.classes_)
        return "" if same else "classes"

    def _factor(self) -> float:
        return self.scale_

    def fit(self, X, y, sample_weight=None):
        """Fit the members.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        with unchanged_on_error(self):
            if self.probability:
                return self._fit_calibrated(X, y, sample_weight)
            return self.adopt(self._fit_all(X, y, sample_weight))

    def _fit_calibrated(self, X, y, sample_weight) -> "EnsembleClassifier":
        """Fit members that hold out the same rows, and calibrate their mean by them."""
        first, X, y, weights = self._take(X, y, sample_weight)
        weights = check_sample_weight(weights, X)
        classes, labels = encode_classes(y, None, type(self).__name__)
        rng = check_random_state(self.random_state)
        folds = draw_folds(labels, weights, deepcopy(rng))
        scores: list[np.ndarray] = []

        def fit(member) -> None:
            if "probability" in member.get_params():
                member.set_params(probability=False)
            scores.append(member._fit_holding_out(X, y, weights, folds))

        self.adopt(self._fit_members(first, rng, fit), "multinomial")
        held = np.concatenate(folds)
        by_class = weights_of_classes(first.class_weight, classes, labels)
        found = calibration_of(
            self._mean(scores), labels[held], weights[held], by_class, len(classes)
        )
        _, self.scale_, self.proba_offset_ = found.link
        self._set_conformity(found.conformity)
        return self

    def adopt(self, members: list, link: str | None = None) -> "EnsembleClassifier":
        """Take members that have been fitted to the same rows.

        Parameters
        ----------
        members : list of classifiers
            Fitted classifiers of the library.
        link : {"logistic", "multinomial"} or None, default=None
            How probabilities follow from the scores; None is as the members' loss
            says.

        Returns
        -------
        self : object
            The ensemble, fitted.
        """
        self.members_, self.scale_ = members, 1.0
        self.classes_ = members[0].classes_
        self.proba_offset_ = np.zeros(len(self.classes_))
        self.link_ = str(link)
        self._set_conformity(None)
        if link is None and hasattr(members[0], "predict_proba"):
            self._take_links([member.link() for member in members])
        self.n_features_in_ = members[0].n_features_in_
        return self

    def _take_links(self, links: list[Link]) -> None:
        """Those of the members: one kind, and the means of scales and offsets."""
        self.link_ = links[0].kind
        self.scale_ = float(np.exp(np.mean([np.log(link.scale) for link in links])))
        self.proba_offset_ = np.mean([link.offset for link in links], axis=0)

    def link(self) -> Link:
        """How probabilities follow from the scores of a fitted ensemble.

        Returns
        -------
        Link
            Kind and offsets; the scale is in the scores.
        """
        check_is_fitted(self)
        if self.link_ not in PROBABLE:
            raise AttributeError(self._no_probabilities())
        return Link(self.link_, 1.0, self.proba_offset_)

    def _no_probabilities(self) -> str:
        return (
            "EnsembleClassifier has no predict_proba, as its members have none: set "
            "probability=True or give it an estimator with loss='multinomial', and fit "
            "again."
        )

    def _no_sets(self) -> str:
        return (
            "EnsembleClassifier has no predict_set, as no rows were held out from all "
            "of its members: set probability=True and fit again."
        )

    def _has_probabilities(self) -> bool:
        if self.__sklearn_is_fitted__():
            self.link()
            return True
        if not (self.probability or hasattr(self.estimator, "predict_proba")):
            raise AttributeError(self._no_probabilities())
        return True

    @available_if(_has_probabilities)
    def predict_proba(self, X) -> np.ndarray:
        """Class probabilities of the rows, from the mean of the scores.

        They are freed of class weights. With ``probability=True`` they are calibrated
        on held-out rows. Where members are, the mean of their calibrations holds.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of ``classes_``.
        """
        scores = self.decision_function(X)
        return self.link().probabilities(scores)


class EnsembleRegressor(Ensemble, ScoringRegressor):
    """Mean of the predictions of several regressors that differ in their seed.

    Joint learning ends in somewhat different models for different seeds. Their mean is
    nearer to y, and is still a weighted sum of the features of a row once its local
    models are held fixed: :meth:`local_coef` is the mean of those of the members.

    Parameters
    ----------
    estimator : regressor or None, default=None
        A regressor of the library with local weights; None is
        :class:`~locallin.DULLSVMRegressor`.
    n_members : int, default=4
        Number of members. The cost of fitting and predicting grows with it.
    random_state : int, RandomState instance or None, default=None
        Seed of what is drawn at random. The seeds of the members depend on it.
    n_jobs : int or None, default=None
        Number of threads. The members' own ``n_jobs`` is left as it is where None.
    verbose : int, default=0
        How much is printed. The members print it.

    Attributes
    ----------
    members_ : list of regressors
        The members.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are strings.

    See Also
    --------
    LocallyLinearRegressor : Chooses settings, and takes the mean of a few members.
    sklearn.ensemble.VotingRegressor : Means of predictions, of any regressors.

    Examples
    --------
    >>> import numpy as np
    >>> from locallin import EnsembleRegressor, SAPLRegressor
    >>> X = np.random.RandomState(0).uniform(-3, 3, size=(500, 1))
    >>> y = np.sin(2 * X[:, 0])
    >>> reg = EnsembleRegressor(SAPLRegressor(20), 3, random_state=0).fit(X, y)
    >>> reg.score(X, y) > 0.95
    True
    """

    _kind, _usual = ScoringRegressor, DULLSVMRegressor
    _noun, _elsewhere = "regressor", "sklearn.ensemble.VotingRegressor"
    _y_checks = {"multi_output": True, "y_numeric": True}

    @property
    def has_log_link(self) -> bool:
        """Whether scores are logarithms of what is predicted."""
        return self.members_[0].has_log_link

    @property
    def quantile_levels(self) -> np.ndarray | None:
        """Levels of the quantiles that are predicted side by side, if they are."""
        return self.members_[0].quantile_levels

    def _flaw_of(self, member) -> str:
        first = vars(self)["members_"][0]
        if member.has_log_link != first.has_log_link:
            return "links"
        same = number_of_targets(member) == number_of_targets(first)
        return "" if same else "targets"

    def fit(self, X, y, sample_weight=None):
        """Fit the members.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        with unchanged_on_error(self):
            return self.adopt(self._fit_all(X, y, sample_weight))

    def adopt(self, members: list) -> "EnsembleRegressor":
        """Take members that have been fitted to the same rows.

        Parameters
        ----------
        members : list of regressors
            Fitted regressors of the library.

        Returns
        -------
        self : object
            The ensemble, fitted.
        """
        self.members_ = members
        self.n_features_in_ = members[0].n_features_in_
        return self


def number_of_targets(model) -> int:
    """Targets of a fitted regressor."""
    while isinstance(model, Ensemble):
        model = model.members_[0]
    return count_of(model, "target_scale_")


def names_of_targets(model) -> list[str]:
    """Names of what a fitted regressor predicts: targets, or quantiles of one."""
    levels = model.quantile_levels
    if levels is not None:
        return [f"q{level:g}" for level in levels]
    n = number_of_targets(model)
    return ["y"] if n == 1 else [f"y{t}" for t in range(n)]
