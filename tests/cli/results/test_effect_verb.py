"""`venturi effect`: the one answer, in lines, in JSON and as a page."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner

from api_client import client_of
from venturi.cli.main import cli
from venturi.core import settings
from venturi.core.errors import VenturiError
from venturi.record.store.repository import TrialRepository

HEADER = (
    "ID,Benchmark,Exe.Time,Net,Disk,Maps,IO.SFac,Rep,IO.FBuf,Comp,Blk.size,Cluster,Cl.Name,"
    "Datanodes,Headnodes,VM.OS,VM.Cores,VM.RAM,Provider,VM.Size,Service.Type,Bench.Type"
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """SSDs take half the time, but most of their trials are of a cluster that takes four times."""
    monkeypatch.setenv("VENTURI_HOME", str(tmp_path / "home"))
    trials = [("HDD", "fast", 100, 1), ("SSD", "fast", 50, 1), ("HDD", "slow", 400, 1)]
    trials += [("SSD", "slow", 200, 9), ("tape", "other", 999, 2)]
    rows = [
        f"terasort,{seconds + maps + repeat}.000,ETH,{disk},{maps},10,1,65536,1,64,1,{cluster},8,1,"
        "linux,12,128.000,on-premise,box,On-premise,HiBench"
        for disk, cluster, seconds, count in trials
        for maps in range(1, 7)
        for repeat in range(count)
    ]
    lines = [HEADER, *(f"{number},{row}" for number, row in enumerate(rows))]
    file = tmp_path / "runs.csv"
    file.write_text("\n".join(lines) + "\n")
    run("import", "aloja", str(file))
    return tmp_path


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli, arguments, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.stdout


@pytest.mark.usefixtures("home")
def test_the_first_line_is_of_like_with_like() -> None:
    first, *rest = run("effect", "disk", "--baseline", "HDD", "--crude").splitlines()
    assert first.startswith("SSD takes 48 % less time than HDD (ratio 0.5")
    assert "12 matched settings" in first
    text = "\n".join(rest)
    assert "no matched setting with HDD: tape" in text
    assert "Crude ratio (confounded): SSD takes 0.8" in text
    assert "cluster" in text.partition("Other differences")[2]


def test_a_row_of_the_table_says_perhaps_where_the_first_line_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alone, t = 2.8 with 6 settings is significant at 5%, but not with another value in the
    question.
    """
    monkeypatch.setenv("VENTURI_HOME", str(tmp_path / "home"))
    factors = {
        "HDD": [0.0] * 6,
        "SSD": [-0.68, -0.72, -0.7] * 2,
        "HD2": [-0.155, 0.025, -0.095, -0.165, -0.015, -0.175],
    }
    rows = [
        f"terasort,{10_000 * math.exp(factor) * maps:.3f},ETH,{disk},{maps},10,1,65536,1,64,1,one,"
        "8,1,linux,12,128.000,on-premise,box,On-premise,HiBench"
        for disk, all_factors in factors.items()
        for maps, factor in enumerate(all_factors, 1)
    ]
    file = tmp_path / "runs.csv"
    file.write_text("\n".join([HEADER, *(f"{at},{row}" for at, row in enumerate(rows))]) + "\n")
    run("import", "aloja", str(file))
    first, *rest = run("effect", "disk", "--baseline", "HDD").splitlines()
    assert first.startswith("SSD takes 50 % less time")
    assert "The other value: 1 perhaps faster" in rest[0]
    said = {
        line.split()[0]: line.split("  ")[-1].strip() for line in rest if line[:2] in {"HD", "SS"}
    }
    assert said["HD2"] == "perhaps faster"
    assert said["SSD"] == "faster"


@pytest.mark.usefixtures("home")
def test_json_is_what_the_interface_answers() -> None:
    said = json.loads(run("effect", "disk", "--baseline", "HDD", "--level", "0.9", "--json"))
    with TrialRepository.open(settings.load()) as repository, client_of(repository) as client:
        asked = {"key": "disk", "baseline": "HDD", "level": 0.9}
        assert said["data"] == client.get("/api/effect", params=asked).json()


def test_codes_are_explained_and_sizes_have_their_unit_wherever_the_answer_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A larger buffer helps local disks and harms remote ones: both layouts are named."""
    monkeypatch.setenv("VENTURI_HOME", str(tmp_path / "home"))
    rows = [
        f"terasort,{seconds + maps}.000,ETH,{disk},{maps},10,1,{buffer},1,64,1,here,8,1,"
        "linux,12,128.000,on-premise,box,On-premise,HiBench"
        for disk, buffer, seconds in (
            ("HS5", 65536, 200),
            ("HS5", 131072, 100),
            ("RL3", 65536, 200),
            ("RL3", 131072, 400),
        )
        for maps in range(1, 9)
    ]
    file = tmp_path / "runs.csv"
    file.write_text("\n".join([HEADER, *(f"{n},{row}" for n, row in enumerate(rows))]) + "\n")
    run("import", "aloja", str(file))
    asked = ("effect", "io_file_buffer_bytes", "--baseline", "65536")
    told = run(*asked)
    assert told.startswith(
        "The effect of io_file_buffer_bytes 128 KiB compared with io_file_buffer_bytes 64 KiB "
        "depends on disk"
    )
    assert "131072" not in told
    meanings = {
        "HS5": "HDFS on 5 hard disks, temporary files on an SSD",
        "RL3": "HDFS on 3 remote disks, temporary files on a local disk",
    }
    assert [f"{code}: {meaning}" for code, meaning in meanings.items()] == [
        line.strip() for line in told.splitlines()[-2:]
    ]
    assert json.loads(run(*asked, "--json"))["data"]["explained"] == meanings


@pytest.mark.usefixtures("home")
def test_a_key_may_be_left_out_on_request_and_is_named() -> None:
    where = ("--baseline", "HDD", "--where", "disk=tape", "--where", "disk=HDD")
    refused = run("effect", "disk", *where)
    assert refused.startswith("Cannot compare tape with HDD: confounded by cluster")
    assert "use --ignore cluster" in refused
    told = run("effect", "disk", *where, "--ignore", "cluster")
    assert "Matched on request although they differ in cluster" in told


def test_a_page_shows_the_answer(home: Path) -> None:
    page = home / "effect.html"
    run("effect", "disk", "--baseline", "HDD", "--html", str(page))
    assert "SSD takes 48 % less time than HDD" in page.read_text()


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    "wrong", [("disc",), ("workload",), ("disk", "--baseline", "floppy"), ("disk", "--ignore", "x")]
)
def test_a_wrong_question_says_what_to_ask(wrong: tuple[str, ...]) -> None:
    with pytest.raises(VenturiError) as error:
        run("effect", *wrong)
    assert error.value.code == "VEN-QUERY-VALUE"
    assert error.value.hint


@pytest.mark.usefixtures("home")
def test_compare_with_values_of_a_setting_names_the_verbs_for_them() -> None:
    with pytest.raises(VenturiError) as error:
        run("compare", "HDD", "SSD")
    assert error.value.code == "VEN-RECORD-UNKNOWN"
    assert "HDD is a value of disk: `venturi rank --by disk`" in error.value.hint
    assert "`venturi effect disk --baseline HDD`" in error.value.hint
