"""The page: `ReportData` to HTML, and HTML to a file."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from venturi.present import document
from venturi.present.report.data import ReportData
from venturi.present.report.tube import tube

_CHARTS = ("rates", "uses", "latencies", "network", "sorts", "prices")


def _drawn(data: ReportData) -> dict[str, object]:
    return {name: getattr(data, name) for name in _CHARTS}


def island(data: ReportData) -> Markup:
    """What the charts draw, as JSON that no text in it can break out of."""
    return document.island(_drawn(data))


def render(data: ReportData) -> str:
    """The report as one HTML document that asks the network for nothing.

    Raises VEN-REPORT-ASSET when the charts' program was not built.
    """
    return document.document(
        "report.html.j2", "report.js", _drawn(data), title=data.title, data=data, tube=tube
    )


def write_report(path: Path, data: ReportData, *, overwrite: bool = False) -> None:
    """Writes the report to `path`: whole or not at all.

    Raises VEN-OUTPUT-EXISTS when `path` is there and `overwrite` is not asked for.
    """
    document.write_page(path, render(data), overwrite=overwrite)
