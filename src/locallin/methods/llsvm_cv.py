"""LL-SVM that chooses alpha by cross-validation along a warm-started path."""

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import replace
from numbers import Integral

import numpy as np
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import check_array, check_consistent_length

from locallin.engine.progress import Progress
from locallin.engine.sklearn_api import (
    Interval,
    StrOptions,
    check_sample_weight,
    fitted_attributes,
    interruptible,
    with_callbacks,
)
from locallin.methods.alpha import make_fold
from locallin.methods.base import ScoringClassifier, winning_classes
from locallin.methods.calibration import Calibration, calibrate
from locallin.methods.links import PROBABLE
from locallin.methods.llsvm import LLSVMClassifier
from locallin.methods.preparation import FitInput, fit_space
from locallin.methods.skeleton import (
    EpochEstimator,
    FitMonitor,
    take_rows,
    with_model,
)
from locallin.solvers.alpha_path import Fold, solve_path

# The default path, in units of what alpha="scale" would be.
_STRONGEST, _WEAKEST = 100.0, 0.1


class LLSVMClassifierCV(LLSVMClassifier):
    """Locally linear support vector machine that chooses alpha by cross-validation.

    A faster grid search over the alpha of :class:`~locallin.LLSVMClassifier`.
    Anchors, bandwidth, B and local coordinates are computed once, from all rows,
    and shared by all folds; a fold gives its held-out rows a weight of zero, and
    goes from the largest alpha to the smallest, each solve starting from the last.
    The model is then fitted to all rows at the best alpha, as ``LLSVMClassifier``
    would be with the same ``random_state``: it has the same weights, bit for bit.

    Parameters
    ----------
    alphas : int or array-like of shape (n_alphas,), default=10
        The values of alpha to try. A number stands for so many on a log scale, from
        100 times what ``LLSVMClassifier(alpha="scale")`` takes to a tenth of it; 1 is
        that value alone.
    n_anchors : int, "auto" or None, default=None
        Number of anchors (m). See :class:`~locallin.LLSVMClassifier`.
    cv : int, splitter, iterable of index pairs or None, default=None
        The folds, as in scikit-learn; None is 5 stratified ones.
    scoring : str, callable or None, default=None
        What is best: a name or a scorer in scikit-learn's manner. None is accuracy,
        weighted by ``sample_weight``.
    n_neighbors : int or None, default=None
        Number of nearest anchors that speak for a row (k). It is for the codings that
        have it. None is 16 for "soft", 8 for "inverse-distance", at most ``n_anchors``.
    coding : {"adaptive", "soft", "inverse-distance"} or coding object, \
            default="adaptive"
        Local coordinates. "adaptive" is :class:`~locallin.coding.AdaptiveCoding`,
        which chooses the number of neighbours for each row, "soft" is
        :class:`~locallin.coding.SoftAssignmentCoding` with a perplexity of k/2,
        "inverse-distance" the paper's own
        :class:`~locallin.coding.InverseDistanceCoding`. An object of one of these
        classes brings its own anchors and neighbours.
    n_probes : int or None, default=None
        Number of groups of anchors that a row looks at. Its neighbours are the nearest
        among their anchors, found at a cost that grows with the root of ``n_anchors``;
        8 are enough for nearly all that are nearest. None looks at all anchors. Groups
        pay from about 2000 anchors on.
    anchors : {"kmeans", "random", "kmeans-per-class"} or array-like of shape \
            (n_anchors, n_features), default="kmeans"
        Where the anchors come from: see :func:`locallin.anchors.choose_anchors`.
        "kmeans-per-class" looks at the classes of all rows, so that its scores are
        a little optimistic. So does a ``feature_map`` that learns from y.
    local_model : {"linear", "constant"}, default="linear"
        "constant" drops w and keeps b: a linear SVM on the local coordinates.
    feature_map : transformer or None, default=None
        A finite feature map phi; local models see phi(x) in place of x.
    coding_space : {"input", "mapped"}, default="input"
        Whether local coordinates are computed from x or from phi(x).
    loss : {"squared_hinge", "hinge", "logistic"}, default="squared_hinge"
        The loss. "logistic" has ``predict_proba``.
    intercept_scaling : float or "auto", default="auto"
        B, the constant feature behind the intercepts: the larger, the weaker their
        penalty. "auto" is the root mean square norm of the rows.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        One-vs-rest, or the joint loss of Crammer & Singer, for ``loss="hinge"``.
    solver : {"dual", "newton"}, default="dual"
        See :class:`~locallin.LLSVMClassifier`. "newton" is for paths to small alphas,
        where a fold would use up ``max_iter`` with "dual".
    max_iter : int, default=200
        Largest number of passes over the data, or of Newton steps. It holds for each
        fold and alpha. A fold that needs more is scored as it stands.
    tol : float or None, default=1e-2
        Duality gap, relative to the objective, at which a solve ends. None makes
        all ``max_iter`` passes.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with ``sample_weight``. They weigh in the
        objective only. "balanced" counts the classes of all rows.
    n_jobs : int or None, default=None
        Number of threads. They share the folds in cross-validation, the scores in the
        last solve and the rows when predicting. The result is the same for any number.
    random_state : int, RandomState instance or None, default=None
        Seed of what is drawn at random. Anchors and order of visits depend on it.
    verbose : int, default=0
        How much is printed. 1 is a bar in terminals and notebooks and elsewhere
        a line per alpha, and one per epoch of the last solve, 2 is lines everywhere.

    Attributes
    ----------
    alpha_ : float
        The best alpha: the largest whose mean score no other exceeds.
    alphas_ : ndarray of shape (n_alphas,)
        The values tried, from the largest to the smallest.
    scores_ : ndarray of shape (n_alphas, n_folds)
        Scores of the held-out rows.
    best_score_ : float
        Mean score at ``alpha_``.
    path_iterations_ : ndarray of shape (n_alphas, n_folds)
        Passes, or Newton steps, made for each score.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    anchors_ : ndarray of shape (n_anchors, n_features)
        The anchors.
    coef_ : ndarray of shape (n_anchors, n_scores, n_local_features)
        Weights of the local models; n_scores is 1 for two classes.
    intercept_ : ndarray of shape (n_anchors, n_scores)
        Intercepts of the local models.
    coding_ : coding object
        The fitted coding.
    feature_map_ : transformer or None
        The fitted feature map.
    intercept_scaling_ : float
        The value in use.
    proba_scale_, proba_offset_ : float and ndarray of shape (n_classes,)
        What ``predict_proba`` is made with: of scores times the scale, with the offset
        added to their logarithms. From the held-out rows at ``alpha_``, unless
        ``loss="logistic"`` has probabilities of its own.
    conformity_, conformity_counts_ : ndarray of shape (n_classes + 1, 500) and \
            (n_classes + 1,)
        What ``predict_set`` goes by: levels of one less the probability of the true
        class, over all held-out rows and those of each class, and their numbers. Not
        there where no rows were held out.
    n_iter_ : int
        Number of passes, or Newton steps, of the last solve, on all rows.
    objective_history_ : ndarray of shape (n_iter_,)
        Objective per epoch of the last solve.
    dual_gap_ : float
        Its duality gap relative to the objective.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are strings.

    See Also
    --------
    LLSVMClassifier : The classifier with a given alpha.
    sklearn.linear_model.LogisticRegressionCV : The same for one linear model.

    Notes
    -----
    The shared anchors have seen the held-out rows, but not their classes.

    When alpha falls, the dual variables start from their last values times a factor
    that maximises the new dual along this ray, for each score on its own. Newton's
    method starts from the last weights, times a factor that minimises the new
    objective.

    Ctrl-C in the last solve stores the weights reached so far. Earlier it takes the
    best alpha of those that all folds have finished, with the mean of the folds'
    weights; the scores of the others are NaN. KeyboardInterrupt is raised in both
    cases, and the estimator is usable. Before an alpha is finished, the estimator
    stays as it was.

    Callbacks of scikit-learn hear of the last solve only.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from locallin import LLSVMClassifierCV
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> clf = LLSVMClassifierCV(random_state=0).fit(X, y)
    >>> clf.scores_.shape
    (10, 5)
    >>> clf.best_score_ > 0.98
    True
    """

    # Options of LLSVMClassifier that the path fixes.
    alpha, t0 = "scale", "auto"
    # Held-out rows are there in any case.
    probability = True

    _parameter_constraints: dict = {
        **{
            name: allowed
            for name, allowed in LLSVMClassifier._parameter_constraints.items()
            if name
            not in {
                "alpha",
                "average",
                "early_stopping",
                "n_iter_no_change",
                "probability",
                "shuffle",
                "t0",
                "validation_fraction",
                "warm_start",
            }
        },
        "alphas": [Interval(Integral, 1, None, closed="left"), "array-like"],
        # Neither of its solvers leaves intercepts without a penalty.
        "intercept_scaling": EpochEstimator._parameter_constraints["intercept_scaling"],
        "solver": [StrOptions({"dual", "newton"})],
        "cv": ["cv_object"],
        "scoring": [str, callable, None],
    }

    def __init__(
        self,
        alphas=10,
        *,
        n_anchors: int | str | None = None,
        cv=None,
        scoring=None,
        n_neighbors: int | None = None,
        coding="adaptive",
        n_probes: int | None = None,
        anchors="kmeans",
        local_model: str = "linear",
        feature_map=None,
        coding_space: str = "input",
        loss: str = "squared_hinge",
        intercept_scaling: float | str = "auto",
        multi_class: str = "ovr",
        solver: str = "dual",
        max_iter: int = 200,
        tol: float | None = 1e-2,
        class_weight=None,
        n_jobs: int | None = None,
        random_state=None,
        verbose: int = 0,
    ):
        self.alphas = alphas
        self.n_anchors = n_anchors
        self.cv = cv
        self.scoring = scoring
        self.n_neighbors = n_neighbors
        self.coding = coding
        self.n_probes = n_probes
        self.anchors = anchors
        self.local_model = local_model
        self.feature_map = feature_map
        self.coding_space = coding_space
        self.loss = loss
        self.intercept_scaling = intercept_scaling
        self.multi_class = multi_class
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X, y, sample_weight=None, *, groups=None):
        """Choose alpha and fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data. float32 and float64 are used as they are.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the objective, in the choice of anchors and in
            the scores; a scorer must then take them. A weight of 0 is the same as
            leaving the row out, also for the splitter.
        groups : array-like of shape (n_samples,), default=None
            Groups of the rows, for splitters that keep groups together.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        with interruptible(self) as run:
            given = take_rows(self, X, y, sample_weight, (None, None, None))
            run.interrupted = self._fit(given, sample_weight, groups)
        return self

    def _is_stream_method(self) -> bool:
        raise AttributeError(
            "partial_fit has no cross-validation, which needs all rows at once: use "
            "LLSVMClassifier(solver='sgd')."
        )

    def _fit(self, given: FitInput, sample_weight=None, groups=None) -> bool:
        pairs = self._splits(given.X, given.y, given.weights, groups)
        scorer = self._scorer(given, weighted=sample_weight is not None)
        rows = fit_space(self, given)
        self.alphas_ = self._path_alphas()
        problem = self._convex_problem(rows)
        # Two classes of Crammer & Singer take half of alpha.
        problem = replace(problem, alpha=problem.alpha / self.alpha_)
        given_weights = check_sample_weight(sample_weight, given.X).astype(float)
        alone = replace(problem, n_jobs=1)
        folds = [
            make_fold(self, alone, rows.views, given, given_weights, train, held)
            for train, held in pairs
        ]
        progress = Progress(self, len(self.alphas_) + 1, given.X, given.y)
        kept: dict[float, dict] = {}  # held-out scores, labels and weights of folds

        def score(fold, solution, alpha):
            scores = self._held_out_scores(fold.held.rows, *solution.learned)
            held = scores, fold.held.labels, fold.held.weights
            kept.setdefault(alpha, {})[id(fold)] = held
            return scorer(fold, held, solution, alpha)

        path = self._solve_path(folds, score, kept, given.rng, progress)
        self.alpha_ = float(self.alphas_[path.best])
        best = kept[self.alphas_[path.best]]
        found = self._calibration(given, [best[id(fold)] for fold in folds])
        self._set_calibration(found, given.class_weights)
        self.scores_, self.path_iterations_ = path.scores, path.iterations
        self.best_score_ = float(path.scores[path.best].mean())
        if path.interrupted:
            self._set(self._learned_attributes(*path.mean))
            self.n_iter_, self.objective_history_ = 0, np.empty(0)
            self.dual_gap_ = np.inf
            return True
        problem = replace(problem, alpha=problem.alpha * self.alpha_)
        interrupted = self._fit_all(problem, given)
        progress.end(lambda: fitted_attributes(self))
        return interrupted

    def _fit_holding_out(self, X, y, weights, folds: list[np.ndarray]) -> np.ndarray:
        # Its own folds choose alpha: it cannot go on from a fit without some rows.
        return ScoringClassifier._fit_holding_out(self, X, y, weights, folds)

    def _no_sets(self) -> str:
        return (
            f"LLSVMClassifierCV(loss={self.loss!r}) has no predict_set: fit with a "
            "margin loss, whose held-out scores are calibrated."
        )

    def _calibration(self, given: FitInput, held: list) -> Calibration | None:
        """What held-out rows say of probabilities, where the loss has none."""
        if self.loss in PROBABLE:
            return None
        scores, labels, weights = map(np.concatenate, zip(*held, strict=True))
        if given.class_weights is not None:
            weights = weights * given.class_weights[labels]
        return calibrate(given, scores, labels, weights)

    def _solve_path(self, folds: list[Fold], scorer, kept, rng, progress: Progress):
        """Scores of all folds at all alphas; KeyboardInterrupt if there are none.

        In ``kept`` stays what belongs to the best alpha.
        """
        n = len(self.alphas_)

        def report(i, path):
            for alpha in self.alphas_[: i + 1]:
                if alpha != self.alphas_[path.best]:
                    kept.pop(alpha, None)
            text = (
                f"alpha {i + 1}/{n} = {self.alphas_[i]:.3g}: score "
                f"{path.scores[i].mean():.4f}, {path.iterations[i].sum()} epochs"
            )
            progress.step(i + 1, text, lambda: self._learned_attributes(*path.mean))

        path = solve_path(
            folds,
            self.alphas_,
            scorer,
            solver=self.solver,
            max_iter=self.max_iter,
            tol=self.tol,
            # Of a copy: the last solve draws what LLSVMClassifier would.
            seeds=deepcopy(rng).randint(np.iinfo(np.int32).max, size=len(folds)),
            n_jobs=self.n_jobs,
            report=report,
        )
        if path.best is None:
            raise KeyboardInterrupt
        return path

    def _fit_all(self, problem, given: FitInput) -> bool:
        """Solve on all rows at the chosen alpha."""
        monitor = FitMonitor(self, given, callbacks=False)
        solution = self._solve(problem, given, monitor)
        remedy = (
            f"That is at the chosen alpha={self.alpha_:.3g}. Raise max_iter or tol, "
            "scale the features, or leave out the smallest alphas."
        )
        monitor.finish(solution, remedy)
        return solution.interrupted

    def _growing_model(self):
        names = LLSVMClassifier().get_params()
        shared = {k: v for k, v in self.get_params().items() if k in names}
        return LLSVMClassifier(**shared)

    def _path_alphas(self) -> np.ndarray:
        """The values to try, from the largest to the smallest."""
        if isinstance(self.alphas, Integral):
            if self.alphas == 1:
                return np.array([self.alpha_])
            return self.alpha_ * np.geomspace(_STRONGEST, _WEAKEST, self.alphas)
        alphas = check_array(
            self.alphas, ensure_2d=False, dtype=float, input_name="alphas"
        )
        if alphas.ndim != 1 or not (alphas > 0).all():
            raise ValueError(
                f"alphas={self.alphas!r} must be a number of values, or a list of "
                "values above 0."
            )
        return np.unique(alphas)[::-1]

    def _splits(self, X, y, weights, groups) -> list[tuple[np.ndarray, np.ndarray]]:
        """Rows to train on and rows to hold out, all of positive weight."""
        check_consistent_length(X, groups)
        # Index pairs count all rows; a splitter does not see rows of weight 0.
        rows = np.arange(len(y))
        if not isinstance(self.cv, Iterable):
            rows = np.flatnonzero(weights)
        groups = None if groups is None else np.asarray(groups)[rows]
        splitter = check_cv(self.cv, y[rows], classifier=True)
        pairs = []
        for number, pair in enumerate(splitter.split(X[rows], y[rows], groups)):
            train, held = (rows[part] for part in pair)
            train, held = train[weights[train] > 0], held[weights[held] > 0]
            if len(np.unique(y[train])) < 2 or not len(held):
                raise ValueError(
                    f"cv={self.cv!r} gives fold {number} {len(train)} rows of "
                    f"{len(np.unique(y[train]))} classes to train on and {len(held)} "
                    "rows to hold out: it needs two classes, and one row."
                )
            pairs.append((train, held))
        if not pairs:
            raise ValueError(f"cv={self.cv!r} has no folds: give at least one.")
        return pairs

    def _scorer(self, given: FitInput, weighted: bool):
        """A function of a fold, its held-out scores, its solution and alpha.

        Scorers of probabilities see each fold's calibrated ones, where the loss has
        none of its own.
        """
        if self.scoring is None:

            def accuracy(fold, held, *_):
                scores, labels, weights = held
                return np.average(winning_classes(scores) == labels, weights=weights)

            return accuracy
        scorer = check_scoring(self, self.scoring)

        def score(fold, held, solution, alpha):
            model = with_model(self, *solution.learned)
            vars(model).pop("feature_names_in_", None)  # fold.X has none
            model.alpha_, model.n_jobs = alpha, 1
            model._set_calibration(
                self._calibration(given, [held]), given.class_weights
            )
            extra = {"sample_weight": fold.held.weights} if weighted else {}
            value = scorer(model, fold.X, fold.y, **extra)
            if np.isnan(value):
                raise ValueError(
                    f"scoring={self.scoring!r} is NaN for {len(fold.y)} held-out rows "
                    f"at alpha={alpha:.3g}: choose another scoring or cv."
                )
            return value

        return score
