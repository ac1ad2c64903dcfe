"""`venturi-agent trace record`, and reading what it recorded."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from loop_disks import (
    BLOCK_BYTES,
    INSTANCES,
    READ_ONLY,
    loop_disk,
    mounted,
    needs_perf,
    needs_recording,
    read_blocks,
)

MIB = 1 << 20
NOBODY = 65534
RECORDING = Path(__file__).parents[1] / "data" / "blktrace" / "6.18" / "recording"


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An unused disk of 64 MiB."""
    with loop_disk(tmp_path_factory.mktemp("disk") / "image", 64 * MIB) as device:
        yield device


def begin(
    agent: Any, *args: object, **options: Any
) -> tuple[subprocess.Popen[bytes], dict[str, Any]]:
    """Start a recording; return it with its first event."""
    process = agent.start("trace", "record", *args, **options)
    return process, until(process, "ready")


def until(process: subprocess.Popen[bytes], kind: str) -> dict[str, Any]:
    """The next event of this kind."""
    assert process.stdout is not None
    event: dict[str, Any] = {}
    for line in iter(process.stdout.readline, b""):
        event = json.loads(line)
        if event["event"] == kind:
            return event
    raise AssertionError(f"it ended before {kind}: {event}")


def end(agent: Any, process: subprocess.Popen[bytes]) -> Any:
    """Ends a recording as a user's program does."""
    process.terminate()
    return agent.end(process, time.monotonic())


def known(ready: dict[str, Any]) -> int | None:
    """The folder of a recording in tracefs, by its inode: who records next may take its name."""
    instance = Path(ready["instance"])
    return instance.stat().st_ino if instance.is_dir() else None


def warned(ended: Any) -> set[str]:
    return {event["code"] for event in ended.events if event["event"] == "warning"}


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """512 KiB at `folder`, which is made."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "none", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


@needs_recording
def test_every_request_is_recorded_and_nothing_is_left(
    agent: Any, tmp_path: Path, disk: Path
) -> None:
    before_s = time.time()
    process, ready = begin(agent, "--device", disk, "-o", tmp_path / "out")
    instance = known(ready)
    assert instance is not None
    assert (ready["disks"], Path(ready["instance"]).parent) == ([disk.name], INSTANCES)
    read_blocks(disk, 500)
    recorded = end(agent, process).result
    assert known(ready) != instance
    assert recorded["lost"] == 0
    assert 0 < recorded["buffer_peak_kib"] <= recorded["buffer_kib"] <= 16 << 10
    read = agent.run("trace", "analyze", tmp_path / "out")
    result = read.result["trace"]
    assert warned(read) == set()
    assert (result["records"], result["bytes"]) == (recorded["events"], recorded["bytes"])
    assert before_s <= result["started_unix_s"] <= time.time()
    (device,) = result["devices"]
    (reads,) = device["operations"]
    number = disk.stat().st_rdev
    assert device["device"] == f"{os.major(number)},{os.minor(number)}"
    all_of_them = {"count": 500, "bytes": 500 * BLOCK_BYTES}
    assert (reads["operation"], reads["queued"], reads["issued"]) == (
        "read",
        all_of_them,
        all_of_them,
    )
    assert reads["completed"] == 500
    assert result["losses"]["missing_records"] == result["losses"]["not_done"] == 0


@needs_recording
def test_what_the_buffers_could_not_hold_is_counted(agent: Any, tmp_path: Path, disk: Path) -> None:
    count = 5000
    process, _ = begin(agent, "--device", disk, "--buffer", 8192, "-o", tmp_path / "out")
    read_blocks(disk, count)
    ended = end(agent, process)
    recorded = ended.result
    assert recorded["lost"] > 0
    assert warned(ended) == {"VEN-TRACE-LOST"}
    # Queue, issue and complete; insert only for requests that don't go straight to the driver.
    assert 3 * count <= recorded["events"] + recorded["lost"] <= 4 * count
    result = agent.run("trace", "analyze", tmp_path / "out").result["trace"]
    assert result["losses"]["missing_records"] == recorded["lost"]
    assert result["records"] == recorded["events"]
    assert recorded["buffer_kib"] == 8 < recorded["buffer_peak_kib"]
    (told,) = (each["message"] for each in ended.events if each["event"] == "warning")
    enough = re.search(r"--buffer (\d+)MiB would have had", told)
    assert enough is not None, told
    size_bytes = int(enough[1]) * MIB
    process, _ = begin(agent, "--device", disk, "--buffer", size_bytes, "-o", tmp_path / "again")
    read_blocks(disk, count)
    again = end(agent, process)
    assert (again.result["lost"], warned(again)) == (0, set())
    assert again.result["buffer_kib"] == size_bytes >> 10


@needs_recording
def test_a_folder_is_recorded_by_its_disk_with_the_extents_of_files(
    agent: Any, tmp_path: Path, disk: Path
) -> None:
    with mounted(disk, tmp_path / "mounted") as folder:
        process, ready = begin(agent, "--dir", folder, "-o", folder / "out")
        with (folder / "file").open("wb") as file:
            file.write(os.urandom(4 * MIB))
            file.flush()
            os.fsync(file.fileno())
        ended = end(agent, process)
        result = agent.run("trace", "analyze", folder / "out").result["trace"]
    assert ready["disks"] == [disk.name]
    assert warned(ended) == {"VEN-TRACE-ITSELF"}
    (device,) = result["devices"]
    (writes,) = (each for each in device["operations"] if each["operation"] == "write")
    assert writes["issued"]["bytes"] >= 4 * MIB
    assert result["actions"]["note"] > 0  # extents


@needs_recording
def test_what_a_killed_one_left_is_removed_by_the_next_and_nothing_else(
    agent: Any, tmp_path: Path, disk: Path
) -> None:
    others = INSTANCES / f"others-{uuid.uuid4().hex}"
    others.mkdir()
    try:
        process, killed = begin(agent, "--device", disk, "-o", tmp_path / "killed")
        abandoned = known(killed)
        read_blocks(disk, 2000)
        while until(process, "progress")["done"] == 0:
            pass
        process.kill()
        process.communicate()
        living, first = begin(agent, "--device", disk, "-o", tmp_path / "first")
        # Its place is free again, and one that lives keeps its own.
        kept = known(first)
        assert None not in (abandoned, kept)
        assert known(killed) != abandoned
        second = agent.run("trace", "record", "--device", disk, "--for", 0, "-o", tmp_path / "2")
        assert second.result["lost"] == 0
        assert known(first) == kept
        assert end(agent, living).status == 0
        assert known(first) != kept
        assert others.is_dir()
    finally:
        others.rmdir()
    read = agent.run("trace", "analyze", tmp_path / "killed")
    assert warned(read) >= {"VEN-TRACE-CUT"}
    assert read.result["trace"]["records"] > 0


@needs_recording
def test_a_full_disk_ends_it_and_what_was_recorded_can_be_read(
    agent: Any, tmp_path: Path, disk: Path
) -> None:
    with small_disk(tmp_path / "small") as small:
        process, ready = begin(agent, "--device", disk, "-o", small / "out")
        instance = known(ready)
        read_blocks(disk, 10_000)
        error = agent.end(process, time.monotonic()).refused("VEN-TRACE-WRITE")
        assert error["where"]["file"].startswith(str(small / "out"))
        assert instance is not None
        assert known(ready) != instance
        read = agent.run("trace", "analyze", small / "out")
    assert warned(read) >= {"VEN-TRACE-CUT"}
    assert read.result["trace"]["records"] > 1000
    assert read.result["trace"]["losses"]["damaged_bytes"] == 0


@needs_recording
def test_a_disk_that_vanishes_is_told(agent: Any, tmp_path: Path) -> None:
    with loop_disk(tmp_path / "image", 8 * MIB) as device:
        process, _ = begin(agent, "--device", device, "-o", tmp_path / "out")
        read_blocks(device, 10)
        subprocess.run(["losetup", "--detach", device], check=True)
        ended = end(agent, process)
    assert warned(ended) == {"VEN-TRACE-GONE"}
    assert ended.result["events"] >= 30


@needs_recording
def test_a_refusal_says_why_and_makes_nothing(agent: Any, tmp_path: Path, disk: Path) -> None:
    def refused(code: str, *args: object, **options: Any) -> str:
        out = tmp_path / "out"
        error = agent.run("trace", "record", "-o", out, *args, **options).refused(code)
        assert not out.exists()
        assert error["hint"]
        return str(error["hint"])

    assert "--device" in refused("VEN-TRACE-DEVICE", "--dir", "/proc")
    refused("VEN-TRACE-DEVICE", "--device", "/dev/null")
    refused("VEN-TRACE-READ", "--dir", tmp_path / "none")
    nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    assert "root" in refused("VEN-TRACE-RIGHTS", "--device", disk, **nobody)
    unmount = 'umount -l /sys/kernel/tracing; umount -lq /sys/kernel/debug; exec "$@"'
    without = ("unshare", "--mount", "sh", "-c", unmount, "sh")
    assert "mount -t" in refused("VEN-TRACE-TRACEFS", "--device", disk, prefix=without)
    full = tmp_path / "full"
    full.mkdir()
    (full / "file").touch()
    agent.run("trace", "record", "--device", disk, "-o", full).refused("VEN-TRACE-OCCUPIED")


@needs_recording
@needs_perf
def test_where_tracefs_may_only_be_read_perf_records(
    agent: Any, tmp_path: Path, disk: Path
) -> None:
    out = tmp_path / "out"
    began_s = time.time()
    process, ready = begin(agent, "--device", disk, "-o", out, prefix=READ_ONLY)
    assert (ready["disks"], ready["instance"]) == ([disk.name], None)
    read_blocks(disk, 500)
    ended = end(agent, process)
    recorded = ended.result
    assert warned(ended) == {"VEN-TRACE-PERF"}
    assert (recorded["lost"], recorded["buffer_kib"], recorded["cpu_s"]) == (0, None, None)
    assert sorted(each.name for each in out.iterdir()) == ["cpu0.ring", "end.json", "trace.json"]
    read = agent.run("trace", "analyze", out).result["trace"]
    assert [each["name"] for each in read["disks"]] == [disk.name]
    assert read["host"] == os.uname().nodename
    assert began_s < read["started_unix_s"] < time.time()
    (device,) = read["devices"]
    (reads,) = (each for each in device["operations"] if each["operation"] == "read")
    assert reads["issued"] == {"count": 500, "bytes": 500 * BLOCK_BYTES}
    assert reads["completed"] == 500


@needs_recording
@needs_perf
def test_perf_ends_with_a_recorder_that_is_killed(agent: Any, tmp_path: Path, disk: Path) -> None:
    out = tmp_path / "out"
    process, _ = begin(agent, "--device", disk, "-o", out, prefix=READ_ONLY)
    process.kill()
    process.communicate()
    of_ours = ["pgrep", "--full", f"perf record .*{out}"]
    give_up_s = time.monotonic() + 30
    while subprocess.run(of_ours, stdout=subprocess.DEVNULL, check=False).returncode == 0:
        assert time.monotonic() < give_up_s
        time.sleep(0.1)


def perf_of(out: Path) -> int:
    """The process of the perf that records into `out`."""
    asked = ["pgrep", "--oldest", "--full", f"perf.* record -B .*{out}"]
    return int(subprocess.run(asked, capture_output=True, check=True).stdout)


@needs_recording
@needs_perf
@pytest.mark.parametrize("ended_by", [signal.SIGKILL, signal.SIGTERM])
def test_a_perf_that_somebody_ends_leaves_no_recording_that_seems_whole(
    agent: Any, tmp_path: Path, disk: Path, ended_by: signal.Signals
) -> None:
    out = tmp_path / "out"
    process, _ = begin(agent, "--device", disk, "-o", out, prefix=READ_ONLY)
    read_blocks(disk, 500)
    os.kill(perf_of(out), ended_by)
    error = agent.end(process, time.monotonic()).refused("VEN-TRACE-PERF")
    if ended_by == signal.SIGKILL:
        assert "signal: 9" in error["message"]
    kept = {each.name for each in out.iterdir()}
    if "trace.json" in kept:
        assert warned(agent.run("trace", "analyze", out)) == {"VEN-TRACE-CUT"}
    else:
        assert kept == {"perf.data"}


@needs_recording
@needs_perf
def test_who_presses_ctrl_c_again_has_all_that_perf_recorded(
    agent: Any, tmp_path: Path, disk: Path
) -> None:
    out = tmp_path / "out"
    process, _ = begin(agent, "--device", disk, "-o", out, prefix=READ_ONLY, start_new_session=True)
    count = 16_000
    read_blocks(disk, count)
    os.killpg(process.pid, signal.SIGINT)
    reads_out = ["pgrep", "--full", f"perf.* script .*{out}"]
    while subprocess.run(reads_out, stdout=subprocess.DEVNULL, check=False).returncode != 0:
        assert process.poll() is None, "it ended before it was interrupted again"
    os.killpg(process.pid, signal.SIGINT)
    ended = agent.end(process, time.monotonic())
    assert ended.status == 130
    (recorded,) = (each["data"] for each in ended.events if each["event"] == "result")
    # Others, as who looks for partitions, may read a block as well, or have read it before.
    assert recorded["events"] + recorded["lost"] > 2.99 * count
    assert warned(agent.run("trace", "analyze", out)) <= {"VEN-TRACE-LOST"}


@needs_recording
def test_a_folder_may_have_any_name(agent: Any, tmp_path: Path, disk: Path) -> None:
    out = tmp_path / os.fsdecode(b"a \xff")
    recorded = agent.run("trace", "record", "--device", disk, "--for", 0, "-o", out)
    assert recorded.result["lost"] == 0
    assert (out / "end.json").exists()


@needs_recording
@needs_perf
def test_of_a_disk_that_nobody_used_perf_records_nothing(
    agent: Any, tmp_path: Path, disk: Path
) -> None:
    ended = agent.run(
        "trace", "record", "--device", disk, "--for", 0.5, "-o", tmp_path / "out", prefix=READ_ONLY
    )
    assert (ended.result["events"], ended.result["lost"]) == (0, 0)
    assert not (tmp_path / "out" / "perf.data").exists()


@needs_recording
@needs_perf
def test_what_perf_has_no_buffer_for_is_told(agent: Any, tmp_path: Path, disk: Path) -> None:
    out = tmp_path / "out"
    process, _ = begin(
        agent,
        "--device",
        disk,
        "--buffer",
        8192,
        "-o",
        out,
        prefix=READ_ONLY,
        start_new_session=True,
    )
    of_perf = perf_of(out)
    os.kill(of_perf, signal.SIGSTOP)
    read_blocks(disk, 1_000)
    os.kill(of_perf, signal.SIGCONT)
    read_blocks(disk, 100)  # perf reports a loss with the next event that fits
    ended = end(agent, process)
    assert 0 < ended.result["events"] < 2 * 1_000
    assert ended.result["lost"] > 0
    assert warned(ended) == {"VEN-TRACE-PERF", "VEN-TRACE-LOST"}
    assert "VEN-TRACE-LOST" in warned(agent.run("trace", "analyze", out))


@needs_recording
@needs_perf
def test_a_disk_that_perf_fills_is_told_and_leaves_no_recording(
    agent: Any, tmp_path: Path, disk: Path
) -> None:
    with small_disk(tmp_path / "small") as small:
        out = small / "out"
        process = agent.start("trace", "record", "--device", disk, "-o", out, prefix=READ_ONLY)
        # With many processes, perf's data about them fill it before the recording begins.
        while process.poll() is None:
            read_blocks(disk, 1_000)
        error = agent.end(process, time.monotonic()).refused("VEN-TRACE-WRITE")
        assert "perf.data cannot be written: no storage space" in error["message"]
        assert not (out / "trace.json").exists()


@needs_recording
@needs_perf
def test_who_ends_it_while_perf_begins_is_not_told_of_rights(
    agent: Any, tmp_path: Path, disk: Path
) -> None:
    out = tmp_path / "out"
    process = agent.start(
        "trace", "record", "--device", disk, "-o", out, prefix=READ_ONLY, start_new_session=True
    )
    began = ["pgrep", "--full", f"perf.* record -B .*{out}"]
    while subprocess.run(began, stdout=subprocess.DEVNULL, check=False).returncode != 0:
        assert process.poll() is None, "it ended before perf began"
    os.killpg(process.pid, signal.SIGINT)
    ended = agent.end(process, time.monotonic())
    assert ended.status == 130
    if ended.events[-1]["event"] == "error":
        assert ended.error["code"] == "VEN-INTERRUPTED"
        assert not out.exists()
    else:  # it had just begun
        assert ended.events[-1]["data"]["events"] == 0


@needs_recording
@needs_perf
def test_what_perf_cannot_read_out_is_kept(agent: Any, tmp_path: Path, disk: Path) -> None:
    perf = tmp_path / "programs" / "perf"
    perf.parent.mkdir()
    real = shutil.which("perf")
    perf.write_text(
        '#!/bin/sh\n[ "$1" = script ] && { echo "cannot read it" >&2; exit 3; }\n'
        f'exec {real} "$@"\n'
    )
    perf.chmod(0o755)
    out = tmp_path / "out"
    process, _ = begin(
        agent,
        "--device",
        disk,
        "-o",
        out,
        prefix=READ_ONLY,
        env={"PATH": f"{perf.parent}:/usr/sbin:/usr/bin:/sbin:/bin"},
    )
    read_blocks(disk, 500)
    error = end(agent, process).refused("VEN-TRACE-PERF")
    assert "exit status: 3: cannot read it" in error["message"]
    assert {each.name for each in out.iterdir()} == {"perf.data"}


@needs_recording
def test_a_perf_that_does_not_begin_can_be_ended(agent: Any, tmp_path: Path, disk: Path) -> None:
    (tmp_path / "perf").write_text("#!/bin/sh\nexec sleep 100\n")
    (tmp_path / "perf").chmod(0o755)
    process = agent.start(
        "trace",
        "record",
        "--device",
        disk,
        "-o",
        tmp_path / "out",
        prefix=READ_ONLY,
        env={"PATH": f"{tmp_path}:/usr/sbin:/usr/bin:/sbin:/bin"},
    )
    time.sleep(1)
    process.terminate()
    process.communicate(timeout=5)
    assert not (tmp_path / "out").exists()


@needs_recording
def test_what_perf_says_is_told_with_the_refusal(agent: Any, tmp_path: Path, disk: Path) -> None:
    def refused() -> str:
        error = agent.run(
            "trace",
            "record",
            "--device",
            disk,
            "-o",
            tmp_path / "out",
            prefix=READ_ONLY,
            env={"PATH": f"{programs}:/usr/bin:/bin"},
        ).refused("VEN-TRACE-RIGHTS")
        assert not (tmp_path / "out").exists()
        return str(error["message"])

    programs = tmp_path / "programs"
    programs.mkdir()
    perf = programs / "perf"
    perf.write_text("#!/bin/sh\necho 'Error:' >&2; echo 'Access is limited.' >&2; exit 255\n")
    perf.chmod(0o755)
    assert refused().endswith("; perf, which was tried instead: Access is limited.")


# --- a recording that was made before, of 16 reads of 64 KiB and a file that was written --------


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return Path(shutil.copytree(RECORDING, tmp_path / "recording"))


def test_a_recording_says_what_was_done(agent: Any) -> None:
    read = agent.run("trace", "analyze", RECORDING)
    result = read.result["trace"]
    assert warned(read) == set()
    said = json.loads((RECORDING / "end.json").read_text())
    assert result["records"] == sum(cpu["events"] for cpu in said["cpus"].values())
    (device,) = result["devices"]
    sizes = {each["operation"]: dict(each["sizes"]) for each in device["operations"]}
    assert sizes["read"] == {64 * 1024: 16}
    assert sum(size * count for size, count in sizes["write"].items()) >= 256 * 1024
    for each in device["operations"]:
        assert each["queued"]["bytes"] == each["issued"]["bytes"]
        assert each["completed"] == each["issued"]["count"]


def test_what_a_recording_lacks_is_told(agent: Any, recording: Path) -> None:
    said = json.loads((recording / "end.json").read_text())
    said["cpus"]["0"]["lost"] = 12
    (recording / "end.json").write_text(json.dumps(said))
    read = agent.run("trace", "analyze", recording)
    assert warned(read) == {"VEN-TRACE-LOST"}
    assert read.result["trace"]["losses"]["missing_records"] == 12
    (recording / "end.json").write_text(" " * 100)
    (recording / "cpu0.ring").write_bytes((recording / "cpu0.ring").read_bytes() + b"x" * 100)
    read = agent.run("trace", "analyze", recording)
    assert warned(read) == {"VEN-TRACE-CUT", "VEN-TRACE-DAMAGED"}
    assert read.result["trace"]["losses"]["truncated_bytes"] == 100
    (recording / "end.json").write_text("{")
    read = agent.run("trace", "analyze", recording)
    assert any("end.json is damaged" in each.get("message", "") for each in read.events)
    (recording / "end.json").write_text(json.dumps(said))
    (recording / "cpu0.ring").unlink()
    read = agent.run("trace", "analyze", recording)
    assert warned(read) == {"VEN-TRACE-CPUS", "VEN-TRACE-LOST"}
    losses = read.result["trace"]["losses"]
    assert losses["missing_cpus"] == ["CPUs 0"]
    assert losses["missing_records"] == said["cpus"]["0"]["events"]


def test_pages_that_are_gone_from_the_end_of_a_file_are_told(agent: Any, recording: Path) -> None:
    whole = agent.run("trace", "analyze", recording).result["trace"]["records"]
    rings = [recording / f"cpu{cpu}.ring" for cpu in range(2)]
    longest = max(rings, key=lambda ring: ring.stat().st_size)
    os.truncate(longest, longest.stat().st_size - 4096)
    read = agent.run("trace", "analyze", recording)
    assert warned(read) == {"VEN-TRACE-DAMAGED", "VEN-TRACE-LOST"}
    assert any("bytes that were recorded" in each.get("message", "") for each in read.events)
    trace = read.result["trace"]
    assert trace["losses"]["missing_records"] == whole - trace["records"] > 0


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"version": 2}', "version 2"),
        ("[]", "not as it was written"),
        ('{"version": 1}', "missing field"),
        ("", "not as it was written"),
    ],
)
def test_what_is_no_recording_is_refused(
    agent: Any, recording: Path, text: str, found: str
) -> None:
    (recording / "trace.json").write_text(text)
    error = agent.run("trace", "analyze", recording).refused("VEN-TRACE-FORMAT")
    assert found in error["message"]


@pytest.mark.parametrize("gone", ["u64 timestamp", "rwbs", "sector_t sector", "ID: "])
def test_a_kernel_whose_events_are_not_known_is_refused(
    agent: Any, recording: Path, gone: str
) -> None:
    path = recording / "trace.json"
    path.write_text(path.read_text().replace(gone, "other"))
    error = agent.run("trace", "analyze", recording).refused("VEN-TRACE-FORMAT")
    assert "not as" in error["message"]
