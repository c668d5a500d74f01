"""A fitted model on a data set, as one HTML page."""

from locallin.report.build import Report, report

__all__ = ["Report", "report"]
