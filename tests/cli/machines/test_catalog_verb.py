"""`venturi catalog ls | show | import | overlay | diff` as a user calls them."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import ShellComplete

from venturi.cli.main import cli, main
from venturi.core.settings import Settings
from venturi.machines import catalog
from venturi.machines.catalog.importers import IMPORTERS
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Cluster, Engine, Host, Sample, State, Trial, Workload

DATA = Path(__file__).parents[2] / "data" / "catalogs"
MakeTrial = Callable[..., Trial]


@dataclass
class Outcome:
    status: int
    stdout: str
    stderr: str

    @property
    def data(self) -> Any:
        envelope = json.loads(self.stdout)
        assert envelope.keys() == {"schema", "data", "warnings"}
        return envelope["data"]


Run = Callable[..., Outcome]


@pytest.fixture
def run(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Runs `venturi catalog` with the arguments given, on the repository of `settings`."""
    monkeypatch.setenv("VENTURI_HOME", str(settings.home))

    def call(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["venturi", "catalog", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as exited:
            main()
        said = capsys.readouterr()
        return Outcome(int(exited.value.code or 0), said.out, said.err)

    return call


def probe(make_trial: MakeTrial, engine: str, metric: str, **changes: Any) -> Trial:
    samples = tuple(
        Sample(name, value, "B/s", labels={"dir": None, "iteration": 0, "peers": 2})
        for name, value in (
            (metric, 1.4e9),
            (metric.replace("_read_", "_mixed_read_"), 1.2e9),
            (metric.replace("_read_", "_mixed_write_"), 1.1e9),
        )
    )
    defaults = {
        "workload": Workload(engine, "1"),
        "engine": Engine(engine, "1"),
        "samples": samples,
        "cluster": Cluster((Host("n1", {"cpu_threads": 32}),)),
        "state": State.SUCCEEDED,
        "elapsed_s": 1.0,
        "started_at": datetime(2026, 3, 1, tzinfo=UTC),
    }
    return make_trial(**{**defaults, **changes})


@pytest.fixture
def probed(settings: Settings, make_trial: MakeTrial) -> None:
    """One disk probe and one loopback probe of the same host are recorded."""
    with TrialRepository.open(settings) as repository:
        repository.add(probe(make_trial, "diskbench", "disk_read_bytes_per_s", id="disk1"))
        loopback = Cluster((Host("n1"),), network="loopback: memory copying, not a network")
        repository.add(
            probe(make_trial, "netbench", "net_pairwise_bytes_per_s", id="net1", cluster=loopback)
        )


def test_help_and_shells_name_every_format(run: Run) -> None:
    shown = " ".join(run("import", "--help").stdout.split())
    assert all(f"{name} {files}" in shown for name, files in IMPORTERS.items())
    offered = ShellComplete(cli, {}, "venturi", "_X").get_completions(["catalog", "import"], "o")
    assert [each.value for each in offered] == ["onprem"]


def test_a_file_without_end_is_read_to_its_limit(run: Run, tmp_path: Path) -> None:
    endless = tmp_path / "endless.csv"
    endless.touch()
    os.truncate(endless, 10 << 30)
    done = run("import", "wide", endless, "-o", tmp_path / "out.csv", "--as-of", "2026-01-01")
    assert done.status == 2
    assert f"error[VEN-CATALOG-FORMAT]: {endless} cannot be read: it has more than" in done.stderr
    long = tmp_path / "long.csv"
    long.write_text("instance_type,vcpus,memory_mib\nx,1," + "1" * 70_000)
    done = run("import", "wide", long, "-o", tmp_path / "out.csv", "--as-of", "2026-01-01")
    assert f"error[VEN-CATALOG-FORMAT]: {long}, line 2: a line longer than" in done.stderr


def test_ls_names_what_is_shipped_and_how_old_its_prices_are(run: Run, tmp_path: Path) -> None:
    done = run("ls", "--json")
    assert done.status == 0
    of_2014 = next(each for each in done.data if each["name"] == "ec2-2014")
    assert of_2014["types"] == 33
    assert of_2014["prices"] == of_2014["stale_prices"] == 33
    assert of_2014["oldest"].startswith("2014")
    assert {each["name"] for each in done.data} == set(catalog.shipped())
    table = run("ls").stdout
    assert "ec2-2014" in table
    assert "current" in table


def test_show_says_what_is_known_and_why_the_rest_is_not(run: Run) -> None:
    done = run("show", "ec2-2014", "r3.large")
    assert "measured" not in done.stdout
    assert "unknown: " in done.stdout
    assert "32 GB" in done.stdout
    data = run("show", "ec2-2014", "i2.8xlarge", "--json").data
    price = data["facts"]["price"]
    assert (price["value"], price["unit"], price["kind"]) == (6.82, "USD/h", "advertised")
    assert len(run("show", "ec2-2014", "--json").data) == 33
    assert "i2.8xlarge" in run("show", "ec2-2014").stdout


def test_unknown_names_exit_1_with_near_ones(run: Run) -> None:
    done = run("show", "ec2-2014", "i2.8xlareg")
    assert done.status == 1
    assert "error[VEN-CATALOG-UNKNOWN]" in done.stderr
    assert "did you mean" in done.stderr
    assert run("show", "ec3-2014").status == 1
    assert run("diff", "ec2-2014", "nowhere.csv").status == 1


@pytest.mark.parametrize(
    ("format_name", "names", "region", "types"),
    [
        ("skypilot", ["vms.csv"], "east-1", 4),
        ("ec2instances", ["instances.json"], "east-1", 3),
        ("karpenter", ["instance-types.md", "zz_generated.pricing_aws.go"], "us-east-1", 2),
        ("onprem", ["machines.csv"], None, 3),
        ("wide", ["wide.csv"], None, 2),
    ],
)
def test_import_writes_a_catalogue_and_counts_what_it_left_out(
    run: Run, tmp_path: Path, format_name: str, names: list[str], region: str | None, types: int
) -> None:
    out = tmp_path / "out.csv"
    options = ["--as-of", "2026-07-20", *(["--region", region] if region else [])]
    done = run("import", format_name, *(DATA / name for name in names), "-o", out, *options)
    assert done.status == 0, done.stderr
    assert "left out" in done.stderr
    assert done.stdout == ""
    assert len(catalog.load(out).types) == types
    assert run("ls", out, "--json").data[-1]["types"] == types
    again = run("import", format_name, *(DATA / n for n in names), "-o", out, *options)
    assert "VEN-OUTPUT-EXISTS" in again.stderr
    data = run(
        "import",
        format_name,
        *(DATA / n for n in names),
        "-o",
        out,
        *options,
        "--overwrite",
        "--json",
    ).data
    assert data["types"] == types
    for refusal in data["refused"]:
        assert refusal["place"].startswith(str(DATA))
        assert refusal["reason"]


def test_a_doubtful_unit_is_asked_about_and_nothing_is_written(run: Run, tmp_path: Path) -> None:
    source, out = tmp_path / "wide.csv", tmp_path / "out.csv"
    source.write_text("instance_type,vcpus,memory_mib\nx,4,16\n", encoding="utf-8")
    arguments = ("import", "wide", source, "-o", out, "--as-of", "2026-01-01")
    done = run(*arguments)
    assert done.status == 1
    assert "error[VEN-CATALOG-UNIT]" in done.stderr
    assert f"{source}, line 2, memory_mib" in done.stderr
    assert "--accept-units" in done.stderr
    assert not out.exists()
    done = run(*arguments, "--accept-units", "--json")
    assert [doubt["instance_type"] for doubt in done.data["accepted_units"]] == ["x"]
    assert catalog.load(out).types["x"].fact("memory").note == "unit checked"
    assert run("show", out, "x").stderr == ""


def test_a_missing_date_or_a_missing_file(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    done = run("import", "wide", DATA / "wide.csv", "-o", out)
    assert done.status == 2
    assert "--as-of" in done.stderr
    done = run("import", "wide", tmp_path / "none.csv", "-o", out)
    assert (done.status, "VEN-CATALOG-FORMAT" in done.stderr) == (1, True)
    assert run("import", "guess", DATA / "wide.csv", "-o", out).status == 2


def test_overlay_from_trials(run: Run, probed: None, tmp_path: Path) -> None:
    out = tmp_path / "measured.csv"
    done = run("overlay", "--from-trials", "--type", "i2.8xlarge", "-o", out, "--json")
    assert done.status == 0, done.stderr
    assert done.data["left_out"] == {"net1": "loopback is memory copying, not a network"}
    measured = catalog.load(out).types["i2.8xlarge"]
    assert measured.number("storage_rate") == 1100.0
    assert measured.fact("storage_rate").source == "trial disk1"
    done = run(
        "overlay",
        "--from-trials",
        "disk1",
        "--type",
        "i2.8xlarge",
        "--onto",
        "ec2-2014",
        "-o",
        out,
        "--overwrite",
    )
    assert done.status == 0, done.stderr
    merged = catalog.load(out)
    assert len(merged.types) == 33
    assert merged.types["i2.8xlarge"].number("storage_rate") == 1100.0
    assert merged.types["i2.8xlarge"].number("price") == 6.82


def test_overlay_refuses_loopback_asked_for_and_hosts_mixed(
    run: Run, probed: None, settings: Settings, make_trial: MakeTrial, tmp_path: Path
) -> None:
    out = tmp_path / "measured.csv"
    done = run("overlay", "--from-trials", "net1", "--type", "x", "-o", out)
    assert (done.status, "not a network" in done.stderr) == (1, True)
    done = run("overlay", "--from-trials", "--at-nodes", "8", "--type", "x", "-o", out)
    assert done.status == 1
    assert "--at-nodes needs" in done.stderr
    assert "trial net1: loopback is memory copying" in done.stderr
    with TrialRepository.open(settings) as repository:
        other = Cluster((Host("n2"),))
        repository.add(
            probe(make_trial, "diskbench", "disk_read_bytes_per_s", id="disk2", cluster=other)
        )
    done = run("overlay", "--from-trials", "--type", "x", "-o", out)
    assert (done.status, "n1, n2" in done.stderr) == (1, True)
    done = run("overlay", "--from-trials", "disk1", "disk2", "--type", "x", "-o", out)
    assert done.status == 0, done.stderr
    assert catalog.load(out).types["x"].number("storage_nodes") == 2.0


def test_overlay_of_catalogues_and_what_it_changed(run: Run, tmp_path: Path) -> None:
    over, out = tmp_path / "over.csv", tmp_path / "out.csv"
    over.write_text(
        "instance_type,attribute,value,unit,kind,source,as_of,note\n"
        "i2.8xlarge,price,3.41,USD/h,advertised,offer,2026-01-01,\n"
        "mine,memory,64,GiB,advertised,sheet,2026-01-01,\n",
        encoding="utf-8",
    )
    assert run("overlay", over, "--onto", "ec2-2014", "-o", out).status == 0
    difference = run("diff", "ec2-2014", out, "--json").data
    assert difference["added"] == ["mine"]
    assert difference["removed"] == []
    (change,) = difference["changes"]
    assert (change["attribute"], change["relative"]) == ("price", pytest.approx(-0.5))
    shown = run("diff", "ec2-2014", out).stdout
    assert "only in" in shown
    assert "-50.0%" in shown
    assert run("diff", out, out).stdout == ""


def test_half_a_request_exits_2(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    assert run("overlay", "--from-trials", "-o", out).status == 2
    assert run("overlay", "--type", "x", "-o", out).status == 2
    assert run("overlay", "ec2-2014", "-o", out).status == 2
    assert run("overlay", "--onto", "ec2-2014", "-o", out).status == 2


def _page(run: Run, *arguments: str, file: Path) -> dict[str, Any]:
    """Return the data on the page of a `catalog` command."""
    assert run(*arguments, "--html", file).status == 0
    twins = re.search(r'id="twins">(.*?)</script>', file.read_text("utf-8"))
    assert twins
    shown: dict[str, Any] = json.loads(twins[1])["/api/catalog"]
    return shown


def test_the_pages_say_what_the_tables_say(run: Run, tmp_path: Path) -> None:
    listed = _page(run, "ls", file=tmp_path / "ls.html")
    assert {each["name"] for each in listed["catalogs"]} >= {"current", "ec2-2014"}

    shown = _page(run, "show", "ec2-2014", "i2.8xlarge", file=tmp_path / "show.html")
    price, network = shown["facts"]["price"], shown["facts"]["network_rate"]
    assert (price["value"], price["unit"], price["kind"]) == (6.82, "USD/h", "advertised")
    assert (network["low"], network["high"]) == (1085, 1095)
    rows = {each["instance_type"]: each for each in shown["types"]}
    assert rows["i2.8xlarge"]["storage_bytes_per_s"] == 1738e6
    assert rows["i2.8xlarge"]["price_is_stale"] is True
    assert "never printed" in rows["m1.small"]["storage_bytes_per_s"]["reason"]


def test_the_page_of_a_difference(run: Run, tmp_path: Path) -> None:
    text = (Path(catalog.__file__).parent / "ec2-2014.csv").read_text("utf-8")
    new = tmp_path / "new.csv"
    new.write_text(text.replace("i2.8xlarge,price,6.820", "i2.8xlarge,price,5.115"))
    shown = _page(run, "diff", "ec2-2014", str(new), file=tmp_path / "diff.html")
    (change,) = shown["difference"]["changes"]
    assert (change["old"]["value"], change["new"]["value"]) == (6.82, 5.115)
    assert change["relative"] == pytest.approx(-0.25)


def test_a_page_that_is_there_stays(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("mine")
    outcome = run("ls", "--html", page)
    assert (outcome.status, page.read_text()) == (1, "mine")
    assert "VEN-OUTPUT-EXISTS" in outcome.stderr
