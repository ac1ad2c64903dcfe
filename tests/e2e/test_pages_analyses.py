"""The pages of analyses and jobs draw and say what the interface answers."""

from __future__ import annotations

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
    scenes,
    seconds,
)

import pages_samples

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

PX = 0.75


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
    assert "The server doesn't answer" in scene["away"]
    assert "venturi serve" in scene["away"]
    assert "VEN-WEB-BUG" not in scene["away"]
    assert "The server hasn't answered since" in scene["kept"]["sign"]
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
        [number(n) for n in column(scene["tables"][0], "time ratio")],
        [each["ratio"] for each in found],
        1e-4,
    )
    assert column(scene["tables"][0], "verdict") == [each["verdict"] for each in found]
    assert number(column(scene["tables"][1], "time ratio")[0]) == found[0]["points"][0]
    assert strata["words"]


@scenes("scaling")
def test_points_of_a_curve_are_the_interfaces(scene: Finding) -> None:
    (curve, chart), groups = scene["charts"], scene["answer"]["groups"]
    values = scene["answer"]["matched"]["values"]
    close(on_its_axis(curve, "x"), [each["value"] for each in values])
    close(on_its_axis(curve, "y", log=True), [each["ratio"] for each in values])
    close(
        [number(n) for n in column(scene["tables"][0], "time ratio")],
        [each["ratio"] for each in values],
        1e-4,
    )
    points = [point for group in groups for point in group["points"]]
    assert affine([p["x"] for p in points], [dot["x"] for dot in chart["dots"]]) < PX
    close(on_its_axis(chart, "x"), [p["x"] for p in points])
    medians = [p["elapsed_s"]["median"] for p in points]
    assert affine(medians, [dot["y"] for dot in chart["dots"]]) < PX
    close(on_its_axis(chart, "y"), medians)
    close([number(n) for n in column(scene["tables"][1], "median time (s)")], medians, 1e-4)
    # What lies where was measured is one line, what lies before or beyond is dashed.
    spans = [[point["x"] for point in group["points"]] for group in groups]
    curves = [
        sum(min(xs) <= point["x"] <= max(xs) for point in group["curve"])
        for group, xs in zip(groups, spans, strict=True)
    ]
    # Of two points that fall on one pixel one is drawn.
    assert len(chart["lines"]) == len(curves)
    assert all(n - 1 <= drawn <= n for drawn, n in zip(chart["lines"], curves, strict=True))


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
    assert f"CPU, user: {user * 100:.0f}%" in lines
    assert f"Disk busy, busiest disk: {values['disk_busy', 'vda'] * 100:.0f}%" in lines
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
    busy = [f"{stage['host']['cpu_busy'] * 100:.0f}%" for stage in stages]
    assert column(scene["table"], "Host: CPU") == busy
    assert column(scene["table"], "Host and engine") == [stage["meanwhile"] for stage in stages]
