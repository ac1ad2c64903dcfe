"""The report: one self-contained HTML file about a machine and the sorts it did."""

from venturi.model.statistics.stats import Missing
from venturi.present.report.build import report_data
from venturi.present.report.data import ReportData, Skipped
from venturi.present.report.prices import price_rows

__all__ = [
    "Missing",
    "ReportData",
    "Skipped",
    "price_rows",
    "report_data",
]
