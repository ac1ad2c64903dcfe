"""`venturi rank`: from a foreign file to a ranking that admits ties."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import click
import pytest
from rich.console import Console

import venturi
from command_line import printed
from venturi.core.errors import ExitCode, VenturiError
from venturi.core.settings import Settings
from venturi.record.cost import cost_of
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Cluster, Host, PriceQuote, State, Trial
from venturi.results.ranking.rank_words import sentences

HEADER = (
    "ID,Benchmark,Exe.Time,Net,Disk,Maps,IO.SFac,Rep,IO.FBuf,Comp,Blk.size,Cluster,Cl.Name,"
    "Datanodes,Headnodes,VM.OS,VM.Cores,VM.RAM,Provider,VM.Size,Service.Type,Bench.Type"
)
TIMES = {
    ("ETH", "SSD"): [300, 310, 320, 330, 340, 305, 315],
    ("IB", "SSD"): [295, 312, 318, 333, 338, 301, 322],  # as good, within its spread
    ("ETH", "HDD"): [900, 910, 920, 930, 940, 905, 915],
    ("IB", "HDD"): [800, 810],  # too few to tell
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VENTURI_HOME", str(tmp_path / "home"))
    lines = [HEADER]
    for (net, disk), times in TIMES.items():
        lines += [
            f"{len(lines) + i},terasort,{time}.000,{net},{disk},12,10,1,65536,1,64,1,m-01,8,1,"
            "linux,12,128.000,on-premise,box,On-premise,HiBench"
            for i, time in enumerate(times)
        ]
    file = tmp_path / "runs.csv"
    file.write_text("\n".join(lines) + "\n")
    printed("import", "aloja", str(file))
    return tmp_path


def ranked(*arguments: str) -> dict[str, Any]:
    data = json.loads(printed("rank", "--by", "net", "--by", "disk", *arguments, "--json"))["data"]
    assert isinstance(data, dict)
    return data


@pytest.mark.usefixtures("home")
def test_a_tie_is_a_tie_a_loser_loses_and_too_few_cannot_tell() -> None:
    groups = {(g["key"]["net"], g["key"]["disk"]): g for g in ranked()["groups"]}
    top = {groups["ETH", "SSD"]["standing"], groups["IB", "SSD"]["standing"]}
    assert top == {"best", "tied"}
    assert groups["ETH", "HDD"]["standing"] == "worse"
    assert groups["IB", "HDD"]["standing"] == "cannot tell"
    assert groups["IB", "HDD"]["reason"]
    assert groups["ETH", "SSD"]["summaries"]["elapsed_s"]["median"] == 315


@pytest.mark.usefixtures("home")
def test_a_price_decides_by_cost() -> None:
    data = ranked("--objective", "cost", "--usd-per-hour", "3.5", "--plus", "net=IB:3.5")
    best = data["groups"][0]
    assert best["key"] == {"net": "ETH", "disk": "SSD"}
    assert best["summaries"]["cost"]["median"] == pytest.approx(3.5 * 315 / 3600)
    standings = {(g["key"]["net"], g["key"]["disk"]): g["standing"] for g in data["groups"]}
    assert standings["IB", "SSD"] == "worse"


@pytest.mark.usefixtures("home")
def test_the_table_names_every_group_and_where_narrows_it() -> None:
    text = printed("rank", "--by", "net", "--by", "disk", "--where", "disk=SSD")
    assert "tied" in text
    assert "HDD" not in text
    told = "ETH and IB tie for fastest"
    assert told in text
    with pytest.raises(VenturiError, match="no trial has workload=other"):
        printed("rank", "--by", "net", "--where", "workload=other")


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    "wrong",
    [
        ["--plus", "net=IB:1"],
        ["--usd-per-hour", "1", "--prices", "recorded"],
        ["--usd-per-hour", "1", "--plus", "nonsense"],
        ["--usd-per-hour", "1", "--usd-per-node-hour", "1"],
        ["--usd-per-hour", "1", "--plus", "net=IB:1.2.3"],
    ],
)
def test_a_wrong_price_is_a_usage_error(wrong: list[str]) -> None:
    with pytest.raises(click.UsageError):
        printed("rank", "--by", "net", *wrong)


@pytest.mark.usefixtures("home")
def test_a_cost_without_any_price_says_what_to_give() -> None:
    for words in ((), ("--prices", "recorded")):
        with pytest.raises(VenturiError, match="none of 23 trials has one recorded") as caught:
            printed("rank", "--by", "net", "--objective", "cost", *words)
        assert caught.value.exit_code == ExitCode.USAGE
        assert "--usd-per-node-hour" in caught.value.hint


COSTED = (
    ",provider,A_family,A_vcpu,B_family,B_vcpu,C_family,C_type,C_vcpu,nodes,workload,target_cost,"
    "target_runtime,status"
)
RUNS = {"A": (0.01, 100), "B": (0.05, 50)}  # half the time at five times the money


@pytest.fixture
def costed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two clouds with trials recorded with their cost."""
    monkeypatch.setenv("VENTURI_HOME", str(tmp_path / "costed"))
    lines = [COSTED]
    for cloud, (usd, seconds) in RUNS.items():
        codes = "1,1,,,,," if cloud == "A" else ",,1,1,,,"
        for n in range(8):
            share = 1 + n / 100
            lines.append(f"{len(lines)},{cloud},{codes},2,etl,{usd * share},{seconds * share},ok")
    file = tmp_path / "ibm.csv"
    file.write_text("\n".join(lines) + "\n")
    printed("import", "ibm", str(file))
    return tmp_path / "costed"


def test_costs_recorded_with_the_trials_rank_them_everywhere_alike(costed: Path) -> None:
    told = ranked_by_cloud()
    standings = {group["key"]["provider"]: group["standing"] for group in told["groups"]}
    assert standings == {"A": "best", "B": "worse"}
    assert told["prices"].startswith("costs are those recorded with 16 trials by ibm")
    assert told["prices"] in told["verdict"]
    medians = {
        group["key"]["provider"]: group["summaries"]["cost"]["median"] for group in told["groups"]
    }
    assert medians == pytest.approx({"A": 0.01035, "B": 0.05175})
    with venturi.open(costed) as lab:
        assert "; ".join(sentences(lab.rank("provider", objective="cost"))) == told["verdict"]
    fastest = ranked_by_cloud("--usd-per-node-hour", "1")
    assert fastest["prices"] is None
    assert fastest["groups"][0]["key"]["provider"] == "B"


def test_what_a_clusters_hosts_cost_ranks_its_trials_and_is_told_with_source_and_date(
    settings: Settings, make_trial: Callable[..., Trial], monkeypatch: pytest.MonkeyPatch
) -> None:
    with TrialRepository.open(settings) as repository:
        for name, usd_per_hour, seconds in (("dear", 36.0, 10.0), ("cheap", 3.6, 20.0)):
            price = PriceQuote(usd_per_hour, "USD", "cluster-hour", "a price list", "2026-07-20")
            for n in range(8):
                trial = make_trial(
                    cluster=Cluster((Host("h", {}),), price=price),
                    configuration={"layout": name},
                    elapsed_s=seconds * (1 + n / 100),
                    state=State.SUCCEEDED,
                    repetition=n,
                )
                cost = cost_of(trial)
                assert cost is not None
                repository.add(replace(trial, samples=(cost,)))
    monkeypatch.setenv("VENTURI_HOME", str(settings.home))
    words = ("rank", "--by", "layout", "--objective", "cost", "--json")
    told = json.loads(printed(*words))["data"]
    standings = {group["key"]["layout"]: group["standing"] for group in told["groups"]}
    assert standings == {"cheap": "best", "dear": "worse"}
    assert "recorded with 16 trials by a price list; of 2026-07-20;" in told["prices"]


def ranked_by_cloud(*words: str) -> dict[str, Any]:
    asked = ("rank", "--by", "provider", "--objective", "cost", *words, "--json")
    data = json.loads(printed(*asked))["data"]
    assert isinstance(data, dict)
    return data


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("words", [("0",), ("inf",), ("0", "--plus", "net=IB:1")])
def test_what_costs_nothing_has_no_cost_to_rank_by(words: tuple[str, ...]) -> None:
    with pytest.raises(VenturiError, match=r"not a price|cost nothing") as caught:
        printed("rank", "--by", "net", "--objective", "cost", "--usd-per-node-hour", *words)
    assert caught.value.exit_code == ExitCode.USAGE


@pytest.mark.parametrize("words", [(), ("--by",), ("--by", "--json")])
def test_without_a_key_some_are_named(home: Path, words: tuple[str, ...]) -> None:
    with pytest.raises(VenturiError) as caught:
        printed("rank", *words)
    assert caught.value.exit_code == ExitCode.USAGE
    assert "disk" in caught.value.hint
    assert "net" in caught.value.hint


@pytest.mark.parametrize("crude", [(), ("--crude",)])
def test_different_work_is_never_ranked_together(home: Path, crude: tuple[str, ...]) -> None:
    file = home / "runs.csv"
    file.write_text(file.read_text().replace("terasort", "wordcount"))
    printed("import", "aloja", str(file))
    with pytest.raises(VenturiError) as caught:
        printed("rank", "--by", "disk", *crude)
    assert caught.value.exit_code == ExitCode.USAGE
    assert caught.value.message.startswith("2 workloads")
    assert "add --where workload=terasort (23 trials)" in caught.value.hint


def more(home: Path, **fields: str) -> None:
    """Import more trials: `times` (separated by spaces) with other values of some columns."""
    columns = HEADER.split(",")
    row = (
        "1,terasort,1,ETH,SSD,12,10,1,65536,1,64,1,m-01,8,1,linux,12,128.000,on-premise,box,"
        "On-premise,HiBench"
    )
    usual = dict(zip(columns, row.split(","), strict=True))
    times, lines = fields.pop("times").split(), [HEADER]
    usual |= {name.replace("_", "."): value for name, value in fields.items()}
    for number, time in enumerate(times):
        row = usual | {"ID": f"{hash(str(fields)) % 10**8}{number}", "Exe.Time": f"{time}.000"}
        lines.append(",".join(row[name] for name in columns))
    file = home / "more.csv"
    file.write_text("\n".join(lines) + "\n")
    printed("import", "aloja", str(file))


def test_row_3_what_was_measured_in_easy_settings_is_not_best(home: Path) -> None:
    """A slow disk was measured on a fast cluster most of the time: its median is the lowest."""
    more(home, Disk="HDD", Cl_Name="m-99", times=" ".join(["100"] * 60))
    more(home, Disk="SSD", Cl_Name="m-99", times="30 31 32 33 34")
    data = json.loads(printed("rank", "--by", "disk", "--json"))
    ranking = data["data"]
    assert (ranking["basis"], "cluster" in ranking["held_equal"]) == ("matched", True)
    first, second = ranking["groups"]
    assert (first["key"], first["standing"]) == ({"disk": "SSD"}, "best")
    assert (second["standing"], second["settings"]) == ("worse", 3)
    assert second["ratio"] == pytest.approx((915 / 315 * 805 / 318 * 100 / 32) ** (1 / 3), rel=0.02)
    crude = json.loads(printed("rank", "--by", "disk", "--crude", "--json"))
    assert crude["data"]["groups"][0]["key"] == {"disk": "HDD"}  # which is wrong, and said to be
    assert "crude" in crude["data"]["verdict"]
    assert any("confounded" in warning for warning in crude["warnings"])
    assert "crude (confounded)" in printed("rank", "--by", "disk", "--crude")


@pytest.mark.usefixtures("home")
def test_row_3_groups_that_share_no_setting_are_confounded(home: Path) -> None:
    more(home, Disk="HS5", Cl_Name="m-99", Maps="4", times="10 11 12 13 14 15")
    more(home, Disk="SSD", Cl_Name="m-99", Maps="6", times="10 11 12 13 14 15")
    data = ranked()
    sets = {group["name"]: group["set"] for group in data["groups"]}
    assert sets["ETH HS5"] != sets["ETH SSD"] == sets["IB HDD"]
    assert "1 group can't be compared: no other was measured in the same" in data["verdict"]
    assert "The sets differ most in maps and cluster" in data["verdict"]
    assert "--where" not in data["verdict"]  # a filter doesn't make them comparable
    text = printed("rank", "--by", "net", "--by", "disk")
    assert "HS5: HDFS on 5 hard disks" in text
    assert "1 group can't be compared" in text


@pytest.mark.usefixtures("home")
def test_row_3_what_changes_only_with_the_groups_is_named(home: Path) -> None:
    more(home, Cl_Name="m-99", VM_Size="big", times="10 11 12 13 14 15")
    words = ("rank", "--by", "cluster", "--where", "disk=SSD", "--where", "net=ETH")
    assert "instance_type changes only together with the clusters" in printed(*words)
    data = json.loads(printed(*words, "--json"))["data"]
    assert data["change_only_with_the_groups"] == ["instance_type"]


def test_row_3_one_price_is_not_for_clusters_of_all_sizes(home: Path) -> None:
    more(home, Cl_Name="m-99", Datanodes="16", times="150 151 152 153 154 155")
    with pytest.raises(VenturiError) as caught:
        printed(
            "rank",
            "--by",
            "cluster",
            "--objective",
            "cost",
            "--usd-per-hour",
            "8",
            "--where",
            "disk=SSD",
            "--where",
            "net=ETH",
            "--json",
        )
    assert caught.value.message == "one price for clusters of 8, 16 hosts"
    assert "--usd-per-node-hour" in caught.value.hint
    data = json.loads(
        printed(
            "rank",
            "--by",
            "cluster",
            "--objective",
            "cost",
            "--usd-per-node-hour",
            "1",
            "--where",
            "disk=SSD",
            "--where",
            "net=ETH",
            "--json",
        )
    )["data"]
    costs = {group["name"]: group["summaries"]["cost"]["median"] for group in data["groups"]}
    assert costs["m-01"] == pytest.approx(8 * 315 / 3600)
    assert costs["m-99"] == pytest.approx(16 * 152.5 / 3600)


@pytest.mark.usefixtures("home")
def test_a_price_of_a_disk_reaches_every_layout_with_it_and_no_impossible_one(home: Path) -> None:
    more(home, Disk="HS4", times="300 301 302 303 304 305")
    more(home, Disk="SS2", times="300 301 302 303 304 305")
    words = (
        *("rank", "--by", "disk", "--where", "net=ETH", "--objective", "cost"),
        *("--usd-per-hour", "3.5", "--plus", "disk=SSD:0.70", "--plus", "disk=HDD:0.20"),
    )
    groups = {
        g["name"]: g["summaries"] for g in json.loads(printed(*words, "--json"))["data"]["groups"]
    }

    def cost(name: str) -> float:
        return float(groups[name]["cost"]["median"])

    assert cost("HS4") == pytest.approx((3.5 + 0.7 + 4 * 0.2) * 302.5 / 3600)
    assert cost("SS2") == pytest.approx((3.5 + 2 * 0.7) * 302.5 / 3600)
    assert cost("SSD") == pytest.approx((3.5 + 0.7) * 315 / 3600)
    with pytest.raises(VenturiError, match="no trial has disk=SS9"):
        printed(*words, "--plus", "disk=SS9:0.7")


def test_row_11_single_trials_are_in_the_order_of_their_times(home: Path) -> None:
    for cluster, time in (("b", "30"), ("a", "50"), ("c", "40")):
        more(home, Cl_Name=cluster, times=time)
    data = json.loads(
        printed("rank", "--by", "cluster", "--where", "disk=SSD", "--where", "net=ETH", "--json")
    )["data"]
    assert [group["name"] for group in data["groups"]] == ["m-01", "b", "c", "a"]
    assert [group["rank"] for group in data["groups"]] == [1, None, None, None]


def of_little_known(home: Path) -> None:
    """SSD and SS2 are equal in five settings; HS4 seems much faster in two, which disagree."""
    for number in range(5):
        cluster, base = f"m-{number + 20}", 100 + 40 * number
        more(home, Disk="SSD", Cl_Name=cluster, times=f"{base} {base + 2} {base + 4}")
        near = base + (3, -2)[number % 2]
        more(home, Disk="SS2", Cl_Name=cluster, times=f"{near + 1} {near + 2} {near + 3}")
        more(home, Disk="HDD", Cl_Name=cluster, times=f"{4 * base} {4 * base + number}")
    more(home, Disk="HS4", Cl_Name="m-20", times="30 31 32")
    more(home, Disk="HS4", Cl_Name="m-21", times="130 131 132")


OF_THESE = ("rank", "--by", "disk", "--where", "net=ETH")


def test_a_group_of_which_little_is_known_does_not_lead(home: Path) -> None:
    of_little_known(home)
    data = json.loads(printed(*OF_THESE, "--json"))["data"]
    groups = {group["name"]: group for group in data["groups"]}
    assert groups["HS4"]["ratio"] < 0.9  # the lowest of all, by two settings
    assert groups["HS4"]["interval"]["high"] > 4 * groups["HS4"]["interval"]["low"]
    assert (groups["HS4"]["standing"], groups["HS4"]["rank"]) == ("cannot tell", None)
    assert groups["HS4"]["reason"] == "2 settings: too few to tell"
    assert data["groups"][-1]["name"] == "HS4"
    assert {groups[name]["rank"] for name in ("SSD", "SS2")} == {1, 2}
    assert groups["HDD"]["standing"] == "worse"
    first, second = printed(*OF_THESE).splitlines()[:2]
    assert first == "SS2 and SSD tie for fastest; HDD takes 3.9 times as long"
    assert second.startswith("Of 4 groups in matched settings, 2 are at the top, 1 is worse")
    assert second.endswith(" and 1 has too few matched settings to tell")


def test_by_time_and_cost_a_group_of_which_little_is_known_is_not_on_the_frontier(
    home: Path,
) -> None:
    of_little_known(home)
    words = (*OF_THESE, "--objective", "pareto", "--usd-per-hour", "3.6")
    groups = {g["name"]: g for g in json.loads(printed(*words, "--json"))["data"]["groups"]}
    assert (groups["HS4"]["standing"], groups["HS4"]["rank"]) == ("cannot tell", None)
    assert "best" in {groups[name]["standing"] for name in ("SSD", "SS2")}
    assert groups["HDD"]["standing"] == "worse"


def test_where_all_groups_are_little_known_none_is_best(home: Path) -> None:
    more(home, Disk="HS4", Cl_Name="m-20", times="30")
    more(home, Disk="HS5", Cl_Name="m-20", times="40")
    more(home, Disk="HS4", Cl_Name="m-21", times="130")
    more(home, Disk="HS5", Cl_Name="m-21", times="40")
    data = json.loads(printed("rank", "--by", "disk", "--json"))["data"]
    of_set = [group for group in data["groups"] if group["name"] in {"HS4", "HS5"}]
    assert {group["standing"] for group in of_set} == {"cannot tell"}
    assert {group["rank"] for group in of_set} == {None}
    assert data["verdict"].startswith(
        "No overall winner: 4 groups in 2 sets without common settings. In the largest set (2), "
        "SSD is fastest; Other set: can't tell"
    )


@pytest.mark.usefixtures("home")
def test_one_group_with_enough_trials_is_not_fastest_of_those_with_too_few() -> None:
    words = ("rank", "--by", "disk", "--where", "net=IB")
    verdict = json.loads(printed(*words, "--json"))["data"]["verdict"]
    assert verdict.startswith("cannot tell which is fastest: only SSD has enough kept trials, of 2")


def test_a_ranking_over_settings_shows_times_and_dollars(home: Path) -> None:
    of_little_known(home)
    text = printed(*OF_THESE, "--objective", "cost", "--usd-per-hour", "3.6")
    assert "of all trials of a group, matched or not" in text
    (row,) = (line for line in text.splitlines() if " HS4 " in line)
    assert "81.0 s, $0.081" in row
    (reference,) = (line for line in text.splitlines() if "  reference  " in line)
    assert "$" in reference
    assert "$" not in printed(*OF_THESE)


def test_a_ranking_over_settings_is_a_table_at_80_columns(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_little_known(home)
    shown: list[str] = []

    def fitted(*parts: Any) -> None:
        console = Console(width=80, record=True, quiet=False, file=StringIO())
        for part in parts:
            console.print(part)
        shown.append(console.export_text())

    monkeypatch.setattr("venturi.cli.results.rank.show", fitted)
    printed(*OF_THESE, "--objective", "cost", "--usd-per-hour", "3.6")
    lines = "".join(shown).splitlines()
    (head,) = (line for line in lines if line.startswith("# "))
    assert {"group", "settings", "ratio", "interval", "cost", "standing"} <= set(head.split())
    assert max(map(len, lines)) <= 80


@pytest.mark.usefixtures("home")
def test_times_are_not_ranked_by_time() -> None:
    with pytest.raises(VenturiError) as caught:
        printed("rank", "--by", "elapsed_s")
    assert caught.value.code == "VEN-QUERY-VALUE"
    assert caught.value.exit_code is ExitCode.USAGE
    assert "elapsed_s is a result of a trial" in str(caught.value)
    assert "engine" in str(caught.value.hint)


@pytest.mark.usefixtures("home")
def test_a_key_by_its_whole_name_makes_the_same_groups() -> None:
    plain = json.loads(printed("rank", "--by", "disk", "--json"))["data"]
    whole = json.loads(printed("rank", "--by", "configuration.disk", "--json"))["data"]
    assert plain["basis"] == whole["basis"] == "matched"
    found = [[list(each["key"].values()) for each in data["groups"]] for data in (plain, whole)]
    assert found[0] == found[1]
    assert sorted(found[0]) == [["HDD"], ["SSD"]]


def test_ratios_are_to_the_best_group_whichever_group_shares_most_settings(home: Path) -> None:
    """a is the best, but shares settings only with b, which shares some with all others."""
    for number in range(6):
        base = 100 + 20 * number
        setting = {"Blk_size": "64", "IO_SFac": str(number + 20)}
        more(home, Cl_Name="a", VM_Size="big", times=f"{base} {base + 1}", **setting)
        more(home, Cl_Name="b", times=f"{2 * base} {2 * base + number}", **setting)
        for cluster, factor in (("c", 4), ("d", 6)):
            apart = setting | {"Blk_size": "128"}
            more(home, Cl_Name=cluster, times=f"{factor * base} {factor * base + 1}", **apart)
        more(home, Cl_Name="b", times=f"{2 * base} {2 * base + number}", **apart)
    words = ("rank", "--by", "cluster", "--where", "disk=SSD", "--where", "net=ETH")
    data = json.loads(printed(*words, "--json"))["data"]
    groups = {group["name"]: group for group in data["groups"] if group["set"] == 1}
    assert {name: round(group["ratio"]) for name, group in groups.items()} == {
        "a": 1,
        "b": 2,
        "c": 4,
        "d": 6,
    }
    assert {tuple(group["against"].values()) for group in groups.values()} == {("a",)}
    assert {tuple(group["by_way_of"].values()) for group in groups.values()} == {("b",)}
    assert groups["b"]["interval"]["low"] > 1.9
    wide = groups["d"]["interval"]["high"] / groups["d"]["interval"]["low"]
    assert wide > groups["b"]["interval"]["high"] / groups["b"]["interval"]["low"]
    assert "a is fastest" in data["verdict"]
    assert "Ratio to a by way of b, which shares settings with all" in printed(*words)
