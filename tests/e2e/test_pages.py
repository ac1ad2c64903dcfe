"""The served pages in a real browser: opened, used, and compared with what the interface says.

web/tests/pages.mjs plays all scenes in one Chromium against three `venturi serve`; the tests below
judge what it met. PAGE_SHOTS_DIR names a folder for screenshots of them; else none is taken.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import hosts_reading
import pyarrow.parquet as pq
import pytest
from chart_reading import (
    Finding,
    affine,
    bar_of,
    close,
    column,
    is_as_asked,
    is_ranked,
    number,
    on_its_axis,
    places,
    seconds,
)
from page_urls import CHARTS, LAB, PAGES

import pages_samples
import report_samples
from api_client import READ_TOKEN, Server

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

WEB = Path(__file__).parents[2] / "web"
PX = 0.75


@pytest.fixture(scope="module")
def met(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Finding]:
    """All that Chromium met."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if chromium is None:
        pytest.skip("Chromium is not installed (Debian package chromium)")
    if shutil.which("node") is None or not (WEB / "node_modules" / "playwright-core").is_dir():
        pytest.skip("playwright-core is not installed: `make setup` installs it")
    folder = tmp_path_factory.mktemp("pages")
    shots = os.environ.get("PAGE_SHOTS_DIR", "")
    if shots:
        Path(shots).mkdir(parents=True, exist_ok=True)
    home, job = folder / "home", folder / "job.json"
    home.mkdir()
    pages_samples.filled(home)
    servers = [
        Server(home, "--port", "0"),
        Server(folder / "empty", "--port", "0"),
        Server(home, "--port", "0", VENTURI_READ_TOKEN=READ_TOKEN),
    ]
    try:
        named = zip(("server", "empty", "locked"), servers, strict=True)
        addresses = {name: server.start().url.rstrip("/") for name, server in named}
        told = {
            "pages": PAGES,
            "lab": LAB,
            "source": pages_samples.LAB,
            "token": READ_TOKEN,
            "sixteen": f"/trials/{pages_samples.SIXTEEN}",
        }
        folders = {"shots": shots, "downloads": str(folder)}
        job.write_text(json.dumps(addresses | told | folders))
        played = subprocess.run(
            ["node", str(WEB / "tests" / "pages.mjs"), chromium, str(job)],
            env={**os.environ, "TMPDIR": str(folder)},  # the browser's profile
            capture_output=True,
            text=True,
            timeout=560,
            check=False,
        )
        assert played.returncode == 0, played.stderr
        yield json.loads(played.stdout)
    finally:
        for server in servers:
            if server.process is not None:
                server.process.kill()
                server.process.communicate()


@pytest.fixture
def scene(met: Finding, request: pytest.FixtureRequest) -> Finding:
    """What the scene of the test's mark met."""
    name: str = request.param
    found: Finding = met["scenes"][name]
    assert "failed" not in found, found["failed"]
    assert found["problems"] == []
    return found


def scenes(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("scene", [name], indirect=True)


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
    assert "No: it is failed, not succeeded" in failed["text"]


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
        "Memory of executors",
        "size of the heap",
        "Came in a second",
        "Left at its sources",
        "Batches of clicks",
        "Watermark behind",
        "killed (signal 9)",
    ):
        assert text in page["text"], text
    assert page["text"].index("What to do") < page["text"].index("Where the time went")


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


# ---- the repository ----


@scenes("filters")
def test_filters_show_what_the_interface_finds(scene: Finding) -> None:
    names = ("all", "one", "two", "three", "four")
    for name in names:
        is_as_asked(scene[name])
    totals = [scene[name]["total"] for name in names]
    lab = len(pages_samples.lab_trials())
    assert totals[1:3] == [lab + 1, lab / 2]
    assert totals[0] > totals[1]
    assert 0 < totals[3] < totals[2]
    assert totals[3] < totals[4] < totals[1]
    assert "elapsed_s%3C300" in scene["three"]["url"]
    assert scene["wrong"].startswith("No value is “no such thing”. Write a value, KEY=VALUE")
    assert "Did you mean workload=terasort?" in scene["near"]
    assert scene["taken"].endswith("where=workload%3Dterasort")
    (facet,) = scene["counted"]["facets"]
    counts = {str(value["value"]): f"{value['n']:,}" for value in facet["values"]}
    assert {value: n for value, n in scene["facets"] if value in counts} == counts


@scenes("sorting")
def test_a_head_sorts_up_and_down(scene: Finding) -> None:
    up, down = scene["steps"]
    assert [up["order"], down["order"]] == ["ascending", "descending"]
    for step in (up, down):
        is_as_asked(step)
    assert up["shown"] != down["shown"]


@scenes("paging")
def test_pages_follow_and_the_way_back_leads_back(scene: Finding) -> None:
    for name in ("first", "second", "back", "forth", "again"):
        is_as_asked(scene[name])
    first, second = scene["first"]["shown"], scene["second"]["shown"]
    assert not set(first) & set(second)
    assert scene["back"]["shown"] == scene["again"]["shown"] == first
    assert scene["forth"]["shown"] == second


@scenes("columns")
def test_columns_are_chosen(scene: Finding) -> None:
    assert scene["after"] == [*scene["before"], "repetition"]
    assert scene["shown"] == scene["values"]
    assert scene["usual"] == scene["before"]


@scenes("permalinks")
def test_a_permalink_shows_the_same_state_elsewhere(scene: Finding) -> None:
    trials, compare = scene["states"]
    assert all(f"{part}=" in trials["url"] for part in ("where", "sort", "pick"))
    assert all(part in compare["url"] for part in ("tab=shares", "log=1"))
    for state in scene["states"]:
        assert state["shown"] == state["reopened"]
        assert len(state["shown"]) > 300


@scenes("downloads")
def test_downloads_have_what_is_shown(scene: Finding) -> None:
    assert scene["twin"]["suggested"] == "time-against-cost.csv"
    rows = list(csv.reader(Path(scene["twin"]["path"]).read_text().splitlines()))
    shown = scene["table"]
    assert rows[0] == shown[0]
    assert [row[0:2] for row in rows] == [row[0:2] for row in shown]
    at = rows[0].index("median time (s)")
    for row, cells in zip(rows[1:], shown[1:], strict=True):
        assert float(row[at]) == pytest.approx(float(cells[at].replace(",", "")), rel=1e-4)
    files = scene["files"]
    ndjson, lines = (Path(files[n]["path"]).read_text() for n in ("NDJSON", "Whole records"))
    records = [json.loads(line) for line in lines.splitlines()]
    table = list(csv.DictReader(io.StringIO(Path(files["CSV"]["path"]).read_text())))
    columnar = pq.read_table(files["Parquet"]["path"])
    assert {*map(len, (records, table, ndjson.splitlines(), columnar))} == {scene["total"]}
    assert {r["provenance"]["source"] for r in records} == {pages_samples.LAB}
    assert {r["id"] for r in records} == {r["id"] for r in table}
    assert Path(scene["file"]["path"]).read_text() == "sorted\n"


@scenes("exclusion")
def test_an_exclusion_takes_effect_until_it_is_revoked(scene: Finding) -> None:
    total = scene["covered"]["total"]
    assert total == 3 + 1  # three repetitions, one warm-up
    is_as_asked(scene["covered"])
    assert scene["left"]["said"].startswith(f"0 trials, besides {total} excluded")
    assert len(scene["marked"]) == total
    for counts in (scene["before"], scene["during"], scene["after"]):
        assert counts["groups"] == counts["shown"]
    full = pages_samples.REPETITIONS
    assert scene["before"]["shown"] == scene["after"]["shown"] == [full, full]
    assert "the clock was wrong" in scene["listed"]
    assert f"{total} trials" in scene["listed"]
    assert "Revoked by Ada" in scene["revoked"]


@scenes("views")
def test_a_view_is_saved_opened_and_deleted(scene: Finding) -> None:
    assert scene["opened"] == {"url": scene["path"], "text": scene["shown"]}


# ---- a job on the time axis of its host ----


@scenes("stages")
def test_bars_of_stages_stand_on_the_clock_of_the_host(scene: Finding) -> None:
    job, whole, part = scene["job"], scene["whole"], scene["part"]
    ends = [(job["began_s"] + s["started_s"], s["elapsed_s"]) for s in job["stages"]]
    _, px_per_s = places(whole)
    for stage, (began_s, took_s) in zip(job["stages"], ends, strict=True):
        assert bar_of(whole, stage) == pytest.approx((began_s, began_s + took_s), abs=2 / px_per_s)
    last, (began_s, took_s) = job["stages"][-1], ends[-1]
    assert last["label"] == "3"
    _, closer = places(part)
    assert closer > 3 * px_per_s
    assert bar_of(part, last) == pytest.approx((began_s, began_s + took_s), abs=2 / closer)
    assert "show=phase-0" in scene["first"]
    assert "show=stage-3" in scene["url"]
    assert scene["same"]


@scenes("stages")
def test_the_tooltip_of_a_moment_says_what_host_and_engine_recorded(scene: Finding) -> None:
    series, job = scene["series"], scene["job"]
    at = min(range(len(series["t_s"])), key=lambda place: abs(series["t_s"][place] - 16.0))
    values = {(line["metric"], line["device"]): line["values"][at] for line in series["lines"]}
    head, *lines = scene["tips"]["moment"].splitlines()
    assert head == f"{series['t_s'][at]:.1f} s · sort"
    assert "Stage 3 collect at records.py:89" in lines
    user = values["cpu_user", None] + values["cpu_nice", None]
    assert f"Processor, user: {user * 100:.0f} %" in lines
    assert f"Disk busy, busiest disk: {values['disk_busy', 'vda'] * 100:.0f} %" in lines
    (written,) = [line for line in lines if line.startswith("Disk, write: ")]
    written_mb_per_s = float(written.removeprefix("Disk, write: ").removesuffix(" MB/s"))
    expected = values["disk_write_bytes_per_s", "vda"] / 1e6
    assert written_mb_per_s == pytest.approx(expected, abs=0.51 if expected >= 10 else 0.006)
    stage = job["stages"][-1]
    name, *said = scene["tips"]["stage"].splitlines()
    assert name == "3 collect at records.py:89"
    assert stage["verdict"] in said
    assert stage["meanwhile"] in said


@scenes("stages")
def test_the_table_beside_the_time_axis_has_the_host_too(scene: Finding) -> None:
    stages = scene["job"]["stages"]
    busy = [f"{stage['host']['cpu_busy'] * 100:.0f} %" for stage in stages]
    assert column(scene["table"], "Host: processor") == busy
    assert column(scene["table"], "Host and engine") == [stage["meanwhile"] for stage in stages]


# ---- analyses: what is drawn and said is what the interface answers ----


@scenes("cost")
def test_bubbles_stand_at_the_medians_of_time_and_cost(scene: Finding) -> None:
    groups = sorted(scene["answer"]["groups"], key=lambda g: g["elapsed_s"]["median"])
    (chart,) = scene["charts"]
    dots = sorted(chart["dots"], key=lambda dot: dot["x"])
    times = [g["elapsed_s"]["median"] for g in groups]
    costs = [g["cost_usd"]["median"] for g in groups]
    assert len(dots) == len(groups) == 4
    assert affine(times, [dot["x"] for dot in dots]) < PX
    assert affine(costs, [dot["y"] for dot in dots]) < PX
    close(sorted(on_its_axis(chart, "x")), times)
    close(sorted(on_its_axis(chart, "y")), sorted(costs))
    twin = scene["tables"][0]
    assert [number(n) for n in column(twin, "n")] == [g["n"] for g in scene["answer"]["groups"]]


@scenes("cost")
def test_a_tooltip_says_what_its_group_came_to(scene: Finding) -> None:
    groups = {" · ".join(g["key"]): g for g in scene["answer"]["groups"]}
    assert len(scene["said"]) == 4
    for text in scene["said"]:
        name, *lines = text.splitlines()
        group = groups.pop(name)
        assert f"median {seconds(group['elapsed_s']['median'])}, n = {group['n']}" in lines
        assert f"rank {group['rank']}: {group['standing']}" in lines[0]
        assert any(f"${group['cost_usd']['median']:.3f}" in line for line in lines)


@scenes("prices")
def test_an_edited_price_changes_the_ranking(scene: Finding) -> None:
    before, edited, reloaded = (is_ranked(scene[s]) for s in ("before", "edited", "reloaded"))
    assert before[0].startswith("SSD")
    assert edited[0].startswith("HDD")
    assert reloaded == edited
    assert scene["before"]["chart"]["dots"] != scene["edited"]["chart"]["dots"]
    assert "plus=disk%3DSSD%3A9" in scene["edited"]["url"]
    assert scene["invalid"] == "true"


@scenes("lead")
def test_the_first_page_leads_to_each_answer_and_to_its_trials(scene: Finding) -> None:
    told = scene["told"]
    assert scene["questions"] == [each["question"] for each in told["answers"]]
    assert scene["answers"] == [each["sentences"][0] for each in told["answers"]]
    assert scene["recent"] == len(told["recent"]) > 0
    disk = next(each for each in told["answers"] if each["url"] == "/effect?key=disk")
    assert scene["verdict"] == disk["sentences"][0]
    is_as_asked(scene["behind"])
    assert scene["behind"]["url"] == disk["trials_url"]


@scenes("behind")
def test_every_group_opens_its_trials_and_tables_sort(scene: Finding) -> None:
    first = scene["groups"][0]
    for step in (scene["named"], scene["drawn"]):
        is_as_asked(step)
        assert step["total"] > 0
    assert scene["named"]["total"] >= first["n"]  # what failed or was a warm-up is there too
    for key, value in zip(("disk", "net"), first["key"], strict=True):
        assert f"{key}%3D{value}" in scene["named"]["url"]
    _, up, down = ([number(text.split(" s")[0]) for text in each] for each in scene["orders"])
    assert up == sorted(up)
    assert down == sorted(up, reverse=True)
    assert scene["sorted"] == "descending"


@scenes("gone")
def test_a_server_that_is_gone_is_said_to_be_and_comes_back(scene: Finding) -> None:
    assert scene["noted"] == []
    assert "The server does not answer" in scene["away"]
    assert "venturi serve" in scene["away"]
    assert "VEN-WEB-BUG" not in scene["away"]
    assert "The server does not answer since" in scene["kept"]["sign"]
    assert scene["kept"]["rows"] == scene["rows"] > 0


@scenes("published")
def test_a_ranking_at_given_prices_draws_each_group_with_a_cost(scene: Finding) -> None:
    groups = scene["answer"]["groups"]
    known = [g for g in groups if g["cost_usd"]["median"] is not None]
    assert len(scene["charts"][0]["dots"]) == len(known) > 0


@scenes("compare")
def test_a_comparison_of_ticked_trials_tells_the_interfaces_verdict(scene: Finding) -> None:
    groups = scene["answer"]["groups"]
    assert scene["picked"] == len(groups) == 2
    assert scene["focus"] == "H1"
    assert scene["verdicts"] == [group["verdict"] for group in groups[1:]]
    strips, ratios = scene["charts"]
    filled = [s for s in strips["swarms"] if len(s["middles"]) > 1]
    assert len(filled) == 2
    for swarm, group in zip(filled, groups, strict=True):
        assert len(group["values_s"]) == pages_samples.REPETITIONS
        # An outlier has a ring, and is drawn by itself.
        others = [value for value in group["values_s"] if value not in group["outliers_s"]]
        assert len(swarm["middles"]) == len(others)
        assert affine(sorted(others), sorted(swarm["middles"])) < PX
    spreads, told = scene["tables"]
    close(
        [number(n) for n in column(spreads, "median (s)")],
        [g["elapsed_s"]["median"] for g in groups],
        1e-4,
    )
    close([number(column(told, "ratio")[0])], [groups[1]["ratio"]], 1e-4)
    close(on_its_axis(ratios, "x", log=True), [groups[1]["ratio"]])


@scenes("effect")
def test_effects_and_their_settings_are_the_interfaces(scene: Finding) -> None:
    answer, (effects, strata) = scene["answer"], scene["charts"][:2]
    found = [each for each in answer["effects"] if each["ratio"] is not None]
    assert found
    close(on_its_axis(effects, "x", log=True), [each["ratio"] for each in found])
    close(
        [number(n) for n in column(scene["tables"][0], "ratio of times")],
        [each["ratio"] for each in found],
        1e-4,
    )
    assert column(scene["tables"][0], "verdict") == [each["verdict"] for each in found]
    assert number(column(scene["tables"][1], "ratio of times")[0]) == found[0]["points"][0]
    assert strata["words"]


@scenes("scaling")
def test_points_of_a_curve_are_the_interfaces(scene: Finding) -> None:
    (chart,), groups = scene["charts"], scene["answer"]["groups"]
    points = [point for group in groups for point in group["points"]]
    assert affine([p["x"] for p in points], [dot["x"] for dot in chart["dots"]]) < PX
    close(on_its_axis(chart, "x"), [p["x"] for p in points])
    medians = [p["elapsed_s"]["median"] for p in points]
    assert affine(medians, [dot["y"] for dot in chart["dots"]]) < PX
    close(on_its_axis(chart, "y"), medians)
    close([number(n) for n in column(scene["tables"][0], "median time (s)")], medians, 1e-4)
    # What lies where was measured is one line, what lies before or beyond is dashed.
    spans = [[point["x"] for point in group["points"]] for group in groups]
    curves = [
        sum(min(xs) <= point["x"] <= max(xs) for point in group["curve"])
        for group, xs in zip(groups, spans, strict=True)
    ]
    # Of two points that fall on one pixel one is drawn.
    assert len(chart["lines"]) == len(curves)
    assert all(n - 1 <= drawn <= n for drawn, n in zip(chart["lines"], curves, strict=True))


@scenes("keyboard")
def test_the_keyboard_reaches_and_works_everything(scene: Finding) -> None:
    assert scene["skip"] == {"text": "Skip to the content", "seen": True}
    assert scene["skipped"] == "main"
    steps = scene["steps"]
    for step in (*steps, *scene["cost"], *scene["twin"]):
        assert step["seen"], step
        assert step["inside"], step
    reached = [f"{step['tag']} {step['name']}" for step in steps]
    order = [
        next((n for n, name in enumerate(reached) if name.startswith(part)), part)
        for part in (
            "INPUT Search:",
            "INPUT also excluded",
            "SUMMARY disk",
            "SUMMARY Columns",
            "SECTION Trials",
            "INPUT Pick all trials of this page",
            "BUTTON time",
            "INPUT Pick 01",
        )
    ]
    assert all(isinstance(place, int) for place in order), order
    assert order == sorted(order)
    assert scene["ticked"]["total"] < scene["before"]["total"]
    is_as_asked(scene["ticked"])
    assert "sort=elapsed_s" in scene["sorted"]["url"]
    is_as_asked(scene["sorted"])
    names = [step["name"] for step in scene["cost"]]
    for name in ("Rank by", "US$ an hour", "Axes", "logarithmic", "Table: Time against cost"):
        assert name in names
    assert scene["opened"] is True
    first, *heads, last = [step["name"] for step in scene["twin"]]
    assert (first, last) == ("Time against cost", "Download as CSV")
    # Between them the heads, which sort, and the groups' names, which open their trials.
    assert heads[: len(scene["heads"])] == scene["heads"]
    assert "log=1" in scene["log"]


@scenes("tasks")
def test_keys_go_over_the_tasks_of_a_job_and_evidence_leads_to_them(scene: Finding) -> None:
    assert (scene["reached"], scene["ring"] != "none", scene["cursors"] > 3) == (True, True, True)
    assert any(told.startswith("executor ") for told in scene["told"]), scene["told"]
    assert any(told.startswith(("job ", "stage ")) for told in scene["told"]), scene["told"]
    lengths_s = []
    for url in (scene["closer"], scene["farther"]):
        asked = parse_qs(urlsplit(url).query)
        lengths_s.append(float(asked["to_s"][0]) - float(asked["from_s"][0]))
    assert 0 < lengths_s[0] < lengths_s[1]
    assert scene["back"] == scene["again"] == scene["whole"]
    assert scene["seen"] == ["stage 1, task 7, host h1, executor 1", "1"]


@scenes("errors")
def test_what_is_wrong_is_said_and_can_be_mended(scene: Finding) -> None:
    met = scene["met"]
    assert scene["noted"] == []
    codes = {"condition": "VEN-QUERY-VALUE", "trial": "VEN-RECORD-UNKNOWN", "key": "VEN-API"}
    for name, code in codes.items():
        assert any(code in alert for alert in met[name]["alerts"]), met[name]
    assert "'nonsense'" in met["condition"]["alerts"][0]
    assert "No trial meets these conditions" in met["nothing"]["text"]
    assert "No such page" in met["page"]["text"]
    assert "none" in met["group"]["text"]
    assert scene["mended"].endswith("trials")


@scenes("theme")
def test_the_button_changes_page_and_charts_and_is_remembered(scene: Finding) -> None:
    light, dark = scene["light"], scene["dark"]
    assert scene["kept"] == dark
    assert scene["back"] == light
    assert all(light[part] != dark[part] for part in ("background", "grid", "button"))


@scenes("history")
def test_back_and_forward_lead_through_the_pages(scene: Finding) -> None:
    compare, effect, first, second, third, last = scene["urls"]
    assert compare == f"/compare?{LAB}"
    assert effect.startswith("/effect?")
    assert "key=" in effect
    assert first == f"/effect?{LAB}"
    assert (second, third, last) == (compare, first, effect)
    assert [title.split(" · ")[0] for title in scene["titles"]] == [
        "Effects",
        "Effects",
        "Compare",
        "Effects",
        "Effects",
    ]
    assert scene["charts"] == 2


@scenes("login")
def test_a_token_opens_the_door_and_is_kept_nowhere(scene: Finding) -> None:
    assert scene["links"] == 0
    assert "VEN-API-TOKEN" in scene["refused"] or "token" in scene["refused"]
    assert READ_TOKEN not in scene["stored"] + scene["url"]
    assert scene["cookies"] == [{"httpOnly": True, "sameSite": "Strict"}]
    assert scene["tools"] == ["Columns", "Download all of them"]  # nothing that writes
    assert "trials" in scene["text"]
    assert scene["noted"] == []


@scenes("starter")
def test_an_empty_repository_shows_something_real_in_ten_seconds(scene: Finding) -> None:
    assert "Nothing is recorded here yet" in scene["before"]
    assert scene["elapsed_ms"] < 10_000  # the promise itself
    assert scene["status"]["starter_present"] is True
    assert scene["said"] == f"{scene['status']['trials']} trials imported"
    assert scene["dots"] == len(scene["table"]) - 1 == 8
    assert "Nothing is recorded" not in scene["after"]
    assert report_samples.STORABLE not in scene["after"]
