"""Locally linear support vector machine (Ladicky & Torr, ICML 2011)."""

from inspect import signature
from numbers import Integral, Real

import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.extmath import row_norms
from sklearn.utils.metaestimators import available_if

from locallin._base import LocallyLinearClassifier
from locallin._matrix import as_rows
from locallin._sklearn import (
    HasMethods,
    Interval,
    StrOptions,
    unchanged_on_error,
    validate_parameters,
    with_callbacks,
)
from locallin._solvers import Problem, solve_dual, solve_sgd
from locallin._training import HeldOut, Watch
from locallin.coding import InverseDistanceCoding, SoftAssignmentCoding, _Coding
from locallin.kernels.linear import CRAMMER_SINGER, ONE_VS_REST, Target
from locallin.kernels.losses import LOSSES

_CODINGS = {"inverse-distance": InverseDistanceCoding, "soft": SoftAssignmentCoding}


class LLSVMClassifier(LocallyLinearClassifier):
    """Locally linear support vector machine."""

    _parameter_constraints: dict = {
        "n_anchors": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "coding": [StrOptions(set(_CODINGS)), _Coding],
        "anchors": [
            StrOptions({"kmeans", "random", "kmeans-per-class"}),
            "array-like",
        ],
        "local_model": [StrOptions({"linear", "constant"})],
        "feature_map": [HasMethods(["fit", "transform"]), None],
        "coding_space": [StrOptions({"input", "mapped"})],
        "loss": [StrOptions(set(LOSSES))],
        "alpha": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "multi_class": [StrOptions({"ovr", "crammer_singer"})],
        "solver": [StrOptions({"dual", "sgd"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "t0": [Interval(Real, 2, None, closed="left"), StrOptions({"auto"})],
        "average": ["boolean"],
        "shuffle": ["boolean"],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_anchors: int | str = "auto",
        *,
        n_neighbors: int | None = None,
        coding="soft",
        anchors="kmeans",
        local_model: str = "linear",
        feature_map=None,
        coding_space: str = "input",
        loss: str = "squared_hinge",
        alpha: float | str = "auto",
        intercept_scaling: float = 1.0,
        multi_class: str = "ovr",
        solver: str = "dual",
        max_iter: int = 100,
        tol: float | None = 1e-2,
        t0: float | str = "auto",
        average: bool = True,
        shuffle: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight=None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state=None,
        verbose: int = 0,
    ):
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.coding = coding
        self.anchors = anchors
        self.local_model = local_model
        self.feature_map = feature_map
        self.coding_space = coding_space
        self.loss = loss
        self.alpha = alpha
        self.intercept_scaling = intercept_scaling
        self.multi_class = multi_class
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.t0 = t0
        self.average = average
        self.shuffle = shuffle
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(
        self,
        X,
        y,
        sample_weight=None,
        *,
        X_val=None,
        y_val=None,
        sample_weight_val=None,
    ):
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data. float32 and float64 are used as they are.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the objective and in the choice of anchors. A
            weight of 0 is the same as leaving the row out.
        X_val : {array-like, sparse matrix} of shape (n_val, n_features), default=None
            Rows to watch for early stopping, in place of a fraction of X.
        y_val : array-like of shape (n_val,), default=None
            Their classes.
        sample_weight_val : array-like of shape (n_val,), default=None
            Their weights in the accuracy.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        with unchanged_on_error(self):
            interrupted = self._fit(
                X, y, sample_weight, (X_val, y_val, sample_weight_val)
            )
        if interrupted:
            raise KeyboardInterrupt
        return self

    def _fit(self, X, y, sample_weight, validation) -> bool:
        validate_parameters(self)
        self._check_choices()
        refit = self.warm_start and hasattr(self, "coef_")
        X, y = self._validate(X, y, reset=not refit)
        encoded = self._encode_classes(y, self.classes_ if refit else None)
        weights = self._row_weights(X, encoded, sample_weight)
        rng = check_random_state(self.random_state)
        validation = self._validation_rows(X, encoded, weights, validation, rng)
        features = self._fit_maps(X, encoded, weights, rng, refit)
        problem = self._problem(X, features, encoded, weights)
        watch = Watch(self, validation and self._held_out(*validation), X, y)
        if self.solver == "sgd":
            start = problem.zeros()
            if refit:
                start = self.coef_.copy(), self.intercept_.copy()
            solution = solve_sgd(
                problem,
                start,
                max_iter=self.max_iter,
                tol=None if self.early_stopping else self.tol,
                n_iter_no_change=self.n_iter_no_change,
                average=self.average,
                shuffle=self.shuffle,
                rng=rng,
                clock=(0.0, None if self.t0 == "auto" else self.t0),
                monitor=watch,
            )
            self.t_, self.t0_ = solution.clock
        else:
            dual = getattr(self, "_dual", None) if refit else None
            solution = solve_dual(
                problem,
                max_iter=self.max_iter,
                tol=self.tol or 0.0,
                rng=rng,
                dual=dual,
                monitor=watch,
            )
            self.dual_gap_ = solution.gap
            if self.warm_start:
                self._dual = solution.dual
        vars(self).pop("_iterate", None)
        vars(self).update(watch.finish(solution))
        return solution.interrupted

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Take one pass of SGD over a block of a stream.

        The first call chooses the anchors, the bandwidth, the first step and, with
        ``alpha="auto"``, alpha from its block: make it a large one, or pass
        ``anchors`` as an array. Needs ``solver="sgd"``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            A block of rows.
        y : array-like of shape (n_samples,)
            Their classes; a block need not contain all of them.
        classes : array-like of shape (n_classes,), default=None
            All classes of the stream. Needed in the first call only.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, taken as they are.

        Returns
        -------
        self : object
            The classifier.
        """
        with unchanged_on_error(self):
            interrupted = self._partial_fit(X, y, classes, sample_weight)
        if interrupted:
            raise KeyboardInterrupt
        return self

    def _partial_fit(self, X, y, classes, sample_weight) -> bool:
        validate_parameters(self)
        self._check_choices()
        self._check_stream()
        begun = hasattr(self, "coef_")
        known = self._stream_classes(classes, self.classes_ if begun else None)
        X, y = self._validate(X, y, reset=not begun)
        encoded = self._encode_classes(y, known)
        weights = self._row_weights(X, encoded, sample_weight)
        rng = check_random_state(self.random_state)
        features = self._fit_maps(X, encoded, weights, rng, begun)
        problem = self._problem(X, features, encoded, weights, stream=True)
        mean = None
        start = problem.zeros()
        if begun:
            mean = self.coef_.copy(), self.intercept_.copy()
            start = getattr(self, "_iterate", mean)
            start = tuple(a.copy() for a in start)
        solution = solve_sgd(
            problem,
            start,
            max_iter=1,
            tol=None,
            n_iter_no_change=1,
            average=self.average,
            shuffle=self.shuffle,
            rng=rng,
            clock=(
                getattr(self, "t_", 0.0),
                getattr(self, "t0_", None if self.t0 == "auto" else self.t0),
            ),
            mean=mean if self.average else None,
        )
        self.t_, self.t0_ = solution.clock
        self.coef_, self.intercept_ = solution.coef, solution.intercept
        if self.average:
            self._iterate = solution.iterate
        self.n_iter_ = getattr(self, "n_iter_", 0) + 1
        self.objective_history_ = np.append(
            getattr(self, "objective_history_", []), solution.objective_history
        )
        return solution.interrupted

    def _check_choices(self) -> None:
        """Refuse arguments that are valid alone but not together."""
        if self.multi_class == "crammer_singer":
            allowed = {"dual": ("hinge",), "sgd": ("hinge", "squared_hinge")}
            if self.loss not in allowed[self.solver]:
                raise ValueError(
                    f"multi_class='crammer_singer' with solver={self.solver!r} has no "
                    f"loss={self.loss!r}: choose one of {allowed[self.solver]}, or "
                    "multi_class='ovr'."
                )
        if self.solver == "dual" and self.t0 != "auto":
            raise ValueError(
                f"t0={self.t0} is a setting of solver='sgd', but solver='dual'."
            )
        if self.coding_space == "mapped" and self.feature_map is None:
            raise ValueError("coding_space='mapped' needs a feature_map.")
        if (
            self.local_model == "constant"
            and self.feature_map is not None
            and self.coding_space == "input"
        ):
            raise ValueError(
                "local_model='constant' does not look at the features: drop "
                "feature_map, or use it for the coding with coding_space='mapped'."
            )
        if not isinstance(self.coding, str):
            for name in ("n_anchors", "n_neighbors", "anchors"):
                default = signature(type(self)).parameters[name].default
                if getattr(self, name) is not default:
                    raise ValueError(
                        f"{name}={getattr(self, name)!r} does not reach a coding that "
                        f"is passed as an object: set it there, as in "
                        f"{type(self.coding).__name__}({name}=...)."
                    )

    def _check_stream(self) -> None:
        if self.solver != "sgd":
            raise ValueError(
                f"partial_fit needs solver='sgd', but solver={self.solver!r}."
            )
        if self.early_stopping:
            raise ValueError("partial_fit does not work with early_stopping=True.")
        if isinstance(self.class_weight, str):
            raise ValueError(
                "class_weight='balanced' needs all rows at once: for partial_fit pass "
                "a dict of weights, e.g. from sklearn.utils.compute_class_weight."
            )

    @staticmethod
    def _stream_classes(classes, known):
        if classes is None:
            if known is None:
                raise ValueError(
                    "classes must be passed to the first call of partial_fit."
                )
            return known
        classes = np.unique(classes)
        if known is not None and not np.array_equal(classes, known):
            raise ValueError(
                f"classes={classes} differs from the first call of partial_fit, "
                f"which had {known}."
            )
        if len(classes) < 2:
            raise ValueError(f"classes={classes} must name at least two classes.")
        return classes

    def _validation_rows(self, X, encoded, weights, given, rng):
        """Rows for early stopping: (X, labels, weights), or None.

        Rows taken from the training data get a training weight of 0 there.
        """
        X_val, y_val, weights_val = given
        if not self.early_stopping:
            if X_val is not None or y_val is not None:
                raise ValueError(
                    "X_val and y_val serve early stopping: set early_stopping=True."
                )
            return None
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val go together: pass both or neither.")
        if X_val is not None:
            X_val, y_val = self._validate(X_val, y_val, reset=False)
            labels = self._encode_classes(y_val, self.classes_)
            return X_val, labels, self._row_weights(X_val, labels, weights_val)
        chosen = train_test_split(
            np.flatnonzero(weights > 0),
            test_size=self.validation_fraction,
            stratify=encoded[weights > 0],
            random_state=rng,
        )[1]
        held_weights = weights[chosen]
        weights[chosen] = 0.0
        return X[chosen], encoded[chosen], held_weights

    def _held_out(self, X, labels, weights) -> HeldOut:
        where, what = self._spaces(X)
        return HeldOut(what, self.coding_._encode(where, self.n_jobs), labels, weights)

    def _fit_maps(self, X, encoded, weights, rng, keep: bool):
        """Fit the feature map and the coding, unless they are to be kept.

        Returns the features that local models see.
        """
        if not keep:
            self.feature_map_ = None
            if self.feature_map is not None:
                self.feature_map_ = clone(self.feature_map).fit(X, encoded)
        features = self._local_features(X)
        if not keep:
            n_seen = int(np.count_nonzero(weights))
            coding = self._new_coding(n_seen, rng)
            where = features if self.coding_space == "mapped" else X
            uniform = n_seen == len(weights) and weights.min() == weights.max()
            coding.fit(where, encoded, None if uniform else weights)
            self.coding_ = coding
            self.alpha_ = self._choose_alpha(features, n_seen)
        return features

    def _new_coding(self, n_rows: int, rng):
        seed = rng.randint(np.iinfo(np.int32).max)
        if not isinstance(self.coding, str):
            coding = clone(self.coding)
            if coding.random_state is None:
                coding.set_params(random_state=seed)
            return coding
        n_anchors = self.n_anchors
        if not isinstance(self.anchors, str):
            given = len(self.anchors)
            if n_anchors not in ("auto", given):
                raise ValueError(
                    f"n_anchors={n_anchors}, but {given} anchors are given: leave "
                    "n_anchors='auto'."
                )
            n_anchors = given
        elif n_anchors == "auto":
            n_anchors = int(np.clip(n_rows // 50, len(self.classes_), 100))
        coding = _CODINGS[self.coding](
            n_anchors, anchors=self.anchors, random_state=seed
        )
        k = self.n_neighbors
        coding.n_neighbors = min(coding.n_neighbors, n_anchors) if k is None else k
        return coding

    def _choose_alpha(self, features, n_rows: int) -> float:
        if self.alpha != "auto":
            return float(self.alpha)
        square = self.intercept_scaling**2
        if features.shape[1]:
            square += float(row_norms(features, squared=True).mean(dtype=float))
        return 0.1 * square / n_rows

    def _problem(self, X, features, encoded, weights, *, stream=False) -> Problem:
        where = features if self.coding_space == "mapped" else X
        two_classes = len(self.classes_) == 2
        crammer_singer = self.multi_class == "crammer_singer"
        positive = np.array([1]) if two_classes else np.arange(len(self.classes_))
        visits = np.flatnonzero(weights > 0)
        present = np.unique(encoded[visits])
        if not stream:
            if len(present) < 2:
                raise ValueError(
                    f"{type(self).__name__} needs rows of at least two classes; the "
                    "rows of positive weight have one class: "
                    f"{self.classes_[present[0]]!r}."
                )
            weights = weights / weights[visits].mean(dtype=float)
        return Problem(
            rows=as_rows(features),
            codes=self.coding_._encode(as_rows(where), self.n_jobs),
            target=Target(encoded, positive, weights.astype(float)),
            visits=visits,
            n_anchors=len(self.coding_.anchors_),
            n_features=features.shape[1],
            # Two classes: w_1 = -w_0 at Crammer & Singer's optimum, which is the
            # binary machine on f = f_1 - f_0 with half the penalty.
            alpha=self.alpha_ / 2 if crammer_singer and two_classes else self.alpha_,
            intercept_scaling=float(self.intercept_scaling),
            loss=LOSSES[self.loss],
            strategy=CRAMMER_SINGER
            if crammer_singer and not two_classes
            else ONE_VS_REST,
            n_jobs=self.n_jobs,
        )

    def _has_probabilities(self) -> bool:
        if self.loss != "logistic":
            raise AttributeError(
                f"predict_proba needs loss='logistic', but loss={self.loss!r}: for "
                "probabilities of a margin loss wrap the classifier in "
                "sklearn.calibration.CalibratedClassifierCV."
            )
        return True

    @available_if(_has_probabilities)
    def predict_proba(self, X) -> np.ndarray:
        """Class probabilities of the rows; needs ``loss="logistic"``.

        One-vs-rest probabilities are scaled to add up to one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of ``classes_``.
        """
        odds = expit(self.decision_function(X))
        if odds.ndim == 1:
            return np.column_stack([1.0 - odds, odds])
        total = odds.sum(axis=1, keepdims=True)
        return np.where(
            total > 0, odds / np.where(total > 0, total, 1), 1 / len(odds.T)
        )

    @available_if(_has_probabilities)
    def predict_log_proba(self, X) -> np.ndarray:
        """Logarithm of ``predict_proba``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Log-probabilities, in the order of ``classes_``.
        """
        return np.log(self.predict_proba(X))
