"""The agent where the system gives it too little: threads, memory, sizes of files, or no answer."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from torture.agent import counted

MIB = 1 << 20
THREADS = 24
PIDS = Path("/sys/fs/cgroup/pids")
Places = Callable[[bytes], Any]


class Group:
    """A control group that bounds the number of processes and threads in it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def limited(self, most: int) -> tuple[str, ...]:
        """Return the prefix that starts a command in it, with at most `most` tasks including its
        own first one.
        """
        (self._path / "pids.max").write_text(str(most))
        enter = f'echo $$ > {self._path}/cgroup.procs && exec "$@"'
        return ("/bin/sh", "-c", enter, "sh")


@pytest.fixture
def group() -> Iterator[Group]:
    """A group of this test."""
    unified = Path("/sys/fs/cgroup/cgroup.controllers")
    root = unified.parent if unified.exists() else PIDS
    path = root / f"venturi-test-{os.getpid()}"
    try:
        path.mkdir()
        (path / "pids.max").write_text("max")
    except OSError as error:
        with contextlib.suppress(OSError):
            path.rmdir()
        pytest.skip(f"may not bound the number of threads here: {error}")
    yield Group(path)
    path.rmdir()


def commands(folder: Path, data: Path) -> dict[str, tuple[list[object], Path]]:
    """Calls that make many threads, and the folder in which each may leave nothing."""
    made = {name: folder / name for name in ("sort", "gen", "files", "disk", "none")}
    for path in made.values():
        path.mkdir()
    threads = ["--threads", THREADS]
    sort = ["sort", "--input", data, "--output", made["sort"], "--memory", 128 * MIB, *threads]
    few = ["--bytes", 64 * MIB, "--iterations", 1, "--min-seconds", 0, "--random-seconds", 0.2]
    some = ["--bytes", 16 * MIB, "--message-bytes", 256 << 10, "--iterations", 1]
    return {
        "sort": (sort, made["sort"]),
        "sort by threads": ([*sort, "--io", "posix"], made["sort"]),
        "gen": (["gen", "--count", 9_000, "--output", made["gen"] / "f", *threads], made["gen"]),
        "gen into a device": (
            ["gen", "--count", 9_000_000, "--output", "/dev/null", *threads],
            made["none"],
        ),
        "validate": (["validate", "--input", data, *threads], made["none"]),
        "pi": (["pi", "--points", 10_000_000, "--parts", 64, *threads], made["none"]),
        "memory": (["memory", "--bytes", 64 * MIB, *threads], made["none"]),
        "files": (
            ["files", "write", "--dir", made["files"], "--count", 64, "--bytes", 4096, *threads],
            made["files"],
        ),
        "disk": (["disk", "--dir", made["disk"], *few], made["disk"]),
        "net": (["net", "--loopback", 4, *some, "--sockets-per-peer", 2], made["none"]),
    }


def ended_well(run: Any, code: str = "VEN-AGENT-THREADS") -> bool:
    """Whether it succeeded; fails unless it did or said why not, with `code`."""
    if run.status in (0, 3) and run.events[-1]["event"] == "result":
        return True
    error = run.error
    assert (error["code"], run.status) == (code, 1), (error, run.stderr)
    return False


@pytest.mark.root
@pytest.mark.parametrize(
    "name",
    ["sort", "sort by threads", "gen", "gen into a device", "validate", "pi", "memory", "files"],
)
def test_threads_that_are_refused_end_it_with_an_error(
    agent: Any, group: Group, tmp_path: Path, name: str
) -> None:
    data = agent.generate(tmp_path / "data", 20_000)
    command, folder = commands(tmp_path, data)[name]
    for most in (2, 3, 5, 8, 13, 20):
        run = agent.run(*command, prefix=group.limited(most))
        assert not ended_well(run), f"{THREADS} threads of {most}"
        assert "ulimit -u" in run.error["hint"]
        assert sorted(folder.iterdir()) == [], most
    assert ended_well(agent.run(*command, prefix=group.limited(400)))


@pytest.mark.root
@pytest.mark.parametrize("name", ["disk", "net"])
def test_measurements_end_where_threads_are_refused(
    agent: Any, group: Group, tmp_path: Path, name: str
) -> None:
    command, folder = commands(tmp_path, tmp_path / "data")[name]
    refusals = ("VEN-AGENT-THREADS", "VEN-NET-CONNECT", "VEN-NET-LOST", "VEN-NET-PEER")
    for most in (1, 2, 3, 5):
        run = agent.run(*command, prefix=group.limited(most))
        if run.status != 0:
            assert (run.status, run.error["code"] in refusals) == (1, True), run.error
        assert list(folder.iterdir()) == []
    assert agent.run(*command, prefix=group.limited(400)).result


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user, which needs root")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv (Debian: util-linux)")
def test_a_user_who_may_have_ten_processes_is_told(agent: Any, tmp_path: Path) -> None:
    folder = Path(subprocess.check_output(["mktemp", "-d"], text=True).strip())
    try:
        binary = shutil.copy(agent.binary, folder / "agent")
        (folder / "out").mkdir()
        shutil.copy(agent.generate(tmp_path / "data", 1000), folder / "data")
        for path in (folder, *folder.iterdir()):
            os.chown(path, 64_321, 64_321)
        agent.binary = binary
        other = ("setpriv", "--reuid=64321", "--regid=64321", "--clear-groups")
        run = agent.sort(
            "--input",
            folder / "data",
            "--output",
            folder / "out",
            "--memory",
            64 * MIB,
            "--threads",
            THREADS,
            prefix=other,
            preexec_fn=limit(resource.RLIMIT_NPROC, 10),
        )
        run.refused("VEN-AGENT-THREADS")
        assert list((folder / "out").iterdir()) == []
    finally:
        shutil.rmtree(folder)


def limit(what: int, most: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(what, (most, most))


@pytest.mark.parametrize("method", [[], ["--io", "posix"], ["--buffered"]])
def test_the_limit_on_file_sizes_is_a_full_disk_to_a_sort(
    agent: Any, places: Places, medium_input: Path, method: list[str]
) -> None:
    place = places(b"")
    flags = ["--input", medium_input, *place.flags[2:], "--memory", 8 * MIB, *method]
    # A part fits, then the common scratch file does not; then no part does.
    for most in (16 * MIB, 100_000):
        run = agent.sort(*flags, preexec_fn=limit(resource.RLIMIT_FSIZE, most))
        if run.status != 0:
            error = run.refused("VEN-SORT-FULL")
            assert "File too large" in error["message"]
            assert "ulimit -f" in error["hint"]
            place.assert_nothing_left()
        else:
            assert most > 100_000
            shutil.rmtree(place.output)
            place.output.mkdir()


def test_the_limit_on_file_sizes_is_a_full_disk_to_the_others(agent: Any, tmp_path: Path) -> None:
    folder = tmp_path / "made"
    folder.mkdir()
    small = limit(resource.RLIMIT_FSIZE, MIB)
    run = agent.run("gen", "--count", 100_000, "--output", folder / "f", preexec_fn=small)
    assert "ulimit -f" in run.refused("VEN-GEN-FULL")["hint"]
    files = ["files", "write", "--dir", folder, "--count", 2, "--bytes", 4 * MIB]
    agent.run(*files, preexec_fn=small).refused("VEN-DISK-SPACE")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("command", ["sort", "gen", "validate"])
def test_little_address_space_is_refused_or_does(agent: Any, tmp_path: Path, command: str) -> None:
    data = agent.generate(tmp_path / "data", 20_000)
    call, folder = commands(tmp_path, data)[command]
    ends = set()
    for most in (24, 48, 96, 160, 220, 300, 4000):
        run = agent.run(*call, preexec_fn=limit(resource.RLIMIT_AS, most * MIB))
        assert run.status in (0, 1, 3), (most, run.status, run.stderr)
        ends.add(run.status)
        if run.status == 1:
            assert run.error["code"].startswith("VEN-"), run.error
            assert [path.name for path in folder.iterdir()] == [], most
        for path in folder.iterdir():
            path.unlink()
    assert 1 in ends
    assert ends - {1}


def test_no_more_memory_is_an_error_and_no_abort(agent: Any, tmp_path: Path) -> None:
    """The list of files takes more memory than the limits allow."""
    data, folder = tmp_path / "many", tmp_path / "made"
    data.mkdir()
    folder.mkdir()
    for number in range(30_000):
        (data / f"a-rather-long-name-of-an-input-file-{number:08}").touch()
    codes = set()
    for most in range(12, 28, 2):
        few = limit(resource.RLIMIT_AS, most * MIB)
        sort = ("sort", "--input", data, "--output", folder, "--memory", 16 * MIB)
        run = agent.run(*sort, preexec_fn=few)
        if run.status != 127:  # the loader's: the program does not begin
            assert run.status == 1, (most, run.stderr)
            codes.add(run.error["code"])
            assert list(folder.iterdir()) == []
    assert "VEN-AGENT-MEMORY" in codes


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace (Debian: strace)")
def test_no_mapping_that_is_refused_aborts(agent: Any, tmp_path: Path) -> None:
    """In its own time, the loader's and that of threads that begin."""
    made = tmp_path / "made"
    made.mkdir()
    gen = ("gen", "--count", 1000, "--output", made / "f")
    trace = ("strace", "-f", "-qq", "-o", str(tmp_path / "log"), "-e")
    if not agent.run(*gen, prefix=(*trace, "trace=mmap")).result:
        pytest.skip("may not trace here")
    refused = 0
    for nth in range(1, counted(tmp_path / "log")["mmap"] + 1):
        (made / "f").unlink(missing_ok=True)
        run = agent.run(*gen, prefix=(*trace, f"inject=mmap:error=ENOMEM:when={nth}"))
        # The loader itself dies by SIGSEGV, or ends with 127.
        assert run.status in (0, 1) if run.events else run.status in (127, -signal.SIGSEGV), (
            nth,
            run.status,
            run.stderr,
        )
        refused += run.status != 0
        assert [path.name for path in made.iterdir()] == ["f"] * (run.status == 0)
    assert refused


_STOP = """
import ctypes, os, sys
ALL = 0x40000000
libc = ctypes.CDLL(None, use_errno=True)
SEIZE, INTERRUPT = 0x4206, 0x4207
print("ready", flush=True)
task = int(sys.stdin.readline())
for request in (SEIZE, INTERRUPT):
    if libc.ptrace(request, task, None, None) != 0:
        sys.exit(f"ptrace: {ctypes.get_errno()}")
print("stopped", flush=True)
while True:
    _, status = os.waitpid(task, ALL)
    if os.WIFEXITED(status) or os.WIFSIGNALED(status):
        break  # without this wait the dead process could not be waited for
"""


@contextlib.contextmanager
def tracer() -> Iterator[subprocess.Popen[bytes]]:
    """A tracer that can stop a thread immediately: it starts before the traced process."""
    waits = subprocess.Popen(
        [sys.executable, "-c", _STOP],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert waits.stdout is not None
        assert waits.stdout.readline() == b"ready\n"
        yield waits
    finally:
        waits.kill()
        waits.communicate()


def freeze(process: subprocess.Popen[bytes], name: str, waits: subprocess.Popen[bytes]) -> None:
    """`waits` stops one thread of `process`; the others go on."""
    until_s = time.monotonic() + 30
    while time.monotonic() < until_s:
        for task in Path(f"/proc/{process.pid}/task").iterdir():
            with contextlib.suppress(OSError):
                if (task / "comm").read_text().strip() == name:
                    time.sleep(0.05)  # until it has begun: each waits for all
                    return stop(int(task.name), waits)
        assert process.poll() is None, "it ended before it had such a thread"
    raise AssertionError(f"there never was a thread {name}")


def stop(task: int, waits: subprocess.Popen[bytes]) -> None:
    assert waits.stdin is not None
    assert waits.stdout is not None
    waits.stdin.write(b"%d\n" % task)
    waits.stdin.flush()
    if waits.stdout.readline() != b"stopped\n":
        assert waits.stderr is not None
        pytest.skip(f"may not stop a thread here: {waits.stderr.read().decode()}")


@pytest.mark.parametrize("thread", ["distribute", "read", "write_scratch"])
def test_a_thread_that_stops_ends_the_sort_with_the_state_of_all(
    agent: Any, places: Places, large_input: Path, thread: str
) -> None:
    place = places(b"")
    flags = ["--input", large_input, *place.flags[2:], "--memory", 16 * MIB, "--threads", 2]
    with tracer() as waits:
        started_s = time.monotonic()
        sort = agent.start("sort", *flags, "--stall-seconds", 0.5)
        freeze(sort, thread, waits)
        run = agent.end(sort, started_s)
    error = run.refused("VEN-SORT-STALLED")
    assert re.search(rf"threads:.* {thread} \d", error["message"]), error["message"]
    assert "chunks: " in error["message"]
    place.assert_nothing_left()


def test_a_sort_that_is_stopped_for_longer_than_the_limit_goes_on(
    agent: Any, places: Places, medium_input: Path
) -> None:
    place = places(b"")
    flags = ["--input", medium_input, *place.flags[2:], "--memory", 8 * MIB]
    started_s = time.monotonic()
    sort = agent.start("sort", *flags, "--stall-seconds", 0.3)
    assert sort.stdout is not None
    sort.stdout.readline()
    for _ in range(3):
        sort.send_signal(signal.SIGSTOP)
        time.sleep(0.7)
        sort.send_signal(signal.SIGCONT)
        time.sleep(0.02)
    assert agent.end(sort, started_s).result["output"]["records"] == 400_000


def test_a_reader_that_stops_reading_keeps_nobody_waiting(
    agent: Any, places: Places, medium_input: Path
) -> None:
    place = places(b"")
    flags = ["--input", medium_input, *place.flags[2:], "--memory", 8 * MIB]
    out, into = os.pipe()
    try:
        with contextlib.suppress(BlockingIOError):
            os.set_blocking(into, False)
            while True:  # until the pipe has room only for a run's first and last event
                os.write(into, b"\n" * 4096)
        os.read(out, 8192)
        os.set_blocking(into, True)
        sort = agent.start("sort", *flags, stdout=into)
        until_s = time.monotonic() + 60
        while not (place.output / "manifest.json").exists():
            assert time.monotonic() < until_s, "it waits for its reader"
            time.sleep(0.02)
        os.read(out, 1 << 20)
        assert sort.wait(60) == 0
        sort.communicate()
    finally:
        os.close(out)
        os.close(into)
