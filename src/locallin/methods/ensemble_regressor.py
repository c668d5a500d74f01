"""The mean of several regressors, which is again linear around every point."""

import numpy as np

from locallin.engine.invariants import count_of
from locallin.engine.sklearn_api import unchanged_on_error
from locallin.methods.dullsvm_regressor import DULLSVMRegressor
from locallin.methods.members import Ensemble
from locallin.methods.regression import ScoringRegressor


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
