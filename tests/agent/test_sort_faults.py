"""The fault matrix of `venturi-agent sort`: full and failing disks, sudden death, foreign files.

Invariants: an output is complete and has its manifest, or there is no manifest and files under
final names are complete; foreign files are untouched; the next sort into the same directory removes
a killed sort's files, and nothing else.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from torture.sort.sort_state import RECORD, Decoys, Truth, noise

MIB = 1 << 20

Places = Callable[[bytes], Any]

needs_root = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="mounts file systems, which needs root"),
]


def root_only(function: Any) -> Any:
    for mark in needs_root:
        function = mark(function)
    return function


def shell(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False
    )


# --- sudden death --------------------------------------------------------------------------------

KILLS = 25  # `make torture` has thousands


@pytest.mark.slow
def test_sudden_death_loses_and_tears_nothing(
    agent: Any, medium_input: Path, tmp_path: Path
) -> None:
    rng = random.Random(20_150_827)
    truth = Truth(medium_input)
    output, scratch, copy = (tmp_path / name for name in ("output", "scratch", "copy"))
    for folder in (output, scratch, copy):
        folder.mkdir()
    decoys = [Decoys(folder) for folder in (output, scratch, copy)]
    little = tmp_path / "little"
    little.write_bytes(noise(RECORD))
    dirs = ["--output", output, "--scratch", scratch, "--replica", copy, "--overwrite"]
    sort = ["sort", *dirs, "--input", medium_input, "--memory", 8 * MIB, "--threads", 2]
    whole_s = agent.run(*sort).elapsed_s
    states: dict[str, int] = {}
    earlier: bytes | None = truth.bytes
    killed = 0
    for round_ in range(60):
        started_s = time.monotonic()
        process = agent.start(*sort, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if round_ % 6 == 5:
            # Aimed at the moment when files get their names.
            wait_for(lambda: not (output / "manifest.json").exists(), process)
            time.sleep(rng.uniform(0, 0.004))
        else:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(rng.uniform(0, 1.02 * whole_s))
                # It was done before its time: the machine was busy when it was measured.
                whole_s = min(whole_s, time.monotonic() - started_s)
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
        for decoy in decoys:
            decoy.check()
        assert decoys[1].others() == [], "scratch files have no names"
        left = [name for decoy in (decoys[0], decoys[2]) for name in decoy.others()]
        temporary = [name for name in left if not name.startswith(("part-", "manifest.json"))]
        dead = f".venturi-sort-{process.pid}-"
        assert all(name.startswith(dead) for name in temporary), temporary
        state = truth.check_state(output, earlier)
        states[state] = states.get(state, 0) + 1

        # The next sort removes what the dead one left.
        assert agent.run("sort", *dirs, "--input", little).result
        for decoy in decoys:
            decoy.check()
        assert decoys[0].others() == ["manifest.json", "part-000000"]
        assert decoys[1].others() == []
        assert decoys[2].others() == ["part-000000"]
        earlier = little.read_bytes()
        if killed == KILLS:
            break
    assert killed == KILLS, states
    assert states.get("old", 0) >= KILLS // 5, states
    assert states.get("new", 0) + states.get("parts", 0) + states.get("nothing", 0) >= 1, states
    result = agent.run(*sort).result
    assert result["regime"] == "hybrid"
    assert b"".join(Path(f["path"]).read_bytes() for f in result["output"]["files"]) == truth.bytes


def wait_for(ready: Callable[[], bool], process: subprocess.Popen[bytes] | None = None) -> None:
    """Waits, briefly spinning, until `ready` or the process has ended."""
    until_s = time.monotonic() + 30
    while not ready() and (process is None or process.poll() is None):
        assert time.monotonic() < until_s, "it never came to that"
        time.sleep(0.0005)


def test_orphans_are_removed_even_where_output_is_in_the_way(
    agent: Any, medium_input: Path, places: Places
) -> None:
    place = places(noise(RECORD))
    killed = agent.start("sort", *place.flags[2:], "--input", medium_input, "--memory", 8 * MIB)
    wait_for(lambda: any(p.name.endswith(".tmp") for p in place.output.iterdir()), killed)
    killed.kill()
    killed.communicate()
    (place.output / "part-000000").write_bytes(b"somebody's")
    agent.sort(*place.flags).refused("VEN-SORT-OUTPUT-EXISTS")
    assert [path.name for path in place.output.iterdir()] == ["part-000000"]
    assert (place.output / "part-000000").read_bytes() == b"somebody's"


def test_the_files_of_a_living_sort_are_left_alone(
    agent: Any, medium_input: Path, places: Places
) -> None:
    place = places(noise(50 * RECORD))
    slow = agent.start("sort", *place.flags[2:], "--input", medium_input, "--memory", 8 * MIB)
    wait_for(lambda: any(p.name.endswith(".tmp") for p in place.output.iterdir()), slow)
    slow.send_signal(signal.SIGSTOP)
    try:
        time.sleep(1)  # writes already submitted to the kernel may still arrive
        theirs = {path: path.stat().st_size for path in place.output.iterdir()}
        assert agent.sort(*place.flags).result["output"]["records"] == 50
        assert {path: path.stat().st_size for path in theirs} == theirs
    finally:
        slow.send_signal(signal.SIGCONT)
    agent.end(slow, time.monotonic()).refused("VEN-SORT-OUTPUT-EXISTS")
    assert sorted(p.name for p in place.output.iterdir()) == ["manifest.json", "part-000000"]
    assert (place.output / "part-000000").stat().st_size == 50 * RECORD


def test_two_at_once_in_one_directory(agent: Any, tmp_path: Path) -> None:
    sources = [tmp_path / "one", tmp_path / "two"]
    for n, source in enumerate(sources):
        source.write_bytes(noise(6_000_000, n))
    truths = [Truth(source) for source in sources]
    for round_ in range(6):
        output = tmp_path / f"output{round_}"
        output.mkdir()
        decoys = Decoys(output)
        flags = ["--output", output, "--memory", 5 * MIB, *(["--overwrite"] if round_ % 2 else [])]
        started_s = time.monotonic()
        processes = [agent.start("sort", "--input", source, *flags) for source in sources]
        runs = [agent.end(process, started_s) for process in processes]
        won = [run.status == 0 for run in runs]
        assert any(won), [run.stderr for run in runs]
        for run in runs:
            if run.status != 0:
                run.refused("VEN-SORT-OUTPUT-EXISTS")
        decoys.check()
        assert not [name for name in decoys.others() if name.startswith(".")]
        states = [is_whole(truth, output) for truth in truths]
        assert sum(states) == 1, "the output is that of one of the two"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace (Debian: strace)")
def test_two_that_publish_at_the_same_moment(agent: Any, tmp_path: Path) -> None:
    """Every rename and unlink takes 30 ms, so that the two meet where output gets its names."""
    output = tmp_path / "output"
    output.mkdir()
    sources = [tmp_path / "one", tmp_path / "two"]
    for n, source in enumerate(sources):
        source.write_bytes(noise(3_000_000 + 600_000 * n, n))
    truths = [Truth(source) for source in sources]
    flags = ["--output", output, "--memory", 4 * MIB, "--overwrite"]
    for calls in ("renameat2,rename,unlink", "renameat2", "rename", "unlink"):
        strace = ("strace", "-f", "-qq", "-o", "/dev/null", "-e")
        prefix = (*strace, f"inject={calls}:delay_enter=30000")
        started_s = time.monotonic()
        processes = [
            agent.start("sort", "--input", source, *flags, prefix=prefix) for source in sources
        ]
        runs = [agent.end(process, started_s) for process in processes]
        if not any(run.events for run in runs):
            pytest.skip(f"may not trace here: {runs[0].stderr.strip()}")
        assert any(run.status == 0 for run in runs), [run.stderr for run in runs]
        assert not [path.name for path in output.iterdir() if path.name.startswith(".")]
        assert sum(is_whole(truth, output) for truth in truths) == 1, "one of the two, whole"


def is_whole(truth: Truth, output: Path) -> bool:
    files = json.loads((output / "manifest.json").read_text())["files"]
    names = {path.name for path in output.iterdir() if path.name[5:].isdigit()}
    assert names == {Path(file["path"]).name for file in files}
    return b"".join(Path(file["path"]).read_bytes() for file in files) == truth.bytes


# --- disks that are full, failing, read-only, or of an unusual type ------------------------------


@contextlib.contextmanager
def mounted(kind: str, folder: Path, size_mib: int, image_dir: Path) -> Iterator[Path]:
    """A file system of `size_mib`, mounted on `folder`; skips if this machine cannot."""
    folder.mkdir(exist_ok=True)
    image = image_dir / f"{folder.name}.image"
    if kind in ("tmpfs", "ramfs"):
        done = shell("mount", "-t", kind, "-o", f"size={size_mib}m", "none", folder)
    else:
        with image.open("wb") as file:
            file.truncate(size_mib * MIB)
        made = shell(f"mkfs.{kind}", "-q", image) if shutil.which(f"mkfs.{kind}") else None
        if made is None or made.returncode:
            pytest.skip(f"cannot make {kind}: {made.stderr.strip() if made else 'no mkfs'}")
        done = shell("mount", "-o", "loop", image, folder)
    if done.returncode:
        pytest.skip(f"cannot mount {kind} here: {done.stderr.strip()}")
    try:
        shutil.rmtree(folder / "lost+found", ignore_errors=True)
        yield folder
    finally:
        for _ in range(50):
            if shell("umount", folder).returncode == 0:
                break
            time.sleep(0.1)
        else:
            shell("umount", "-l", folder)
        image.unlink(missing_ok=True)


def empty(*folders: Path) -> bool:
    return all(list(folder.iterdir()) == [] for folder in folders)


def distinct_words(count: int) -> bytes:
    """Text with word counts longer than itself, which can't be predicted."""
    digits = np.random.default_rng(5).integers(97, 123, (count, 9), dtype=np.uint8)
    digits[:, 8] = ord("\n")
    return digits.tobytes()


@root_only
@pytest.mark.parametrize("role", ["output", "scratch", "replica"])
def test_too_little_space_is_found_before_anything_is_done(
    agent: Any, places: Places, tmp_path: Path, role: str
) -> None:
    place = places(noise(80_000_000))
    with mounted("ext4", tmp_path / "small", 48, tmp_path) as small:
        flags = ["--input", place.input, "--memory", 16 * MIB]
        for name in ("output", "scratch", "replica"):
            folder = tmp_path / f"{name}-folder"
            folder.mkdir()
            flags += [f"--{name}", small if name == role else folder]
        run = agent.sort(*flags)
        where = run.refused("VEN-SORT-SPACE")["where"]
        assert where["file"] == str(small)
        free = os.statvfs(small)
        assert where["available_bytes"] == free.f_bavail * free.f_frsize
        assert where["needed_bytes"] > where["available_bytes"]
        assert empty(small)


@pytest.mark.slow
@root_only
@pytest.mark.parametrize("method", [[], ["--io", "posix", "--buffered"]])
@pytest.mark.parametrize("role", ["output", "scratch", "replica"])
def test_a_disk_that_runs_full_ends_it_cleanly(
    agent: Any, places: Places, tmp_path: Path, role: str, method: list[str]
) -> None:
    place = places(distinct_words(3_000_000))
    with mounted("ext4", tmp_path / "small", 40 if role == "scratch" else 24, tmp_path) as small:
        folders = {}
        for name in ("output", "scratch", "replica"):
            folders[name] = small if name == role else tmp_path / f"{name}-folder"
            folders[name].mkdir(exist_ok=True)
        free = os.statvfs(small).f_bavail
        flags = ["--input", place.input, "--job", "wordcount", *method]
        # In memory, so that only the role in question meets the small disk.
        flags += ["--memory", (12 if role == "scratch" else 300) * MIB]
        for name, folder in folders.items():
            flags += [f"--{name}", folder]
        run = agent.sort(*flags)
        error = run.refused("VEN-SORT-FULL")
        assert error["where"]["file"].startswith(str(small))
        assert "free some space" in error["hint"]
        assert empty(*folders.values())
        assert os.statvfs(small).f_bavail == free, "the space is given back"


@root_only
def test_somebody_else_fills_the_disk(agent: Any, places: Places, tmp_path: Path) -> None:
    place = places(noise(40_000_000))
    with mounted("ext4", tmp_path / "small", 160, tmp_path) as small:
        sort = agent.start("sort", *place.flags[:2], "--output", small, "--memory", 8 * MIB)
        while b'"progress"' not in (line := sort.stdout.readline()):
            assert line, "it ended before it was under way"
        sort.send_signal(signal.SIGSTOP)
        free = os.statvfs(small)
        try:
            with (small / "theirs").open("wb") as theirs:
                os.posix_fallocate(theirs.fileno(), 0, free.f_bavail * free.f_frsize - 2 * MIB)
        finally:
            sort.send_signal(signal.SIGCONT)
        agent.end(sort, time.monotonic()).refused("VEN-SORT-FULL")
        assert [path.name for path in small.iterdir()] == ["theirs"]
        (small / "theirs").unlink()
        result = agent.sort(*place.flags[:2], "--output", small, "--memory", 8 * MIB).result
        assert result["output"]["records"] == 400_000


@root_only
@pytest.mark.parametrize("role", ["output", "scratch", "replica"])
def test_a_device_that_promised_more_than_it_has(
    agent: Any, places: Places, tmp_path: Path, role: str
) -> None:
    """The file system has 400 MiB, what lies behind it 24: writes fail that had their space."""
    place = places(noise(60_000_000))
    with (
        mounted("tmpfs", tmp_path / "thin", 24, tmp_path) as thin,
        mounted("ext4", tmp_path / "failing", 400, thin) as failing,
    ):
        flags = [*place.flags[:2], "--memory", 16 * MIB]
        for name in ("output", "scratch", "replica"):
            folder = tmp_path / f"{name}-folder"
            folder.mkdir()
            flags += [f"--{name}", failing if name == role else folder]
        run = agent.sort(*flags)
        # The kernel passes on ENOSPC or makes it EIO, as its version has it.
        assert run.error["code"] in ("VEN-SORT-FULL", "VEN-SORT-IO")
        assert run.status == 1
        assert run.error["where"]["file"].startswith(str(failing))
        others = [n for n in ("output", "scratch", "replica") if n != role]
        assert empty(*(tmp_path / f"{name}-folder" for name in others))
        # The file system may have become read-only: then even its own files stay.
        names = [path.name for path in failing.iterdir()]
        assert not [name for name in names if not name.startswith(".venturi-sort-")], names


# The kernel's answer to the n-th call of each thread, and the expected error of the sort.
INJECTED = [
    ("pwrite64:error=EIO:when=2", "VEN-SORT-IO"),
    ("pwrite64:error=EIO:when=9+", "VEN-SORT-IO"),
    ("pwrite64:error=ENOSPC:when=3", "VEN-SORT-FULL"),
    ("pwrite64:error=EDQUOT:when=5", "VEN-SORT-FULL"),
    ("pread64:error=EIO:when=8+", "VEN-SORT-"),
    ("fallocate:error=ENOSPC:when=1+", "VEN-SORT-FULL"),
    ("ftruncate:error=EIO:when=2", "VEN-SORT-IO"),
    ("fsync:error=EIO:when=1", "VEN-SORT-IO"),
    ("fsync:error=ENOSPC:when=4", "VEN-SORT-FULL"),
    ("renameat2:error=EIO:when=1", "VEN-SORT-IO"),
    ("renameat2:error=ENOSPC:when=3", "VEN-SORT-FULL"),
    ("rename:error=EIO:when=1", "VEN-SORT-IO"),
    ("flock:error=ENOLCK:when=1", "VEN-SORT-"),
]


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace (Debian: strace)")
@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize(("fault", "code"), INJECTED)
def test_a_call_that_fails(
    agent: Any, places: Places, tmp_path: Path, fault: str, code: str, overwrite: bool
) -> None:
    place = places(noise(6_000_000))
    flags = [*place.flags, "--memory", 4 * MIB, "--io", "posix", "--threads", 2]
    earlier: list[str] = []
    if overwrite:
        assert agent.sort(*place.flags).result
        earlier = sorted(path.name for path in place.output.iterdir())
        flags.append("--overwrite")
    strace = ("strace", "-f", "-qq", "-o", str(tmp_path / "log"), "-e", f"inject={fault}")
    run = agent.sort(*flags, prefix=strace)
    if run.events == []:
        pytest.skip(f"may not trace here: {run.stderr.strip()}")
    assert run.error["code"].startswith(code), run.error
    assert run.status == 1
    assert list(place.scratch.iterdir()) == []
    left = sorted(path.name for path in place.output.iterdir())
    assert not [name for name in left if name.startswith(".")], left
    truth = Truth(place.input)
    if "manifest.json" in left:
        assert left == earlier
        assert is_whole(truth, place.output)
    else:
        # Some files of the replaced output may be left: complete ones.
        assert set(left) <= set(earlier), "no part without a manifest, if the disk lets us"
        truth.check_state(place.output, None)


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace (Debian: strace)")
@pytest.mark.parametrize("call", ["fsync", "rename", "renameat2", "openat", "write"])
def test_every_step_of_publication_may_fail(
    agent: Any, places: Places, tmp_path: Path, call: str
) -> None:
    """Fails the n-th call of each thread, for every n that there is: no state is half done."""
    place = places(noise(100_000))
    truth = Truth(place.input)
    for n in range(1, 200):
        fault = f"inject={call}:error=EIO:when={n}"
        # Ignore earlier calls, by the program loader and the runtime.
        strace = ("strace", "-f", "-qq", "-o", str(tmp_path / "log"), "-P", str(place.output))
        known = ("-P", str(place.output / "manifest.json"), "-P", str(place.output / "part-000000"))
        prefix = (*strace, *known, "-e", fault) if call == "openat" else (*strace[:5], "-e", fault)
        # Writing events may fail, too: no one reads them.
        run = agent.sort(
            *place.flags, "--io", "posix", "--threads", 1, prefix=prefix, stdout=subprocess.DEVNULL
        )
        left = sorted(path.name for path in place.output.iterdir())
        if "INJECTED" not in (tmp_path / "log").read_text():
            assert n > 1, f"{call} is never called"
            assert run.status == 0
            break
        if run.status == 0:
            assert is_whole(truth, place.output), left
        else:
            assert left == [], (n, left, run.stderr)
        for path in place.output.iterdir():
            path.unlink()
    else:
        pytest.fail("there is no end to it")


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace (Debian: strace)")
@pytest.mark.parametrize(
    ("fault", "method"),
    [
        ("io_uring_setup:error=EPERM", "posix+direct"),
        ("io_uring_setup:error=ENOSYS", "posix+direct"),
        ("fcntl:error=EINVAL", "io_uring+buffered"),
        ("renameat2:error=EINVAL", None),
        ("fallocate:error=EOPNOTSUPP", None),
        ("statx:error=ENOSYS", None),
        ("madvise:error=EINVAL", None),
    ],
)
def test_what_a_kernel_lacks_is_done_without(
    agent: Any, places: Places, tmp_path: Path, fault: str, method: str | None
) -> None:
    place = places(noise(6_000_000))
    strace = ("strace", "-f", "-qq", "-o", str(tmp_path / "log"), "-e", f"inject={fault}:when=1+")
    run = agent.sort(*place.flags, "--memory", 4 * MIB, prefix=strace)
    if run.events == []:
        pytest.skip(f"may not trace here: {run.stderr.strip()}")
    assert is_whole(Truth(place.input), place.output), run.result["output"]["records"]
    if method:
        assert {io["method"] for io in run.result["io"]} == {method}
        assert any(e["event"] == "warning" and method in e["message"] for e in run.events)


@pytest.mark.slow
@root_only
def test_an_input_disk_that_fails(agent: Any, places: Places, tmp_path: Path) -> None:
    place = places(noise(30_000_000))
    image = tmp_path / "bad.image"
    with mounted("ext4", tmp_path / "bad", 64, tmp_path) as bad:
        shutil.copy(place.input, bad / "input")
        os.sync()
        # The device loses its second half; nothing of it is in memory.
        os.truncate(image, 16 * MIB)
        Path("/proc/sys/vm/drop_caches").write_text("1")
        flags = ["--input", bad / "input", *place.flags[2:], "--memory", 8 * MIB]
        for method in ([], ["--buffered"]):
            run = agent.sort(*flags, *method)
            error = run.refused("VEN-SORT-INPUT")
            assert "cannot be read: Input/output error" in error["message"]
            assert error["where"]["file"] == str(bad / "input")
            place.assert_nothing_left()


@root_only
def test_a_read_only_disk(agent: Any, places: Places, tmp_path: Path) -> None:
    place = places(noise(1_000_000))
    with mounted("ext4", tmp_path / "fixed", 32, tmp_path) as fixed:
        (fixed / "input").write_bytes(noise(1000))
        assert shell("mount", "-o", "remount,ro", fixed).returncode == 0
        for flag in ("--output", "--scratch", "--replica"):
            error = agent.sort(*place.flags, flag, fixed).refused("VEN-SORT-DIR")
            assert error["where"]["file"] == str(fixed)
            assert "Read-only file system" in error["message"]
            place.assert_nothing_left()
        # To be read is all that an input needs.
        result = agent.sort("--input", fixed / "input", *place.flags[2:]).result
        assert result["output"]["records"] == 10


@root_only
@pytest.mark.parametrize("kind", ["tmpfs", "ramfs", "vfat", "xfs", "btrfs"])
def test_other_file_systems(agent: Any, places: Places, tmp_path: Path, kind: str) -> None:
    place = places(noise(20_000_000))
    expected = Truth(place.input).bytes
    with mounted(kind, tmp_path / "other", 400, tmp_path) as other:
        for role in ("output", "scratch"):
            flags = [*place.flags, "--memory", 8 * MIB]
            flags[flags.index(f"--{role}") + 1] = other
            run = agent.sort(*flags)
            result = run.result
            files = result["output"]["files"]
            assert b"".join(Path(file["path"]).read_bytes() for file in files) == expected
            method = next(io["method"] for io in result["io"] if io["role"] == role)
            assert method.startswith(("io_uring+", "posix+"))
            if kind == "ramfs":
                assert method.endswith("+buffered")
            if not method.endswith("io_uring+direct"):
                told = [e for e in run.events if e["event"] == "warning"]
                assert told or method == "io_uring+direct"
            names = [path.name for path in other.iterdir()]
            assert not [name for name in names if name.startswith(".")], names
            shutil.rmtree(place.output)
            place.output.mkdir()
            for path in other.iterdir():
                path.unlink()
