"""`venturi-agent facts` and `sample` really run here: events, signals, what sampling costs."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


def events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def run(agent: Path, *args: str) -> tuple[int, list[dict[str, Any]]]:
    done = subprocess.run([agent, *args], capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, events(done.stdout)


@contextmanager
def sampling(agent: Path, *args: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([agent, "sample", *args], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def read_until_series(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    while (event := json.loads(process.stdout.readline()))["event"] != "series":
        pass
    assert isinstance(event, dict)
    return event


def test_facts_agree_with_python(agent_binary: Path) -> None:
    status, said = run(agent_binary, "facts")
    assert status == 0
    assert [event["event"] for event in said] == ["started", "result"]
    facts = said[-1]["data"]
    assert facts["hostname"] == socket.gethostname()
    assert facts["kernel_release"] == os.uname().release
    assert facts["architecture"] == os.uname().machine
    assert facts["cpu_threads_allowed"] == len(os.sched_getaffinity(0))
    assert facts["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert facts["memory_total_bytes"] == pages
    root = next(mount for mount in facts["file_systems"] if mount["mount_point"] == "/")
    space = os.statvfs("/")
    assert root["total_bytes"] == space.f_blocks * space.f_frsize
    known = {path.name for path in Path("/sys/class/net").iterdir()}
    assert {link["name"] for link in facts["network_interfaces"]} <= known
    assert not any("address" in link for link in facts["network_interfaces"])


def test_every_absent_fact_has_a_reason(agent_binary: Path) -> None:
    facts = run(agent_binary, "facts")[1][-1]["data"]
    absent = [name for name, value in facts.items() if value is None]
    assert set(absent) <= set(facts["missing"])
    assert all(facts["missing"].values())


def test_another_root_is_read(agent_binary: Path, tmp_path: Path) -> None:
    proc = tmp_path / "proc" / "sys" / "kernel"
    proc.mkdir(parents=True)
    (proc / "hostname").write_text("elsewhere\n")
    status, said = run(agent_binary, "facts", "--root", str(tmp_path))
    assert status == 0
    assert said[-1]["data"]["hostname"] == "elsewhere"
    assert said[-1]["data"]["memory_total_bytes"] is None


@pytest.mark.parametrize("command", ["facts", "sample"])
def test_a_root_without_proc_is_an_error(agent_binary: Path, command: str, tmp_path: Path) -> None:
    status, said = run(agent_binary, command, "--root", str(tmp_path))
    assert status == 1
    assert said[-1]["event"] == "error"
    assert said[-1]["code"] == "VEN-HOST-PROC"
    assert said[-1]["where"]["path"].startswith(str(tmp_path))
    assert said[-1]["hint"]


def test_a_series_has_every_kind_of_row(agent_binary: Path) -> None:
    status, said = run(agent_binary, "sample", "--interval-ms", "100", "--duration-s", "0.5")
    assert status == 0
    assert said[0]["event"] == "started"
    series = [event for event in said if event["event"] == "series"]
    result = said[-1]
    assert result["event"] == "result"
    assert result["data"]["samples"] == len(series)
    assert result["data"]["elapsed_s"] >= 0.5
    assert 0 < result["data"]["cpu_s"] < result["data"]["elapsed_s"]
    times = [event["t_s"] for event in series]
    assert times == sorted(times)
    assert abs(series[-1]["unix_time_s"] - time.time()) < 60
    rows = series[-1]["rows"]
    assert all(len(row) == 4 and row[2] >= 0 for row in rows)
    units = {row[0]: row[3] for row in rows}
    assert units["cpu_user"] == "fraction"
    assert units["memory_available_bytes"] == "B"
    assert units["page_in_bytes_per_s"] == "B/s"
    for metric, unit in units.items():
        assert metric.endswith(
            {"B": "_bytes", "B/s": "_bytes_per_s", "1/s": "_per_s"}.get(unit, "")
        )
    shares = [row[2] for row in rows if row[0].startswith("cpu_")]
    assert len(shares) == 8
    assert sum(shares) == pytest.approx(1.0)
    first = {row[0] for row in series[0]["rows"]}
    assert "cpu_user" not in first, "one reading gives no rate"


def test_bytes_written_to_a_disk_are_seen(agent_binary: Path, tmp_path: Path) -> None:
    facts = run(agent_binary, "facts")[1][-1]["data"]
    device = tmp_path.stat().st_dev
    path = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")
    if not path.exists():
        pytest.skip(f"{tmp_path} is not on a block device")
    disk = path.resolve()
    name = disk.parent.name if (disk / "partition").exists() else disk.name
    assert name in {device["name"] for device in facts["block_devices"]}
    size = 16 * 2**20
    with sampling(agent_binary, "--interval-ms", "200") as process:
        last_s = read_until_series(process)["t_s"]
        started = time.monotonic()
        with (tmp_path / "data").open("wb") as file:
            file.write(os.urandom(size))
            os.fsync(file.fileno())
        assert process.stdout is not None
        written = 0.0
        # The counters are right immediately, but only the next sample may show them. Rates are for
        # their own interval, with times to the microsecond: their product isn't exact.
        while written < 0.99 * size and time.monotonic() - started < 20:
            event = json.loads(process.stdout.readline())
            for metric, device_name, value, _ in event["rows"]:
                if (metric, device_name) == ("disk_write_bytes_per_s", name):
                    written += value * (event["t_s"] - last_s)
            last_s = event["t_s"]
    assert written >= 0.99 * size


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)], ids=["SIGTERM", "SIGINT"]
)
def test_a_signal_ends_it_with_a_result(
    agent_binary: Path, number: signal.Signals, status: int
) -> None:
    with sampling(agent_binary, "--interval-ms", "3600000") as process:
        read_until_series(process)
        started = time.monotonic()
        process.send_signal(number)
        assert process.stdout is not None
        last = events(process.stdout.read())[-1]
        assert process.wait(60) == status
        assert time.monotonic() - started < 60, "not at the next sample but at once"
        assert last["event"] == "result"
        assert last["data"]["samples"] == 1


def test_it_ends_when_nobody_reads(agent_binary: Path) -> None:
    with sampling(agent_binary, "--interval-ms", "3600000") as process:
        read_until_series(process)
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(10) == 0


@pytest.mark.parametrize(
    "args", [("--interval-ms", "0"), ("--interval-ms", "9"), ("--duration-s", "soon")]
)
def test_senseless_options_are_refused(agent_binary: Path, args: tuple[str, ...]) -> None:
    status, said = run(agent_binary, "sample", *args)
    assert status == 2
    assert said == []


@pytest.mark.slow
def test_what_sampling_costs_is_told(agent_binary: Path) -> None:
    before = os.times()
    status, said = run(agent_binary, "sample", "--interval-ms", "50", "--duration-s", "5")
    after = os.times()
    assert status == 0
    data = said[-1]["data"]
    assert data["samples"] >= 50
    measured_s = after.children_user - before.children_user
    measured_s += after.children_system - before.children_system
    # Its own figure agrees with the CPU time that the kernel charged.
    assert data["cpu_s"] == pytest.approx(measured_s, abs=0.05)


def test_samples_do_not_drift(agent_binary: Path) -> None:
    _, said = run(agent_binary, "sample", "--interval-ms", "100", "--duration-s", "1")
    times = [event["t_s"] for event in said if event["event"] == "series"]
    # Deadlines are absolute: lateness of one sample (a busy machine) does not add up.
    # The first may itself be the latest, so they are held against the one that is least late.
    since_tick_s = sorted(t - 0.1 * round((t - times[0]) / 0.1) for t in times)
    assert since_tick_s[len(since_tick_s) // 2] - since_tick_s[0] < 0.05
