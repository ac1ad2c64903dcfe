"""The pages of `advise`, `predict` and `simulate`: one self-contained HTML file each."""

from venturi.web.advice_page.data import (
    AdvicePage,
    ExclusionRow,
    Histogram,
    Mark,
    NodeTimes,
    OptionRow,
    QuantileRow,
    SimulationPage,
)
from venturi.web.report.data import ReportFact

__all__ = [
    "AdvicePage",
    "ExclusionRow",
    "Histogram",
    "Mark",
    "NodeTimes",
    "OptionRow",
    "QuantileRow",
    "ReportFact",
    "SimulationPage",
]
