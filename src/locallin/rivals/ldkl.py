"""Local deep kernel learning (Jose, Goyal, Aggrwal & Varma, ICML 2013)."""

from numbers import Integral, Real
from typing import Any

import numpy as np

from locallin.engine.invariants import (
    INTERCEPT_SCALING,
    Array,
    Arrays,
    Number,
    Rule,
    count_of,
    number_of_scores,
)
from locallin.engine.sklearn_api import Interval, StrOptions
from locallin.methods.base import EpochClassifier
from locallin.methods.preparation import (
    FitInput,
    Rules,
    choose_scales,
    make_target,
)
from locallin.methods.skeleton import FitMonitor, validated_rows
from locallin.rivals._ldkl_tree import (
    AdamState,
    LDKLProblem,
    Nodes,
    first_table,
    solve_adam,
)

# Rates fall to this share in a stream whose end is not known, to zero elsewhere.
_OPEN_RATE = 0.1
# Fitted attributes of the tree, in the order of its parts.
_MODEL = (
    "coef_",
    "intercept_",
    "gate_coef_",
    "gate_intercept_",
    "split_coef_",
    "split_intercept_",
)


def ldkl_alpha(n_rows: int, n_classes: int) -> float:
    """Alpha for rows of unit norm, times their number."""
    return 0.1


class LDKLClassifier(EpochClassifier):
    """Local deep kernel learning (LDKL): linear machines on the paths of a tree.

    A binary tree sends each row to one leaf. The nodes k on its path, from the root
    to the leaf, each have a linear machine w_k and a gate v_k, and together they make
    the score ([1]_)::

        f(x) = sum_k I_k(x) tanh(sigma v_k . x) w_k . x

    I_k is 1 on the path and 0 elsewhere: a product of ``(1 +- sign(theta_l . x)) / 2``
    over the splits l above k. So a row costs ``2 (depth + 1)`` inner products beside
    those of its splits, however large the tree is, and given the path and the gates
    the score is linear in x.

    ``fit`` minimises::

        alpha/2 |W|^2 + alpha_gate/2 |V|^2 + alpha_split/2 |Theta|^2
            + 1/S sum_i s_i max(0, 1 - y_i f(x_i))

    where s_i are the rows' weights and S their sum, by stochastic steps along the
    gradient. While it learns, ``tanh(s theta . x)`` stands for the sign and s grows;
    at the end the signs are hard.

    The data should be scaled: standardise the features, or, for images and
    histograms, give every row the same norm.

    Parameters
    ----------
    depth : int, default=3
        Depth of the tree (D): it has 2^D leaves and 2^(D + 1) - 1 nodes.
    sigma : float, default=1.0
        Steepness of the gates.
    init : {"kmeans", "random"}, default="kmeans"
        Splits of the first tree. "kmeans" sets two clusters of a node's rows against
        each other, "random" two of its rows.
    loss : {"hinge", "squared_hinge", "logistic"}, default="hinge"
        Loss on the margin. "hinge" is the paper's; "logistic" gives probabilities.
    alpha : float or "auto", default="auto"
        Strength of the penalty (lambda), in the scale of the data. "auto" is
        ``0.1 mean |x|^2 / n``.
    alpha_gate, alpha_split : float or None, default=None
        Strengths of the penalties of gates and splits. None is a tenth of alpha.
    intercept_scaling : float or "auto", default="auto"
        B, the constant feature behind the intercepts: the larger, the weaker their
        penalty. "auto" is the root mean square norm of the rows.
    max_iter : int, default=60
        Largest number of passes over the data.
    learning_rate : float, default=0.1
        First step of Adam, in units of one over the rows' norm. It falls to zero in a
        straight line.
    batch_size : int or "auto", default="auto"
        Rows of a step. "auto" is a twentieth of the rows, from 16 to 256.
    shuffle : bool, default=True
        Whether rows are visited in a new random order in every epoch.
    early_stopping : bool, default=False
        Whether to stop on the accuracy of held-out rows and keep the best model.
    validation_fraction : float, default=0.1
        Fraction of the rows that is held out, unless ``fit`` is given others.
    n_iter_no_change : int, default=5
        Epochs without improvement before stopping.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with ``sample_weight``.
    probability : bool, default=False
        Whether ``predict_proba`` is calibrated on held-out rows. Up to 1,000 rows five
        fits more hold out each row once; of more a fifth is held out from a first fit,
        and a short one to all rows goes on from it.
    warm_start : bool, default=False
        Whether ``fit`` goes on from the last call. It then keeps the tree, and starts
        from its machines and gates.
    n_jobs : int or None, default=None
        Number of threads. Predictions use them; products are the BLAS's.
    random_state : int, RandomState instance or None, default=None
        Seed of what is drawn at random. The first tree and its gates, order of visits
        and held-out rows depend on it.
    verbose : int, default=0
        How much is printed. 1 is a bar in terminals and notebooks and elsewhere
        a line per epoch, 2 is lines everywhere.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    coef_ : ndarray of shape (n_nodes, n_scores, n_features)
        Weights w of the nodes; the children of node k are 2 k + 1 and 2 k + 2.
    intercept_ : ndarray of shape (n_nodes, n_scores)
        Their intercepts.
    gate_coef_, gate_intercept_ : ndarray
        The gates v, in the same shapes.
    split_coef_ : ndarray of shape (n_splits, n_features)
        The splits theta of the nodes above the leaves; the first child is where the
        split is positive.
    split_intercept_ : ndarray of shape (n_splits,)
        Their intercepts.
    alpha_, intercept_scaling_ : float
        The values in use.
    n_iter_ : int
        Number of epochs made.
    objective_history_ : ndarray of shape (n_iter_,)
        Objective per epoch, from the losses met on the way.
    validation_history_ : ndarray of shape (n_iter_,)
        Held-out accuracy per epoch, with ``early_stopping``.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had names that are strings.

    See Also
    --------
    locallin.SAPLClassifier : Local models at anchors that learn.
    locallin.ML3Classifier : Local models that each class chooses for itself.
    locallin.LLSVMClassifier : Local models at fixed anchors, a convex problem.

    Notes
    -----
    Where this departs from the paper: steps are Adam's, from a tree that clusters have
    made; machines, gates and splits have intercepts; with more than two classes all
    scores share the tree, and each has machines and gates of its own, learned one
    against the rest. A tree for each class is
    ``OneVsRestClassifier(LDKLClassifier())``.

    ``partial_fit`` goes on with the clock of the steps: its first call plans
    ``max_iter`` times as many rows as it is given, over which the splits sharpen, and
    after which the tree stays and machines and gates follow the stream.
    ``fit_stream`` plans the whole stream.

    Ctrl-C during ``fit`` stops after the current step, stores the models reached so
    far, and raises KeyboardInterrupt: the estimator is usable.

    References
    ----------
    .. [1] Jose, Goyal, Aggrwal and Varma, Local Deep Kernel Learning for Efficient
       Non-linear SVM Prediction, ICML 2013.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from locallin.rivals import LDKLClassifier
    >>> X, y = make_moons(400, noise=0.1, random_state=0)
    >>> clf = LDKLClassifier(random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.98
    True
    >>> clf.coef_.shape
    (15, 1, 2)
    """

    rules = Rules(alpha=ldkl_alpha)
    _parameter_constraints: dict = {
        **EpochClassifier._parameter_constraints,
        "depth": [Interval(Integral, 1, 12, closed="both")],
        "sigma": [Interval(Real, 0, None, closed="neither")],
        "init": [StrOptions({"kmeans", "random"})],
        "loss": [StrOptions({"hinge", "squared_hinge", "logistic"})],
        "alpha_gate": [Interval(Real, 0, None, closed="left"), None],
        "alpha_split": [Interval(Real, 0, None, closed="left"), None],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "batch_size": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"auto"}),
        ],
    }

    def __init__(
        self,
        depth: int = 3,
        *,
        sigma: float = 1.0,
        init: str = "kmeans",
        loss: str = "hinge",
        alpha: float | str = "auto",
        alpha_gate: float | None = None,
        alpha_split: float | None = None,
        intercept_scaling: float | str = "auto",
        max_iter: int = 60,
        learning_rate: float = 0.1,
        batch_size: int | str = "auto",
        shuffle: bool = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight=None,
        probability: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state=None,
        verbose: int = 0,
    ):
        self.depth = depth
        self.sigma = sigma
        self.init = init
        self.loss = loss
        self.alpha = alpha
        self.alpha_gate = alpha_gate
        self.alpha_split = alpha_split
        self.intercept_scaling = intercept_scaling
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.probability = probability
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _invariants(self) -> dict[str, Rule]:
        scores = number_of_scores(self)
        n_splits = count_of(self, "split_intercept_")
        n_nodes = 2 * n_splits + 1
        by_node = Array((n_nodes, scores, "features"))
        constants = Array((n_nodes, scores))
        moments = 2 * n_nodes * scores + n_splits, ("features", lambda n: n + 1)
        return {
            **super()._invariants(),
            "coef_": by_node,
            "intercept_": constants,
            "gate_coef_": by_node,
            "gate_intercept_": constants,
            "split_coef_": Array((n_splits, "features")),
            "split_intercept_": Array((n_splits,)),
            "alpha_": Number(above=True),
            "intercept_scaling_": INTERCEPT_SCALING,
            "_row_norm": Number(above=True),
            "_learning": Arrays(
                {
                    "t": Array((), "fiu", least=0),
                    "plan": Array((3,), least=0.0),
                    "first": Array(moments),
                    "second": Array(moments, least=0.0, squares=False),
                },
                (("t", "plan", "first", "second"),),
            ),
        }

    def _fit(self, given: FitInput) -> bool:
        problem = self._problem(given)
        start = self._start(problem, given)
        batch = self._rows_of_a_step(len(problem.visits))
        n_steps = self.max_iter * -(-len(problem.visits) // batch)
        state = AdamState.fresh(start, n_steps, given.resume)
        monitor = FitMonitor(self, given)
        solution = solve_adam(
            problem,
            state,
            max_iter=self.max_iter,
            batch_size=batch,
            shuffle=self.shuffle,
            rng=given.rng,
            monitor=monitor,
        )
        monitor.finish(solution)
        self._learning = {}
        return solution.interrupted

    def _begin_stream(self, given: FitInput, epochs: int) -> None:
        """Choose scales and the first tree from a sample, and plan the steps."""
        problem = self._problem(given)
        batch = self._rows_of_a_step(given.n_planned)
        n_steps = epochs * -(-given.n_planned // batch)
        table = self._start(problem, given)
        state = AdamState.fresh(table, n_steps, given.resume)
        self._keep(problem, state, batch)

    def _partial_fit(self, given: FitInput) -> bool:
        problem = self._problem(given)
        carried = self._learning
        if "first" in carried:
            state = AdamState(
                problem.table_of(self._learned()),
                carried["first"],
                carried["second"],
                int(carried["t"]),
                int(carried["plan"][0]),
                bool(carried["plan"][2]),
            )
            batch = int(carried["plan"][1])
        else:
            batch = self._rows_of_a_step(len(problem.visits))
            n_steps = self.max_iter * -(-len(problem.visits) // batch)
            table = self._start(problem, given)
            state = AdamState.fresh(table, n_steps, given.resume)
        solution = solve_adam(
            problem,
            state,
            max_iter=1,
            batch_size=batch,
            shuffle=self.shuffle,
            rng=given.rng,
            last_rate=_OPEN_RATE,
        )
        self._keep(problem, state, batch)
        self.n_iter_ = getattr(self, "n_iter_", 0) + 1
        self.objective_history_ = np.append(
            getattr(self, "objective_history_", []), solution.objective_history
        )
        return solution.interrupted

    def _keep(self, problem: LDKLProblem, state: AdamState, batch: int) -> None:
        """Set the model of a stream, and what its next step needs."""
        self._set(self._learned_attributes(*problem.parts_of(state.table)))
        self._learning = {
            "t": np.asarray(state.step),
            "plan": np.array([state.n_steps, batch, state.keeps_tree], float),
            "first": state.first,
            "second": state.second,
        }

    def _end_stream(self) -> None:
        self._learning = {}  # the plan of Adam has come to its end

    def _problem(self, given: FitInput) -> LDKLProblem:
        target, visits = make_target(self, given)
        if not given.resume:
            scales = choose_scales(self, given.X, given)
            self.alpha_, self.intercept_scaling_, self._row_norm = map(float, scales)
        depth = self.depth
        if given.resume:
            depth = (len(self.split_intercept_) + 1).bit_length() - 1
        lesser = 0.1 * self.alpha_
        return LDKLProblem(
            X=given.X,
            signs=np.where(given.encoded[:, None] == target.positive, 1.0, -1.0),
            weights=target.weights,
            visits=visits,
            n_splits=2**depth - 1,
            sigma=float(self.sigma),
            loss=self.loss,
            alpha=self.alpha_,
            alpha_gate=lesser if self.alpha_gate is None else self.alpha_gate,
            alpha_split=lesser if self.alpha_split is None else self.alpha_split,
            constant=self.intercept_scaling_,
            rate=self.learning_rate / self._row_norm,
        )

    def _start(self, problem: LDKLProblem, given: FitInput) -> np.ndarray:
        if given.resume:
            return problem.table_of(self._learned())
        return first_table(problem, self.init, self._row_norm, given.rng)

    def _rows_of_a_step(self, n_rows: int) -> int:
        if self.batch_size != "auto":
            return int(self.batch_size)
        return int(np.clip(n_rows // 20, 16, 256))

    def _learned(self) -> tuple[np.ndarray, ...]:
        return tuple(self._model_arrays().values())

    def _model_arrays(self) -> dict[str, np.ndarray]:
        names = (name.removesuffix("_") for name in _MODEL)
        return {name: getattr(self, f"{name}_") for name in names}

    def _learned_attributes(self, *learned) -> dict[str, Any]:
        return dict(zip(_MODEL, learned, strict=True))

    def _held_out_scores(self, X, *learned) -> np.ndarray:
        nodes = Nodes(*learned)
        return self._in_blocks(X, lambda part: nodes.scores(part, self.sigma))

    def _scores(self, X) -> np.ndarray:
        return self._held_out_scores(X, *self._learned())

    def apply(self, X) -> np.ndarray:
        """Leaves of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples,)
            The node at which the path of each row ends.
        """
        nodes = Nodes(*self._learned())
        X = validated_rows(self, X, finite=False)
        return self._in_blocks(X, lambda part: nodes.paths(part)[:, -1])

    def local_coef(self, X) -> np.ndarray:
        """Effective weights of each row: those of its path, behind their gates.

        With the row's path and gates held fixed they explain its score exactly:
        ``decision_function(X) == (local_coef(X) * X[:, None]).sum(-1) +
        local_intercept(X)`` to rounding.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_scores, n_features)
            Weights.
        """
        return self._mixed(X, self.coef_)

    def local_intercept(self, X) -> np.ndarray:
        """Effective intercepts of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data.

        Returns
        -------
        ndarray of shape (n_samples, n_scores)
            Intercepts.
        """
        return self._mixed(X, self.intercept_)

    def _mixed(self, X, table: np.ndarray) -> np.ndarray:
        nodes = Nodes(*self._learned())
        X = validated_rows(self, X, finite=False)

        def mix(part):
            mixed = np.zeros((part.shape[0], *table.shape[1:]), table.dtype)
            for node, rows, gates in nodes.gates(part, self.sigma):
                gates = gates.reshape(*gates.shape, *(1,) * (table.ndim - 2))
                mixed[rows] += gates * table[node]
            return mixed

        return self._in_blocks(X, mix)
