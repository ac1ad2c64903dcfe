"""The pages as a reader uses them: filters, tables, keys, errors, logins."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pyarrow.parquet as pq
import pytest
from chart_reading import (
    Finding,
    is_as_asked,
    scenes,
)
from page_urls import LAB

import pages_samples
import report_samples
from api_client import READ_TOKEN

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]


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
    assert scene["wrong"].startswith("No value matches “no such thing”. Enter a value, KEY=VALUE")
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
    assert scene["left"]["said"].startswith(f"0 trials, plus {total} excluded")
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
            "INPUT include excluded",
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
    for name in ("Rank by", "US$ per hour", "Axes", "logarithmic", "Table: Time against cost"):
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
    assert "No trial matches this condition" in met["nothing"]["text"]
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
    # Nothing that writes.
    assert scene["tools"] == ["Columns", "Download these trials", "Export, or run in a terminal"]
    assert "trials" in scene["text"]
    assert scene["noted"] == []


@scenes("starter")
def test_an_empty_repository_shows_something_real_in_ten_seconds(scene: Finding) -> None:
    assert "Three ways to begin" in scene["before"]
    assert scene["elapsed_ms"] < 10_000  # the promise itself
    assert scene["status"]["starter_present"] is True
    assert scene["said"] == f"{scene['status']['trials']} trials imported"
    assert scene["dots"] == len(scene["table"]) - 1 == 8
    assert "Three ways to begin" not in scene["after"]
    assert report_samples.STORABLE not in scene["after"]
