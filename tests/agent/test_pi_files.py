"""`venturi-agent pi` and `files`: what they count, write and read, what they refuse, signals."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from test_sort_faults import empty, mounted, root_only, shell

from venturi.measure.workloads.shared.halton import reference

MIB = 1 << 20
SIGNALS = (signal.SIGINT, signal.SIGTERM)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A directory with a foreign file."""
    made = tmp_path / "files"
    made.mkdir()
    (made / "test_io_").write_text("somebody's")
    return made


def others(folder: Path) -> list[str]:
    """Return the names of other files there."""
    assert (folder / "test_io_").read_text() == "somebody's"
    return sorted({path.name for path in folder.iterdir()} - {"test_io_"})


def ends_when_asked_to(agent: Any, process: Any, number: signal.Signals) -> None:
    """Sends the signal and sees that the agent ends soon, as it should."""
    started_s = time.monotonic()
    process.send_signal(number)
    ended = agent.end(process, started_s)
    ended.refused("VEN-INTERRUPTED", 130)
    assert ended.elapsed_s < 60, "it hangs"


def wait_for(path: Path, process: Any) -> None:
    """Wait until the file exists; the process must not have ended before."""
    while not path.exists():
        assert process.poll() is None
        time.sleep(0.001)


@pytest.mark.parametrize(
    ("points", "parts", "threads"),
    [(1, 1, 1), (10, 16, 2), (3_000_000, 7, 3), (200_000_000, 16, 2)],
)
def test_points_are_counted_as_the_reference_does(
    agent: Any, points: int, parts: int, threads: int
) -> None:
    run = agent.run("pi", "--points", points, "--parts", parts, "--threads", threads)
    found = run.result
    assert found["inside"] == reference(points)
    assert (found["points"], found["parts"], found["threads"]) == (points, parts, threads)
    assert found["pi"] == 4 * found["inside"] / points
    assert found["used"]["cpu"]["user_s"] >= 0
    assert [e["name"] for e in run.events if e["event"] == "phase"] == ["pi"]


@pytest.mark.parametrize(
    "arguments", [("--points", 0), ("--points", 2**53 + 1), ("--points", 9, "--parts", 0)]
)
def test_what_cannot_be_counted_is_refused(agent: Any, arguments: tuple[object, ...]) -> None:
    assert agent.run("pi", *arguments).status == 2


@pytest.mark.parametrize("number", SIGNALS)
def test_counting_stops_when_asked_to(agent: Any, number: signal.Signals) -> None:
    process = agent.start("pi", "--points", 2**52)
    assert process.stdout is not None
    while json.loads(process.stdout.readline())["event"] != "progress":
        pass
    ends_when_asked_to(agent, process, number)


def test_what_is_written_can_be_read(agent: Any, folder: Path, tmp_path: Path) -> None:
    second = tmp_path / "second"
    second.mkdir()
    size = 5 * MIB + 77
    args = ("--dir", folder, "--dir", second, "--count", 5, "--bytes", size, "--threads", 2)
    for what in ("write", "read"):
        run = agent.run("files", what, *args)
        done = run.result
        assert [e["name"] for e in run.events if e["event"] == "phase"] == [what]
        assert (done["operation"], done["bytes"], done["threads"]) == (what, 5 * size, 2)
        dirs = [folder, second, folder, second, folder]
        paths = [str(place / f"test_io_{number}") for number, place in enumerate(dirs)]
        assert [file["path"] for file in done["files"]] == paths
        assert {Path(path).stat().st_size for path in paths} == {size}
        assert all(0 < file["elapsed_s"] <= done["elapsed_s"] for file in done["files"])
        assert [device["dir"] for device in done["devices"]] == [str(folder), str(second)]
        assert done["used"]["peak_rss_bytes"] > 0
    assert others(folder) == ["test_io_0", "test_io_2", "test_io_4"]


def test_a_changed_byte_is_an_invalid_result(agent: Any, folder: Path) -> None:
    args = ("--dir", folder, "--count", 3, "--bytes", MIB)
    assert agent.run("files", "write", *args).result
    spoilt = folder / "test_io_1"
    with spoilt.open("r+b") as file:
        file.seek(700_000)
        byte = file.read(1)
        file.seek(700_000)
        file.write(bytes([byte[0] ^ 1]))
    where = agent.run("files", "read", *args).refused("VEN-DISK-CONTENT", 3)["where"]
    assert where == {"path": str(spoilt), "offset": 700_000 // 4096 * 4096}
    spoilt.unlink()
    agent.run("files", "read", *args).refused("VEN-DISK-CONTENT", 3)


def test_nothing_is_overwritten_and_nothing_else_stays(agent: Any, folder: Path) -> None:
    (folder / "test_io_3").write_text("mine")
    args = ("--dir", folder, "--count", 4, "--bytes", MIB, "--threads", 1)
    agent.run("files", "write", *args).refused("VEN-DISK-EXISTS")
    assert others(folder) == ["test_io_3"]
    assert (folder / "test_io_3").read_text() == "mine"


def test_a_place_that_cannot_be_used_is_refused(agent: Any, folder: Path) -> None:
    args = ("--count", 2, "--bytes", MIB)
    agent.run("files", "write", "--dir", folder / "missing", *args).refused("VEN-DISK-DIR")
    agent.run("files", "write", "--dir", "/proc/self", *args).refused("VEN-DISK-DIR")
    huge = ("--count", 2, "--bytes", 1 << 60)
    agent.run("files", "write", "--dir", folder, *huge).refused("VEN-DISK-SPACE")
    assert agent.run("files", "write", "--dir", folder, "--count", 0, "--bytes", 1).status == 2
    assert others(folder) == []


def test_a_write_that_fails_in_the_middle_leaves_nothing(agent: Any, folder: Path) -> None:
    # No file may be longer than 1 MiB: reserving space for the second fails.
    limited = ("sh", "-c", 'trap "" XFSZ; ulimit -f 2048; exec "$@"', "sh")
    args = ("--dir", folder, "--count", 4, "--bytes", 3 * MIB)
    agent.run("files", "write", *args, prefix=limited).refused("VEN-DISK-SPACE")
    assert others(folder) == []


@pytest.mark.parametrize("number", SIGNALS)
def test_interrupted_writing_leaves_nothing(
    agent: Any, folder: Path, number: signal.Signals
) -> None:
    process = agent.start("files", "write", "--dir", folder, "--count", 500, "--bytes", 8 * MIB)
    wait_for(folder / "test_io_4", process)
    ends_when_asked_to(agent, process, number)
    assert others(folder) == []


@root_only
def test_a_disk_that_runs_full_ends_it_cleanly(agent: Any, tmp_path: Path) -> None:
    with mounted("ext4", tmp_path / "small", 64, tmp_path) as small:
        args = ("--dir", small, "--count", 400, "--bytes", 48 << 10, "--threads", 1)
        process = agent.start("files", "write", *args)
        wait_for(small / "test_io_1", process)
        process.send_signal(signal.SIGSTOP)
        filler = small / "filler"
        assert "No space" in shell("dd", "if=/dev/zero", f"of={filler}", "bs=1M").stderr
        process.send_signal(signal.SIGCONT)
        agent.end(process, time.monotonic()).refused("VEN-DISK-SPACE")
        filler.unlink()
        assert empty(small)


@root_only
def test_memory_is_no_disk_and_says_so(agent: Any, tmp_path: Path) -> None:
    with mounted("tmpfs", tmp_path / "small", 32, tmp_path) as small:
        args = ("--dir", small, "--count", 2, "--bytes", MIB)
        for what in ("write", "read"):
            run = agent.run("files", what, *args)
            codes = [event["code"] for event in run.events if event["event"] == "warning"]
            assert "VEN-DISK-MEMORY" in codes
            assert run.result["devices"][0]["file_system"] == "tmpfs"
