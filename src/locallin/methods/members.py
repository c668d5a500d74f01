"""The skeleton of ensembles: fitted members, and the mean of what they say."""

import warnings
from collections.abc import Callable, Iterable
from functools import reduce
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from locallin.engine.input import checked_data
from locallin.engine.invariants import Bindings, Rule
from locallin.engine.scales import FeatureScaleWarning, warn_of_scales
from locallin.engine.sklearn_api import (
    HasMethods,
    Interval,
    check_sample_weight,
    validate_parameters,
)
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
