"""`venturi rank`: from a foreign file to a ranking that admits ties."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from venturi.cli.main import cli
from venturi.errors import ExitCode, VenturiError

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
    run("import", "aloja", str(file))
    return tmp_path


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli, arguments, standalone_mode=False, catch_exceptions=False)
    if isinstance(result.exception, BaseException):
        raise result.exception
    return result.stdout


def ranked(*arguments: str) -> dict[str, Any]:
    data = json.loads(run("rank", "--by", "net", "--by", "disk", *arguments, "--json"))["data"]
    assert isinstance(data, dict)
    return data


@pytest.mark.usefixtures("home")
def test_a_tie_is_a_tie_a_loser_loses_and_too_few_cannot_tell() -> None:
    groups = {(g["key"]["net"], g["key"]["disk"]): g for g in ranked()["groups"]}
    top = {groups["ETH", "SSD"]["standing"], groups["IB", "SSD"]["standing"]}
    assert top == {"best", "indistinguishable from the best"}
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
    text = run("rank", "--by", "net", "--by", "disk", "--where", "disk=SSD")
    assert "indistinguishable" in text
    assert "HDD" not in text
    assert "2 groups cannot be told apart" in text
    with pytest.raises(VenturiError, match="no trial has workload=other"):
        run("rank", "--by", "net", "--where", "workload=other")


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    "wrong",
    [
        ["--objective", "cost"],
        ["--usd-per-hour", "1", "--plus", "nonsense"],
        ["--usd-per-hour", "1", "--plus", "maps=12:1"],
        ["--usd-per-hour", "1", "--plus", "net=IB:1.2.3"],
    ],
)
def test_a_wrong_price_is_a_usage_error(wrong: list[str]) -> None:
    with pytest.raises(click.UsageError):
        run("rank", "--by", "net", *wrong)


@pytest.mark.parametrize("words", [(), ("--by",), ("--by", "--json")])
def test_without_a_key_some_are_named(home: Path, words: tuple[str, ...]) -> None:
    with pytest.raises(VenturiError) as caught:
        run("rank", *words)
    assert caught.value.exit_code == ExitCode.USAGE
    assert "disk" in caught.value.hint
    assert "net" in caught.value.hint


def test_several_workloads_are_warned_of(home: Path) -> None:
    def said() -> str:
        done = CliRunner().invoke(cli, ["rank", "--by", "disk"], standalone_mode=False)
        return done.stderr

    assert "mixes" not in said()
    file = home / "runs.csv"
    file.write_text(file.read_text().replace("terasort", "wordcount"))
    run("import", "aloja", str(file))
    assert "this mixes 2 workloads; add --where workload=terasort" in said()
