"""`venturi-agent gen` and `validate` really run here: files, pipes, signals, exit statuses."""

from __future__ import annotations

import hashlib
import json
import os
import random
import resource
import signal
import struct
import subprocess
import threading
import time
import zlib
from pathlib import Path
from typing import Any

import pytest

RECORD = 100
KEY = 10


def run(agent: Path, *args: object, **options: Any) -> tuple[int, list[dict[str, Any]], str]:
    done = subprocess.run(
        [agent, *map(str, args)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **options,
    )
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def result(agent: Path, *args: object, status: int = 0) -> dict[str, Any]:
    """The data of a call that must end with `status` and a result."""
    code, said, talk = run(agent, *args)
    assert code == status, talk
    assert said[0]["event"] == "started"
    assert said[-1]["event"] == "result"
    data: dict[str, Any] = said[-1]["data"]
    return data


def error(agent: Path, *args: object, status: int = 1, **options: Any) -> dict[str, Any]:
    """The error event of a call that must fail."""
    code, said, talk = run(agent, *args, **options)
    assert code == status, talk
    assert said[-1]["event"] == "error"
    assert said[-1]["code"] in talk
    return said[-1]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def checksum(data: bytes) -> str:
    return f"{sum(zlib.crc32(record) for record in records(data)):x}"


def records(data: bytes) -> list[bytes]:
    return [data[at : at + RECORD] for at in range(0, len(data), RECORD)]


@pytest.fixture
def unsorted(agent_binary: Path, tmp_path: Path) -> Path:
    path = tmp_path / "unsorted"
    result(agent_binary, "gen", "--count", 1000, "--output", path)
    return path


@pytest.fixture
def in_order(unsorted: Path) -> Path:
    path = unsorted.with_name("in-order")
    path.write_bytes(b"".join(sorted(records(unsorted.read_bytes()))))
    return path


@pytest.mark.parametrize(
    ("count", "options", "expected_checksum", "sha256"),
    [
        (1, (), "9ea593a0", "7bda0438"),
        (1000, ("--ascii",), "1f5dfb3631a", "6c26b26a"),
        (1000, ("--ascii", "--skew"), "1eef17d1cac", "33dc462a"),
        (1000, ("--start", "1000000000000"), "1ecbffe299b", "fb2108d8"),
        (1_000_000, ("--skew", "--threads", "2"), "79f9a7e6de673", "26c04b08"),
    ],
)
def test_gen_is_gensort(
    agent_binary: Path,
    tmp_path: Path,
    count: int,
    options: tuple[str, ...],
    expected_checksum: str,
    sha256: str,
) -> None:
    path = tmp_path / "f"
    made = result(agent_binary, "gen", "--count", count, *options, "--checksum", "--output", path)
    assert (made["records"], made["bytes"]) == (count, count * RECORD)
    assert made["checksum"] == expected_checksum
    assert made["cpu_s"] > 0
    assert made["elapsed_s"] > 0
    assert hashlib.sha256(path.read_bytes()).hexdigest()[:8] == sha256
    assert names(tmp_path) == ["f"]


def test_gen_says_how_far_it_is(agent_binary: Path) -> None:
    _, said, _ = run(agent_binary, "gen", "--count", 1_000_000, "--output", "/dev/null")
    kinds = [event["event"] for event in said]
    assert kinds[0] == "started"
    assert kinds[-2:] == ["phase", "result"]
    progress = next(event for event in said if event["event"] == "progress")
    assert (progress["phase"], progress["unit"]) == ("generate", "bytes")
    assert 0 < progress["done"] <= progress["total"] == 100_000_000
    assert said[-1]["data"]["checksum"] is None, "nobody asked for it"
    assert said[-1]["data"]["io_method"] is None


def test_gen_refuses(agent_binary: Path, tmp_path: Path, unsorted: Path) -> None:
    before = unsorted.read_bytes()
    there = error(agent_binary, "gen", "--count", 1, "--output", unsorted)
    assert there["code"] == "VEN-GEN-OUTPUT-EXISTS"
    assert there["where"] == {"file": str(unsorted)}
    assert unsorted.read_bytes() == before
    space = error(agent_binary, "gen", "--count", 2**64, "--output", tmp_path / "f")
    assert space["code"] == "VEN-GEN-SPACE"
    assert space["where"]["available_bytes"] > 0
    nowhere = error(agent_binary, "gen", "--count", 1, "--output", tmp_path / "no" / "f")
    assert nowhere["code"] == "VEN-GEN-OUTPUT"
    for wrong in (("--count", 2**64 + 1), ("--count", -1), ("--count", 1, "--threads", 0)):
        assert run(agent_binary, "gen", *wrong, "--output", tmp_path / "f")[0] == 2
    far = ("--count", 2, "--start", 2**128 - 1, "--output", tmp_path / "f")
    assert error(agent_binary, "gen", *far, status=2)["code"] == "VEN-GEN-OPTION"
    assert names(tmp_path) == ["unsorted"]
    result(agent_binary, "gen", "--count", 2, "--overwrite", "--output", unsorted)
    assert unsorted.read_bytes() == before[: 2 * RECORD]


def test_gen_into_a_pipe(agent_binary: Path, tmp_path: Path) -> None:
    pipe, path = tmp_path / "pipe", tmp_path / "f"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    count = 100_000
    result(agent_binary, "gen", "--count", count, "--threads", 3, "--output", pipe)
    reader.join()
    result(agent_binary, "gen", "--count", count, "--output", path)
    assert read == [path.read_bytes()]


def test_a_failed_write_leaves_nothing(agent_binary: Path, tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    said = error(
        agent_binary,
        "gen",
        "--count",
        100_000,
        "--output",
        tmp_path / "f",
        preexec_fn=limit,
    )
    assert said["code"] == "VEN-GEN-FULL"
    assert names(tmp_path) == []
    assert error(agent_binary, "gen", "--count", 1, "--output", "/dev/full")["code"] == (
        "VEN-GEN-FULL"
    )


@pytest.mark.root
def test_a_full_file_system_leaves_nothing(agent_binary: Path, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting a file system needs root")
    mount = ("mount", "-t", "tmpfs", "-o", "size=32m,nr_inodes=3", "tmpfs", tmp_path)
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("may not mount a tmpfs here")
    try:
        too_much = ("--count", 400_000, "--output", tmp_path / "f")
        assert error(agent_binary, "gen", *too_much)["code"] == "VEN-GEN-SPACE"
        for name in ("a", "b"):
            (tmp_path / name).touch()
        # Bytes are free, but a further file would be one too many.
        some = ("--count", 1000, "--output", tmp_path / "f")
        assert error(agent_binary, "gen", *some)["code"] == "VEN-GEN-FULL"
        assert names(tmp_path) == ["a", "b"]
    finally:
        subprocess.run(("umount", tmp_path), check=True)


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_gen_leaves_nothing(agent_binary: Path, tmp_path: Path, by: int) -> None:
    path = tmp_path / "f"
    with subprocess.Popen(
        [agent_binary, "gen", "--count", "5000000", "--output", path],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        while json.loads(process.stdout.readline())["event"] != "progress":
            pass
        process.send_signal(by)
        last = json.loads(process.stdout.read().splitlines()[-1])
    assert process.returncode == 130
    assert last["code"] == "VEN-INTERRUPTED"
    assert names(tmp_path) == []


def test_killed_gen_leaves_whole_files_or_orphans_that_the_next_removes(
    agent_binary: Path, tmp_path: Path
) -> None:
    instants = random.Random(7)
    foreign = tmp_path / ".venturi-gen-note.tmp"
    foreign.write_text("mine")
    count = 200_000
    orphans = 0
    for round_ in range(20):
        path = tmp_path / f"f{round_}"
        with subprocess.Popen(
            [agent_binary, "gen", "--count", str(count), "--output", path],
            stdout=subprocess.DEVNULL,
        ) as process:
            time.sleep(instants.uniform(0, 0.05))
            process.kill()
        left = {name for name in names(tmp_path) if name.startswith(".venturi-gen-")}
        left.remove(foreign.name)
        orphans += len(left)
        assert len(left) <= 1, "the orphan of the round before was removed"
        if path.exists():
            assert path.stat().st_size == count * RECORD
            path.unlink()
    result(agent_binary, "gen", "--count", 1, "--output", tmp_path / "last")
    assert names(tmp_path) == [foreign.name, "last"]
    assert foreign.read_text() == "mine"
    assert orphans > 0, "no kill came in time: nothing was tested"


def test_validate_sorted(agent_binary: Path, in_order: Path) -> None:
    for options in ((), ("--buffered",), ("--threads", 3)):
        seen = result(agent_binary, "validate", "--input", in_order, *options)
        assert seen["records"] == 1000
        assert seen["checksum"] == checksum(in_order.read_bytes()) == "1ea6370b955"
        assert seen["ordered"] is True
        assert (seen["duplicate_keys"], seen["unordered_records"]) == (0, 0)
        assert seen["first_unordered"] is None
        assert seen["bytes"] == 100_000


def test_validate_unsorted_is_a_result_with_status_3(agent_binary: Path, unsorted: Path) -> None:
    seen = result(agent_binary, "validate", "--input", unsorted, status=3)
    keys = [record[:KEY] for record in records(unsorted.read_bytes())]
    wrong = [n for n in range(1, len(keys)) if keys[n] < keys[n - 1]]
    assert seen["ordered"] is False
    assert seen["unordered_records"] == len(wrong)
    assert seen["first_unordered"] == wrong[0]


def test_summaries_give_the_verdict_of_the_whole(
    agent_binary: Path, tmp_path: Path, in_order: Path
) -> None:
    data = in_order.read_bytes()
    whole = result(agent_binary, "validate", "--input", in_order)
    together = tmp_path / "all.sum"
    parts = []
    with together.open("wb") as file:
        for number, (start, end) in enumerate([(0, 30_000), (30_000, 99_900), (99_900, 100_000)]):
            part, summary = tmp_path / f"part-{number}", tmp_path / f"{number}.sum"
            part.write_bytes(data[start:end])
            parts += ["--input", part]
            result(agent_binary, "validate", "--input", part, "--summary-out", summary)
            made = summary.read_bytes()
            fields = struct.unpack("<10Q100s100s", made)
            assert fields[5] == (end - start) // RECORD
            assert fields[9] == int(checksum(data[start:end]), 16)
            assert fields[10:] == (data[start : start + RECORD], data[end - RECORD : end])
            file.write(made)
    compared = ("records", "checksum", "duplicate_keys", "ordered", "bytes", "first_unordered")
    joined = result(agent_binary, "validate", "--summaries", "--input", together)
    assert {key: joined[key] for key in compared} == {key: whole[key] for key in compared}
    listed = result(agent_binary, "validate", *parts)
    assert {key: listed[key] for key in compared} == {key: whole[key] for key in compared}
    again = ("--input", in_order, "--summary-out", together)
    assert error(agent_binary, "validate", *again)["code"] == "VEN-VALIDATE-OUTPUT"
    together.write_bytes(together.read_bytes()[:-1])
    damaged = error(agent_binary, "validate", "--summaries", "--input", together)
    assert damaged["code"] == "VEN-VALIDATE-SUMMARY"


def test_validate_other_formats(agent_binary: Path, tmp_path: Path) -> None:
    words = sorted(f"{word:08x}".encode() for word in range(0, 5000, 7))
    fixed = tmp_path / "fixed"
    fixed.write_bytes(b"".join(words))
    options = ("--record-bytes", 8, "--key-bytes", 8)
    assert result(agent_binary, "validate", "--input", fixed, *options)["records"] == len(words)
    framed = tmp_path / "kv"
    pairs = [(word[: n % 9], b"v" * n) for n, word in enumerate(words)]
    pairs.sort()
    blob = b"".join(struct.pack("<II", len(k), len(v)) + k + v for k, v in pairs)
    framed.write_bytes(blob)
    seen = result(agent_binary, "validate", "--input", framed, "--format", "kv")
    same = sum(pairs[n][0] == pairs[n - 1][0] for n in range(1, len(pairs)))
    assert (seen["records"], seen["duplicate_keys"]) == (len(pairs), same)
    framed.write_bytes(blob[:-1])
    cut = error(agent_binary, "validate", "--input", framed, "--format", "kv")
    assert cut["code"] == "VEN-VALIDATE-RECORD"
    assert cut["where"]["offset"] == len(blob) - 8 - sum(map(len, pairs[-1]))


def test_validate_refuses(agent_binary: Path, tmp_path: Path, unsorted: Path) -> None:
    with unsorted.open("ab") as file:
        file.write(b"half a record")
    cut = error(agent_binary, "validate", "--input", unsorted)
    assert cut["code"] == "VEN-VALIDATE-LENGTH"
    assert cut["where"] == {
        "file": str(unsorted),
        "size_bytes": 100_013,
        "record_bytes": 100,
        "remainder_bytes": 13,
    }
    assert "--record-bytes" in cut["hint"]
    missing = error(agent_binary, "validate", "--input", tmp_path / "no")
    assert missing["code"] == "VEN-VALIDATE-INPUT"
    assert missing["message"] == f"{tmp_path / 'no'} cannot be read: No such file or directory"
    options = ("--key-bytes", 101)
    assert error(agent_binary, "validate", "--input", unsorted, *options, status=2)["code"] == (
        "VEN-VALIDATE-OPTION"
    )
    assert run(agent_binary, "validate")[0] == 2


def test_nothing_to_validate_is_said(agent_binary: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    status, said, _ = run(agent_binary, "validate", "--input", empty)
    assert status == 0
    assert [e["code"] for e in said if e["event"] == "warning"] == ["VEN-VALIDATE-EMPTY"]
    assert said[-1]["data"]["records"] == 0
    assert said[-1]["data"]["checksum"] == "0"


@pytest.mark.parametrize("given", ["by name", "in a folder", "in a manifest"])
@pytest.mark.parametrize("options", [("--record-bytes", 1, "--key-bytes", 1), ("--format", "kv")])
def test_what_says_that_it_has_no_bytes_and_has_some_is_refused(
    agent_binary: Path, tmp_path: Path, given: str, options: tuple[object, ...]
) -> None:
    hidden = Path("/proc/version")
    assert hidden.stat().st_size == 0
    assert hidden.read_bytes()
    link, manifest = tmp_path / "part-0", tmp_path / "list.json"
    manifest.write_text(json.dumps({"files": [{"path": str(hidden), "bytes": 0, "records": 0}]}))
    if given == "in a folder":
        manifest.unlink()
        link.symlink_to(hidden)
    told, named = {
        "by name": (hidden, hidden),
        "in a folder": (tmp_path, link),
        "in a manifest": (manifest, hidden),
    }[given]
    refused = error(agent_binary, "validate", "--input", told, *options)
    assert refused["code"] == "VEN-VALIDATE-INPUT"
    assert refused["where"]["file"] == str(named)
    assert "it says that it has no bytes and has some" in refused["message"]


@pytest.mark.parametrize("command", ["sort", "validate"])
def test_what_says_that_it_has_more_bytes_than_it_has_is_refused(
    agent_binary: Path, tmp_path: Path, command: str
) -> None:
    page = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not page.exists() or page.stat().st_size <= len(page.read_bytes()):
        pytest.skip(f"{page} is not there, or says how long it is")
    flags: dict[str, tuple[object, ...]] = {
        "sort": ("--job", "wordcount", "--output", tmp_path),
        "validate": ("--record-bytes", 1, "--key-bytes", 1),
    }
    refused = error(agent_binary, command, "--input", page, *flags[command], status=3)
    codes = {"sort": "VEN-SORT-INPUT-CHANGED", "validate": "VEN-VALIDATE-CHANGED"}
    assert refused["code"] == codes[command]
    assert names(tmp_path) == []


@pytest.fixture
def sorted_folder(agent_binary: Path, tmp_path: Path, unsorted: Path) -> Path:
    """The output of `sort --verify`: a part and a manifest with totals and checksum."""
    folder = tmp_path / "sorted"
    folder.mkdir()
    result(agent_binary, "sort", "--input", unsorted, "--output", folder, "--verify")
    assert result(agent_binary, "validate", "--input", folder)["records"] == 1000
    return folder


@pytest.mark.parametrize("part", ["whole", "first file"])
def test_validate_holds_a_manifest_to_its_records(
    agent_binary: Path, sorted_folder: Path, part: str
) -> None:
    manifest = sorted_folder / "manifest.json"
    said = json.loads(manifest.read_text())
    (said if part == "whole" else said["files"][0])["records"] += 1
    manifest.write_text(json.dumps(said))
    refused = error(agent_binary, "validate", "--input", sorted_folder)
    assert refused["code"] == "VEN-VALIDATE-MANIFEST"
    assert refused["where"]["file"] == str(manifest)


def test_validate_finds_a_record_that_is_another_than_was_sorted(
    agent_binary: Path, sorted_folder: Path
) -> None:
    part = sorted_folder / "part-000000"
    data = bytearray(part.read_bytes())
    data[RECORD - 1] ^= 1  # of a record's value: the keys are in order as before
    part.write_bytes(data)
    refused = error(agent_binary, "validate", "--input", sorted_folder, status=3)
    assert refused["code"] == "VEN-VALIDATE-CONTENT"
    assert result(agent_binary, "validate", "--input", part)["records"] == 1000
