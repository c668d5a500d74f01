"""The mean of several classifiers, which is again linear around every point."""

from copy import deepcopy

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from locallin.engine.invariants import Array, Number, Rule, Text
from locallin.engine.sklearn_api import check_sample_weight, unchanged_on_error
from locallin.methods.base import (
    ScoringClassifier,
    encode_classes,
    weights_of_classes,
)
from locallin.methods.calibration import calibration_of, draw_folds
from locallin.methods.dullsvm import DULLSVMClassifier
from locallin.methods.links import PROBABLE, Link
from locallin.methods.members import Ensemble


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
