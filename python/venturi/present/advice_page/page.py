"""The pages: their view models to HTML."""

from __future__ import annotations

from venturi.present import document
from venturi.present.advice_page.data import AdvicePage, SimulationPage


def render_advice(page: AdvicePage) -> str:
    """The advice as one HTML document that asks the network for nothing.

    Raises VEN-REPORT-ASSET when the pages were not built.
    """
    return document.page("/advice", page.title, {"/api/advice": document.encode(page)})


def render_simulation(page: SimulationPage) -> str:
    """The simulated times as one HTML document that asks the network for nothing.

    Raises VEN-REPORT-ASSET when the pages were not built.
    """
    return document.page("/simulation", page.title, {"/api/simulation": document.encode(page)})
