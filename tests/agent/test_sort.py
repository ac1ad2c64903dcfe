"""`venturi-agent sort`: what it sorts, what it refuses and how, what memory it takes."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

MIB = 1 << 20
SLACK_BYTES = 64 * MIB
"""Memory of the process in addition to its budget."""

Places = Callable[[bytes], Any]


def noise(size: int, seed: int = 1) -> bytes:
    return np.random.default_rng(seed).integers(0, 256, size, dtype=np.uint8).tobytes()


def sorted_records(data: bytes, record: int) -> bytes:
    """The records in bytewise order."""
    return b"".join(sorted(data[i : i + record] for i in range(0, len(data), record)))


def output_of(result: dict[str, Any]) -> bytes:
    return b"".join(Path(part["path"]).read_bytes() for part in result["output"]["files"])


def key_values(*pairs: tuple[bytes, bytes]) -> bytes:
    return b"".join(struct.pack("<II", len(k), len(v)) + k + v for k, v in pairs)


# --- what it sorts -------------------------------------------------------------------------------


def test_generated_records_come_out_in_order_and_complete(agent: Any, tmp_path: Path) -> None:
    source, output = tmp_path / "in", tmp_path / "out"
    output.mkdir()
    made = agent.run("gen", "--count", 300_000, "--skew", "--checksum", "--output", source).result
    run = agent.sort("--input", source, "--output", output, "--memory", 16 * MIB, "--verify")
    sort = run.result
    valid = agent.run("validate", "--input", output / "manifest.json").result
    assert valid["ordered"]
    assert valid["records"] == sort["output"]["records"] == 300_000
    assert valid["checksum"] == sort["checksum"]["output"] == made["checksum"]
    assert run.events[0]["event"] == "started"
    assert [e["name"] for e in run.events if e["event"] == "phase"] == [
        "sample",
        "map+shuffle",
        "sort+reduce",
    ]


def test_a_result_says_all_that_was_agreed(agent: Any, places: Places) -> None:
    place = places(noise(20_000_000))
    copy = place.output.parent / "copy"
    copy.mkdir()
    result = agent.sort(*place.flags, "--replica", copy, "--memory", 8 * MIB, "--threads", 2).result
    assert result["regime"] == "hybrid"
    assert result["input"] == {"bytes": 20_000_000, "records": 200_000, "files": 1}
    assert result["threads"] == 2
    assert result["oversized_partitions"] >= 0
    assert result["memory"]["budget_bytes"] == 8 * MIB
    assert result["memory"]["unreturned_blocks"] == 0
    assert result["spilled_bytes"] > 10_000_000
    assert result["spilled_bytes"] + result["retained_bytes"] >= 20_000_000
    assert result["bytes_read"] >= 20_000_000 + result["spilled_bytes"]
    assert result["bytes_written"] >= 40_000_000 + result["spilled_bytes"]
    assert result["checksum"] is None
    assert set(result["cpu"]) == {"user_s", "system_s"}
    assert {io["role"] for io in result["io"]} == {"input", "scratch", "output", "replica"}
    method = re.compile(r"(io_uring|posix)\+(direct|buffered)")
    assert all(method.fullmatch(io["method"]) for io in result["io"])
    stages = {(s["phase"], s["stage"]) for s in result["stages"]}
    assert stages >= {
        ("sample", "sample"),
        ("map+shuffle", "read"),
        ("map+shuffle", "distribute"),
        ("map+shuffle", "write_partitions"),
        ("sort+reduce", "read_partition"),
        ("sort+reduce", "sort"),
        ("sort+reduce", "reduce"),
        ("sort+reduce", "write_output"),
        ("sort+reduce", "write_replica"),
    }
    manifest = json.loads(Path(result["output"]["manifests"][0]).read_text())
    assert manifest["files"] == result["output"]["files"]
    for part in result["output"]["files"]:
        path = Path(part["path"])
        assert path.read_bytes() == (copy / path.name).read_bytes()


@pytest.mark.parametrize("method", [[], ["--io", "posix"], ["--buffered"]])
@pytest.mark.parametrize("shape", ["random", "equal", "sorted"])
def test_the_way_to_the_kernel_makes_no_difference(
    agent: Any, places: Places, method: list[str], shape: str
) -> None:
    data = {"random": noise(3_000_000), "equal": b"venturi" * 428_571 + b"abc"}.get(shape)
    data = data or sorted_records(noise(3_000_000), 10)
    place = places(data)
    flags = ["--record-bytes", 10, "--key-bytes", 3, "--memory", 4 * MIB, *method]
    result = agent.sort(*place.flags, *flags).result
    assert output_of(result) == sorted_records(data, 10)
    wanted = "posix" if "posix" in method else "io_uring"
    assert all(io["method"].startswith((wanted, "posix")) for io in result["io"])
    if "--buffered" in method:
        assert all(io["method"].endswith("buffered") for io in result["io"])


def test_words_and_sums(agent: Any, places: Places) -> None:
    rng = random.Random(3)
    words = [f"word{int(rng.paretovariate(0.7)) % 5000}" for _ in range(200_000)]
    place = places(" ".join(words).replace("7 ", "7\n").encode())
    result = agent.sort(*place.flags, "--job", "wordcount").result
    expected = sorted((w.encode(), n) for w, n in Counter(words).items())
    assert output_of(result) == b"".join(b"%s\t%d\n" % pair for pair in expected)

    pairs = [(rng.randbytes(rng.randrange(3)), rng.randrange(1 << 40)) for _ in range(50_000)]
    sums: Counter[bytes] = Counter()
    for key, value in pairs:
        sums[key] += value
    place.input.write_bytes(key_values(*((k, struct.pack("<Q", v)) for k, v in pairs)))
    result = agent.sort(*place.flags, "--job", "aggregate", "--overwrite").result
    expected_sums = ((k, struct.pack("<Q", v)) for k, v in sorted(sums.items()))
    assert output_of(result) == key_values(*expected_sums)


def test_a_plan_touches_nothing(agent: Any, places: Places) -> None:
    place = places(noise(20_000_000))
    plan = agent.sort(*place.flags, "--memory", 8 * MIB, "--threads", 2, "--plan-only").result
    place.assert_nothing_left()
    assert plan["regime"] == "hybrid"
    assert plan["expected_spilled_bytes"] + plan["expected_retained_bytes"] == 20_000_000
    assert plan["scratch_bytes_needed"] >= plan["expected_spilled_bytes"]
    assert plan["output_bytes_needed"] == plan["input_bytes"] == 20_000_000
    assert plan["input_records"] == 200_000
    assert plan["minimum_memory_bytes"] <= plan["memory_bytes"] == 8 * MIB
    assert plan["partitions"] > 1
    assert plan["block_bytes"] % 4096 == 0
    assert plan["threads"] == 2


@pytest.mark.parametrize("memory", [8 * MIB, 64 * MIB])
def test_the_first_bytes_are_sorted_as_if_there_were_no_more(
    agent: Any, places: Places, memory: int
) -> None:
    data = noise(20_000_000)
    place = places(data)
    flags = ("--memory", memory, "--first-bytes", 5_000_099, "--partition-bytes", MIB)
    result = agent.sort(*place.flags, *flags).result
    assert result["input"]["bytes"] == 5_000_000
    assert result["partitions"] > 4
    expected = sorted(data[at : at + 100] for at in range(0, 5_000_000, 100))
    assert output_of(result) == b"".join(expected)
    assert place.input.read_bytes() == data


@pytest.mark.parametrize(
    "flags",
    [("--format", "lines", "--first-bytes", 1000), ("--first-bytes", 99), ("--partition-bytes", 0)],
)
def test_a_part_that_cannot_be_taken_is_refused(
    agent: Any, places: Places, flags: tuple[object, ...]
) -> None:
    place = places(noise(1_000_000))
    agent.sort(*place.flags, *flags).refused("VEN-SORT-OPTION", 2)
    place.assert_nothing_left()


def test_a_reader_that_goes_away_does_not_stop_the_work(agent: Any, places: Places) -> None:
    place = places(noise(3_000_000))
    process = agent.start("sort", *place.flags, "--memory", 4 * MIB)
    process.stdout.close()
    process.stderr.close()
    assert process.wait(timeout=60) == 0
    assert (place.output / "manifest.json").exists()


# --- what it refuses -----------------------------------------------------------------------------


def test_a_cut_off_file_is_named_with_what_is_left_over(agent: Any, places: Places) -> None:
    place = places(noise(1042))
    error = agent.sort(*place.flags).refused("VEN-SORT-INPUT-LENGTH")
    assert error["where"] == {
        "file": str(place.input),
        "size_bytes": 1042,
        "record_bytes": 100,
        "remainder_bytes": 42,
    }
    assert str(place.input) in error["message"]
    assert "42" in error["message"]
    assert "--record-bytes" in error["hint"]
    place.assert_nothing_left()


@pytest.mark.parametrize(
    ("data", "flags", "offset", "said"),
    [
        (key_values((b"k", b"v"), (b"key", b"value"))[:-1], [], 10, "cut off"),
        (key_values((b"k", b"v")) + b"\x01\x00\x00", [], 10, "cut off"),
        (key_values((b"k", b"v"), (b"k", bytes(70_000))), [], 10, "70009"),
        (
            key_values((b"k", b"v"), (b"k", bytes(70_000))),
            ["--max-record-bytes", 70_008],
            10,
            "70009",
        ),
        (b"\xff" * 100, [], 0, "8589934598"),
    ],
)
def test_a_malformed_record_is_refused_where_it_begins(
    agent: Any, places: Places, data: bytes, flags: list[object], offset: int, said: str
) -> None:
    place = places(data)
    error = agent.sort(*place.flags, "--format", "kv", *flags).refused("VEN-SORT-RECORD")
    assert error["where"] == {"file": str(place.input), "offset": offset}
    assert said in error["message"]
    assert "--max-record-bytes" in error["hint"]
    place.assert_nothing_left()


def test_sums_that_cannot_be_are_refused(agent: Any, places: Places) -> None:
    most = struct.pack("<Q", (1 << 64) - 1)
    place = places(b"")
    for data, said in [
        (key_values((b"a", most), (b"a", struct.pack("<Q", 1))), "2^64 - 1"),
        (key_values((b"a\xff", b"1")), "1 bytes, not 8"),
    ]:
        place.input.write_bytes(data)
        error = agent.sort(*place.flags, "--job", "aggregate").refused("VEN-SORT-AGGREGATE")
        assert said in error["message"]
        place.assert_nothing_left()


def test_a_missing_input(agent: Any, places: Places) -> None:
    place = places(noise(100))
    gone = place.input.parent / "gone"
    error = agent.sort(*place.flags, "--input", gone).refused("VEN-SORT-INPUT")
    assert error["where"] == {"file": str(gone)}
    place.assert_nothing_left()


@pytest.mark.parametrize("flag", ["--output", "--scratch", "--replica"])
@pytest.mark.parametrize("kind", ["missing", "file"])
def test_a_directory_that_is_none(agent: Any, places: Places, flag: str, kind: str) -> None:
    place = places(noise(100))
    bad = place.input if kind == "file" else place.input.parent / "missing"
    error = agent.sort(*place.flags, flag, bad).refused("VEN-SORT-DIR")
    assert error["where"]["file"] == str(bad)
    assert flag.strip("-") in error["message"]
    place.assert_nothing_left()


@pytest.mark.slow
def test_a_budget_too_small_says_what_would_do(agent: Any, places: Places) -> None:
    place = places(noise(9_000_000))
    for threads in (1, 2, 4):
        flags = [*place.flags, "--threads", threads, "--overwrite"]
        error = agent.sort(*flags, "--memory", 100_000).refused("VEN-SORT-MEMORY")
        minimum = error["where"]["minimum_bytes"]
        assert error["where"] == {"budget_bytes": 100_000, "minimum_bytes": minimum}
        assert str(minimum) in error["message"]
        result = agent.sort(*flags, "--memory", minimum).result
        assert result["output"]["records"] == 90_000
        assert result["memory"]["peak_rss_bytes"] <= minimum + SLACK_BYTES


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--threads", 0], "thread"),
        (["--threads", 2**64 - 1], "thread"),
        (["--record-bytes", 0], "0 bytes"),
        (["--record-bytes", 10, "--key-bytes", 11], "11 bytes"),
        (["--key-bytes", 0], "0 bytes"),
        (["--format", "lines"], "lines"),
        (["--job", "wordcount", "--format", "kv"], "lines"),
        (["--job", "aggregate", "--format", "fixed"], "kv"),
        (["--job", "aggregate", "--verify"], "checksum"),
        (["--format", "kv", "--indy"], "indy"),
        (["--format", "kv", "--max-record-bytes", 2**64 - 1], "bytes"),
    ],
)
def test_options_that_make_no_sense(
    agent: Any, places: Places, flags: list[object], said: str
) -> None:
    place = places(b"")
    error = agent.sort(*place.flags, *flags).refused("VEN-SORT-OPTION", 2)
    assert said in error["message"]
    place.assert_nothing_left()


@pytest.mark.parametrize("flags", [[], ["--input"], ["--input", "x"], ["--memory", "1GiB"]])
def test_usage(agent: Any, flags: list[str]) -> None:
    run = agent.sort(*flags)
    assert (run.status, run.events) == (2, [])
    assert "--help" in run.stderr


def test_an_input_given_twice_or_in_place_of_output(agent: Any, places: Places) -> None:
    place = places(noise(100))
    error = agent.sort(*place.flags, "--input", place.input).refused("VEN-SORT-OPTION", 2)
    assert str(place.input) in error["message"]
    part = place.output / "part-000000"
    part.write_bytes(noise(100))
    flags = ["--input", part, "--output", place.output, "--overwrite"]
    error = agent.sort(*flags).refused("VEN-SORT-INPUT-IS-OUTPUT")
    assert error["where"] == {"file": str(part)}
    assert part.read_bytes() == noise(100)


def test_output_that_exists(agent: Any, places: Places) -> None:
    place = places(noise(1000))
    assert agent.sort(*place.flags).result
    before = {path.name: path.stat().st_mtime_ns for path in place.output.iterdir()}
    error = agent.sort(*place.flags).refused("VEN-SORT-OUTPUT-EXISTS")
    assert Path(error["where"]["file"]).parent == place.output
    assert "--overwrite" in error["hint"]
    assert before == {path.name: path.stat().st_mtime_ns for path in place.output.iterdir()}
    assert agent.sort(*place.flags, "--overwrite").result


@pytest.mark.parametrize("kind", ["pipe", "device", "socket"])
def test_what_is_no_regular_file_is_refused_at_once(
    agent: Any, places: Places, kind: str, tmp_path: Path
) -> None:
    place = places(b"")
    odd = tmp_path / "odd"
    if kind == "pipe":
        os.mkfifo(odd)
    elif kind == "device":
        odd = Path("/dev/zero")
    else:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(odd))
    run = agent.sort("--input", odd, "--output", place.output)
    assert run.status in (1, 2)
    assert str(odd) in run.error["message"]


def test_names_of_any_bytes(agent: Any, tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/odd\xff"))
    output = tmp_path / "output"
    output.mkdir()
    run = agent.sort("--input", odd, "--output", output)
    assert "odd" in run.refused("VEN-SORT-INPUT")["where"]["file"]
    odd.write_bytes(noise(1000))
    assert agent.sort("--input", odd, "--output", output).result["output"]["records"] == 10
    odd.unlink()
    odd.mkdir()
    run = agent.sort("--input", output, "--output", odd)
    assert run.events[-1]["event"] in ("result", "error")
    if run.status != 0:
        assert run.error["code"] == "VEN-SORT-OPTION"
        assert list(odd.iterdir()) == []


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user, which needs root")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv (Debian: util-linux)")
def test_an_ordinary_user_is_told_what_may_not_be_read_or_written(
    agent_binary: Path, agent: Any, places: Places, tmp_path: Path
) -> None:
    place = places(noise(1_000_000))
    # The user must be able to reach the agent and the directories.
    everyone = Path("/tmp") / f"venturi-test-{os.getpid()}"
    everyone.mkdir(mode=0o777)
    everyone.chmod(0o777)
    try:
        agent.binary = everyone / "agent"
        shutil.copy(agent_binary, agent.binary)
        agent.binary.chmod(0o755)
        source, output = everyone / "in", everyone / "out"
        source.write_bytes(place.input.read_bytes())
        source.chmod(0o600)
        output.mkdir()
        nobody = {"prefix": ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")}
        flags = ["--input", source, "--output", output, "--memory", 8 * MIB]
        error = agent.sort(*flags, **nobody).refused("VEN-SORT-INPUT")
        assert error["where"] == {"file": str(source)}
        assert "ermission denied" in error["message"]
        source.chmod(0o644)
        error = agent.sort(*flags, **nobody).refused("VEN-SORT-DIR")
        assert error["where"] == {"file": str(output)}
        assert list(output.iterdir()) == []
        output.chmod(0o777)
        assert agent.sort(*flags, **nobody).result["output"]["records"] == 10_000
    finally:
        shutil.rmtree(everyone)


# --- memory --------------------------------------------------------------------------------------


def check_peak(agent: Any, budget_bytes: int, *flags: object) -> dict[str, Any]:
    run, peak_bytes = agent.peak("sort", "--memory", budget_bytes, *flags)
    result: dict[str, Any] = run.result
    told = result["memory"]["peak_rss_bytes"]
    over_mib = (max(peak_bytes, told) - budget_bytes) / MIB
    assert over_mib <= SLACK_BYTES / MIB, f"{over_mib:.0f} MiB over a budget of {budget_bytes}"
    # Both are counted by the kernel, in ways that differ by a few pages for each thread.
    assert abs(peak_bytes - told) < 8 * MIB
    return result


@pytest.mark.slow
@pytest.mark.parametrize("budget_mib", [64, 100, 256, 512])
def test_the_peak_stays_near_the_budget(
    agent: Any, large_input: Path, tmp_path: Path, budget_mib: int
) -> None:
    output = tmp_path / "output"
    output.mkdir()
    flags = ["--input", large_input, "--output", output, "--threads", 4]
    result = check_peak(agent, budget_mib * MIB, *flags)
    assert result["regime"] == ("in-memory" if budget_mib == 512 else "hybrid")
    assert agent.run("validate", "--input", output / "manifest.json").result["records"] == 3_000_000
    shutil.rmtree(output)


def long_records(path: Path) -> list[object]:
    path.write_bytes(noise(64 * MIB))
    return ["--record-bytes", MIB]


def long_pairs(path: Path) -> list[object]:
    with path.open("wb") as file:
        for n in range(4000):
            file.write(key_values((struct.pack(">I", n * 7919 % 4000), noise(16_000, n))))
    return ["--format", "kv"]


def short_pairs(path: Path) -> list[object]:
    pairs = np.zeros((7_000_000, 9), dtype=np.uint8)
    pairs[:, 0] = 1
    pairs[:, 8] = np.random.default_rng(1).integers(0, 256, len(pairs))
    path.write_bytes(pairs.tobytes())
    return ["--format", "kv"]


def tiny_records(path: Path) -> list[object]:
    path.write_bytes(noise(60_000_000))
    return ["--record-bytes", 2, "--key-bytes", 1]


def long_lines(path: Path) -> list[object]:
    words = np.random.default_rng(1).integers(97, 123, (4_000_000, 5), dtype=np.uint8)
    words[:, 4] = ord(" ")
    words[12_000::12_000, 4] = ord("\n")
    path.write_bytes(words.tobytes())
    return ["--job", "wordcount"]


@pytest.mark.slow
@pytest.mark.parametrize("budget_mib", [64, 256])
@pytest.mark.parametrize("make", [long_records, long_pairs, short_pairs, tiny_records, long_lines])
def test_records_of_any_length_stay_near_the_budget(
    agent: Any, places: Places, make: Callable[[Path], list[object]], budget_mib: int
) -> None:
    place = places(b"")
    flags = make(place.input)
    check_peak(agent, budget_mib * MIB, *place.flags, *flags)


# --- being stopped -------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_signal_cleans_up_and_ends_it_soon(
    agent: Any, medium_input: Path, tmp_path: Path
) -> None:
    rng = random.Random(4)
    flags = ["--input", medium_input, "--memory", 8 * MIB]
    dirs = {role: tmp_path / role for role in ("output", "scratch", "replica")}
    for role, path in dirs.items():
        path.mkdir()
        flags += [f"--{role}", path]
    whole_s = agent.sort(*flags).elapsed_s
    stopped = 0
    for round_ in range(24):
        for path in dirs.values():
            shutil.rmtree(path)
            path.mkdir()
        which = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[round_ % 3]
        started_s = time.monotonic()
        process = agent.start("sort", *flags)
        # Before its first word it may not have heard of signals yet.
        first = process.stdout.readline()
        assert b'"started"' in first
        time.sleep(0.02 + rng.uniform(0, whole_s))
        process.send_signal(which)
        signalled_s = time.monotonic()
        run = agent.end(process, started_s)
        assert time.monotonic() - signalled_s < 60, "it hangs"
        left = {role: sorted(p.name for p in path.iterdir()) for role, path in dirs.items()}
        if run.status == 0:
            assert "manifest.json" in left["output"]
            continue
        stopped += 1
        run.refused("VEN-INTERRUPTED", 130)
        assert left == {"output": [], "scratch": [], "replica": []}
    assert stopped >= 5


# --- durability ----------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace (Debian: strace)")
def test_files_are_durable_before_they_have_a_name_and_the_manifest_is_last(
    agent: Any, places: Places, tmp_path: Path
) -> None:
    place = places(noise(8_000_000))
    log = tmp_path / "strace"
    calls = "openat,fsync,fdatasync,linkat,rename,renameat,renameat2,unlink,unlinkat,close"
    strace = ("strace", "-f", "-y", "-o", str(log), "-e", f"trace={calls}")
    run = agent.sort(*place.flags, "--memory", 4 * MIB, prefix=strace)
    if run.status != 0 and "ptrace" in run.stderr:
        pytest.skip(f"may not trace here: {run.stderr.strip()}")
    result = run.result
    events: list[tuple[str, str, str]] = []
    # A file that was nameless keeps its number in the kernel's eyes: the link says its name.
    names: dict[str, str] = {}
    for line in log.read_text().splitlines():
        if linked := re.search(r'linkat\(.*?"/proc/self/fd/(\d+)".*?"([^"]*)"', line):
            names[linked[1]] = linked[2]
        elif synced := re.search(r"f(?:data)?sync\((\d+)<([^>]*)>", line):
            nameless = Path(synced[2]).name.startswith("#")
            events.append(("sync", names[synced[1]] if nameless else synced[2], ""))
        elif renamed := re.search(r'rename\w*\(.*?"([^"]*)".*?"([^"]*)"(?!.*= -1)', line):
            events.append(("rename", renamed[1], renamed[2]))
    renames = [(i, old, new) for i, (what, old, new) in enumerate(events) if what == "rename"]
    assert len(renames) == len(result["output"]["files"]) + 1
    for at, old, _ in renames:
        synced_at = [
            i for i, (what, path, _) in enumerate(events) if what == "sync" and path == old
        ]
        assert synced_at, f"{old} was never made durable"
        assert max(synced_at) < at, f"{old} got its name before it was durable"
    last, _, name = renames[-1]
    assert name.endswith("/manifest.json")
    parts_named = renames[-2][0]
    folder = [i for i, e in enumerate(events) if e == ("sync", str(place.output), "")]
    assert any(parts_named < i < last for i in folder), "names of parts durable before the manifest"
    assert any(i > last for i in folder), "the manifest's name durable before the result"


def test_the_budget_of_a_default_run_is_a_share_of_what_is_available(
    agent: Any, places: Places
) -> None:
    place = places(noise(1000))
    budget = agent.sort(*place.flags, "--plan-only").result["memory_bytes"]
    available = int(
        re.search(r"MemAvailable:\s+(\d+)", Path("/proc/meminfo").read_text())[1]  # type: ignore[index]
    )
    assert 0 < budget <= available * 1024 * 0.66
    # Memory that no machine has is no reason to fail: only what is used counts.
    assert agent.sort(*place.flags, "--memory", 2**64 - 1).result["output"]["records"] == 10


def test_output_is_not_executable_and_obeys_the_mask(agent: Any, places: Places) -> None:
    place = places(noise(1000))
    assert agent.sort(*place.flags, prefix=("sh", "-c", 'umask 027; exec "$@"', "sh")).result
    for path in place.output.iterdir():
        assert path.stat().st_mode & 0o777 == 0o640, path.name


@pytest.mark.slow
def test_open_files_do_not_grow_with_the_output(agent: Any, places: Places) -> None:
    place = places(noise(40_000_000))
    result = agent.sort(
        *place.flags, "--memory", 4 * MIB, prefix=("sh", "-c", 'ulimit -n 80; exec "$@"', "sh")
    ).result
    assert len(result["output"]["files"]) > 80


def test_the_agent_never_talks_on_stdout(agent: Any, places: Places) -> None:
    place = places(noise(1000))
    command = [str(agent.binary), "sort", *map(str, place.flags)]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    assert all(isinstance(json.loads(line), dict) for line in done.stdout.splitlines())
    assert done.stderr == b""
