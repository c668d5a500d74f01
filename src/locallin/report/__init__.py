"""A fitted model on a data set, or two of them, as one HTML page."""

from locallin.report.build import Report, report
from locallin.report.compare import compare

__all__ = ["Report", "compare", "report"]
