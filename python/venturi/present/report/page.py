"""The page: `ReportData` to HTML, and HTML to a file."""

from __future__ import annotations

from pathlib import Path

from venturi.present import document
from venturi.present.report.data import ReportData


def render(data: ReportData) -> str:
    """The report as one HTML document that asks the network for nothing.

    Raises VEN-REPORT-ASSET when the pages were not built.
    """
    return document.page("/report", data.title, {"/api/report": document.encode(data)})


def write_report(path: Path, data: ReportData, *, overwrite: bool = False) -> None:
    """Writes the report to `path`: whole or not at all.

    Raises VEN-OUTPUT-EXISTS when `path` is there and `overwrite` is not asked for.
    """
    document.write_page(path, render(data), overwrite=overwrite)
