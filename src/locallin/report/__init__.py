"""A fitted classifier on a data set, as one HTML page."""

from locallin.report.build import report

__all__ = ["report"]
