"""The contract of every kind of host. A test class of a kind inherits `HostContract` and gives
`host`, `place` (an empty folder there) and `MADE_BY` (Python that makes such a host).

The tests only use the host: all files lie there, and nothing on this machine is touched except in
`tmp_path`.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

import pytest

from venturi.core.errors import VenturiError
from venturi.measure.hosts.daemons import Daemons
from venturi.measure.hosts.host import STDERR_LINES, LiveHost, Process

NAMES = {
    "blank": "with a blank",
    "newline": "two\nlines",
    "unicode": "naïve ☕ 数",
    "not utf-8": os.fsdecode(b"\xff\xfe name"),
    "shell": """quote'"$(false)`;&|""",
    "option": "-rf",
}
BIG_BYTES = 40_000_000
SMALL_DISK_BYTES = 1 << 20
DEADLINE_S = 30.0


def wait_until(done: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + DEADLINE_S
    while not done():
        assert time.monotonic() < deadline_s
        time.sleep(0.02)


def output_of(process: Process) -> tuple[bytes, int]:
    """All that it says, and its status."""
    return b"".join(process.lines()), process.wait()


def sh(host: LiveHost, script: str, *arguments: str | Path) -> bytes:
    """The output of a shell script on the host, which must succeed."""
    process = host.start(["sh", "-c", script, "sh", *arguments])
    said, status = output_of(process)
    assert status == 0, process.stderr_tail()
    return said


class FilesContract:
    """Of `host.files`."""

    @pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
    def test_any_name(self, host: LiveHost, place: Path, tmp_path: Path, name: str) -> None:
        files, folder = host.files, place / name
        files.mkdir(folder)
        file = folder / name
        files.write(file, b"\x00text\n")
        assert files.read(file) == b"\x00text\n"
        assert files.stat(file).path == file
        assert [each.path for each in files.entries(folder)] == [file]
        assert [each.path for each in files.find(place, "**/*")] == [folder, file]
        assert sh(host, 'cat "$1"', file) == b"\x00text\n"
        files.get(file, tmp_path / name)
        files.put(tmp_path / name, folder / "copy")
        assert files.read(folder / "copy") == b"\x00text\n"
        files.rename(file, folder / "other")
        files.symlink(file, folder / "other")
        assert files.resolve(file) == files.resolve(folder) / "other"
        with files.here(file) as (local,):
            assert local.read_bytes() == b"\x00text\n"
        files.remove(folder)
        assert files.entries(place) == ()

    def test_what_is_not_there(self, host: LiveHost, place: Path, tmp_path: Path) -> None:
        files, nothing = host.files, place / "nothing"
        asked: tuple[Callable[[Path], object], ...] = (
            files.stat,
            files.read,
            files.open,
            files.entries,
            files.free_bytes,
            files.require_writable,
            lambda path: files.get(path, tmp_path / "got"),
            lambda path: files.rename(path, place / "other"),
            lambda path: files.create(path / "file"),
            lambda path: files.mkdir(path / "folder"),
        )
        for ask in asked:
            with pytest.raises(FileNotFoundError) as caught:
                ask(nothing)
            assert caught.value.errno == errno.ENOENT
        with pytest.raises(FileNotFoundError) as caught:
            files.read(nothing)
        assert caught.value.filename in {nothing, str(nothing)}
        assert files.info(nothing) is None
        assert not files.is_file(nothing)
        assert not files.is_folder(nothing)
        assert files.find(nothing, "*") == ()
        files.remove(nothing)
        files.sync(nothing)

    def test_what_is_below_a_file(self, host: LiveHost, place: Path) -> None:
        files, below = host.files, place / "file" / "below"
        files.write(place / "file", b"")
        with pytest.raises(NotADirectoryError):
            files.stat(below)
        with pytest.raises(NotADirectoryError):
            files.mkdir(below)
        assert files.info(below) is None
        files.remove(below)

    def test_only_an_empty_folder_is_removed_by_rmdir(self, host: LiveHost, place: Path) -> None:
        files, folder = host.files, place / "folder"
        files.mkdir(folder / "below", parents=True)
        with pytest.raises(OSError, match=r".") as caught:
            files.rmdir(folder)
        assert caught.value.errno == errno.ENOTEMPTY
        files.rmdir(folder / "below")
        files.rmdir(folder)
        assert files.entries(place) == ()
        with pytest.raises(FileNotFoundError):
            files.rmdir(folder)

    def test_folders(self, host: LiveHost, place: Path) -> None:
        files, deep = host.files, place / "a" / "b"
        files.mkdir(deep, parents=True)
        with pytest.raises(FileExistsError):
            files.mkdir(deep)
        files.mkdir(deep, parents=True, exist_ok=True)
        files.mkdir(place / "ours", mode=0o700)
        assert sh(host, 'stat -c %a "$1"', place / "ours") == b"700\n"
        with pytest.raises(IsADirectoryError):
            files.read(deep)
        for name in ("2", "10", "1"):
            files.write(deep / name, name * 5)
        assert [(each.path.name, each.kind, each.bytes) for each in files.entries(deep)] == [
            ("1", "file", 5),
            ("10", "file", 10),
            ("2", "file", 5),
        ]
        assert [each.path for each in files.find(place, "*/b/1*")] == [deep / "1", deep / "10"]
        assert files.is_folder(deep)
        assert files.is_file(deep / "1")
        assert files.stat(deep).device == files.stat(deep / "1").device

    def test_a_file_is_whole_or_as_it_was(self, host: LiveHost, place: Path) -> None:
        files, path = host.files, place / "file"
        files.write(path, "first ☕")
        with files.open(path) as before:
            files.write(path, b"second", durable=True)
            assert before.read() == "first ☕".encode()
        assert files.read(path) == b"second"
        assert [each.path for each in files.entries(place)] == [path]

    def test_a_change_is_seen(self, host: LiveHost, place: Path) -> None:
        files, path = host.files, place / "file"
        files.write(path, b"one")
        before = files.stat(path)

        def changed() -> bool:
            files.write(path, b"two")
            return files.stat(path) != before

        wait_until(changed)
        assert files.stat(path).modified_ns > before.modified_ns

    def test_big_files(self, host: LiveHost, place: Path) -> None:
        files, path = host.files, place / "big"
        piece = os.urandom(1_000_000)
        with files.create(path) as target:
            for _ in range(BIG_BYTES // len(piece)):
                assert target.write(piece) == len(piece)
        files.sync(path)
        files.sync(place)
        assert files.stat(path).bytes == BIG_BYTES
        with files.open(path) as source:
            source.seek(BIG_BYTES - 10)
            assert source.read(100) == piece[-10:]
            source.seek(500_000)
            assert source.read(1_000_000) == piece[500_000:] + piece[:500_000]
        assert files.read(path, last_bytes=7) == piece[-7:]
        assert len(files.read(path, last_bytes=BIG_BYTES + 1)) == BIG_BYTES
        with files.create(path):
            pass
        assert files.read(path) == b""

    def test_links(self, host: LiveHost, place: Path) -> None:
        files = host.files
        files.mkdir(place / "folder")
        files.write(place / "folder" / "file", b"kept")
        for name, to in (("to file", "folder/file"), ("to folder", "folder"), ("lost", "nowhere")):
            files.symlink(place / name, place / to)
        kinds = {each.path.name: each.kind for each in files.entries(place)}
        assert kinds == {
            "folder": "folder",
            "lost": "other",
            "to file": "file",
            "to folder": "folder",
        }
        assert files.read(place / "to file") == b"kept"
        assert files.info(place / "lost") is None
        with pytest.raises(FileExistsError):
            files.symlink(place / "lost", place)
        for name in ("to file", "to folder", "lost"):
            files.remove(place / name)
        assert files.read(place / "folder" / "file") == b"kept"
        files.symlink(place / "folder" / "back", place)
        files.remove(place / "folder")
        assert files.entries(place) == ()

    def test_what_is_in_use_can_be_removed(self, host: LiveHost, place: Path) -> None:
        files, folder = host.files, place / "folder"
        files.mkdir(folder)
        files.write(folder / "file", b"in use")
        sh(host, 'chmod 400 "$1"', folder / "file")
        process = host.start(["sh", "-c", "echo ready; exec sleep 60"], cwd=folder)
        assert next(process.lines()) == b"ready\n"
        with files.open(folder / "file") as source:
            files.remove(folder)
            assert source.read() == b"in use"
        process.stop(0.0)
        assert files.info(folder) is None

    def test_what_one_may_not_do(self, host: LiveHost, place: Path) -> None:
        if host.user == "root":
            pytest.skip("root may do everything")
        files, closed = host.files, place / "closed"
        files.mkdir(closed, mode=0o500)
        for refused in (
            lambda: files.write(closed / "file", b""),
            lambda: files.create(closed / "file"),
            lambda: files.mkdir(closed / "folder"),
            lambda: files.require_writable(closed),
        ):
            with pytest.raises(PermissionError):
                refused()

    def test_what_nobody_may_do(self, host: LiveHost) -> None:
        for refused in (
            lambda: host.files.write(Path("/proc/venturi"), b""),
            lambda: host.files.create(Path("/proc/venturi")),
            lambda: host.files.mkdir(Path("/proc/venturi")),
            lambda: host.files.require_writable(Path("/proc")),
        ):
            with pytest.raises(OSError):  # noqa: PT011 - which, is the kernel's choice
                refused()

    def test_places_to_write_to(self, host: LiveHost, place: Path) -> None:
        files = host.files
        files.require_writable(place)
        assert files.entries(place) == ()
        assert files.free_bytes(place) > 0
        with files.temporary("venturi-test-") as folder:
            assert folder.parent == files.temporaries
            assert folder.name.startswith("venturi-test-")
            assert files.entries(folder) == ()
            files.write(folder / "file", b"")
        assert files.info(folder) is None

    @pytest.mark.root
    def test_a_full_disk(self, host: LiveHost, small_disk: Path) -> None:
        files, path = host.files, small_disk / "file"
        assert 0 < files.free_bytes(small_disk) <= SMALL_DISK_BYTES
        assert files.stat(small_disk).device != files.stat(small_disk.parent).device
        files.write(path, b"as it was")
        with pytest.raises(OSError, match="No space left") as caught:
            files.write(path, bytes(2 * SMALL_DISK_BYTES))
        assert caught.value.errno == errno.ENOSPC
        assert files.read(path) == b"as it was"
        assert [each.path for each in files.entries(small_disk)] == [path]
        with (
            pytest.raises(OSError, match="No space left"),
            files.create(small_disk / "stream") as target,
        ):
            target.write(bytes(2 * SMALL_DISK_BYTES))
        assert files.free_bytes(small_disk) < SMALL_DISK_BYTES // 2

    @pytest.mark.root
    def test_all_but_what_cannot_be_removed_is_gone(self, host: LiveHost, small_disk: Path) -> None:
        files, folder = host.files, small_disk.parent
        files.mkdir(folder / "a")
        files.write(folder / "z", b"")
        with pytest.raises(OSError) as caught:  # noqa: PT011
            files.remove(folder)
        assert caught.value.errno == errno.EBUSY
        assert [each.path for each in files.entries(folder)] == [small_disk]


class ProcessContract:
    """The contract of processes on a host."""

    def test_its_output_while_it_runs(self, host: LiveHost) -> None:
        process = host.start(["sh", "-c", "echo first; exec sleep 60"])
        assert next(process.lines()) == b"first\n"
        assert process.stop(10.0) == -signal.SIGINT

    def test_its_arguments_folder_and_environment(self, host: LiveHost, place: Path) -> None:
        names = [*NAMES.values(), ""]
        script = 'test -n "$PATH" && pwd -P; echo "$MARK"; printf "%s\\0" "$@"'
        command = ["sh", "-c", script, "sh", *names]
        process = host.start(command, cwd=place, env={"MARK": "a b\tc"})
        folder, mark, *rest = output_of(process)[0].split(b"\n", 2)
        assert folder == os.fsencode(host.files.resolve(place))
        assert mark == b"a b\tc"
        assert rest[0].split(b"\0")[:-1] == [os.fsencode(name) for name in names]

    @pytest.mark.parametrize(
        ("script", "status"),
        [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", -9), ("kill -15 $$", -15)],
    )
    def test_how_it_ended(self, host: LiveHost, script: str, status: int) -> None:
        assert output_of(host.start(["sh", "-c", script]))[1] == status

    def test_what_cannot_be_executed(self, host: LiveHost, place: Path) -> None:
        host.files.write(place / "file", b"no program")
        for program in (place / "nothing", place / "file", place):
            with pytest.raises(VenturiError) as caught:
                host.start([program])
            assert caught.value.code == "VEN-AGENT-MISSING"
            assert caught.value.where == {"path": str(program)}

    def test_it_is_asked_to_end_and_cleans_up(self, host: LiveHost) -> None:
        waits = "trap 'echo cleaned; exit 130' INT; echo ready; while :; do sleep 0.02; done"
        process = host.start(["sh", "-c", waits])
        assert next(process.lines()) == b"ready\n"
        assert process.stop(DEADLINE_S) == 130

    def test_it_is_killed_when_its_time_is_up(self, host: LiveHost) -> None:
        deaf = "trap '' INT; echo ready; while :; do sleep 0.02; done"
        process = host.start(["sh", "-c", deaf])
        assert next(process.lines()) == b"ready\n"
        assert process.stop(0.2) == -signal.SIGKILL

    def test_it_is_terminated(self, host: LiveHost) -> None:
        process = host.start(["sleep", "60"])
        process.terminate()
        assert process.wait() == -signal.SIGTERM

    def test_ctrl_c_is_heard_though_it_does_not_wake_the_reader(self, host: LiveHost) -> None:
        process = host.start(["sh", "-c", "echo first; exec sleep 60"])
        lines = process.lines()
        assert next(lines) == b"first\n"

        def interrupt() -> None:
            # Taken by this thread, so that the main one goes on waiting for its line.
            time.sleep(0.2)
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)

        threading.Thread(target=interrupt).start()
        try:
            with pytest.raises(KeyboardInterrupt):
                next(lines)
        finally:
            status = process.stop(10)
        assert status == -signal.SIGINT  # at its end after a minute it would be 0

    def test_its_last_words(self, host: LiveHost) -> None:
        # More than a pipe holds, on both: neither blocks the other.
        script = (
            "i=0; while [ $i -lt 3000 ]; do echo out $i; echo an error of some length $i >&2; "
            "i=$((i + 1)); done"
        )
        process = host.start(["sh", "-c", script])
        said, status = output_of(process)
        assert status == 0
        assert said.count(b"\n") == 3000
        assert process.stderr_tail() == [
            f"an error of some length {number}" for number in range(3000 - STDERR_LINES, 3000)
        ]

    def test_it_hears_nothing(self, host: LiveHost) -> None:
        assert output_of(host.start(["cat"])) == (b"", 0)

    def test_what_there_is_to_know(self, host: LiveHost, place: Path) -> None:
        found = host.which("sh")
        assert found is not None
        assert sh(host, 'test -x "$1"', found) == b""
        assert host.which("venturi-no-such-program") is None
        host.files.write(place / "program", b"#!/bin/sh\n")
        assert host.which("program", str(place)) is None
        sh(host, 'chmod +x "$1"', place / "program")
        assert host.which("program", str(place)) == str(place / "program")
        assert sh(host, "uname -n").decode().strip() == host.name
        assert sh(host, "id -un").decode().strip() == host.user
        assert sh(host, "nproc").decode().strip() == str(host.cores)
        assert host.agent is None or sh(host, 'test -x "$1"', host.agent) == b""
        before_s = float(sh(host, "date +%s.%N"))
        assert before_s <= host.unix_time_s() <= float(sh(host, "date +%s.%N"))

    def test_how_others_see_it(self, host: LiveHost) -> None:
        assert host.address_towards("127.0.0.1", 1, 5.0) is None
        assert host.address_towards("no such host", 1, 5.0) is None
        assert host.address_towards("127.0.0.1", 70_000, 5.0) is None


class SupervisionContract:
    """Of commands of which nothing is left."""

    MADE_BY: ClassVar[str]

    @pytest.fixture
    def alive(self, host: LiveHost, place: Path) -> Callable[[], list[int]]:
        """Those alive of the processes that `HIDING` wrote down."""

        def look() -> list[int]:
            found = [int(each.path.name) for each in host.files.find(place / "pids", "*")]
            return [pid for pid in found if self._is_alive(host, pid)]

        host.files.mkdir(place / "pids")
        return look

    @staticmethod
    def _is_alive(host: LiveHost, pid: int) -> bool:
        with suppress(OSError):
            stat = host.files.read(Path(f"/proc/{pid}/stat")).decode(errors="replace")
            return stat.rpartition(")")[2].split()[0] != "Z"
        return False

    # It writes down its own number and that of a child that leaves its session and is deaf.
    HIDING = (
        "trap '' TERM; : > pids/$$; "
        "setsid sh -c 'trap \"\" TERM INT HUP; : > pids/$$; while :; do sleep 0.05; done' & "
        "echo it works; "
    )

    def test_what_it_says_and_used(self, host: LiveHost, place: Path) -> None:
        log = place / "log"
        command = ["sh", "-c", 'echo "$MARK"; pwd -P; echo also >&2; exit 3']
        run = host.supervise(command, log=log, cwd=place, env={"MARK": "here"})
        assert select.select([run], [], [], DEADLINE_S)[0] == [run]
        report = run.report
        assert report["status"] == 3
        assert {"user_s", "system_s", "peak_rss_bytes"} <= set(report)
        assert not run.reaped
        run.release()
        run.reap()
        assert run.ended
        assert run.reaped
        folder = os.fsencode(host.files.resolve(place))
        assert host.files.read(log) == b"here\n" + folder + b"\nalso\n"

    def test_one_that_is_killed(self, host: LiveHost, place: Path) -> None:
        run = host.supervise(["sh", "-c", "kill -9 $$"], log=place / "log", cwd=place, env={})
        assert run.report["status"] == -9
        run.release()
        run.reap()

    def test_one_that_cannot_be_executed(self, host: LiveHost, place: Path) -> None:
        run = host.supervise([place / "nothing"], log=place / "log", cwd=place, env={})
        assert run.report["status"] != 0
        run.release()
        run.reap()
        assert run.ended

    def test_nothing_is_left_of_one_that_ends(
        self, host: LiveHost, place: Path, alive: Callable[[], list[int]]
    ) -> None:
        script = f"{self.HIDING} while [ $(ls pids | wc -l) -lt 2 ]; do sleep 0.02; done"
        run = host.supervise(["sh", "-c", script], log=place / "log", cwd=place, env={})
        assert run.report["status"] == 0
        assert alive() == []
        run.release()
        run.reap()

    @pytest.mark.slow
    def test_nothing_is_left_of_one_that_is_let_go(
        self, host: LiveHost, place: Path, alive: Callable[[], list[int]]
    ) -> None:
        script = f"{self.HIDING} exec sleep 600"
        run = host.supervise(["sh", "-c", script], log=place / "log", cwd=place, env={})
        wait_until(lambda: len(alive()) == 2)
        assert not run.ended
        run.release()
        run.reap()
        assert alive() == []

    @pytest.mark.slow
    def test_nothing_is_left_when_venturi_is_killed(
        self, host: LiveHost, place: Path, tmp_path: Path, alive: Callable[[], list[int]]
    ) -> None:
        program = (
            "import sys, time\n"
            "from pathlib import Path\n"
            f"{self.MADE_BY}\n"
            "place = Path(sys.argv[1])\n"
            "command = ['sh', '-c', sys.argv[2]]\n"
            "made = [host.supervise(command, log=place / f'log{n}', cwd=place, env={})"
            " for n in range(2)]\n"
            "time.sleep(600)\n"
        )
        script = f"{self.HIDING} exec sleep 600"
        venturi = subprocess.Popen([sys.executable, "-c", program, place, script], cwd=tmp_path)
        try:
            wait_until(lambda: len(alive()) == 4)
        finally:
            venturi.kill()
            venturi.wait()
        wait_until(lambda: alive() == [])

    @pytest.mark.slow
    def test_daemons(self, host: LiveHost, place: Path, alive: Callable[[], list[int]]) -> None:
        with Daemons(host, "abacus", place) as daemons:
            for name in ("one", "two"):
                script = f"{self.HIDING} exec sleep 600"
                daemons.start(name, ["sh", "-c", script], env={}, cwd=place)
            wait_until(lambda: len(alive()) == 4 and "it works" in daemons.tail("two"))
            assert daemons.dead() == ()
            daemons.check()
        assert alive() == []

    def test_a_daemon_that_ends(self, host: LiveHost, place: Path) -> None:
        with Daemons(host, "abacus", place) as daemons:
            daemons.start("frail", ["sh", "-c", "echo a cause; exit 3"], env={}, cwd=place)
            wait_until(lambda: daemons.dead() == ("frail",))
            with pytest.raises(VenturiError, match="frail ended unexpectedly: a cause"):
                daemons.check()


class LockContract:
    """The lock of measurements of a machine."""

    def test_only_one_holds_it(self, host: LiveHost) -> None:
        with host.lock("the first") as before:
            assert before is None
            with host.lock("another") as other:
                assert other == "the first"
            with host.lock("another") as other:
                assert other == "the first", "who did not get it gives nothing back"
        with host.lock("the second") as before:
            assert before is None


class HostContract(FilesContract, ProcessContract, SupervisionContract, LockContract):
    """All of it."""

    @pytest.fixture
    def small_disk(self, host: LiveHost, place: Path) -> Iterator[Path]:
        """A file system of SMALL_DISK_BYTES in a folder of its own; skips who may not mount one."""
        folder = place / "with disk" / "disk"
        host.files.mkdir(folder, parents=True)
        options = ["-t", "tmpfs", "-o", f"size={SMALL_DISK_BYTES}", "venturi-test"]
        if output_of(host.start(["mount", *options, folder]))[1]:
            pytest.skip("a small disk can be mounted by root alone")
        yield folder
        sh(host, 'umount --lazy "$1"', folder)
