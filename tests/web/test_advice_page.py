"""The advice and simulation pages, without a browser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import advice_page_samples as samples
from venturi.core.errors import VenturiError
from venturi.web.advice_page.data import Histogram
from venturi.web.document import write_page
from venturi.web.export import data_page

PAGES: dict[str, Callable[[], str]] = {
    "advice": lambda: data_page("/advice", samples.advice()),
    "advice edge": lambda: data_page("/advice", samples.advice_edge()),
    "advice empty": lambda: data_page("/advice", samples.advice_empty()),
    "simulation": lambda: data_page("/simulation", samples.simulation()),
    "simulation edge": lambda: data_page("/simulation", samples.simulation_edge()),
    "simulation empty": lambda: data_page("/simulation", samples.simulation_empty()),
}


def twin(html: str) -> dict[str, Any]:
    """The data that the page shows, as in the document."""
    match = re.search(r'<script type="application/json" id="twins">(.*?)</script>', html, re.S)
    assert match
    ((url, data),) = json.loads(match.group(1)).items()
    assert url == f"/api{re.search(r'data-page=.([a-z/]+)', html)[1]}"  # type: ignore[index]
    found: dict[str, Any] = data
    return found


@pytest.mark.parametrize("name", PAGES)
def test_hostile_text_cannot_leave_its_place(name: str) -> None:
    html = PAGES[name]()
    assert "<img" not in html.split("<script>")[0]
    assert html.count("</script>") == 2
    assert "49" not in html.split("<title>")[1].split("</title>")[0]


def test_an_option_carries_its_ranges_its_kinds_and_the_age_of_its_price() -> None:
    (chosen,) = [each for each in twin(PAGES["advice"]())["options"] if each["chosen"]]
    option = chosen["option"]
    assert (option["instance_type"], option["nodes"]) == ("i2.8xlarge", 178)
    assert option["time_s"] == {"value": 1010.3, "low": 879.0, "high": 1010.3}
    assert option["cost_usd"] == {"value": 340.6, "low": 299.4, "high": 340.6}
    assert option["weakest"] == "advertised"
    assert (option["price_as_of"], option["price_is_stale"]) == ("2014-09-06", True)


def test_what_is_at_least_so_much_is_marked() -> None:
    options = [each["option"] for each in twin(PAGES["advice"]())["options"]]
    assert [o["instance_type"] for o in options if o["lower_bound"]] == ["cc2.8xlarge"]


def test_what_is_not_known_keeps_its_reason() -> None:
    bars = {bar["instance_type"]: bar for bar in twin(PAGES["advice"]())["bars"]}
    usd = bars["cr1.8xlarge"]["usd"]
    assert usd["at scale"] == {"reason": samples.NO_NETWORK.reason}
    assert usd["baseline"] > 0


def test_a_simulation_carries_quantiles_marks_settings_and_bins() -> None:
    page = samples.simulation()
    found = twin(data_page("/simulation", page))
    assert found["histogram"]["counts"] == list(page.histogram.counts)
    assert [mark["kind"] for mark in found["marks"]] == [m.kind for m in page.marks]
    assert {"label": "Lost nodes", "value": {"reason": "no loss rate was given"}} in (
        found["settings"]
    )


@given(st.text())
def test_any_text_survives_the_island(text: str) -> None:
    page = replace(samples.advice_empty(), bars=(samples.costs(text, 1, 1.0, 2.0, 3.0),))
    assert twin(data_page("/advice", page))["bars"][0]["instance_type"] == text


@pytest.mark.parametrize(
    ("edges", "counts"),
    [
        ((1.0, 2.0), (1, 2)),
        ((2.0, 1.0), (1,)),
        ((1.0, float("inf")), (1,)),
        ((1.0, 2.0), (-1,)),
        ((1.0,), ()),
    ],
)
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
