"""The pages in a real browser: no error, no request, nothing off the screen, nothing nameless."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import advice_page_samples
import report_samples
from venturi.present.advice_page import render_advice, render_simulation, write_page
from venturi.present.report import render

WEB = Path(__file__).parents[2] / "web"
PAGES: dict[str, Callable[[], str]] = {
    "realistic": lambda: render(report_samples.realistic()),
    "edge": lambda: render(report_samples.edge()),
    "single": lambda: render(report_samples.single()),
    "empty": lambda: render(report_samples.empty()),
    "advice": lambda: render_advice(advice_page_samples.advice()),
    "advice-edge": lambda: render_advice(advice_page_samples.advice_edge()),
    "advice-empty": lambda: render_advice(advice_page_samples.advice_empty()),
    "simulation": lambda: render_simulation(advice_page_samples.simulation()),
    "simulation-edge": lambda: render_simulation(advice_page_samples.simulation_edge()),
    "simulation-empty": lambda: render_simulation(advice_page_samples.simulation_empty()),
}
SORT_CHARTS = ["timeline", "stages"]
CHARTS = {
    "realistic": ["rates", "latencies", "network", *SORT_CHARTS * 2, "predicted", "prices"],
    "edge": ["rates", "latencies", *SORT_CHARTS * 3, "timeline", "predicted"],
    "single": [*SORT_CHARTS, "predicted"],
    "empty": [],
    "advice": ["pareto", "bars"],
    "advice-edge": ["pareto", "bars"],
    "advice-empty": [],
    "simulation": ["histogram", "nodes", "nodes"],
    "simulation-edge": ["histogram", "nodes", "nodes"],
    "simulation-empty": ["histogram"],
}
DRAWN_IN_FULL = ("realistic.html", "advice.html", "simulation.html")


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What Chromium met in each page at 1280 and 390 px, light and dark."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if chromium is None:
        pytest.skip("Chromium is not installed (Debian package chromium)")
    if shutil.which("node") is None or not (WEB / "node_modules" / "playwright-core").is_dir():
        pytest.skip("playwright-core is not installed: `make setup` installs it")
    folder = tmp_path_factory.mktemp("reports")
    paths = [folder / f"{name}.html" for name in PAGES]
    for path in paths:
        write_page(path, PAGES[path.stem]())
    opened = subprocess.run(
        ["node", str(WEB / "tests" / "open.mjs"), chromium, str(folder / "profile"),
         *map(str, paths)],
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert opened.returncode == 0, opened.stderr
    found: list[dict[str, Any]] = json.loads(opened.stdout)
    assert len(found) == len(PAGES) * 4
    return found


def where(finding: dict[str, Any]) -> str:
    return f"{finding['file']} at {finding['width']} px, {finding['colorScheme']}"


def test_nothing_fails_and_nothing_is_requested(findings: list[dict[str, Any]]) -> None:
    assert {where(f): f["problems"] for f in findings if f["problems"]} == {}


def test_every_chart_is_drawn_named_and_has_a_table(findings: list[dict[str, Any]]) -> None:
    for finding in findings:
        charts = finding["charts"]
        assert [c["kind"] for c in charts] == CHARTS[Path(finding["file"]).stem], where(finding)
        for chart in charts:
            assert chart["marks"] > 1 or chart["said"], (where(finding), chart)
            assert chart["role"] == "img", (where(finding), chart)
            assert chart["name"], (where(finding), chart)
            assert chart["twins"] >= 1, (where(finding), chart)
    drawn = [c for f in findings if f["file"] in DRAWN_IN_FULL for c in f["charts"]]
    assert all(chart["marks"] > 8 for chart in drawn)


def test_nothing_leaves_the_screen(findings: list[dict[str, Any]]) -> None:
    for finding in findings:
        assert finding["overflow_px"] <= 0, where(finding)
        cut = [c["kind"] for c in finding["charts"] if c["beyond_px"] > 2]
        assert cut == [], where(finding)


def test_text_is_readable_on_its_background(findings: list[dict[str, Any]]) -> None:
    # WCAG 2 AA: 4.5:1; the script lists what stays below.
    assert {where(f): f["faint"] for f in findings if f["faint"]} == {}


def test_controls_have_names_and_the_keyboard_works_them(findings: list[dict[str, Any]]) -> None:
    for finding in findings:
        assert finding["nameless"] == [], where(finding)
        assert finding["tables_without_heads"] == 0, where(finding)
        keyboard = finding["keyboard"]
        assert {"A", "theme"} <= set(keyboard["reached"]), where(finding)
        assert keyboard["theme_changed"], where(finding)
        shown = [chart for chart in finding["charts"] if not chart["said"]]
        assert keyboard["drawn_after_change"] == len(shown), where(finding)
        if finding["charts"]:
            assert keyboard["opened"] is True, where(finding)


def test_headings_descend_one_level_at_a_time(findings: list[dict[str, Any]]) -> None:
    for finding in findings:
        levels = finding["headings"]
        assert levels[0] == 1, where(finding)
        assert levels.count(1) == 1, where(finding)
        assert all(b - a <= 1 for a, b in pairwise(levels)), where(finding)


def test_hostile_text_stays_text(findings: list[dict[str, Any]]) -> None:
    for finding in findings:
        assert finding["images"] == 0, where(finding)
        assert finding["title"].startswith("Venturi "), where(finding)
