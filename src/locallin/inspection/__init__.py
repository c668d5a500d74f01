"""Reasons of decisions, and the local models behind them.

:func:`explain` splits scores into what each column adds, :func:`counterfactual` asks
what would change a decision, :func:`regions` tells what each local model does,
:func:`global_effects` which columns matter and what their values do. The displays
draw the same with matplotlib, in scikit-learn's manner;
:func:`locallin.report.report` puts it on one page for a browser.
"""

from locallin.inspection._boundary import BoundaryDisplay
from locallin.inspection._charts import ChartDisplay
from locallin.inspection._counterfactual import Counterfactuals, counterfactual
from locallin.inspection._effect_display import EffectDisplay, ImportanceDisplay
from locallin.inspection._effects import Effect, GlobalEffects, global_effects
from locallin.inspection._explain import Explanation, explain
from locallin.inspection._history import HistoryDisplay
from locallin.inspection._importances import feature_importances
from locallin.inspection._region_map import RegionDisplay
from locallin.inspection._regions import Region, Regions, regions
from locallin.inspection._weights import ContributionDisplay, WeightImageDisplay

__all__ = [
    "BoundaryDisplay",
    "ChartDisplay",
    "ContributionDisplay",
    "Counterfactuals",
    "Effect",
    "EffectDisplay",
    "Explanation",
    "GlobalEffects",
    "HistoryDisplay",
    "ImportanceDisplay",
    "Region",
    "RegionDisplay",
    "Regions",
    "WeightImageDisplay",
    "counterfactual",
    "explain",
    "feature_importances",
    "global_effects",
    "regions",
]
