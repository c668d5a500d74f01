"""A fitted classifier on a data set, as one HTML page."""

from locallin.report._report import report

__all__ = ["report"]
