"""Owners of a recording's requests: existing, new and deleted files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from loop_disks import loop_disk, mounted, needs_recording

MIB = 1 << 20


def write(path: Path, size_bytes: int, mode: Literal["wb", "ab"] = "wb") -> None:
    """Bytes of a file that are on the disk when this returns."""
    with path.open(mode) as file:
        file.write(os.urandom(size_bytes))
        file.flush()
        os.fsync(file.fileno())


def read(path: Path) -> None:
    """Reads a file from the disk, whatever memory has of it."""
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        assert file.read()


@contextmanager
def thread_called(name: str) -> Iterator[None]:
    """Give this thread another name until the block is left."""
    comm = Path("/proc/thread-self/comm")
    before = comm.read_text().strip()
    comm.write_text(name)
    try:
        yield
    finally:
        comm.write_text(before)


@pytest.fixture(scope="module")
def recorded(agent_binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording on ext4."""
    return record(agent_binary, tmp_path_factory.mktemp("whose"), "ext4", 64 * MIB)


def record(agent_binary: Path, base: Path, kind: str, disk_bytes: int) -> Path:
    """A recording of Spark's and others' files on a disk of its own.

    The first stage writes 2 MiB of shuffle data and 1 MiB of an RDD, the second reads both; a
    sort's scratch has no name; one file is there before, and grows.
    """
    with (
        loop_disk(base / "image", disk_bytes) as device,
        mounted(device, base / "disk", kind) as disk,
    ):
        (disk / "input").mkdir()
        (disk / "scratch").mkdir()
        write(disk / "input" / "old", 3 * MIB)
        marks = [f"--mark={name}={disk / name}" for name in ("input", "scratch")]
        process = subprocess.Popen(
            [agent_binary, "trace", "record", "--dir", disk, *marks, "-o", base / "out"],
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None
        for line in iter(process.stdout.readline, b""):
            if json.loads(line)["event"] == "ready":
                break
        times = [time.time()]
        folder = disk / "blockmgr-1" / "0c"
        folder.mkdir(parents=True)
        write(folder / "shuffle_0_7_0.data.1f", 2 * MIB)
        (folder / "shuffle_0_7_0.data.1f").rename(folder / "shuffle_0_7_0.data")
        write(folder / "rdd_3_0", MIB)
        write(disk / "input" / "old", MIB, "ab")
        times.append(time.time())
        time.sleep(0.3)  # names are taken five times a second
        times.append(time.time())
        read(folder / "shuffle_0_7_0.data")
        read(folder / "rdd_3_0")
        # By a task of the other stage than the one that runs.
        with thread_called("v:0.0:18"):
            read(disk / "input" / "old")
        times.append(time.time())
        shutil.rmtree(disk / "blockmgr-1")
        # Numbers and blocks are others' now.
        scratch = os.open(disk / "scratch", os.O_TMPFILE | os.O_RDWR)
        os.write(scratch, os.urandom(MIB))
        os.fsync(scratch)
        write(disk / "other", 8 * MIB)
        os.close(scratch)
        process.terminate()
        ended, _ = process.communicate(timeout=60)
        assert json.loads(ended.splitlines()[-1])["data"]["lost"] == 0
    stages = [
        {
            "name": "0",
            "phase": "map",
            "from_unix_s": times[0],
            "until_unix_s": times[1],
            "tasks": [[7, 7]],
        },
        {"name": "1", "phase": "reduce", "from_unix_s": times[2], "until_unix_s": times[3]},
    ]
    (base / "stages.json").write_text(json.dumps(stages))
    return base


def shares(agent: Any, *args: object) -> dict[tuple[str, ...], int]:
    """Bytes by operation, file, side and stage."""
    whose = agent.run("trace", "analyze", *args).result["trace"]["whose"]
    found: dict[tuple[str, ...], int] = defaultdict(int)
    for each in whose["shares"]:
        key = (each["operation"], each["file_class"], each["phase"] or "", each["stage"] or "")
        found[key] += each["bytes"]
    assert sum(each["issued"]["bytes"] for each in whose["patterns"]) == sum(found.values())
    staged = {
        (each["operation"], each["file_class"], each["phase"] or "", each["stage"]): each
        for each in whose["staged"]
    }
    of_stages = {key: size for key, size in found.items() if key[3]}
    assert {key: each["issued"]["bytes"] for key, each in staged.items()} == of_stages
    for each in staged.values():
        assert sum(size * count for size, count in each["sizes"]) == each["issued"]["bytes"]
        assert each["issued_to_done"]["count"] == each["issued"]["count"]
    return found


def of_files_with_names(found: dict[tuple[str, ...], int]) -> int:
    """Bytes of files that are or were called something, which are as they were written and read."""
    assert found["write", "shuffle_data", "map", "0"] == 2 * MIB
    assert found["write", "rdd_block", "map", "0"] == MIB
    assert found["read", "shuffle_data", "reduce", "1"] == 2 * MIB
    assert found["read", "rdd_block", "reduce", "1"] == MIB
    assert found["read", "input", "map", "0"] == 4 * MIB
    assert found["write", "input", "", ""] == MIB
    assert found["write", "other", "", ""] == 8 * MIB
    return sum(size for (_, kind, *_), size in found.items() if kind not in {"unknown", "unnamed"})


@needs_recording
def test_requests_are_told_by_file_and_stage_also_of_files_that_are_gone(
    agent: Any, recorded: Path
) -> None:
    found = shares(agent, recorded / "out", "--stages", recorded / "stages.json")
    assert found["write", "scratch", "", ""] == MIB
    assert of_files_with_names(found) > 0.99 * sum(found.values())


@needs_recording
def test_xfs_tells_as_much_but_of_files_that_never_had_a_name(
    agent: Any, agent_binary: Path, tmp_path: Path
) -> None:
    recorded = record(agent_binary, tmp_path, "xfs", 320 * MIB)  # mkfs.xfs makes no smaller one
    found = shares(agent, recorded / "out", "--stages", recorded / "stages.json")
    assert found["write", "unnamed", "", ""] == MIB  # not the former owner of the number
    assert of_files_with_names(found) > 0.99 * (sum(found.values()) - MIB)


@needs_recording
def test_without_the_engines_account_the_side_is_told_by_what_is_done(
    agent: Any, recorded: Path
) -> None:
    found = shares(agent, recorded / "out")
    assert found["write", "shuffle_data", "map", ""] == 2 * MIB
    assert found["read", "shuffle_data", "reduce", ""] == 2 * MIB
    assert found["read", "rdd_block", "", ""] == MIB
    assert found["read", "input", "", "0"] == 4 * MIB
    whose = agent.run("trace", "analyze", recorded / "out").result["trace"]["whose"]
    (task,) = whose["tasks"]
    assert (task["stage"], task["task"], task["read"]["bytes"]) == ("0", 44, 4 * MIB)
    assert (whose["task_count"], whose["task_bytes"]) == (1, 4 * MIB)


@needs_recording
def test_what_is_not_known_of_files_is_not_guessed(
    agent: Any, recorded: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(recorded / "out", tmp_path / "out"))
    lines = (folder / "files.jsonl").read_text().splitlines()
    kept = [each for each in lines if "rdd_" not in each]
    (folder / "files.jsonl").write_text("\n".join([*kept, "{", ""]))
    found = shares(agent, folder)
    # A file of which only the folder is known.
    assert found["write", "unnamed", "", ""] == found["read", "unnamed", "", ""] == MIB
    whose = agent.run("trace", "analyze", folder).result["trace"]["whose"]
    assert whose["names_left_out"] == 1

    def damage() -> str:
        ended = agent.run("trace", "analyze", folder)
        said = (each for each in ended.events if each.get("code") == "VEN-TRACE-DAMAGED")
        return str(next(said)["message"])

    (folder / "files.jsonl").write_text("\n".join(lines)[:-10])
    assert damage().endswith("files.jsonl ends within a line: some files are not known")
    (folder / "files.jsonl").unlink()
    assert damage().endswith("files.jsonl is missing: the files of the requests are unknown")
    assert agent.run("trace", "analyze", folder).result["trace"]["whose"] is None


def test_stages_that_are_none_are_refused(agent: Any, tmp_path: Path) -> None:
    path = tmp_path / "stages.json"
    path.write_text('[{"name": "0"}]')
    error = agent.run("trace", "analyze", tmp_path, "--stages", path).refused("VEN-TRACE-FORMAT")
    assert "no stages" in error["message"]
    marked = agent.run("trace", "record", "--mark", "x=/", "--dir", "/", "-o", tmp_path / "out")
    assert (marked.status, "input, output, scratch" in marked.stderr) == (2, True)
