"""A host at the far end of a link, over the pipes of a process: what every kind of host does, what
happens when the link breaks, and that neither end keeps what the other does not take.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from command_line import venturi
from host_contract import HostContract, output_of, wait_until
from venturi.core.errors import VenturiError
from venturi.measure.hosts.agent import Agent, AgentResult
from venturi.measure.hosts.concurrent_commands import on_all
from venturi.measure.hosts.far_end import FarEnd
from venturi.measure.hosts.host import LiveHost
from venturi.measure.hosts.link import WINDOW_BYTES, AgentLink, Channel
from venturi.measure.hosts.lock import alone_on, measuring
from venturi.measure.hosts.remote import BUFFER_BYTES, RemoteFiles, RemoteHost, connected

OVER_PIPES = (
    "from venturi.measure.hosts.remote import connected; "
    "context = connected([{agent!r}, 'host'], 'far'); host = context.__enter__()"
)


class TestOverPipes(HostContract):
    """The agent as our child."""

    @pytest.fixture(autouse=True)
    def _made_by(self, agent_binary: Path) -> None:
        type(self).MADE_BY = OVER_PIPES.format(agent=str(agent_binary))

    @pytest.fixture
    def host(self, agent_binary: Path) -> Iterator[LiveHost]:
        with connected([agent_binary, "host"], "far") as host:
            yield host

    @pytest.fixture
    def place(self, tmp_path: Path) -> Path:
        folder = tmp_path / "place"
        folder.mkdir()
        return folder


FAR_BYTES_MAX = 64 << 20
"""Of memory, whatever is asked of the far end."""


def far_end(host: LiveHost) -> tuple[int, int]:
    """Its process, and the most memory that it ever had, in bytes."""
    status = dict(
        line.split(":", 1)
        for line in host.files.read(Path("/proc/self/status")).decode().splitlines()
    )
    return int(status["Pid"]), int(status["VmHWM"].split()[0]) * 1024


def test_neither_end_keeps_a_file_that_nobody_takes(agent_binary: Path, tmp_path: Path) -> None:
    big = tmp_path / "big"
    with big.open("wb") as file:
        file.truncate(300_000_000)
    with linked(agent_binary) as link:
        host = RemoteHost(link)
        with link.calling("read", path=str(big), last_bytes=None) as channel:
            taken = len(channel.receive())
            for _ in range(20):  # the link stays free for others
                assert host.files.stat(big).bytes == 300_000_000
            assert far_end(host)[1] < FAR_BYTES_MAX
            taken += sum(len(piece) for piece in iter(channel.receive, b""))
            assert taken == 300_000_000
        assert far_end(host)[1] < FAR_BYTES_MAX


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_copy_that_is_cut_leaves_what_was_there(
    agent_binary: Path, tmp_path: Path, number: int
) -> None:
    """In both directions: the far end is ended once some has come, while more is to come."""
    far, near, source = tmp_path / "far", tmp_path / "near", tmp_path / "source"
    for folder in (far, near):
        folder.mkdir()
        (folder / "file").write_text("before")
    with source.open("wb") as file:
        file.truncate(1 << 33)

    def copies(ways: Callable[[LiveHost], None], folder: Path) -> None:
        with connected([agent_binary, "host"], "far") as host:
            pid = far_end(host)[0]

            def end_it() -> None:
                wait_until(lambda: any(e.stat().st_size for e in folder.glob(".*")))
                os.kill(pid, number)

            ending = threading.Thread(target=end_it)
            ending.start()
            with pytest.raises(VenturiError, match="connection to far was lost") as caught:
                ways(host)
            ending.join()
            assert caught.value.code == "VEN-HOST-LOST"

    copies(lambda host: host.files.put(source, far / "file"), far)
    copies(lambda host: host.files.get(source, near / "file"), near)
    assert (far / "file").read_text() == (near / "file").read_text() == "before"
    assert [each.name for each in near.iterdir()] == ["file"]
    if number == signal.SIGTERM:
        assert [each.name for each in far.iterdir()] == ["file"]


def test_a_process_that_says_more_than_anybody_hears(agent_binary: Path) -> None:
    with connected([agent_binary, "host"], "far") as host:
        process = host.start(["yes"])
        assert next(process.lines()) == b"y\n"
        assert output_of(host.start(["echo", "another"])) == (b"another\n", 0)
        assert far_end(host)[1] < FAR_BYTES_MAX
        assert process.stop(10.0) == -signal.SIGINT


@contextmanager
def linked(agent_binary: Path, kind: type[AgentLink] = AgentLink) -> Iterator[Any]:
    """A link to an agent that is our child."""
    link = kind(FarEnd([agent_binary, "host"], "far"), "far")
    try:
        yield link
    finally:
        link.close()


def test_an_agent_that_does_not_know_a_call_is_called_another_version(agent_binary: Path) -> None:
    with linked(agent_binary) as link:
        for call, given in (("dream", {}), ("stat", {"path": "/", "hue": "red"})):
            with pytest.raises(VenturiError) as caught:
                link.ask(call, **given)
            error, version = caught.value, link.hello["identity"]["version"]
            assert error.code == "VEN-HOST-VERSION"
            assert error.where == {"host": "far", "call": call, "version": version}
            assert f"it is of version {version} and doesn't know the call {call}" in error.message
            assert "`venturi cluster push CLUSTER.toml`" in error.hint
        assert link.ask("unix_time") > 0, "the link is as it was"


class _Noting(AgentLink):
    """Notes where what is read from files begins."""

    def __init__(self, far: FarEnd, name: str) -> None:
        self.offsets: list[int] = []
        super().__init__(far, name)

    def call(self, name: str, **given: Any) -> Channel:
        if name == "read_at":
            self.offsets.append(given["offset"])
        return super().call(name, **given)


def test_what_is_read_in_order_is_asked_for_ahead(agent_binary: Path, tmp_path: Path) -> None:
    path, size = tmp_path / "file", 20 * BUFFER_BYTES + 12_345
    content = b"".join(bytes([number]) * 99_991 for number in range(size // 99_991 + 1))[:size]
    path.write_bytes(content)
    ahead = WINDOW_BYTES // BUFFER_BYTES
    assert ahead > 2
    with linked(agent_binary, _Noting) as link, RemoteFiles(link).open(path) as file:
        for place in (7 * BUFFER_BYTES, 3 * BUFFER_BYTES, size - 5):
            file.seek(place)
            assert file.read(9) == content[place : place + 9]
        here_and_there = len(link.offsets)
        assert here_and_there <= 4, (
            "a place here and there is asked for alone, and once more at the end"
        )
        file.seek(0)
        taken = []
        for number in range(1, 18):
            taken.append(file.read(BUFFER_BYTES))
            asked = len(link.offsets) - here_and_there
            assert asked <= number + ahead - 1, "no more than the link has credit for"
            assert number == 1 or asked == number + ahead - 1
        assert b"".join(taken) + file.read() == content
        with path.open("ab") as more:
            more.write(b"more")
        assert file.read() == b"more", "a file may grow"
        file.seek(BUFFER_BYTES)
        assert file.read(2 * BUFFER_BYTES) == content[BUFFER_BYTES : 3 * BUFFER_BYTES]


@pytest.mark.slow
def test_a_far_end_that_hangs(agent_binary: Path, tmp_path: Path) -> None:
    with connected([agent_binary, "host"], "far", silence_s=1.0) as host:
        lines = host.start(["sh", "-c", "echo $$; exec sleep 60"]).lines()
        pid = int(next(lines))
        far, _ = far_end(host)
        os.kill(far, signal.SIGSTOP)
        try:
            with pytest.raises(VenturiError, match="it was silent for 1") as caught:
                next(lines)
            assert caught.value.code == "VEN-HOST-LOST"
        finally:
            os.kill(far, signal.SIGCONT)
    assert not Path(f"/proc/{pid}").exists()
    with pytest.raises(VenturiError, match="the connection to far was lost"):
        host.files.stat(tmp_path)


@pytest.mark.slow
def test_a_near_end_that_hangs(agent_binary: Path, tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from venturi.measure.hosts.remote import connected\n"
        "with connected([sys.argv[1], 'host'], 'far', silence_s=1.0) as host:\n"
        "    script = 'echo $$ > pid; exec sleep 60'\n"
        "    process = host.start(['sh', '-c', script], cwd=Path(sys.argv[2]))\n"
        "    process.wait()\n"
    )
    near = subprocess.Popen([sys.executable, "-c", program, agent_binary, tmp_path])
    try:
        written = tmp_path / "pid"
        wait_until(lambda: written.exists() and written.read_text().endswith("\n"))
        pid = int(written.read_text())
        near.send_signal(signal.SIGSTOP)
        wait_until(lambda: not Path(f"/proc/{pid}").exists())
    finally:
        near.kill()
        near.wait()


def test_what_is_stuck_there_is_given_up_and_named(agent_binary: Path, tmp_path: Path) -> None:
    stuck = tmp_path / "stuck"
    stuck.write_text("#!/bin/sh\nexec sleep 603\n")
    stuck.chmod(0o755)
    with connected([agent_binary, "host"], "far") as host:
        agents = {"well": Agent(str(host.agent), host), "ill": Agent(str(stuck), host)}
        told = on_all(agents, "facts", silence_s=2.0)
        assert isinstance(told["well"], AgentResult), "what others say is kept"
        error = told["ill"]
        assert isinstance(error, VenturiError)
        assert error.code == "VEN-HOST-TIMEOUT"
        assert error.message == "facts has been silent for 2.0 s"
        assert error.where["host"] == "ill"
        wait_until(lambda: not output_of(host.start(["pgrep", "-f", "^sleep 603$"]))[0])


def test_a_far_end_that_is_killed_leaves_nothing(agent_binary: Path, tmp_path: Path) -> None:
    """Not even its processes' children, including those that leave their session."""
    script = "echo $$ > pid1; setsid sh -c 'echo $$ > pid2; exec sleep 602' & exec sleep 602"
    with connected([agent_binary, "host"], "far") as host:
        process = host.start(["sh", "-c", script], cwd=tmp_path)
        wait_until(lambda: len([e for e in tmp_path.glob("pid?") if e.read_text()]) == 2)
        pids = [int(each.read_text()) for each in tmp_path.glob("pid?")]
        os.kill(far_end(host)[0], signal.SIGKILL)
        with pytest.raises(VenturiError, match="ended by signal 9") as caught:
            process.wait()
        assert caught.value.code == "VEN-HOST-LOST"
    assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == []


def test_a_lock_ends_with_the_far_end(agent_binary: Path) -> None:
    with connected([agent_binary, "host"], "far") as host:
        holding = host.lock("one")
        assert holding.__enter__() is None
        os.kill(far_end(host)[0], signal.SIGKILL)
        with pytest.raises(VenturiError, match="was lost"):
            host.files.stat(Path("/"))
    with (
        connected([agent_binary, "host"], "far") as another,
        another.lock("two") as before,
    ):
        assert before is None
    holding.__exit__(None, None, None)  # nothing to give back, and nothing to say


def test_a_measurement_holds_the_lock_of_each_host(
    agent_binary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def host_of(stack: ExitStack, name: str, machine: str) -> LiveHost:
        monkeypatch.setenv("VENTURI_LOCK", str(tmp_path / machine))
        return stack.enter_context(connected([agent_binary, "host"], name))

    with ExitStack() as stack:
        hosts = {
            "h1": host_of(stack, "h1", "m1"),
            "h2": host_of(stack, "h2", "m2"),
            "h3": host_of(stack, "h3", "m2"),  # the same machine as h2
        }
        with alone_on(hosts, "mine"):
            assert [who.split(" (")[0] for who in map(measuring, _locks(tmp_path)) if who] == [
                "mine",
                "mine",
            ]
        assert list(map(measuring, _locks(tmp_path))) == [None, None]
        program = (
            "import sys; from pathlib import Path; from venturi.measure.hosts.lock import alone\n"
            "with alone(Path(sys.argv[1]), 'theirs'):\n    print('held', flush=True); input()\n"
        )
        other = subprocess.Popen(
            [sys.executable, "-c", program, tmp_path / "m2"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert other.stdin is not None
        assert other.stdout is not None
        try:
            assert other.stdout.readline() == b"held\n"
            busy = rf"measuring on h2: theirs \(process {other.pid}, since"
            with pytest.raises(VenturiError, match=busy) as caught, alone_on(hosts, "mine"):
                pytest.fail("both measure")
            assert (caught.value.code, caught.value.where["host"]) == ("VEN-MEASURE-BUSY", "h2")
            assert measuring(tmp_path / "m1") is None, "it holds all or none"
            told: list[str] = []

            def on_wait(who: str) -> None:
                told.append(who)
                other.kill()

            with alone_on(hosts, "mine", wait=True, on_wait=on_wait):
                assert None not in map(measuring, _locks(tmp_path))
            assert [who.rpartition(", on ")[2] for who in told] == ["h2"]
        finally:
            other.kill()
            other.communicate()


def _locks(folder: Path) -> list[Path]:
    return [folder / "m1", folder / "m2"]


def test_what_does_not_speak_for_a_host(tmp_path: Path) -> None:
    for command, code, says in (
        (["sh", "-c", "echo no such thing >&2; exit 3"], "VEN-HOST-START", "no such thing"),
        ([tmp_path / "none"], "VEN-HOST-START", "cannot be started"),
        (["sh", "-c", "echo I speak plain English"], "VEN-HOST-VERSION", "plain English"),
        (["sleep", "60"], "VEN-HOST-TIMEOUT", "has been silent for"),
        (["sh", "-c", "exec >&-; exec sleep 60"], "VEN-HOST-START", "did not end"),
    ):
        with (
            pytest.raises(VenturiError, match=says) as caught,
            connected(command, "far", hello_s=0.3),
        ):
            pytest.fail("it is connected")
        assert caught.value.code == code
        assert caught.value.where["host"] == "far"


def test_copies_of_who_was_killed_are_swept_by_the_next_start(
    agent_binary: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("text")
    temporaries = tmp_path / "temporary"
    temporaries.mkdir()
    script = (
        OVER_PIPES.format(agent=str(agent_binary))
        + "; import os, signal; from pathlib import Path; "
        f"copies = host.files.here(Path({str(tmp_path / 'file')!r})); copies.__enter__(); "
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    environment = {**os.environ, "TMPDIR": str(temporaries)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    assert [each.read_text() for each in temporaries.glob("venturi-*/*/file")] == ["text"]
    probed = venturi(
        "probe",
        "host",
        "--no-record",
        home=tmp_path / "home",
        TMPDIR=str(temporaries),
        VENTURI_AGENT=str(agent_binary),
    )
    assert probed.returncode == 0, probed.stderr
    assert list(temporaries.iterdir()) == []
