"""The pages of `advise`, `predict` and `simulate`: one self-contained HTML file each."""

from venturi.web.advice_page.data import (
    AdvicePage,
    ExclusionRow,
    Histogram,
    NodeTimes,
    OptionRow,
    QuantileRow,
    SimulationPage,
    TimeMark,
)
from venturi.web.report.data import ReportFact

__all__ = [
    "AdvicePage",
    "ExclusionRow",
    "Histogram",
    "NodeTimes",
    "OptionRow",
    "QuantileRow",
    "ReportFact",
    "SimulationPage",
    "TimeMark",
]
