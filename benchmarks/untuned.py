"""How good are the defaults, ours and the peers', on every data set?

Features are standardised; sparse sets of few features are made dense. Where a split is
random and small, all methods have several splits, but the slowest one of sets from a
thousand rows on; elsewhere one split, and ours several seeds. Growing anchors takes
several fits and has the first three runs, and LocallyLinearClassifier, which tries
settings first, has one run on sets above 30,000 rows. COVTYPE and SKIN are limited to
100,000 rows to train and 50,000 to test on, for all. SVC is scikit-learn-intelex's: the
same solution as scikit-learn's, found faster; the tuned one chooses C and gamma by
folds of at most 5,000 training rows. A method whose runs on a set take more than ten
minutes of the CPU is left out there. Every method has one thread, and times are those
of the CPU, so that other programs add little to them.
Packages on torch are measured where they are installed.
"""

import pickle
from functools import lru_cache, partial
from itertools import product

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.neural_network import MLPClassifier

from benchmarks._common import Report, batch_time, cpu_seconds, error, on_one_thread
from benchmarks._data import RANDOM_SPLITS, SETS, SMALL, Split, load
from benchmarks._methods import OURS, VARIANTS, installed, is_ours, ours
from benchmarks._peers import TunedSVC, numbered

# How often; the others three times.
REPEATS = dict.fromkeys((*SMALL, "semeion"), 10)
# Peers that have one split of these sets.
THOUSANDS = ("banana", "ringnorm", "spambase", "semeion", "phishing", "magic04")
ONE_SPLIT = {
    "CatBoostClassifier": ("semeion",),
    "RealMLP_TD_Classifier": THOUSANDS,
    "TabM_D_Classifier": THOUSANDS,
    "XRFM_D_Classifier": THOUSANDS,
}
ROWS = {"covtype": (100_000, 50_000), "skin": (100_000, 50_000)}
DENSE_FEATURES = 1000
LARGE = ("w8a", "ijcnn1", "connect4", "mnist", "skin", "covtype")
# The RBF machines of an atlas are not linear in the number of rows.
ATLAS_ROWS = 20_000
WARM_UP_ROWS = 500
MINUTES = 10


def peers() -> dict:
    return {
        **installed(
            {
                "SVC()": ("sklearnex.svm.SVC", {}),
                "SVC(C=10)": ("sklearnex.svm.SVC", {"C": 10}),
                "LGBMClassifier": (
                    "lightgbm.LGBMClassifier",
                    {"random_state": 0, "n_jobs": 1, "verbose": -1},
                ),
            }
        ),
        "HistGradientBoostingClassifier": HistGradientBoostingClassifier(
            random_state=0
        ),
        "RandomForestClassifier": RandomForestClassifier(random_state=0, n_jobs=1),
        "MLPClassifier": MLPClassifier(random_state=0),
        "SVC, tuned": TunedSVC(),
        **numbered(
            {
                "XGBClassifier": (
                    "xgboost.XGBClassifier",
                    {"random_state": 0, "n_jobs": 1},
                ),
                "CatBoostClassifier": (
                    "catboost.CatBoostClassifier",
                    {
                        "random_seed": 0,
                        "thread_count": 1,
                        "verbose": False,
                        "allow_writing_files": False,
                    },
                ),
                "ExplainableBoostingClassifier": (
                    "interpret.glassbox.ExplainableBoostingClassifier",
                    {"random_state": 0, "n_jobs": 1},
                ),
                "ChimeraBoostClassifier": (
                    "chimeraboost.ChimeraBoostClassifier",
                    {"random_state": 0, "thread_count": 1},
                ),
                "RealMLP_TD_Classifier": (
                    "pytabkit.RealMLP_TD_Classifier",
                    {"random_state": 0, "device": "cpu", "n_threads": 1},
                ),
                "TabM_D_Classifier": (
                    "pytabkit.TabM_D_Classifier",
                    {"random_state": 0, "device": "cpu", "n_threads": 1},
                ),
                "XRFM_D_Classifier": (
                    "pytabkit.XRFM_D_Classifier",
                    {"random_state": 0, "device": "cpu", "n_threads": 1},
                ),
            }
        ),
    }


@lru_cache(maxsize=1)
def prepared(folder, name, repeat) -> tuple[Split, np.ndarray]:
    """A split, and which of its test rows are not among the training rows."""
    split = load(folder, name, repeat).limited(*ROWS.get(name, (None, None)))
    if split.X.shape[1] <= DENSE_FEATURES:
        split = split.dense()
    return split.standardised(), split.unseen()


def measure(folder, name, models) -> dict:
    """Runs of a method: ``models`` holds one estimator for each."""
    found: dict[str, list] = {}
    for repeat, model in enumerate(map(clone, models)):
        split, unseen = prepared(folder, name, repeat * (name in RANDOM_SPLITS))
        if reason := refusal(model, split):
            return {"skipped": reason}
        few = split.limited(WARM_UP_ROWS)
        clone(model).fit(few.X, few.y).predict(few.X)
        spent, _ = cpu_seconds(partial(model.fit, split.X, split.y))
        run = {
            "test_errors": error(model, split.X_test, split.y_test),
            "fit_seconds": spent,
            "model_bytes": len(pickle.dumps(model)),
            **batch_time(model, split.X_test, 3, cpu_seconds),
            **probability_scores(model, split.X_test, split.y_test),
        }
        if 0 < unseen.sum() < len(unseen):
            rows = split.X_test[unseen], split.y_test[unseen]
            run["unseen_errors"] = error(model, *rows)
        for key, value in run.items():
            found.setdefault(key, []).append(value)
    return found


def probability_scores(model, X, y) -> dict:
    """Log loss, and AUC of two classes, of a model that gives probabilities."""
    if not hasattr(model, "predict_proba"):
        return {}
    odds = np.clip(np.asarray(model.predict_proba(X), float), 1e-9, 1)
    odds /= odds.sum(axis=1, keepdims=True)
    found = {"log_losses": log_loss(y, odds, labels=model.classes_)}
    if len(model.classes_) == 2:
        found["aucs"] = roc_auc_score(y == model.classes_[1], odds[:, 1])
    return found


def refusal(model, split) -> str:
    """Why a method is not run on a split, if so."""
    if type(model).__name__ == "AtlasClassifier" and split.X.shape[0] > ATLAS_ROWS:
        return f"more than {ATLAS_ROWS:,} training rows"
    if sparse.issparse(split.X) and not model.__sklearn_tags__().input_tags.sparse:
        return "takes no sparse data"
    return ""


def models_of(name, method, known) -> list:
    """The estimators whose runs are a method's result on a data set."""
    repeats = range(3 if method in VARIANTS else REPEATS.get(name, 3))
    if method == "LocallyLinearClassifier" and name in LARGE:
        return [ours(method, n_jobs=1)]
    if is_ours(method):
        return [ours(method, seed, n_jobs=1) for seed in repeats]
    once = name not in RANDOM_SPLITS or name in ONE_SPLIT.get(method, ())
    return [known[method]] * (1 if once else len(repeats))


def run(job) -> None:
    known = {**{name: ours(name, n_jobs=1) for name in (*OURS, *VARIANTS)}, **peers()}
    chosen = job.parts(known)
    report = Report(
        job, "untuned", estimators={name: str(known[name]) for name in chosen}
    )
    report.fill(
        {
            (name, method): partial(
                on_one_thread,
                measure,
                job.data,
                name,
                models_of(name, method, known),
                minutes=MINUTES,
            )
            for name, method in product(job.named(SETS), chosen)
        }
    )
