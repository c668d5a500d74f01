"""The skeleton of machines on charts: the atlas, bandwidths, scores, local weights."""

from numbers import Integral, Real
from threading import Event

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from locallin.atlas import Atlas, fitted_charts
from locallin.charts.affine import (
    ChartedRows,
    gamma_rule,
    nearest_rule,
    sample_rows,
)
from locallin.charts.machines import FEATURES, linear_scores, local_models
from locallin.engine.finite import all_finite, finite_results
from locallin.engine.invariants import Number, Part, Rule
from locallin.engine.parallel import single_threaded_blas
from locallin.engine.progress import warn_not_converged
from locallin.engine.sklearn_api import (
    CallbackSupportMixin,
    Interval,
    StrOptions,
    fitted_attributes,
)
from locallin.kernels.linear import ONE_VS_REST, Target, feature_norms
from locallin.kernels.rows import Rows, n_expanded
from locallin.methods.chart_machines import (
    MachineSteps,
    charted_rows,
    machine_invariants,
)
from locallin.methods.skeleton import ScoringEstimator, validated_rows
from locallin.solvers.convex import Problem
from locallin.solvers.kernel_svm import ChartKernel


class ChartedEstimator(CallbackSupportMixin, ScoringEstimator):
    """An estimator whose machines sit on the charts of an atlas.

    A subclass has a constructor with the parameters below, and a ``fit``.
    """

    _parameter_constraints: dict = {
        **ScoringEstimator._parameter_constraints,
        "atlas": [Atlas, FrozenEstimator, None],
        "kernel": [StrOptions({"rbf", *FEATURES})],
        "assignment": [StrOptions({"soft", "hard"})],
        "n_nearest": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "gamma": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "sigma": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "normalize": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
    }

    # Whether rows of the linear kernels, too, have K(x, x) = 1 where they are
    # normalised; weights on charts that add up to one where they have not.
    normalizes_features = True

    # Bandwidth of the RBF kernel for 1000 rows with a label, in units of the
    # coordinates' root mean square norm.
    reach = 2.0

    def _machine_invariants(self, machines: int | str) -> dict[str, Rule]:
        shapes = {
            "means_": ("charts", "features"),
            "components_": ("charts", "components", "features"),
        }
        return {
            "atlas_": Part(Atlas, shapes),
            "n_nearest_": Number(Integral, 1, most="charts"),
            "gamma_": Number(above=True),
            "alpha_": Number(above=True),
            **machine_invariants(self.kernel, machines),
        }

    def _check_choices(self) -> None:
        if self.kernel == "rbf" and self.intercept_scaling != "auto":
            raise ValueError(
                f"intercept_scaling={self.intercept_scaling} is a setting of the "
                "linear kernels; the intercept of kernel='rbf' is free."
            )
        if self.kernel != "rbf" and self.sigma != "auto":
            raise ValueError(
                f"sigma={self.sigma} is a setting of kernel='rbf', but "
                f"kernel={self.kernel!r}."
            )

    def _charts_for(self, X, rng, steps: MachineSteps) -> None:
        seed = rng.randint(np.iinfo(np.int32).max)
        if self.atlas is None:
            atlas = self._usual_atlas(X.shape[1])
            atlas.set_params(n_jobs=self.n_jobs, verbose=self.verbose)
        else:
            atlas = clone(self.atlas)
        if isinstance(atlas, FrozenEstimator):
            self.atlas_ = atlas.estimator
            check_is_fitted(self.atlas_)
            if self.atlas_.n_features_in_ != X.shape[1]:
                raise ValueError(
                    f"X has {X.shape[1]} features, but the atlas was fitted to "
                    f"{self.atlas_.n_features_in_}."
                )
            return
        if atlas.random_state is None:
            atlas.set_params(random_state=seed)
        self.atlas_ = steps.fit_atlas(atlas, X)

    def _usual_atlas(self, n_features: int) -> Atlas:
        """The atlas of rows for which none is given."""
        return Atlas()

    def _choose_bandwidths(self, X, n_labelled, rng) -> None:
        """Set the number of nearest charts, gamma, and sigma or the linear scale."""
        wanted = self.n_nearest
        if self.assignment == "hard" and wanted == "auto":
            wanted = 1
        self.n_nearest_ = nearest_rule(wanted, len(self.atlas_.means_))
        sample = sample_rows(X, rng)
        charts = fitted_charts(self.atlas_, X.dtype)
        nearest, errors = charts.nearest(sample, self.n_nearest_, self.n_jobs)
        self.gamma_ = gamma_rule(errors) if self.gamma == "auto" else self.gamma
        points = charts.coordinates(sample, nearest[:, :1], self.n_jobs)
        scale = float(np.sqrt(np.square(points, dtype=float).sum(axis=-1).mean()))
        scale = scale or 1.0
        if self.kernel == "rbf":
            reach = self.reach * np.clip((1000 / n_labelled) ** 0.25, 0.5, 2.0)
            self.sigma_ = float(reach * scale) if self.sigma == "auto" else self.sigma
        else:
            self.scale_ = scale
            given = self.intercept_scaling
            self.intercept_scaling_ = 1.0 if isinstance(given, str) else given

    def _default_alpha_for(self, squares) -> float:
        """C = 10 where the kernel's diagonal has the given mean."""
        if not isinstance(self.alpha, str):
            return self.alpha
        return 0.1 * (float(np.mean(squares)) or 1.0) / len(squares)

    def _check_lengths(self, charted: ChartedRows) -> None:
        """Refuse a sigma that coordinates are too large for, and choose alpha."""
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.square(charted.coordinates).sum(axis=-1)
        if not all_finite(lengths):
            raise ValueError(
                f"sigma={self.sigma_} is so small that coordinates in units of it "
                f"leave the range of {lengths.dtype}: leave sigma='auto'."
            )
        self.alpha_ = self._default_alpha_for(np.square(charted.weights).sum(axis=1))

    def _keep_support(self, charted: ChartedRows, rows, solutions: list) -> None:
        """Keep what the kernel of a prediction needs of the rows."""
        dtype = charted.weights.dtype
        dual = np.column_stack([s.dual for s in solutions]).astype(dtype)
        support = np.flatnonzero(dual.any(axis=1))
        self.support_ = rows[support]
        self.dual_coef_ = dual[support]
        self.intercept_ = np.array([s.intercept for s in solutions], dtype)
        kernel = ChartKernel.of(charted[support], len(self.atlas_.means_))
        self.support_starts_, self.support_rows_, self.support_points_ = kernel

    def _linear_problem(self, charted: ChartedRows, target: Target, **loss) -> Problem:
        """The convex problem of features that are made of coordinates."""
        kind, codes = FEATURES[self.kernel], charted.codes
        features = Rows(charted.coordinates, kind, None)
        norms = feature_norms(features, codes, self.intercept_scaling_**2)
        self.alpha_ = self._default_alpha_for(norms)
        return Problem(
            rows=features,
            codes=codes,
            target=target,
            visits=np.arange(len(charted)),
            n_anchors=len(self.atlas_.means_),
            n_features=n_expanded(charted.coordinates.shape[2], kind),
            alpha=self.alpha_,
            intercept_scaling=self.intercept_scaling_,
            strategy=ONE_VS_REST,
            n_jobs=self.n_jobs,
            **loss,
        )

    def _end_fit(self, steps: MachineSteps, solutions: list, stop: Event) -> None:
        """Close the progress, and warn of machines that are not done."""
        steps.progress.end(lambda: fitted_attributes(self))
        unfinished = sum(not s.converged for s in solutions)
        if unfinished and not stop.is_set():
            warn_not_converged(
                self,
                "passes",
                f"{unfinished} of {len(solutions)} machines stopped before tol",
                "Raise max_iter, alpha or tol.",
            )

    def _machine_scores(self, X) -> np.ndarray:
        """Scores of all machines."""
        if self.kernel == "rbf":
            kernel = ChartKernel(
                self.support_starts_, self.support_rows_, self.support_points_
            )

            def score(part):
                rows = charted_rows(self, part)
                return kernel.scores(rows, self.dual_coef_) + self.intercept_

        else:

            def score(part):
                model = self.coef_, self.intercept_, FEATURES[self.kernel]
                return linear_scores(charted_rows(self, part), *model)

        with single_threaded_blas():
            return self._in_blocks(X, score)

    def _is_linear(self) -> bool:
        if self.kernel == "rbf":
            raise AttributeError(
                "local_coef and local_intercept need a linear kernel, but kernel='rbf' "
                "has no weights in the data's space."
            )
        return True

    @available_if(lambda self: self._is_linear())
    def local_coef(self, X) -> np.ndarray:
        """Effective weights of each row, exact at the row with its charts held fixed.

        ``decision_function(X)``, or ``linear_predictor(X)`` of a regressor, is
        ``(local_coef(X) * X[:, None]).sum(-1) + local_intercept(X)`` to rounding.
        For the quadratic kernels the weight of a product p_a p_b is shared evenly
        between both coordinates.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_scores, n_features)
            Weights; n_scores is 1 for two classes, and for one target.
        """
        return self._local_part(X, 0)

    @available_if(lambda self: self._is_linear())
    def local_intercept(self, X) -> np.ndarray:
        """Effective intercepts of each row; see ``local_coef``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_scores)
            Intercepts; n_scores is 1 for two classes, and for one target.
        """
        return self._local_part(X, 1)

    def _local_part(self, X, part: int) -> np.ndarray:
        """Effective weights, or intercepts."""
        X = validated_rows(self, X)
        return finite_results(lambda rows: self._local_model(rows)[part], X)

    def _local_model(self, X) -> tuple[np.ndarray, np.ndarray]:
        return local_models(
            charted_rows(self, X, self.n_jobs),
            self.atlas_.means_,
            self.atlas_.components_,
            self.scale_,
            self.coef_,
            self.intercept_,
        )
