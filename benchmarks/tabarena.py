"""TabArena's adapter: the model as AutoGluon wants it, and what may be searched.

TabArena (Erickson et al., 2025) runs models that follow AutoGluon's interface. Install
`tabarena` beside locallin, import this file from a script of yours (models are pickled
by the name of their module) and give what `experiments` returns to its
ExperimentBatchRunner.
"""

from autogluon.core.models import AbstractModel

# Of the seconds that are given, so many are kept for the last fit and for predictions.
RESERVE = 0.2


class LocallyLinearModel(AbstractModel):
    """LocallyLinearClassifier or LocallyLinearRegressor: frames in, as they come."""

    ag_key = "LOCALLIN"
    ag_name = "LocallyLinear"
    seed_name = "random_state"

    def _fit(
        self, X, y, time_limit=None, num_cpus=1, sample_weight=None, **unused
    ) -> None:
        from locallin import LocallyLinearClassifier, LocallyLinearRegressor

        numbers = self.problem_type == "regression"
        kind = LocallyLinearRegressor if numbers else LocallyLinearClassifier
        if time_limit is not None:
            time_limit = max((1 - RESERVE) * time_limit, 1e-3)
        X = self.preprocess(X, y=y, is_train=True)
        settings = self._get_model_params()
        model = kind(n_jobs=num_cpus, time_limit=time_limit, **settings)
        self.model = model.fit(X, y, sample_weight=sample_weight)

    def _get_default_auxiliary_params(self) -> dict:
        kinds = ["bool", "int", "float", "category", "datetime", "object"]
        return {**super()._get_default_auxiliary_params(), "valid_raw_types": kinds}

    @classmethod
    def supported_problem_types(cls) -> list[str]:
        return ["binary", "multiclass", "regression"]

    def _more_tags(self) -> dict:
        return {"can_refit_full": True}


def search_space() -> dict:
    """What is left to a search from outside; the estimator chooses the rest itself."""
    from autogluon.common.space import Categorical, Int

    return {
        "effort": Categorical(1, 2),
        "n_members": Int(1, 8),
    }


def experiments(n_random: int = 0, **settings) -> list:
    """The default, and random settings beside it, for TabArena's runner."""
    from tabarena.utils.config_utils import ConfigGenerator

    generator = ConfigGenerator(
        model_cls=LocallyLinearModel, manual_configs=[{}], search_space=search_space()
    )
    return generator.generate_all_bag_experiments(
        num_random_configs=n_random, **settings
    )
