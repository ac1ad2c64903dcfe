"""The served pages in a real browser: opened, used, and compared with the interface's answers.

web/tests/pages.mjs plays all scenes in one Chromium against three `venturi serve`; the tests below
judge its findings. PAGE_SHOTS_DIR names a folder for screenshots of them; else none is taken.
"""

from __future__ import annotations

import re
from itertools import pairwise

import hosts_reading
import pytest
from chart_reading import (
    Finding,
    scenes,
)
from page_urls import CHARTS, PAGES

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]


def where(page: Finding) -> str:
    return f"{page['name']} at {page['width']} px, {page['colorScheme']}"


# ---- every page, at both widths, light and dark ----


def test_every_page_opens_without_an_error_or_a_failed_request(met: Finding) -> None:
    assert len(met["pages"]) == 4 * len(PAGES)
    assert {where(p): p["problems"] for p in met["pages"] if p["problems"]} == {}
    for page in met["pages"]:
        assert page["title"].endswith(" · Venturi"), where(page)
        refused = [text for text in page["failures"] if "VEN-MEASURE-SPACE" not in text]
        assert refused == [], where(page)


def test_nothing_leaves_the_screen(met: Finding) -> None:
    for page in met["pages"]:
        assert page["overflow_px"] <= 0, where(page)
        assert page["beyond"] == [], where(page)
        assert [c["name"] for c in page["charts"] if c["beyond_px"] > 2] == [], where(page)


def test_axe_finds_nothing_serious(met: Finding) -> None:
    assert {where(p): p["violations"] for p in met["pages"] if p["violations"]} == {}


def test_the_dark_scheme_is_dark(met: Finding) -> None:
    for page in met["pages"]:
        brightness = sum(map(int, re.findall(r"\d+", page["background"])[:3]))
        assert (brightness < 200) == (page["colorScheme"] == "dark"), where(page)


def test_every_chart_is_drawn_and_has_a_table_twin(met: Finding) -> None:
    for page in met["pages"]:
        assert len(page["charts"]) == CHARTS[page["name"]], where(page)
        for chart in page["charts"]:
            assert chart["marks"] > 4, (where(page), chart)
            assert chart["twins"] == 1, (where(page), chart)
            assert chart["said"] is None, (where(page), chart)
            assert chart["name"]


def test_headings_descend_and_controls_have_names(met: Finding) -> None:
    for page in met["pages"]:
        levels = page["headings"]
        assert levels.count(1) == 1, where(page)
        assert all(b - a <= 1 for a, b in pairwise(levels)), (where(page), levels)
        assert page["nameless"] == [], where(page)


def test_hostile_text_stays_text(met: Finding) -> None:
    for page in met["pages"]:
        assert page["images"] == 0, where(page)
        if page["name"] == "failed":
            assert "<img src=x onerror=" in page["text"]


def test_a_trial_tells_phases_validity_files_and_its_group(met: Finding) -> None:
    page = next(p for p in met["pages"] if p["name"] == "trial")
    for text in (
        "Does it count?",
        "Yes: it succeeded",
        "map+shuffle",
        "agent.log",
        "warm-up",
        "host.parquet",
        "threads",
        "Machine facts: bench-01",
    ):
        assert text in page["text"], text
    failed = next(p for p in met["pages"] if p["name"] == "failed")
    assert "No: it failed." in failed["text"]


def test_a_trial_with_tiers_tells_what_lay_where_and_what_overflowed_when(met: Finding) -> None:
    page = next(p for p in met["pages"] if p["name"] == "tiers")
    for text in ("Local files by tier", "uses at most 800.0 MB", "takes what is left", "11.0 s"):
        assert text in page["text"], text


def test_a_job_has_its_plan_its_memory_and_its_streams(met: Finding) -> None:
    page = next(p for p in met["pages"] if p["name"] == "planned")
    for text in (
        "sales by customer",
        "9,000,000 rows",
        "stage 0",
        "Executor memory",
        "heap size",
        "Input rows/s",
        "Rows left at sources",
        "Batches of clicks",
        "Watermark delay",
        "killed (signal 9)",
    ):
        assert text in page["text"], text
    opening = ["saves ", "Fix:", "Where the ", "Next steps", "On this page", "Job details"]
    places = [page["text"].index(text) for text in opening]
    assert places == sorted(places)


def test_a_cluster_tells_its_hosts_what_differs_and_its_probes(met: Finding) -> None:
    page = next(p for p in met["pages"] if p["name"] == "clusters")
    assert [text for text in hosts_reading.OF_THE_LAB if text not in page["text"]] == []


@scenes("hosts")
def test_many_hosts_can_be_read_on_a_narrow_screen(scene: Finding) -> None:
    for step, hosts in ((scene["sixteen"], 16), (scene["forty"], 40)):
        hosts_reading.is_matrix(step, hosts)
        hosts_reading.are_multiples(step, hosts)
    assert scene["chosen"].startswith("Network, larger direction")
    assert "device=network" in scene["url"]
