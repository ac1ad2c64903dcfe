"""The analyses asked over HTTP: what they answer, what they refuse, what they say in words."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import httpx
import pytest
from analysis_requests import WORK, Add, MakeTrial, around, ask, refused

from venturi.record.access import exclusions
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import (
    Cluster,
    Host,
    Provenance,
    ProvenanceKind,
    State,
    Workload,
)

# --- cost ----------------------------------------------------------------------------------------


def test_cost_of_nodes_counts_them(client: httpx.Client, add: Add) -> None:
    add(around(100), hosts=8, configuration={"disk": "HDD"})
    add(around(180), hosts=4, configuration={"disk": "HDD"})
    found = ask(
        client,
        "/api/cost",
        by=["hosts"],
        objective="cost",
        usd_per_hour=2,
        per="node",
        price_as_of="2026-01-01",
        price_source="a quote",
    )
    assert [group["usd_per_hour"] for group in found["groups"]] == [8, 16]
    first, second = found["groups"]
    assert (first["key"], first["standing"], second["standing"]) == ([4], "best", "worse")
    assert first["cost_usd"]["median"] == pytest.approx(first["elapsed_s"]["median"] * 8 / 3600)
    assert found["prices"] == {
        "usd_per_hour": 2,
        "plus": [],
        "per": "node",
        "as_of": "2026-01-01",
        "source": "a quote",
    }
    assert found["verdict"].startswith("4 is cheapest")
    mixed = ask(client, "/api/cost", by=["disk"], objective="cost", usd_per_hour=2, per="node")
    assert mixed["groups"][0]["rank"] is None
    assert "group by hosts" in mixed["groups"][0]["reason"]
    assert mixed["groups"][0]["cost_usd"]["median"] is None


def test_cost_the_frontier_has_what_is_neither_slower_nor_dearer(
    client: httpx.Client, add: Add
) -> None:
    for disk, seconds in {"HDD": 300, "SSD": 200, "NVMe": 150, "tape": 900}.items():
        add(around(seconds), configuration={"disk": disk})
    found = ask(
        client,
        "/api/cost",
        by=["disk"],
        objective="pareto",
        usd_per_hour=3,
        plus=["disk=SSD:2", "disk=NVMe:6"],
    )
    fronts = {group["key"][0]: group["frontier"] for group in found["groups"]}
    assert fronts == {"HDD": "yes", "SSD": "yes", "NVMe": "yes", "tape": "no"}
    assert all(g["on_frontier"] == (g["frontier"] == "yes") for g in found["groups"])


def test_cost_adds_prices_by_other_names_of_a_key_of_by(client: httpx.Client, add: Add) -> None:
    for maps in (8, 16):
        add(around(100), configuration={"maps": maps, "disk": "SSD"})
    asked = {"by": "maps", "objective": "cost", "usd_per_hour": 1}
    found = ask(client, "/api/cost", **asked, plus="map tasks=16:2")
    assert {g["key"][0]: g["usd_per_hour"] for g in found["groups"]} == {"8": 1, "16": 3}
    other = refused(client, "/api/cost", **asked, plus="disk=SSD:2")
    assert (other["code"], other["detail"]) == (
        "VEN-QUERY-VALUE",
        "disk is not one of the keys in by",
    )


def test_cost_says_what_codes_of_disks_mean(client: httpx.Client, add: Add) -> None:
    for disk in ("SS2", "RL6", "SSD", "nvme"):
        add(around(100, n=3), configuration={"disk": disk})
    groups = ask(client, "/api/cost", by="disk")["groups"]
    assert {group["key"][0]: group["meanings"] for group in groups} == {
        "SS2": ["2 SSDs"],
        "RL6": ["HDFS on 6 remote disks, temporary files on a local disk"],
        "SSD": [None],
        "nvme": [None],
    }


def test_cost_without_a_price_or_trials_says_so(client: httpx.Client, add: Add) -> None:
    assert "usd_per_hour" in json.dumps(refused(client, "/api/cost", objective="cost"))
    free = refused(client, "/api/cost", by="disk", usd_per_hour=0, objective="cost")
    assert free["code"] == "VEN-QUERY-VALUE"
    assert refused(client, "/api/cost", by="disk", usd_per_hour=1, plus="net=IB:1")["code"]
    empty = ask(client, "/api/cost", by="disk")
    assert (empty["groups"], empty["verdict"][:11]) == ([], "Cannot tell")
    add(around(100, n=3), configuration={"disk": "SSD"})
    few = ask(client, "/api/cost", by="disk")
    assert few["groups"][0]["reason"].startswith("3 kept trials")
    assert few["groups"][0]["elapsed_s"]["median"] is not None
    assert few["groups"][0]["cost_usd"] is None
    add(around(100), configuration={"disk": "HDD"})
    one = ask(client, "/api/cost", by="disk")["verdict"]
    assert one.startswith(
        "Cannot tell which is fastest: of 2 groups only one has enough trials; HDD"
    )
    alone = ask(client, "/api/cost", by="disk", where="disk=HDD")["verdict"]
    assert alone.startswith("Only one group, so there is no ranking: HDD: median 99.7 s")


# --- compare -------------------------------------------------------------------------------------


def test_compare_shows_all_times_warm_ups_and_a_verdict(client: httpx.Client, add: Add) -> None:
    eth, ib = around(200, n=12), around(170, n=12)
    eth[3] = 900.0
    add(eth, configuration={"net": "ETH"})
    add(ib, configuration={"net": "IB"})
    add([500.0], configuration={"net": "IB"}, warm_up=True)
    add([1.0], configuration={"net": "IB"}, state=State.FAILED)
    found = ask(client, "/api/compare", by="net", group=['["ETH"]', '["IB"]'])
    first, second = found["groups"]
    assert (first["key"], first["verdict"], first["outcome"]) == (["ETH"], "the reference", None)
    assert first["outliers_s"] == [900.0]
    assert first["values_s"] == sorted(eth)
    assert second["warm_ups_s"] == [500.0]
    assert second["by_state"] == {"succeeded": 13, "failed": 1}
    assert (second["n"], second["outcome"]) == (12, "lower")
    assert second["chance_lower"] > 0.95
    assert second["ratio_interval"]["low"] < second["ratio"] < second["ratio_interval"]["high"] < 1
    assert second["verdict"].startswith("IB takes 1")
    assert "less time than ETH" in second["verdict"]
    assert found["warnings"] == []
    assert found["outlier_rule"].startswith("shared-spread")


def test_compare_says_when_it_cannot_tell_and_when_like_is_not_with_like(
    client: httpx.Client, add: Add
) -> None:
    add(around(100, n=3), configuration={"net": "ETH"})
    add(around(90, n=2), configuration={"net": "IB"})
    few = ask(client, "/api/compare", by="net")
    assert few["groups"][1]["outcome"] == "cannot tell"
    assert few["groups"][1]["verdict"].startswith("cannot tell: 3 and 2 trials are too few")
    add(around(90, n=2), configuration={"net": "IB"}, workload=replace(WORK, version="v2"))
    add(
        around(90, n=2),
        configuration={"net": "IB"},
        provenance=Provenance(ProvenanceKind.IMPORTED, "elsewhere"),
    )
    said = " ".join(ask(client, "/api/compare", by="net")["warnings"])
    assert "IB mixes different values of workload_version: v1, v2" in said
    assert "IB mixes different values of provenance" in said


def test_compare_takes_the_two_largest_and_refuses_what_is_not_there(
    client: httpx.Client, add: Add
) -> None:
    for disk, n in {"HDD": 6, "SSD": 9, "tape": 2}.items():
        add(around(100, n=n), configuration={"disk": disk, "maps": 12})
    found = ask(client, "/api/compare", by=["disk", "maps"])
    assert [group["key"] for group in found["groups"]] == [["SSD", "12"], ["HDD", "12"]]
    same = ask(client, "/api/compare", by=["disk", "maps"], group=['["tape", 12]', '["SSD", "12"]'])
    assert [group["key"][0] for group in same["groups"]] == ["tape", "SSD"]
    assert "the largest are" in refused(client, "/api/compare", by="disk", group='["x"]')["hint"]
    for bad in ("x", "{}", '["a","b"]', "[[1]]", "[" * 5_000):
        refused(client, "/api/compare", by="disk", group=bad)
    alone = ask(client, "/api/compare", by="disk", where="disk=SSD")
    assert "nothing to compare" in alone["warnings"][-1]


def test_compare_is_over_settings_alike_in_all_else_and_tells_the_crude_ratio_as_such(
    client: httpx.Client, add: Add
) -> None:
    for maps, seconds, hdd, ssd in ((1, 100, 8, 2), (2, 1_000, 2, 8), (3, 500, 3, 3)):
        add(around(seconds, n=hdd), configuration={"disk": "HDD", "maps": maps})
        add(around(0.8 * seconds, n=ssd), configuration={"disk": "SSD", "maps": maps})
    found = ask(client, "/api/compare", by="disk", group=['["HDD"]', '["SSD"]'])
    second = found["groups"][1]
    effect = ask(client, "/api/effect", key="disk", baseline="HDD")["effects"][0]
    assert (second["ratio"], second["verdict"]) == (effect["ratio"], effect["verdict"])
    assert second["ratio"] == pytest.approx(0.8, rel=0.1)
    assert second["verdict"].startswith("SSD takes")
    assert "less time than HDD" in second["verdict"]
    crude = float(re.search(r"is ([0-9.]+) times", second["crude"])[1])
    assert crude > 1.2  # the SSDs have more of the long settings
    assert second["p_value"] is None


def test_compare_takes_the_pair_that_has_most_in_common(client: httpx.Client, add: Add) -> None:
    add(around(100, n=30), configuration={"disk": "tape", "maps": 9})
    for maps in (1, 2, 3):
        add(around(100, n=2), configuration={"disk": "HDD", "maps": maps})
        add(around(80, n=2), configuration={"disk": "SSD", "maps": maps})
    found = ask(client, "/api/compare", by="disk")
    assert {group["key"][0] for group in found["groups"]} == {"HDD", "SSD"}


def test_compare_pools_what_is_not_alike_on_request_only(client: httpx.Client, add: Add) -> None:
    other = Workload("wordcount", "v1", "large", 10**11)
    add(around(200, n=12), configuration={"maps": 8})
    add(around(100, n=12), configuration={"maps": 8}, workload=other)
    asked = {"by": "workload", "group": ['["terasort"]', '["wordcount"]']}
    second = ask(client, "/api/compare", **asked)["groups"][1]
    assert (second["outcome"], second["ratio"]) == ("cannot tell", None)
    assert second["verdict"] == (
        "Cannot tell wordcount from terasort: they differ in workload: times of different "
        "workloads aren't compared"
    )
    crude = ask(client, "/api/compare", **asked, crude="1")["groups"][1]
    assert crude["outcome"] == "lower"
    assert crude["verdict"].startswith("Crude (confounded): wordcount takes")


def test_compare_names_what_groups_without_a_value_are_confounded_by(
    client: httpx.Client, add: Add
) -> None:
    """Trials that state no disk have no effect of it, and ran with other maps."""
    add(around(200, n=12), configuration={"maps": 8})
    add(around(100, n=12), configuration={"disk": "SSD", "maps": 16, "threads": 2})
    add(around(100, n=12), configuration={"disk": "SSD", "maps": 16, "threads": 4})
    asked = {"by": "disk", "group": ["[null]", '["SSD"]']}
    second = ask(client, "/api/compare", **asked)["groups"][1]
    assert (second["outcome"], second["ratio"]) == ("cannot tell", None)
    assert "confounded by " in second["verdict"]
    assert "maps" in second["verdict"]
    add(around(150, n=12), configuration={"disk": "SSD", "maps": 8})
    alike = ask(client, "/api/compare", **asked, where="maps=8")["groups"][1]
    assert (alike["outcome"], alike["crude"]) == ("lower", None)


def test_printed_figures_of_one_setting_are_never_repeats(client: httpx.Client, add: Add) -> None:
    for disk, seconds in (("HDD", 200), ("SSD", 100)):
        add(around(seconds), configuration={"disk": disk, "published_statistic": "not stated"})
    why = "printed figures (not stated) are not repeats of each other"
    (effect,) = ask(client, "/api/effect", key="disk")["effects"]
    assert (effect["outcome"], effect["interval"], effect["reason"]) == ("cannot tell", None, why)
    second = ask(client, "/api/compare", by="disk")["groups"][1]
    assert (second["outcome"], second["ratio_interval"]) == ("cannot tell", None)
    assert why in second["verdict"]
    ranking = ask(client, "/api/cost", by="disk")
    assert ranking["basis"] == "refused"
    assert why in ranking["verdict"]
    add(around(90), configuration={"disk": "SSD"})
    add(around(300), configuration={"disk": "HDD"})
    again = ask(client, "/api/cost", by="disk", where="published_statistic=")
    assert (again["basis"], again["groups"][0]["key"]) == ("pooled", ["SSD"])


# --- effect --------------------------------------------------------------------------------------


def test_an_effect_matches_strata_and_what_goes_along_confounds_it(
    client: httpx.Client, add: Add
) -> None:
    for block in range(6):
        for maps, factor in ((8, 1.0), (16, 0.8)):
            setup = {"maps": maps, "block": block, "maps_total": maps * 4}
            add(around(100 * (block + 1) * factor, n=2, seed=maps), configuration=setup)
    add([7.0], configuration={"maps": 16, "block": 99, "maps_total": 64}, state=State.FAILED)
    found = ask(client, "/api/effect", key="maps", baseline="8")
    (effect,) = found["effects"]
    assert (effect["value"], effect["strata"], effect["n"], effect["failed"]) == (["16"], 6, 12, 1)
    assert effect["ratio"] == pytest.approx(0.8, rel=0.05)
    assert effect["interval"]["low"] < effect["ratio"] < effect["interval"]["high"] < 1
    assert (effect["outcome"], effect["interval"]["level"]) == ("confounded", pytest.approx(0.95))
    assert found["verdict"].startswith(
        "Cannot compare maps 16 with maps 8: confounded by maps_total, which always "
        "changes with it; add trials that change maps but not maps_total"
    )
    assert (
        "maps 16 maps_total 64 compared with maps 8 maps_total 32: 19 % less time"
        in found["verdict"]
    )
    assert found["along"] == ["maps_total"]
    both = ask(client, "/api/effect", key=["maps", "maps_total"], baseline='["8", "32"]')
    assert both["verdict"].startswith("maps 16 maps_total 64 takes 19 % less time than")
    other = ask(client, "/api/effect", key=["maps", "maps_total"], baseline='["16", "64"]')
    assert other["effects"][0]["ratio"] == pytest.approx(1 / effect["ratio"])
    assert other["effects"][0]["outcome"] == "slower"


def test_an_effect_never_matches_different_work_or_other_machines(
    client: httpx.Client, add: Add
) -> None:
    add(around(100), configuration={"maps": 8})
    add(around(500), configuration={"maps": 16}, workload=replace(WORK, input_bytes=10**12))
    (effect,) = ask(client, "/api/effect", key="maps")["effects"]
    assert (effect["strata"], effect["ratio"], effect["outcome"]) == (0, None, "confounded")
    assert "confounded by input_bytes" in effect["verdict"]
    add(around(50), configuration={"maps": 16}, hosts=8)
    (effect,) = ask(client, "/api/effect", key="maps", where="input_bytes<200000000000")["effects"]
    assert "confounded by hosts" in effect["verdict"]


def test_hosts_of_other_names_are_other_machines(
    client: httpx.Client, repository: TrialRepository, make_trial: MakeTrial
) -> None:
    for host, disk, seconds in (("old", "HDD", 100), ("new", "SSD", 50), ("new", "HDD", 51)):
        here = {"cluster": Cluster((Host(host),)), "configuration": {"disk": disk}}
        repository.add_many(
            make_trial(workload=WORK, elapsed_s=t, state=State.SUCCEEDED, **here)
            for t in around(seconds)
        )
    (effect,) = ask(client, "/api/effect", key="disk", baseline="HDD")["effects"]
    assert (effect["strata"], effect["n_baseline"]) == (1, 8)
    assert effect["ratio"] == pytest.approx(1, abs=0.05)


def test_an_effect_over_several_kinds_of_work_is_the_mean_of_theirs(
    client: httpx.Client, add: Add
) -> None:
    other = Workload("wordcount", "v1", "large", 10**11)
    for maps in range(4):
        for work, hdd, ssd in ((WORK, 1_000, 500), (other, 10, 10)):
            add(around(hdd, n=2), configuration={"disk": "HDD", "maps": maps}, workload=work)
            add(around(ssd, n=2), configuration={"disk": "SSD", "maps": maps}, workload=work)
    (effect,) = ask(client, "/api/effect", key="disk", baseline="HDD")["effects"]
    assert effect["ratio"] == pytest.approx(0.5**0.5, rel=0.05)
    assert {part["value"]: part["strata"] for part in effect["works"]} == {
        "terasort": 4,
        "wordcount": 4,
    }
    assert "mean over 2 workloads" in effect["verdict"]


def test_an_effect_names_the_values_that_tie_for_best(client: httpx.Client, add: Add) -> None:
    for maps in range(8):
        for disk, seconds in (
            ("HDD", 400),
            ("SSD", 100),
            ("SS2", 94 + 12 * (maps % 2)),
            ("HD5", 300),
        ):
            if disk != "SS2" or maps < 6:
                setup = {"disk": disk, "buffer_bytes": 2**maps * 1024}
                add(around(seconds + maps, n=3, seed=maps), configuration=setup)
    asked = {"key": "disk", "baseline": "HDD"}
    found = ask(client, "/api/effect", **asked)["verdict"]
    assert ". SSD and SS2 tie for fastest. The 2 other values: 2 faster" in found
    ranking = ask(client, "/api/cost", by="disk")["verdict"]
    assert ranking.startswith("SSD and SS2 tie for fastest; HDD takes")
    setup = {"disk": "HS5", "buffer_bytes": 1024}
    add(around(98, n=5, seed=9), configuration=setup)
    add(around(99, n=5, seed=8), configuration=setup | {"disk": "SSD"})
    with_one = ask(client, "/api/cost", by="disk")
    (once,) = (group for group in with_one["groups"] if group["key"] == ["HS5"])
    assert (once["standing"], once["reason"]) == ("tied", "one matched setting only")
    assert "HS5 may tie (one matched setting only)" in with_one["verdict"]
    other = Workload("wordcount", "v1", "large", 10**11)
    for disk, seconds in (("HDD", 40), ("SSD", 10)):
        add(around(seconds), configuration={"disk": disk}, workload=other)
    mixed = ask(client, "/api/effect", **asked)["verdict"]
    assert "Can't tell which of HD5, HS5, SS2 and SSD is the best. The 3 other" in mixed


def test_an_effect_says_on_which_machine_most_settings_are(client: httpx.Client, add: Add) -> None:
    for hosts, count in ((2, 6), (4, 1)):
        for maps in range(count):
            for disk, seconds in (("HDD", 400), ("SSD", 100)):
                setup = {"disk": disk, "maps": maps}
                add(around(seconds, n=2, seed=maps), configuration=setup, hosts=hosts)
    verdict = ask(client, "/api/effect", key="disk", baseline="HDD")["verdict"]
    assert "7 matched settings (6 on " in verdict


def test_effects_of_combinations_and_wrong_questions(client: httpx.Client, add: Add) -> None:
    add(around(300, n=10), configuration={"disk": "HDD", "net": "ETH"})
    add(around(200, n=8), configuration={"disk": "SSD", "net": "ETH"})
    add(around(150, n=8), configuration={"disk": "SSD", "net": "IB"})
    found = ask(client, "/api/effect", key=["disk", "net"])
    assert found["baseline"] == ["HDD", "ETH"]
    assert {tuple(each["value"]) for each in found["effects"]} == {("SSD", "ETH"), ("SSD", "IB")}
    chosen = ask(client, "/api/effect", key=["disk", "net"], baseline='["SSD", "ETH"]')
    assert chosen == ask(client, "/api/effect", key=["disk", "net"], baseline="SSD,ETH")
    slower = next(each for each in chosen["effects"] if each["value"] == ["HDD", "ETH"])
    assert slower["ratio"] == pytest.approx(1.5, rel=0.1)
    crude = ask(client, "/api/effect", key="disk", crude="true")["effects"][0]["crude"]
    assert crude["ratio"] == pytest.approx(crude["median_s"] / crude["baseline_median_s"])
    assert ask(client, "/api/effect", key="disk")["effects"][0]["crude"] is None
    for field, wrong in (
        ("query.key", {}),
        ("nothing", {"key": "nothing"}),
        ("key", {"key": "workload"}),
        ("key", {"key": "elapsed_s"}),
        ("baseline", {"key": "disk", "baseline": "tape"}),
        ("baseline", {"key": ["disk", "net"], "baseline": '["HDD"]'}),
        ("ignore", {"key": "disk", "ignore": "workload"}),
        ("query.level", {"key": "disk", "level": 1}),
    ):
        assert refused(client, "/api/effect", **wrong)["where"]["field"] == field, wrong


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("speedup?factor=disk&by=workload", "effect?key=disk"),
        ("speedup?factor=disk&baseline=SSD&definition=aloja", "effect?key=disk&baseline=SSD"),
        (
            "parameter?key=disk&where=workload%3Dterasort&least=2",
            "effect?key=disk&where=workload%3Dterasort",
        ),
        ("improvement?by=disk&by=net", "effect?key=disk&key=net"),
    ],
)
def test_old_addresses_answer_as_the_new_one(
    client: httpx.Client, add: Add, old: str, new: str
) -> None:
    for disk, seconds in (("HDD", 300), ("SSD", 200)):
        add(around(seconds), configuration={"disk": disk, "net": "ETH"})
    answer = client.get(f"/api/{old}")
    assert answer.status_code == 200
    assert answer.json() == client.get(f"/api/{new}").json()
    page = client.get(f"/{old}", headers={"accept": "text/html"})
    assert (page.status_code, page.headers["location"]) == (308, f"/{new}")


# --- all of them ---------------------------------------------------------------------------------

ASKED = {
    "/api/cost": {"by": "disk"},
    "/api/compare": {"by": "disk"},
    "/api/effect": {"key": "disk"},
    "/api/scaling": {"x": "hosts"},
}


@pytest.mark.parametrize("path", ASKED)
def test_an_empty_selection_is_an_answer(client: httpx.Client, path: str) -> None:
    assert ask(client, path, where="workload=none", **ASKED[path])


@pytest.mark.parametrize("path", ASKED)
def test_excluded_trials_do_not_count_unless_asked_for(
    client: httpx.Client, repository: TrialRepository, add: Add, path: str
) -> None:
    add(around(100), configuration={"disk": "SSD"})
    add(around(300), configuration={"disk": "HDD"})
    before = ask(client, path, **ASKED[path])
    exclusions.add(repository, ("disk=HDD",), "a tester", "a broken disk")
    after = ask(client, path, **ASKED[path])
    assert after != before
    assert ask(client, path, excluded="true", **ASKED[path]) == before


@pytest.mark.parametrize("key", ["elapsed_s", "state", "started_at"])
@pytest.mark.parametrize(
    ("path", "name"),
    [("compare", "by"), ("cost", "by"), ("scaling", "by"), ("scaling", "x"), ("effect", "key")],
)
def test_what_became_of_a_trial_is_no_setting(
    client: httpx.Client, add: Add, path: str, name: str, key: str
) -> None:
    add(around(100, n=12), configuration={"disk": "HDD"})
    add(around(80, n=12), configuration={"disk": "SSD"})
    answer = client.get(f"/api/{path}", params={name: key})
    assert answer.status_code == 422
    assert f"{key} is a result of a trial, not a setting" in answer.text
    assert "VEN-QUERY-VALUE" in answer.text


def test_trials_are_compared_by_the_experiment_they_were_measured_in(
    client: httpx.Client, add: Add
) -> None:
    add(around(100, n=12), configuration={"disk": "HDD"})
    assert ask(client, "/api/compare", by="experiment")["by"] == ["experiment"]


def test_the_experiments_that_trials_were_measured_in_are_ranked_apart(
    client: httpx.Client, add: Add
) -> None:
    for experiment, seconds in (("monday", 100.0), ("tuesday", 80.0)):
        add(around(seconds, n=12), experiment=experiment)
    groups = ask(client, "/api/cost", by="experiment")["groups"]
    assert [(each["key"], each["n"]) for each in groups] == [(["tuesday"], 12), (["monday"], 12)]
    assert [each["standing"] for each in groups] == ["best", "worse"]
