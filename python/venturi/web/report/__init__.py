"""The report: one self-contained HTML file about a machine and the sorts it did."""

from venturi.core.statistics.stats import Missing
from venturi.web.report.build import report_data
from venturi.web.report.data import ReportData, SkippedMeasurement
from venturi.web.report.prices import price_rows

__all__ = [
    "Missing",
    "ReportData",
    "SkippedMeasurement",
    "price_rows",
    "report_data",
]
