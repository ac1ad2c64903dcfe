"""The pages in a real browser: no error, no request, nothing off the screen, nothing nameless."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import advice_page_samples
import report_samples
from command_line import AGENT
from venturi.core.statistics.stats import Missing
from venturi.measure.hosts.agent import Agent
from venturi.measure.hosts.local import LocalHost
from venturi.record.io_trace import HEAT_NAME
from venturi.terminal.io_trace import read as read_trace
from venturi.web.advice_page.data import AdvicePage
from venturi.web.document import write_page
from venturi.web.export import data_page
from venturi.web.io.charts import trace_page
from venturi.web.report.build import report_data
from venturi.web.report.data import ReportData

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

WEB = Path(__file__).parents[2] / "web"


def lost_bytes() -> ReportData:
    """A report of a sort in which one stage lost its count of bytes."""
    trial = report_samples.sort_trial(2, 10**9, 0, {"map+shuffle": 1.0})
    lost = tuple(
        replace(s, value=None, missing_reason="counter overflowed")
        if s.metric == "stage_bytes" and s.labels["stage"] == "read"
        else s
        for s in trial.samples
    )
    probe = report_samples.disk_probe()
    return report_data(
        [probe, replace(trial, samples=lost)],
        series={},
        predictions={},
        prices=None,
        generated_at=report_samples.AT,
    )


def unpriced() -> AdvicePage:
    """Advice with one option, of which no price is known."""
    page = advice_page_samples.advice()
    missing = {"cost_usd": "no price", "metered_usd": "no price", "billed_usd": "none"}
    option = advice_page_samples.altered(
        page.options[0], cost_usd=None, metered_usd=None, billed_usd=None, missing=missing
    )
    return replace(page, options=(option,))


def traced() -> str:
    """A recording of Spark's files, by the agent."""
    with TemporaryDirectory() as folder:
        heat = Path(folder) / HEAT_NAME
        recording = Path(__file__).parents[1] / "data" / "blktrace" / "6.18" / "whose"
        options = (recording, "--stages", recording / "stages.json", "--heat", heat)
        data = Agent(str(AGENT), LocalHost()).run("trace", "analyze", *options).data["trace"]
        return data_page("/trace", trace_page("Venturi trace", read_trace(data), heat, ("cut",)))


PAGES: dict[str, Callable[[], str]] = {
    "realistic": lambda: data_page("/report", report_samples.realistic()),
    "edge": lambda: data_page("/report", report_samples.edge()),
    "single": lambda: data_page("/report", report_samples.single()),
    "empty": lambda: data_page("/report", report_samples.empty()),
    "advice": lambda: data_page("/advice", advice_page_samples.advice()),
    "advice-edge": lambda: data_page("/advice", advice_page_samples.advice_edge()),
    "advice-empty": lambda: data_page("/advice", advice_page_samples.advice_empty()),
    "simulation": lambda: data_page("/simulation", advice_page_samples.simulation()),
    "simulation-edge": lambda: data_page("/simulation", advice_page_samples.simulation_edge()),
    "simulation-empty": lambda: data_page("/simulation", advice_page_samples.simulation_empty()),
    "trace": traced,
}
ONCE: dict[str, Callable[[], str]] = {
    "lost-bytes": lambda: data_page("/report", lost_bytes()),
    "unpriced": lambda: data_page("/advice", unpriced()),
}
PHASES, STAGES, COMPARED = "Phases of ", "Stages of ", "Predicted and measured "
DISK, LATENCY, NETWORK = "Disk rates ", "Percentiles of disk ", "Network rates "
PARETO, BARS = "Cost against time of the job ", "Cost of the job per type "
TIMES, NODES = "Distribution of the simulated times ", "Distribution of the nodes' "
CHARTS = {
    "realistic": [
        DISK,
        LATENCY,
        NETWORK,
        *[PHASES, STAGES] * 2,
        COMPARED,
        "Cost against time of a 100 TB sort ",
    ],
    "edge": [DISK, LATENCY, *[PHASES, STAGES] * 3, PHASES, COMPARED],
    "single": [PHASES, STAGES, COMPARED],
    "empty": [],
    "advice": [PARETO, BARS],
    "advice-edge": [PARETO, BARS],
    "advice-empty": [],
    "simulation": [TIMES, NODES, NODES],
    "simulation-edge": [TIMES, NODES, NODES],
    "simulation-empty": [TIMES],
    "trace": [
        "Request sizes",
        "Device latency",
        "Seek distances",
        "Disk offset over time",
        "Device latency over time",
        "Zoom into one pattern",
        "Share of requests above each latency",
    ],
    "lost-bytes": [DISK, LATENCY, PHASES, STAGES, COMPARED],
    "unpriced": [PARETO, BARS],
}
DRAWN_IN_FULL = ("realistic.html", "advice.html", "simulation.html")
BARS_DRAWN = 24


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Chromium's findings in each page at 1280 and 390 px, light and dark."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if chromium is None:
        pytest.skip("Chromium is not installed (Debian package chromium)")
    if shutil.which("node") is None or not (WEB / "node_modules" / "playwright-core").is_dir():
        pytest.skip("playwright-core is not installed: `make setup` installs it")
    folder = tmp_path_factory.mktemp("reports")
    paths = {name: folder / f"{name}.html" for name in (*PAGES, *ONCE)}
    for name, make in (PAGES | ONCE).items():
        write_page(paths[name], make())
    opened = subprocess.run(
        [
            "node",
            str(WEB / "tests" / "open.mjs"),
            chromium,
            str(folder / "profile"),
            *(paths[name] for name in PAGES),
            "--once",
            *(paths[name] for name in ONCE),
        ],
        capture_output=True,
        text=True,
        timeout=560,
        check=False,
    )
    assert opened.returncode == 0, opened.stderr
    found: list[dict[str, Any]] = json.loads(opened.stdout)
    assert len(found) == len(PAGES) * 4 + len(ONCE)
    return found


def where(finding: dict[str, Any]) -> str:
    return f"{finding['file']} at {finding['width']} px, {finding['colorScheme']}"


def test_nothing_fails_and_nothing_is_requested(findings: list[dict[str, Any]]) -> None:
    assert {where(f): f["problems"] for f in findings if f["problems"]} == {}


def test_every_chart_is_drawn_named_and_has_a_table(findings: list[dict[str, Any]]) -> None:
    for finding in findings:
        charts = finding["charts"]
        expected = CHARTS[Path(finding["file"]).stem]
        assert len(charts) == len(expected), where(finding)
        for chart, name in zip(charts, expected, strict=True):
            assert chart["name"].startswith(name), where(finding)
            assert chart["marks"] > 1 or chart["said"], (where(finding), chart)
            assert chart["role"] == "img", (where(finding), chart)
            assert chart["twins"] >= 1, (where(finding), chart)
    drawn = [c for f in findings if f["file"] in DRAWN_IN_FULL for c in f["charts"]]
    assert all(chart["marks"] > 8 for chart in drawn)


def test_nothing_leaves_the_screen(findings: list[dict[str, Any]]) -> None:
    for finding in findings:
        assert finding["overflow_px"] <= 0, where(finding)
        cut = [c["name"] for c in finding["charts"] if c["beyond_px"] > 2]
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


def first(findings: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(finding for finding in findings if finding["file"] == f"{name}.html")


def row_of(finding: dict[str, Any], section: str, part: str) -> str:
    """The first table row of a section that has `part`."""
    rows: list[str] = finding["rows"][section]
    found = [row for row in rows if part in row]
    assert found, rows
    return found[0]


def test_a_reader_without_a_value_finds_the_reason(findings: list[dict[str, Any]]) -> None:
    assert "— counter overflowed" in row_of(first(findings, "lost-bytes"), "limits", "map+shuffle")
    bars = row_of(first(findings, "advice"), "bars", "cr1.8xlarge")
    assert f"— {advice_page_samples.NO_NETWORK.reason}" in bars
    row = row_of(first(findings, "unpriced"), "options", "i2.8xlarge")
    assert "— no price" in row
    assert "$" not in row
    pareto = first(findings, "unpriced")["charts"][0]
    assert pareto["said"] == "Nothing to draw: no value is known. The table gives the reasons."


def test_the_report_says_what_was_measured_and_how(findings: list[dict[str, Any]]) -> None:
    data, shown = report_samples.realistic(), first(findings, "realistic")
    told = [data.headline, *(sentence for answer in data.answers for sentence in answer.sentences)]
    told += [each.message for each in data.warnings] + [each.reason for each in data.skipped]
    told += [fact.label for group in data.host for fact in group.facts]
    told += [*data.commands, *(row.formula for sort in data.sorts for row in sort.comparisons)]
    points = [point for sort in data.sorts for point in sort.narrowest]
    told += [line for point in points if len(point.stages) != 1 for line in point.evidence]
    assert [text for text in told if " ".join(text.split()) not in shown["text"]] == []
    assert not isinstance(data.prices, Missing)
    rows = shown["rows"]["price"]
    assert [
        p.instance_type for p in data.prices if not any(p.instance_type in r for r in rows)
    ] == []
    assert len(shown["rows"]["method"]) == 1 + len(data.trials)
    assert len([row for row in shown["rows"]["sorts"] if row.startswith("map+shuffle")]) >= 4


def test_an_option_shows_its_ranges_its_kinds_and_the_age_of_its_price(
    findings: list[dict[str, Any]],
) -> None:
    row = row_of(first(findings, "advice"), "options", "i2.8xlarge chosen")
    assert "178" in row
    assert "16 min 50 s 14 min 39 s to 16 min 50 s" in row
    assert "$340.60 $299.40 to $340.60" in row
    assert "advertised" in row
    assert "2014-09-06 , old" in row
    assert re.search(r"map\+shuffle : network ; sort\+reduce : storage", row)


def test_what_is_at_least_so_much_says_so(findings: list[dict[str, Any]]) -> None:
    shown = first(findings, "advice")
    assert re.search(r"≥ 2 h [0-9]+ min", row_of(shown, "options", "cc2.8xlarge"))
    assert "known only as an advertised limit" in shown["text"]


def test_many_types_are_all_in_the_table_and_the_first_in_the_picture(
    findings: list[dict[str, Any]],
) -> None:
    few, many = first(findings, "advice"), first(findings, "advice-edge")
    assert (
        "The chart shows the first 10 types with a known cost, the table all 11." in (few["text"])
    )
    assert "g2.2xlarge" not in few["charts"][1]["texts"]
    assert "— unknown" in few["charts"][1]["texts"]
    assert "g2.2xlarge" in row_of(few, "bars", "g2.2xlarge")
    # Two of the types drawn have names that the picture cuts.
    drawn = [text for text in many["charts"][1]["texts"] if re.fullmatch(r"x\d+\.large", text)]
    assert len(drawn) == BARS_DRAWN - 2
    rows = many["rows"]["bars"]
    assert all(any(row.startswith(f"x{n}.large") for row in rows) for n in range(40))


def test_the_terms_name_formula_range_kind_source_and_what_binds(
    findings: list[dict[str, Any]],
) -> None:
    shown = first(findings, "advice")
    row = row_of(shown, "explained", "shuffle ( network ) narrowest")
    for part in (
        "D / (N · B_network)",
        "100.0 TB",
        "879 MB/s",
        "860 MB/s to 897 MB/s",
        "measured",
        "10 min 39 s",
    ):
        assert part in row
    rows = shown["rows"]["explained"]
    assert rows[rows.index(row) + 1] == "SoCC 2015, the slowest of 178 nodes ; 2014-09-01"


def test_a_simulation_tells_quantiles_marks_settings_and_bins(
    findings: list[dict[str, Any]],
) -> None:
    page, shown = advice_page_samples.simulation(), first(findings, "simulation")
    assert "plain formula 16 min 50 s" in shown["rows"]["times"]
    assert "Lost nodes — no loss rate was given" in shown["text"]
    assert "did not finish" not in shown["text"]
    # Both tables have a head; one row a mark, one row a bin.
    assert len(shown["rows"]["times"]) == 2 + len(page.marks) + len(page.histogram.counts)
    assert "100 of 2,000 trials did not finish." in first(findings, "simulation-edge")["text"]
