"""The pages: their view models to HTML."""

from __future__ import annotations

from venturi.model.stats import Missing
from venturi.present.advice_page.data import AdvicePage, BarRow, SimulationPage
from venturi.present.document import document

PROGRAM = "advice.js"
BARS_DRAWN = 24
"""So many types have their three bars drawn; the table has all."""


def _drawn(bars: tuple[BarRow, ...]) -> tuple[BarRow, ...]:
    """The first types of which at least one cost is known."""
    known = [
        row
        for row in bars
        for costs in [(row.storage_only_usd, row.ideal_network_usd, row.observed_network_usd)]
        if not all(isinstance(cost, Missing) for cost in costs)
    ]
    return tuple(known[:BARS_DRAWN])


def render_advice(page: AdvicePage) -> str:
    """The advice as one HTML document that asks the network for nothing.

    Raises VEN-REPORT-ASSET when the charts' program was not built.
    """
    bars = _drawn(page.bars)
    charts = {
        "options": page.options,
        "bars": bars,
        "deadline_s": page.deadline_s,
        "budget_usd": page.budget_usd,
    }
    return document(
        "advice.html.j2", PROGRAM, charts, title=page.title, page=page, bars_drawn=len(bars)
    )


def render_simulation(page: SimulationPage) -> str:
    """The simulated times as one HTML document that asks the network for nothing.

    Raises VEN-REPORT-ASSET when the charts' program was not built.
    """
    charts = {
        "histogram": page.histogram,
        "marks": page.marks,
        "node_times": page.node_times,
    }
    return document("simulation.html.j2", PROGRAM, charts, title=page.title, page=page)
