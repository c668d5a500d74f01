"""The skeleton of estimators that take tables, and choose their settings."""

from math import inf
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import (
    assert_all_finite,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from locallin.engine.input import checked_data
from locallin.engine.invariants import CheckedState
from locallin.engine.progress import tell
from locallin.engine.sklearn_api import (
    HasMethods,
    Interval,
    StrOptions,
)
from locallin.methods.choosing import Choosing, TrainingRows, Trial, fit_choice


class TableEstimator(CheckedState, BaseEstimator):
    """An encoder, and the mean of local models whose settings held-out rows choose.

    A subclass has a constructor with the parameters below.
    """

    _parameter_constraints: dict = {
        "effort": [Interval(Integral, 0, 2, closed="both")],
        "n_members": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "encoder": [HasMethods(["fit", "transform"]), None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    _fitted_mark = "model_"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.encoder is None
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def _take(self, X, y, **more) -> tuple[Any, np.ndarray]:
        """X and y, checked but for what the encoder checks.

        ``more`` are further arguments of scikit-learn's check of y.
        """
        name = type(self).__name__
        if sparse.issparse(X) and self.encoder is None:
            X, y = checked_data(self, X, y, reset=True, **more)
        elif y is None:
            raise ValueError(
                f"{name} requires y to be passed, but the target y is None."
            )
        y = self._target_array(y)
        assert_all_finite(y, input_name="y")
        check_consistent_length(X, y)
        if not len(y):
            raise ValueError(f"Found array with 0 sample(s): {name} needs rows.")
        return X, y

    def _target_array(self, y) -> np.ndarray:
        raise NotImplementedError

    def _fit_table(
        self, X, y, task, weights, groups, began: float
    ) -> tuple[Choosing, Trial | None]:
        """Choose settings, and fit encoder and members to all rows.

        Returns the search, and the trial of what was chosen if there was one.
        """
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        if groups is not None:
            check_consistent_length(X, groups)
            groups = np.unique(column_or_1d(groups), return_inverse=True)[1]
        rows = TrainingRows(X, y, task, weights, seed, groups)
        deadline = inf if self.time_limit is None else began + self.time_limit
        wanted = None if self.n_members == "auto" else int(self.n_members)
        choosing = Choosing(rows, self.encoder, self.effort, deadline, self.n_jobs)
        chosen, n_members, best = choosing.run(self._tell, wanted)
        self.search_path_ = [trial.as_dict() for trial in choosing.trials]
        self.chosen_ = chosen.as_dict()
        members = f"{n_members} model{'s' * (n_members > 1)}"
        tell(f"{type(self).__name__}: fits {members} to all rows", self.verbose)
        self.encoder_, self.model_ = fit_choice(
            rows, chosen, self.encoder, n_members, self.n_jobs, deadline
        )
        self._name_columns()
        return choosing, best

    def _name_columns(self) -> None:
        first: Any = self.model_ if self.encoder_ is None else self.encoder_
        self.n_features_in_ = first.n_features_in_
        name = "feature_names_in_"
        if hasattr(self, name):
            delattr(self, name)
        if hasattr(first, name):
            setattr(self, name, getattr(first, name))

    def _tell(self, trial: Trial) -> None:
        def line() -> str:
            settings = _in_words(trial.choice.as_dict())
            return (
                f"{type(self).__name__}: {settings}: {_in_words(trial.figures)}, "
                f"{trial.seconds:.1f} s"
            )

        tell(line, self.verbose)

    def to_pipeline(self) -> Pipeline:
        """The fitted steps: the encoder, if there is one, and the model.

        Returns
        -------
        Pipeline
            Predicts the same scores; explanations and exports go through it.
        """
        check_is_fitted(self)
        steps: list[tuple[str, Any]] = [("model", self.model_)]
        if self.encoder_ is not None:
            steps.insert(0, ("encoder", self.encoder_))
        return Pipeline(steps)

    def _encode(self, X):
        check_is_fitted(self)
        return X if self.encoder_ is None else self.encoder_.transform(X)

    def local_coef(self, X) -> np.ndarray:
        """Effective weights of each row, on what the encoder makes of it.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_scores, n_features_out)
            Weights; n_scores is 1 for two classes, and for one target. What they are
            weights of is told by ``encoder_.get_feature_names_out()``.
        """
        encoded = self._encode(X)
        return self.model_.local_coef(encoded)

    def local_intercept(self, X) -> np.ndarray:
        """Effective intercepts of each row.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_scores)
            Intercepts; n_scores is 1 for two classes, and for one target.
        """
        encoded = self._encode(X)
        return self.model_.local_intercept(encoded)


def _in_words(values: dict[str, Any]) -> str:
    return ", ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value!r}"
        for name, value in values.items()
    )
