"""The advice and simulation pages, without a browser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import advice_page_samples as samples
from venturi.errors import VenturiError
from venturi.model.stats import Missing
from venturi.present.advice_page import (
    BarRow,
    Histogram,
    Span,
    render_advice,
    render_simulation,
    write_page,
)
from venturi.present.advice_page.page import BARS_DRAWN

PAGES: dict[str, Callable[[], str]] = {
    "advice": lambda: render_advice(samples.advice()),
    "advice edge": lambda: render_advice(samples.advice_edge()),
    "advice empty": lambda: render_advice(samples.advice_empty()),
    "simulation": lambda: render_simulation(samples.simulation()),
    "simulation edge": lambda: render_simulation(samples.simulation_edge()),
    "simulation empty": lambda: render_simulation(samples.simulation_empty()),
}


def island(html: str) -> dict[str, Any]:
    match = re.search(r'<script type="application/json" id="charts">(.*?)</script>', html, re.S)
    assert match
    data: dict[str, Any] = json.loads(match.group(1))
    return data


def text_of(html: str) -> str:
    """What a reader sees of the document, spaces made one."""
    body = html.split("<body>")[1].split('<script type="application/json"', maxsplit=1)[0]
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", body)))


def row_of(html: str, section: str, start: str) -> str:
    """The first table row of a section whose head begins with `start`."""
    part = html.split(f'<section id="{section}"')[1].split("</section>", maxsplit=1)[0]
    rows = [text_of(f"<body>{row}") for row in part.split("<tr")[1:]]
    return next(row for row in rows if start in row)


@pytest.mark.parametrize("name", PAGES)
def test_the_page_forbids_the_network_and_carries_everything(name: str) -> None:
    html = PAGES[name]()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy
    assert unescape(policy.group(1)).startswith("default-src 'none'; script-src 'sha256-")
    assert re.findall(r"(?:src|href)=\"(?!#)[^\"]*\"", html.split("<script")[0]) == []
    anchors = set(re.findall(r'href="#([^"]+)"', html.split("<script")[0]))
    assert anchors <= set(re.findall(r'id="([^"]+)"', html))


@pytest.mark.parametrize("name", PAGES)
def test_hostile_text_cannot_leave_its_place(name: str) -> None:
    html = PAGES[name]()
    assert "<img" not in html
    assert html.count("</script>") == 2
    assert "49" not in html.split("<title>")[1].split("</title>")[0]


def test_an_option_shows_its_ranges_its_kinds_and_the_age_of_its_price() -> None:
    html = render_advice(samples.advice())
    row = row_of(html, "options", "i2.8xlarge chosen")
    assert "178" in row
    assert "16 min 50 s 14 min 39 s to 16 min 50 s" in row
    assert "$340.60 $299.40 to $340.60" in row
    assert "measured, advertised" in row
    assert "2014-09-06, old" in row
    assert "map+shuffle: network; sort+reduce: storage" in row


def test_what_is_at_least_so_much_says_so_and_draws_no_upper_end() -> None:
    html = render_advice(samples.advice())
    assert re.search(r"≥ 2 h [0-9]+ min", row_of(html, "options", "cc2.8xlarge"))
    assert "known as an advertised limit" in text_of(html)
    bound = [o for o in island(html)["options"] if o["lower_bound"]]
    assert [o["instance_type"] for o in bound] == ["cc2.8xlarge"]


def test_what_is_not_known_is_a_reason_in_the_table_and_null_in_the_picture() -> None:
    html = render_advice(samples.advice())
    assert samples.NO_NETWORK.reason in row_of(html, "bars", "cr1.8xlarge")
    drawn = {bar["instance_type"]: bar for bar in island(html)["bars"]}
    assert drawn["cr1.8xlarge"]["observed_network_usd"] is None
    assert "g2.2xlarge" not in drawn
    assert "g2.2xlarge" in row_of(html, "bars", "g2.2xlarge")
    assert "The picture has the first 10 types of which a cost is known, the table all 11." in (
        text_of(html)
    )


def test_many_types_are_all_in_the_table_and_the_first_in_the_picture() -> None:
    page = samples.advice_edge()
    html = render_advice(page)
    assert len(island(html)["bars"]) == BARS_DRAWN
    assert all(bar.instance_type in unescape(html) for bar in page.bars[2:])


def test_the_terms_name_formula_range_kind_source_and_what_binds() -> None:
    html = render_advice(samples.advice())
    row = row_of(html, "explained", "shuffle narrowest")
    for part in ("D / (N · B_network)", "100.0 TB", "879 MB/s", "860 MB/s to 897 MB/s", "measured",
                 "10 min 39 s"):  # fmt: skip
        assert part in row
    assert "10 min 39 s measured SoCC 2015, the slowest of 178 nodes; 2014-09-01" in text_of(html)


def test_a_simulation_tells_quantiles_marks_settings_and_bins() -> None:
    page = samples.simulation()
    html = render_simulation(page)
    shown = text_of(html)
    assert "plain formula 16 min 50 s" in shown
    assert "Lost nodes — no loss rate was given" in shown
    assert "did not finish" not in shown
    assert island(html)["histogram"]["counts"] == list(page.histogram.counts)
    assert [mark["kind"] for mark in island(html)["marks"]] == [m.kind for m in page.marks]


def test_trials_that_did_not_finish_are_counted_first() -> None:
    shown = text_of(render_simulation(samples.simulation_edge()))
    assert "100 of 2,000 trials did not finish." in shown


@given(st.text())
def test_any_text_survives_the_island(text: str) -> None:
    page = replace(samples.advice_empty(), bars=(BarRow(text, 1.0, 2.0, 3.0),))
    assert island(render_advice(page))["bars"][0]["instance_type"] == text


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [(1.0, 2.0, 3.0), (3.0, 1.0, 2.0), (1.0, 0.0, 2.0), (1.0, 1.0, float("inf")),
     (float("nan"), 1.0, 2.0)],
)  # fmt: skip
def test_a_span_that_is_none_is_refused(value: float, low: float, high: float) -> None:
    with pytest.raises(VenturiError) as refused:
        Span(value, low, high)
    assert refused.value.code == "VEN-MODEL-INPUT"


@pytest.mark.parametrize(
    ("edges", "counts"),
    [((1.0, 2.0), (1, 2)), ((2.0, 1.0), (1,)), ((1.0, float("inf")), (1,)), ((1.0, 2.0), (-1,)),
     ((1.0,), ())],
)  # fmt: skip
def test_a_histogram_that_is_none_is_refused(
    edges: tuple[float, ...], counts: tuple[int, ...]
) -> None:
    with pytest.raises(VenturiError) as refused:
        Histogram(edges, counts)
    assert refused.value.code == "VEN-MODEL-INPUT"


def test_writing_refuses_what_exists_unless_told(tmp_path: Path) -> None:
    path = tmp_path / "advice.html"
    write_page(path, "first")
    with pytest.raises(VenturiError) as refused:
        write_page(path, "second")
    assert refused.value.code == "VEN-OUTPUT-EXISTS"
    write_page(path, "third", overwrite=True)
    assert path.read_text() == "third"
    assert [entry.name for entry in tmp_path.iterdir()] == ["advice.html"]


def test_missing_never_becomes_zero() -> None:
    page = samples.advice()
    unpriced = replace(page.options[0], cost_usd=Missing("no price"), billed_usd=Missing("none"))
    html = render_advice(replace(page, options=(unpriced,)))
    assert island(html)["options"][0]["cost_usd"] is None
    assert "$0" not in row_of(html, "options", "i2.8xlarge")
    assert "— no price" in row_of(html, "options", "i2.8xlarge")
