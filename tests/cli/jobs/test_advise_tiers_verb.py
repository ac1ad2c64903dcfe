"""`venturi advise tiers` from the command line, and tiers in `import` and on the page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import own_samples
import report_samples
import tiers_samples
from api_client import client_of
from command_line import venturi
from event_log import SparkLog, event
from tiers_samples import FAST, SLOW
from venturi.core.settings import Settings
from venturi.record.job_account import TIERS_SETTING
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import CLUSTER_HOUR, PriceQuote, Sample, Trial, Workload

Row = tuple[float, str, str, float, str]
FACTS: dict[str, Any] = {
    **report_samples.FACTS,
    "block_devices": [{"name": name, "read_ahead_bytes": 1 << 20} for name in ("sda", "nvme0n1")],
    "file_systems": [
        {"mount_point": mount, "kind": "ext4", "block_device": name}
        for mount, name in (("/disk0", "sda"), ("/ssd0", "nvme0n1"))
    ],
}


@pytest.fixture
def home(settings: Settings) -> Path:
    return settings.home


def imported(home: Path, tmp_path: Path, log: bytes) -> str:
    """Import an event log; return the trial's id."""
    path = tmp_path / "log"
    path.write_bytes(log)
    done = venturi("import", "spark-eventlog", str(path), "--json", home=home)
    assert done.returncode == 0, done.stderr
    return str(json.loads(done.stdout)["data"][0]["trials"][0]["trial"])


def kept(
    settings: Settings, folder: Path, log: bytes, series: Iterable[Row] = (), **changes: Any
) -> str:
    """The id of a trial with the account in `log`, on a host with a slow disk and a fast one."""
    cluster = report_samples.trial(930, "terasort", "spark").cluster
    host = replace(cluster.hosts[0], facts=FACTS)
    cluster = replace(cluster, hosts=(host,), **changes)
    with TrialRepository.open(settings) as repository:
        return tiers_samples.recorded(repository, folder, log, cluster, series).id


def probe(settings: Settings, number: int, rates: Mapping[str, float]) -> Trial:
    """A probe of disks on the same host, of folders by their rates; their random reads are free."""
    samples = [
        Sample(metric, value, unit, labels={"dir": folder, "block_bytes": 4096, "queue_depth": 1})
        for folder, rate in rates.items()
        for metric, unit, value in (
            ("disk_read_bytes_per_s", "B/s", rate),
            ("disk_write_bytes_per_s", "B/s", rate),
            ("disk_random_read_iops", "1/s", 1e9),
        )
    ]
    trial = report_samples.trial(number, "diskbench", "diskbench")
    host = replace(trial.cluster.hosts[0], facts=FACTS)
    trial = replace(
        trial,
        workload=Workload("diskbench", "v1"),
        samples=tuple(samples),
        cluster=replace(trial.cluster, hosts=(host,)),
    )
    with TrialRepository.open(settings) as repository:
        repository.add(trial)
    return trial


def advised(home: Path, *words: str) -> dict[str, Any]:
    done = venturi("advise", "tiers", *words, "--json", home=home)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)["data"]
    return found


def test_the_time_by_fast_storage_from_an_account_by_hand(home: Path, tmp_path: Path) -> None:
    trial = imported(home, tmp_path, tiers_samples.STOCK)
    sizes = [word for size in ("0B", "800MB", "1600MB", "5GB") for word in ("--size", size)]
    found = advised(home, trial, "--fast", FAST, "--slow", SLOW, *sizes)
    # Writing: one after the other. Reading: both concurrently, the slow one 8 s.
    times_s = [60, 60 - (16 - 1 - 8) - (16 - 8), 60 - 14 - 14, 60 - 14 - 14]
    assert [step["time_s"]["value"] for step in found["steps"]] == pytest.approx(times_s, rel=1e-3)
    # Without data on reads from memory, only writing becomes faster.
    highs = [step["time_s"]["high"] for step in found["steps"]]
    assert highs == pytest.approx([60, 53, 46, 46], rel=1e-3)
    assert (found["all_bytes"], found["held_bytes"]) == (tiers_samples.SHUFFLED, 0)
    assert found["knee_bytes"] is None
    assert [each["written_fast"] for each in found["stages"]] == [0, 0]
    assert found["usd_missing_reason"] == "the trial does not say on which type of machine it ran"
    assert any("cached on disk are not included" in note for note in found["notes"])


@pytest.mark.parametrize("log", [tiers_samples.HALF, tiers_samples.HALF_TOLD_LATE])
def test_half_of_the_files_were_fast(home: Path, tmp_path: Path, log: bytes) -> None:
    """Anchored there: what the trial had takes what it took."""
    trial = imported(home, tmp_path, log)
    found = advised(home, trial, "--fast", FAST, "--slow", SLOW, "--size", "800MB")
    assert found["held_bytes"] == 800_000_000
    assert found["steps"][0]["time_s"]["value"] == pytest.approx(60, rel=1e-3)
    assert found["stages"][0]["written_fast"] == pytest.approx(0.5, abs=0.01)


def test_cached_blocks_that_are_told_after_their_stage_count(home: Path, tmp_path: Path) -> None:
    trial = imported(home, tmp_path, tiers_samples.CACHED_TOLD_AFTER)
    found = advised(home, trial, "--fast", FAST, "--slow", SLOW)
    assert found["all_bytes"] == 2 * tiers_samples.SHUFFLED


TEN_TIMES = FAST.replace("800MB", "8GB"), SLOW.replace("100MB", "1GB")


@pytest.mark.parametrize(
    ("log", "disks", "held_bytes", "more_bytes", "saved_s"),
    [
        # On fast storage writing takes 14 of 16 s less, and so does reading where all of it is
        # from there. What was in memory is not read: then it is writing alone.
        (
            tiers_samples.STOCK,
            (FAST, SLOW),
            0,
            [2e8, 4e8, 8e8, 16e8],
            [(1.75, 3.75), (3.5, 7.5), (7, 15), (14, 28)],
        ),
        (
            tiers_samples.LARGE,
            TEN_TIMES,
            0,
            [1e9, 2e9, 4e9, 8e9, 16e9],
            [(0.875, 1.875), (1.75, 3.75), (3.5, 7.5), (7, 15), (14, 28)],
        ),
        # Reading the second half takes 2 s of the fast disks for all, not 8 of the slow ones.
        (
            tiers_samples.HALF,
            (FAST, SLOW),
            8e8,
            [2e8, 4e8, 8e8],
            [(1.75, 3.75), (3.5, 7.5), (7, 13)],
        ),
        (tiers_samples.FITS, (FAST, SLOW), 16e8, [], []),
    ],
)
def test_what_more_of_it_would_save(
    home: Path,
    tmp_path: Path,
    log: bytes,
    disks: tuple[str, str],
    held_bytes: float,
    more_bytes: list[float],
    saved_s: list[tuple[float, float]],
) -> None:
    """1, 2, 4, ... GB, or of a small job as many times a tenth, until everything fits."""
    fast, slow = disks
    found = advised(home, imported(home, tmp_path, log), "--fast", fast, "--slow", slow)
    assert found["held_bytes"] == held_bytes
    assert [each["more_bytes"] for each in found["more"]] == more_bytes
    for more, (low, high) in zip(found["more"], saved_s, strict=True):
        told = [more["saved_s"][name] for name in ("low", "value", "high")]
        assert told == pytest.approx([low, high, high], rel=1e-3)


def test_with_adaptive_execution_a_stage_reads_what_another_job_wrote(
    home: Path, tmp_path: Path
) -> None:
    """So one segment of 1.6 GB is known; without it each seek would be for 128 KiB."""
    trial = imported(home, tmp_path, tiers_samples.ADAPTIVE)
    seeks = SLOW.replace("iops=1000000000", "iops=100")
    found = advised(home, trial, "--fast", FAST, "--slow", seeks, "--size", "1600MB")
    (rate,) = (
        each
        for each in found["rates"]
        if (each["disks"], each["what"]) == ("slow disks", "shuffle reads")
    )
    assert rate["value"] == pytest.approx(100e6, rel=1e-3)
    assert found["steps"][0]["time_s"]["value"] == pytest.approx(60 - 14 - 14, rel=1e-3)


def test_more_disks_than_tasks_are_not_all_at_work(home: Path, tmp_path: Path) -> None:
    trial = imported(home, tmp_path, tiers_samples.STOCK)
    slow = [word for _ in range(3) for word in ("--slow", SLOW)]
    found = advised(home, trial, "--fast", FAST, *slow, "--size", "1600MB")
    rates = {each["what"]: each for each in found["rates"] if each["disks"] == "slow disks"}
    for what in ("writing", "shuffle reads"):
        told = [rates[what][key] for key in ("value", "low", "high")]
        assert told == pytest.approx([100e6, 100e6, 300e6], rel=1e-3)
    assert found["steps"][0]["time_s"]["value"] == pytest.approx(60 - 14 - 14, rel=1e-3)


def test_in_words(home: Path, tmp_path: Path) -> None:
    trial = imported(home, tmp_path, tiers_samples.STOCK)
    done = venturi("advise", "tiers", trial, "--fast", FAST, "--slow", SLOW, home=home)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    for words in (
        "everything fits in 1.6 GB of fast storage in each host, and saves 28 s (14–28) ",
        "then; until then the saving grows",
        "fast storage time saves cost",
        "Beyond the 0 B that the trial used",
        "slow disks shuffle reads 100 MB/s --slow",
        "cost: not known, the trial does not say",
    ):
        assert words in said


def test_a_real_trial_of_spark(settings: Settings) -> None:
    with TrialRepository.open(settings) as repository:
        trial = own_samples.own_trial(repository)
    fast, slow = "read=2GB/s,write=1GB/s,iops=90000", "read=100MB/s,write=90MB/s,iops=120"
    found = advised(settings.home, trial.id, "--fast", fast, "--slow", slow)
    middles = [step["time_s"]["value"] for step in found["steps"]]
    assert middles[0] == pytest.approx(trial.elapsed_s)
    assert middles == sorted(middles, reverse=True)
    assert 0 < middles[-1] < middles[0]
    assert found["steps"][-1]["fast_bytes"] >= found["all_bytes"] > 0


def test_rates_are_those_of_the_newest_probes_and_prices_those_of_the_trial(
    settings: Settings, tmp_path: Path
) -> None:
    scratch = "/disk0/spark", "bench-01:/ssd0/spark"  # also as of a cluster
    disks = {"disks_by_role": {"scratch": scratch}}
    price = PriceQuote(3.6, "USD", CLUSTER_HOUR, "a test", "2026-01-01")
    trial = kept(settings, tmp_path, tiers_samples.HALF, price=price, **disks)
    probe(settings, 931, {"/disk0": 1e6, "/ssd0": 2e6})
    newest = probe(settings, 932, {"/disk0": 100e6, "/ssd0": 800e6})
    found = advised(settings.home, trial, "--size", "800MB", "--size", "1600MB")
    of = {(rate["disks"], rate["what"]): rate for rate in found["rates"]}
    assert of["fast disks (/ssd0/spark)", "writing"]["value"] == 800e6
    assert of["slow disks (/disk0/spark)", "writing"]["source"] == f"probe {newest.id} of /disk0"
    for step in found["steps"]:
        assert step["usd"]["value"] == pytest.approx(step["time_s"]["value"] / 1000)
    with_volumes = advised(settings.home, trial, "--size", "1600MB", "--volumes", "gp3")
    assert with_volumes["steps"][0]["usd"]["value"] > found["steps"][1]["usd"]["value"]


@pytest.mark.parametrize("probed", [None, 500e6])
def test_how_fast_disks_are_is_told_by_what_they_did_while_they_were_busy(
    settings: Settings, tmp_path: Path, probed: float | None
) -> None:
    """The slow disk wrote 100 MB/s and served three quarters of the reduces' reads. The range ends
    at the rate that a probe found possible.
    """
    if probed is not None:
        probe(settings, 931, {"/disk0": probed})

    def moved(second: int) -> tuple[float, float, float]:
        if second <= 21:
            return (1.0, 0.0, 100e6) if 1 < second <= 17 else (0.0, 0.0, 0.0)
        return 0.8, 40e6, 0.0

    rows = [
        (float(second), metric, "sda", value, unit)
        for second in range(1, 61)
        for metric, unit, value in zip(
            ("disk_busy", "disk_read_bytes_per_s", "disk_write_bytes_per_s"),
            ("fraction", "B/s", "B/s"),
            moved(second),
            strict=True,
        )
    ]
    disks = {"disks_by_role": {"scratch": ("/disk0/spark",)}}
    trial = kept(settings, tmp_path, tiers_samples.STOCK, rows, **disks)
    found = advised(settings.home, trial, "--fast", FAST, "--size", "1600MB")
    rates = {rate["what"]: rate for rate in found["rates"] if rate["disks"].startswith("slow")}
    assert (rates["writing"]["value"], rates["writing"]["high"]) == (100e6, probed or 100e6)
    assert rates["shuffle reads"]["value"] == pytest.approx(50e6)
    assert rates["writing"]["source"] == f"the disks of trial {trial} while they were busy"
    # 10 s of computing and 24 s of reading took 30 s: 4 s overlapped.
    reduce_s = 10 + (1 - 4 / 10) * 1.5
    time_s = found["steps"][0]["time_s"]
    assert time_s["value"] == pytest.approx(10 + (4 + 2) + reduce_s, rel=1e-3)
    assert not any("came from memory is unknown" in note for note in found["notes"])


def test_two_folders_of_one_disk_are_one_disk(settings: Settings, tmp_path: Path) -> None:
    exact = probe(settings, 931, {"/disk0/spark": 100e6, "/disk0/other": 90e6, "/ssd0": 800e6})
    probe(settings, 932, {"/disk0": 70e6})  # newer, of no folder of the trial's
    disks = {"disks_by_role": {"scratch": ("/disk0/spark", "/disk0/other", "/ssd0/spark")}}
    trial = kept(settings, tmp_path, tiers_samples.STOCK, **disks)
    found = advised(settings.home, trial, "--fast", "/ssd0", "--size", "1600MB")
    (rate,) = (
        each
        for each in found["rates"]
        if each["disks"].startswith("slow") and each["what"] == "writing"
    )
    assert (rate["value"], rate["source"]) == (100e6, f"probe {exact.id} of /disk0/spark")
    # A third of the trial's output was on the fast disk.
    assert found["held_bytes"] == pytest.approx(found["all_bytes"] / 3, rel=1e-6)


def test_a_probe_of_another_host_is_named(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = imported(settings.home, tmp_path, tiers_samples.STOCK)  # of hosts h1 and h2, say
    other = probe(settings, 931, {str(tmp_path / "ssd"): 1e9})
    monkeypatch.chdir(tmp_path)
    done = venturi("advise", "tiers", trial, "--fast", "ssd", "--slow", SLOW, home=settings.home)
    assert done.returncode == 1
    said = " ".join(done.stderr.split())
    (host,) = other.cluster.hosts
    assert f"probe {other.id} ran on {host.name}, and the trial on " in said
    assert "hint: measure them on the trial's host; or give them: --fast read=" in said


@pytest.mark.parametrize(
    ("words", "slow"),
    [
        (("--fast", "/disk0/fast"), "/disk0/spark, /disk0/other"),  # the slow ones aren't named
        (("--fast", "/ssd0/a", "--slow", "/ssd0/b"), "/ssd0/b"),
    ],
)
def test_one_disk_is_not_both_fast_and_slow(
    settings: Settings, tmp_path: Path, words: tuple[str, ...], slow: str
) -> None:
    disks = {"disks_by_role": {"scratch": ("/disk0/spark", "/disk0/other")}}
    trial = kept(settings, tmp_path, tiers_samples.STOCK, **disks)
    done = venturi("advise", "tiers", trial, *words, home=settings.home)
    assert (done.returncode, done.stdout) == (1, "")
    said = " ".join(done.stderr.split())
    assert f"the fast folders ({words[1]}) and the slow ones ({slow}) are on the same disk" in said
    assert "give different disks" in said


@pytest.mark.parametrize(
    ("log", "words", "why", "what_to_do"),
    [
        (tiers_samples.STOCK, (), "does not say where its fast disks are", "--fast FOLDER"),
        (
            tiers_samples.STOCK,
            ("--fast", FAST),
            "these rates of its slow disks are unknown: write",
            "venturi probe disk --dir FOLDER",
        ),
        (
            tiers_samples.STOCK,
            ("--fast", SLOW, "--slow", FAST),
            "slower than the slow ones at writing",
            "swap",
        ),
        (tiers_samples.HALF, (), "does not say where its fast disks are", "--fast read="),
    ],
)
def test_what_is_missing_is_said_and_what_to_do(
    home: Path, tmp_path: Path, log: bytes, words: tuple[str, ...], why: str, what_to_do: str
) -> None:
    trial = imported(home, tmp_path, log)
    done = venturi("advise", "tiers", trial, *words, home=home)
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[VEN-MODEL-INPUT]: cannot tell" in done.stderr
    assert why in " ".join(done.stderr.split())
    assert what_to_do in " ".join(done.stderr.split())


def test_a_trial_without_an_account_cannot_tell(settings: Settings) -> None:
    with TrialRepository.open(settings) as repository:
        repository.add(trial := report_samples.trial(930, "terasort", "native"))
    done = venturi("advise", "tiers", trial.id, "--fast", FAST, home=settings.home)
    assert done.returncode == 1
    assert "no account of its engine" in done.stderr
    assert "venturi import spark-eventlog" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--fast", "read=5XB/s"), "read is not a rate"),
        (("--fast", "read=1GB/s,read=2GB/s"), "'read' is given twice"),
        (("--slow", "seek=9"), "'seek' is not a rate"),
        (("--slow", "iops=many"), "iops is not a number"),
        (("--slow", "iops=0"), "iops must be above 0"),
        (("--fast", FAST, "--slow", SLOW, "--volumes", "gp33"), "gp33"),
    ],
)
def test_wrong_options_are_named(
    settings: Settings, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    price = PriceQuote(3.6, "USD", CLUSTER_HOUR, "a test", "2026-01-01")
    trial = kept(settings, tmp_path, tiers_samples.STOCK, price=price)
    done = venturi("advise", "tiers", trial, *words, home=settings.home)
    assert done.returncode in {1, 2}
    assert done.stdout == ""
    assert said in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("log", "tiers", "warned"),
    [
        (tiers_samples.STOCK, "sdd 2GB", True),
        (tiers_samples.STOCK, "none", False),
        (tiers_samples.HALF, "ssd max 800MB", False),
    ],
)
def test_tiers_that_nothing_lay_on_are_told(
    home: Path, tmp_path: Path, log: bytes, tiers: str, warned: bool
) -> None:
    said = event("SparkListenerEnvironmentUpdate", **{"Spark Properties": {TIERS_SETTING: tiers}})
    trial = imported(home, tmp_path, log + said)
    shown = json.loads(venturi("show", trial, "--json", home=home).stdout)["data"]
    told = [each["message"] for each in shown["warnings"] if TIERS_SETTING in each["message"]]
    assert [f"the tiers '{tiers}' of" in each for each in told] == [True] * warned
    assert all(each.endswith("the driver's own log says which") for each in told)


def test_tiers_of_a_job_that_writes_nothing_are_told_so(home: Path, tmp_path: Path) -> None:
    log = SparkLog(**{TIERS_SETTING: "ssd 1GB"})
    log.executor("1", 1, 0)
    log.job(0, 0, 10, [0])
    log.stage(0, 0, 10, 1)
    log.task(0, 0, 10, metrics={"Executor Run Time": 10_000})
    log.end(10)
    trial = imported(home, tmp_path, b"".join(log.lines))
    shown = json.loads(venturi("show", trial, "--json", home=home).stdout)["data"]
    (told,) = (each["message"] for each in shown["warnings"] if TIERS_SETTING in each["message"])
    assert told.endswith(": no task wrote shuffle data or spilled")


def test_an_imported_log_has_the_same_table_in_the_terminal_and_on_the_page(
    settings: Settings, tmp_path: Path
) -> None:
    trial = imported(settings.home, tmp_path, tiers_samples.HALF)
    shown = " ".join(venturi("show", trial, home=settings.home).stdout.split())
    assert "ssd shuffle uses at most 800.0 MB 800.0 MB 800.0 MB 2 0 —" in shown
    assert "last shuffle takes what is left 800.0 MB 800.0 MB 2 1 after 11.0 s" in shown
    told = json.loads(venturi("show", trial, "--json", home=settings.home).stdout)["data"]["job"]
    with TrialRepository.open(settings) as repository, client_of(repository) as client:
        page = client.get(f"/api/trials/{trial}/job").json()
    assert page["tiers"] == told["tiers"]
    assert [use["tier"] for use in page["tiers"]] == ["ssd", "last"]
    levels = page["tier_levels"]
    assert levels["t_s"] == [0.0, 1.0, 11.0, 21.0, 51.0]
    assert {line["tier"]: line["present_bytes"] for line in levels["lines"]} == {
        "ssd": [0, 0, *[800_000_000] * 3],
        "last": [0, 0, 0, *[800_000_000] * 2],
    }
