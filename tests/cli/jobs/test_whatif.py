"""`venturi whatif`: a recorded job on other machines, settings and data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command_line import into_pipe, on_terminal, venturi
from event_log import SparkLog, put
from venturi.core.settings import Settings

SPARK = Path(__file__).parents[2] / "data/spark/4.3.0"


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> tuple[Settings, str]:
    """A repository with a job, and the job's id."""
    settings = Settings(tmp_path_factory.mktemp("whatif") / "home", None, None, allow_debug=False)
    shown = on_terminal(settings, "import", str(SPARK / "faults/skewed-join-faulty.zstd"))
    return settings, shown[0].rpartition(" ")[2]


def asked(job: tuple[Settings, str], *options: str) -> Any:
    settings, id_ = job
    return json.loads("\n".join(into_pipe(settings, "whatif", id_, *options, "--json")))["data"]


def test_first_screen_shows_today_and_the_target(job: tuple[Settings, str]) -> None:
    settings, id_ = job
    shown = on_terminal(settings, "whatif", id_, "--on", "i4i.4xlarge:8")
    assert len(shown) <= 24
    assert max(map(len, shown)) <= 80
    assert len(shown[0].split()) <= 25
    text = "\n".join(shown)
    assert "today" in text
    assert "i4i.4xlarge × 8" in text
    assert "recorded replay" in text
    assert "rests on" in text
    assert shown[-1].startswith(("Next: ", "1", "2", "3", "4", "5", "6", "7", "8", "9"))


def test_cost_comes_from_the_catalog(job: tuple[Settings, str]) -> None:
    found = asked(job, "--on", "i4i.4xlarge:8", "--from", "i4i.2xlarge")
    (target,) = found["targets"]
    # Eight nodes at $1.373 an hour, billed by the second and at least a minute.
    assert target["usd"]["value"] == pytest.approx(
        8 * 1.373 * max(60, target["time_s"]["value"]) / 3600
    )
    assert found["today"]["usd"]["value"] == pytest.approx(0.6865 * 60 / 3600, rel=0.01)
    assert target["time_s"]["low"] < target["time_s"]["value"] < target["time_s"]["high"]
    assert target["extrapolated"]


def test_own_price_replaces_the_catalogs(job: tuple[Settings, str]) -> None:
    found = asked(job, "--executors", "2", "--usd-per-node-hour", "3.6")
    (target,) = found["targets"]
    for each in (found["today"], target):
        paid_s = max(60, each["time_s"]["value"])
        assert each["usd"]["value"] == pytest.approx(each["hosts"] * 3.6 * paid_s / 3600)
    other = asked(job, "--on", "i4i.4xlarge:8", "--usd-per-node-hour", "3.6")
    assert other["today"]["usd"] is None
    assert other["targets"][0]["usd"]["value"] == pytest.approx(8 * 3.6 * 60 / 3600, rel=0.01)


def test_prices_that_the_user_set_apply(job: tuple[Settings, str]) -> None:
    settings, id_ = job
    words = ("whatif", id_, "--on", "i4i.4xlarge:8", "--from", "i4i.2xlarge")
    try:
        on_terminal(settings, "prices", "set", "node", "i4i.4xlarge", "0.01")
        on_terminal(settings, "prices", "set", "node", "i4i.2xlarge", "0.25")
        found = json.loads("\n".join(into_pipe(settings, *words, "--json")))["data"]
        (target,) = found["targets"]
        billed_s = max(60, target["time_s"]["value"])
        assert target["usd"]["value"] == pytest.approx(8 * 0.01 * billed_s / 3600, rel=0.02)
        today_s = max(60, found["today"]["time_s"]["value"])
        assert found["today"]["usd"]["value"] == pytest.approx(0.25 * today_s / 3600, rel=0.02)
        ranked = asked(job, "--on", "current", "--objective", "cost")
        assert ranked["best"][0]["name"].startswith("i4i.4xlarge ")
        # A core-hour applies where no other price is known, such as without the machines' type.
        on_terminal(settings, "prices", "set", "core-hour", "0.05")
        found = asked(job, "--executors", "4")
        assert found["today"]["usd"] is not None
    finally:
        for price in (("node", "i4i.4xlarge"), ("node", "i4i.2xlarge"), ("core-hour",)):
            on_terminal(settings, "prices", "unset", *price)


def test_a_range_of_executors_is_tried_in_powers_of_two(job: tuple[Settings, str]) -> None:
    found = asked(job, "--executors", "1..12")
    assert [each["executors"] for each in found["targets"]] == [1, 2, 4, 8, 12]
    times = [each["time_s"]["value"] for each in found["targets"]]
    assert times == sorted(times, reverse=True)
    assert times[0] == pytest.approx(found["today"]["time_s"]["value"])


def test_settings_that_are_not_modeled_are_named(job: tuple[Settings, str]) -> None:
    found = asked(job, "--set", "spark.io.compression.codec=brotli", "--set", "spark.foo=1")
    assert found["not_modeled"] == ["spark.foo", "codec brotli"]
    assert found["targets"][0]["time_s"]["value"] == pytest.approx(
        found["today"]["time_s"]["value"]
    )


def test_ranking_meets_the_deadline_with_the_least_cost(job: tuple[Settings, str]) -> None:
    cheap = asked(job, "--on", "current")
    costs = [each["usd"]["value"] for each in cheap["best"]]
    assert costs == sorted(costs)
    fast = asked(job, "--on", "current", "--objective", "time")
    assert fast["best"][0]["time_s"]["value"] <= cheap["best"][0]["time_s"]["value"]
    due = asked(job, "--on", "current", "--deadline", "33s")
    assert all(each["time_s"]["value"] <= 33 for each in due["best"])
    assert due["late"] >= 0


def test_a_job_predicts_itself(job: tuple[Settings, str]) -> None:
    settings, id_ = job
    found = asked(job, "--validate", id_)
    (pair,) = found["pairs"]
    assert pair["predicted"]["time_s"]["value"] == pytest.approx(pair["measured_s"])
    assert set(pair["baseline_errors"]) == {
        "recorded replay",
        "Amdahl's law",
        "proportional to slots",
    }
    shown = on_terminal(settings, "whatif", id_, "--validate", id_)
    assert "Median error 0%" in shown[0]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--on", "i4i.4xlrge:8"), "did you mean i4i.4xlarge"),
        (("--on", "i4i.4xlarge:x"), "is not TYPE or TYPE:NODES"),
        (("--on", "i4i.4xlarge:8", "--cores-per-executor", "64"), "smaller than one executor"),
        (("--network", "0Gbit"), "must be above 0"),
        (("--disk", "floppy"), "neither a class of disks nor a rate"),
        (("--data", "0x"), "not a factor above 0"),
        (("--executors", "8..4"), "not a number above 0, or a range"),
        (("--set", "spark.sql.shuffle.partitions=0"), "not a number above 0"),
        (("--on", "current", "--deadline", "1s"), "no machine type can run"),
        ((), "say what changes"),
    ],
)
def test_bad_input_is_refused_with_a_way_out(
    job: tuple[Settings, str], options: tuple[str, ...], problem: str
) -> None:
    settings, id_ = job
    done = venturi("whatif", id_, *options, home=settings.home)
    assert done.returncode in {1, 2}
    assert problem in done.stderr


@pytest.mark.parametrize("log", ["failedjob.log", "killed.log.inprogress"])
def test_a_job_that_did_not_succeed_is_refused(log: str, tmp_path: Path) -> None:
    settings = Settings(tmp_path / "home", None, None, allow_debug=False)
    old = put(tmp_path / log, (SPARK / log).read_bytes(), ago_s=7_200)
    shown = on_terminal(settings, "import", str(old))
    done = venturi("whatif", shown[0].rpartition(" ")[2], "--data", "2x", home=settings.home)
    assert done.returncode == 1
    assert "it ended as" in done.stderr


def test_cached_data_that_no_longer_fit_are_named(tmp_path: Path) -> None:
    stored = {
        "RDD ID": 1,
        "Name": "points",
        "Storage Level": {"Use Memory": True, "Use Disk": True, "Deserialized": True},
        "Number of Partitions": 4,
        "Number of Cached Partitions": 4,
        "Memory Size": 3 * 10**9,
        "Disk Size": 0,
    }
    log = SparkLog(**{"spark.executor.memory": "8g"})
    log.executor("1", 2, 0)
    log.job(0, 1, 41, [0])
    log.stage(0, 1, 41, 4, rdds=(stored,))
    for place in range(4):
        log.task(0, 1 + 20 * (place // 2), 21 + 20 * (place // 2))
    log.end(42)
    settings = Settings(tmp_path / "home", None, None, allow_debug=False)
    path = put(tmp_path / "application_1_0001", b"".join(log.lines))
    id_ = on_terminal(settings, "import", str(path))[0].rpartition(" ")[2]

    def assumed(*options: str) -> list[str]:
        (target,) = asked((settings, id_), *options)["targets"]
        return [each for each in target["assumes"] if "cached" in each]

    # (8 GiB - 300 MiB) x 0.6 are 4.97 GB: enough for 3 GB, but not for 6 GB.
    assert assumed("--data", "1.5x") == []
    assert assumed("--data", "2x") == [
        "6.0 GB of cached data don't fit in the memory of the executors (5.0 GB); reading or "
        "computing the rest again isn't modeled"
    ]
    assert assumed("--data", "2x", "--executors", "2") == []


def test_size_of_cached_data_comes_from_the_stages_that_read_them(tmp_path: Path) -> None:
    """A log without block updates: four stages read the 148 MB that a cache, too small, held.

    (550 MiB - 300 MiB) x 0.6 are 157 MB.
    """
    settings = Settings(tmp_path / "home", None, None, allow_debug=False)
    log = SPARK / "faults/cache-too-small-faulty.zstd"
    id_ = on_terminal(settings, "import", str(log))[0].rpartition(" ")[2]

    def assumed(*options: str) -> list[str]:
        (target,) = asked((settings, id_), *options)["targets"]
        return [each for each in target["assumes"] if "cached" in each]

    assert assumed("--data", "1.05x") == []
    (warning,) = assumed("--data", "1.1x")
    assert warning.startswith("163.1 MB of cached data don't fit in the memory of the executors")
