"""The pages of `advise`, `predict` and `simulate`: one self-contained HTML file each."""

from venturi.web.advice_page.data import (
    AdvicePage,
    BarRow,
    Bottleneck,
    ExclusionRow,
    ExplainRow,
    Explanation,
    Histogram,
    Mark,
    NodeTimes,
    OptionRow,
    QuantileRow,
    SimulationPage,
    Span,
)
from venturi.web.report.data import Fact

__all__ = [
    "AdvicePage",
    "BarRow",
    "Bottleneck",
    "ExclusionRow",
    "ExplainRow",
    "Explanation",
    "Fact",
    "Histogram",
    "Mark",
    "NodeTimes",
    "OptionRow",
    "QuantileRow",
    "SimulationPage",
    "Span",
]
