"""A host over SSH: the behavior of every kind of host, the transfer of the agent, and the
errors.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from host_contract import HostContract, output_of, wait_until
from sshd import Sshd, make_key, sshd
from venturi.core.errors import VenturiError
from venturi.core.settings import Settings
from venturi.measure.clusters.connect import on_each
from venturi.measure.hosts.agent import Agent
from venturi.measure.hosts.host import LiveHost
from venturi.measure.hosts.ssh import connected


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    with sshd(tmp_path_factory.mktemp("sshd")) as running:
        yield running


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Sshd]:
    """One that may be spoilt."""
    with sshd(tmp_path / "sshd") as running:
        yield running


@pytest.fixture(scope="module")
def connection(server: Sshd, agent_binary: Path) -> Iterator[LiveHost]:
    with connected("far", agent_binary, ssh=server.ssh) as host:
        yield host


class TestOverSsh(HostContract):
    """This machine, by way of a server on its loopback."""

    @pytest.fixture(autouse=True)
    def _made_by(self, server: Sshd, agent_binary: Path) -> None:
        type(self).MADE_BY = (
            "from pathlib import Path as P; from venturi.measure.hosts.ssh import connected; "
            f"context = connected('far', P({str(agent_binary)!r}), ssh={server.ssh!r}); "
            "host = context.__enter__()"
        )

    @pytest.fixture
    def host(self, connection: LiveHost) -> LiveHost:
        return connection

    @pytest.fixture
    def place(self, tmp_path: Path) -> Path:
        folder = tmp_path / "place"
        folder.mkdir()
        return folder


def copy_of(agent: Path, server: Sshd) -> Path:
    digest = hashlib.sha256(agent.read_bytes()).hexdigest()
    return server.cache / "venturi" / "agents" / digest / "venturi-agent"


def test_the_agent_is_the_copy_there(
    own_server: Sshd, agent_binary: Path, settings: Settings
) -> None:
    copy = copy_of(agent_binary, own_server)
    with connected("far", agent_binary, ssh=own_server.ssh) as host:
        agent = Agent.find(settings, host)
        assert Path(agent.path) == copy
        assert agent.run("facts").data["hostname"] == host.name
        there = copy.stat()
    old, recent, others, notes = (
        copy.parent.parent / name for name in (64 * "a", 64 * "b", 64 * "c", "notes")
    )
    for folder in (old, recent, others, notes):
        folder.mkdir()
        (folder / ("venturi-agent" if folder in (old, recent) else "kept")).touch()
    for folder, days in ((old, 40), (recent, 20), (others, 40), (notes, 40), (copy.parent, 40)):
        os.utime(folder, (time.time() - days * 86_400,) * 2)
    with connected("far", agent_binary, ssh=own_server.ssh):
        assert copy.stat().st_ino == there.st_ino, "it is copied once"
    # A damaged copy is replaced; copies unused for a long time are removed.
    copy.write_bytes(copy.read_bytes()[:-1])
    with connected("far", agent_binary, ssh=own_server.ssh):
        assert copy.read_bytes() == agent_binary.read_bytes()
    assert {each.name for each in copy.parent.parent.iterdir()} == {
        copy.parent.name,
        recent.name,
        others.name,
        notes.name,
    }
    assert (others / "kept").exists()
    assert (notes / "kept").exists()
    assert [each.name for each in copy.parent.iterdir()] == [copy.name]


def test_another_folder_and_a_talkative_login(tmp_path: Path, agent_binary: Path) -> None:
    shell = 'ForceCommand echo hello; echo venturi; eval "$SSH_ORIGINAL_COMMAND"'
    folder = tmp_path / "it's a folder"
    with (
        sshd(tmp_path / "sshd", options=[shell]) as server,
        connected("far", agent_binary, ssh=server.ssh, folder=str(folder)) as host,
    ):
        assert host.agent is not None
        assert Path(host.agent).is_relative_to(folder)
        assert output_of(host.start(["echo", "it works"])) == (b"it works\n", 0)


IN_PLACE_OF_SSH = 'while test "$1" != --; do shift; done; cd "$0"; {within} sh -c "$3"'
"""Does what was asked of a host here, with the folder `$0` as its home."""


@pytest.mark.parametrize("folder", ["-x", "@MARK-@BYTES", "!", "(", "a b/$c"])
def test_a_folder_of_any_name(tmp_path: Path, agent_binary: Path, folder: str) -> None:
    ssh = ["sh", "-c", IN_PLACE_OF_SSH.format(within="exec"), str(tmp_path)]
    for _ in range(2):  # it is sent, then found
        with connected("far", agent_binary, ssh=ssh, folder=folder) as host:
            assert host.agent is not None
            assert Path(host.agent).is_relative_to(tmp_path / folder)
    assert len(list(tmp_path.glob("*"))) == 1


@pytest.mark.root
def test_hosts_with_one_home_and_equal_numbers_of_processes(
    tmp_path: Path, agent_binary: Path
) -> None:
    """As containers have them: in each, the shell is process 1."""
    if os.getuid() != 0:
        pytest.skip("only root may make a namespace of processes")
    within = "exec unshare --pid --fork --kill-child --mount-proc --"
    ssh = ["sh", "-c", IN_PLACE_OF_SSH.format(within=within), str(tmp_path)]
    all_connected = threading.Barrier(4, timeout=60)

    def push(name: str) -> str | None:
        with connected(name, agent_binary, ssh=ssh, folder="kept") as host:
            all_connected.wait()
            return host.agent

    pushed = on_each("abcd", push, timeout_s=60)
    assert pushed.failures == {}
    (agent,) = set(pushed.results.values())
    assert agent is not None
    assert Path(agent).read_bytes() == agent_binary.read_bytes()
    assert [each.name for each in Path(agent).parent.iterdir()] == ["venturi-agent"]


def test_a_login_that_ends_is_told_in_its_words(tmp_path: Path, agent_binary: Path) -> None:
    shell = "ForceCommand echo Welcome.; printf 'This account is closed.'; exit 1"
    with sshd(tmp_path / "sshd", options=[shell]) as server:
        error = _refused(server, agent_binary)
    assert error.code == "VEN-HOST-SSH"
    assert error.message == "far cannot be reached: This account is closed."


def _refused(server: Sshd, agent: Path, name: str = "far", **more: float) -> VenturiError:
    with pytest.raises(VenturiError) as caught, connected(name, agent, ssh=server.ssh, **more):  # type: ignore[arg-type]
        pytest.fail("it is connected")
    return caught.value


def _other_key(server: Sshd, tmp_path: Path) -> dict[str, str]:
    make_key(tmp_path / "other")
    return {"IdentityFile": str(tmp_path / "other")}


def _unknown(server: Sshd, tmp_path: Path) -> dict[str, str]:
    return {"UserKnownHostsFile": "/dev/null"}


def _changed(server: Sshd, tmp_path: Path) -> dict[str, str]:
    known = tmp_path / "known_hosts"
    known.write_text(f"[127.0.0.1]:{server.port} {make_key(tmp_path / 'other')}")
    return {"UserKnownHostsFile": str(known)}


def _nobody(server: Sshd, tmp_path: Path) -> dict[str, str]:
    return {"Port": "1"}


def _nameless(server: Sshd, tmp_path: Path) -> dict[str, str]:
    return {"HostName": "no..name"}


def _strange(server: Sshd, tmp_path: Path) -> dict[str, str]:
    return {"NoSuchOption": "yes"}


@pytest.mark.parametrize(
    ("change", "code", "says"),
    [
        (_nobody, "VEN-HOST-REFUSED", "refuses connections"),
        (_other_key, "VEN-HOST-LOGIN", "rejects all our SSH keys"),
        (_unknown, "VEN-HOST-KEY", "unknown key"),
        (_changed, "VEN-HOST-KEY-CHANGED", "differs from the known one"),
        (_nameless, "VEN-HOST-NAME", "a name that cannot be resolved"),
        (_strange, "VEN-HOST-SSH", "NoSuchOption|terminating"),
    ],
)
def test_what_ssh_refuses(
    server: Sshd,
    tmp_path: Path,
    agent_binary: Path,
    change: Callable[[Sshd, Path], dict[str, str]],
    code: str,
    says: str,
) -> None:
    try:
        server.client(**change(server, tmp_path))
        error = _refused(server, agent_binary)
    finally:
        server.client()
    assert error.code == code
    assert error.exit_code in {1, 2}
    assert error.where["host"] == "far"
    assert "`ssh" in error.hint or "config" in error.hint
    assert re.search(says, str(error))


def test_what_is_no_destination(server: Sshd, tmp_path: Path, agent_binary: Path) -> None:
    for name in ("", "-oProxyCommand=touch x", "a\0b"):
        assert _refused(server, agent_binary, name).code == "VEN-HOST-NAME"
    assert _refused(server, tmp_path / "none").code == "VEN-AGENT-MISSING"


def test_a_host_that_never_answers(server: Sshd, agent_binary: Path) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        server.client(Port=str(deaf.getsockname()[1]))
        try:
            error = _refused(server, agent_binary, connect_s=1.0)
        finally:
            server.client()
    assert error.code == "VEN-HOST-TIMEOUT"


def test_a_host_whose_shell_hangs(tmp_path: Path, agent_binary: Path) -> None:
    with sshd(tmp_path / "sshd", options=["ForceCommand cat > /dev/null"]) as server:
        error = _refused(server, agent_binary, connect_s=0.5)
        assert error.code == "VEN-HOST-TIMEOUT"


def test_another_architecture(tmp_path: Path, agent_binary: Path) -> None:
    shims = tmp_path / "shims"
    shims.mkdir()
    shim = shims / "uname"
    shim.write_text('#!/bin/sh\ntest "$1" = -m && echo riscv64 || echo Linux\n')
    shim.chmod(0o755)
    foreign = tmp_path / "foreign-agent"
    header = bytearray(agent_binary.read_bytes())
    header[18:20] = (183).to_bytes(2, "little")
    foreign.write_bytes(header)
    with sshd(tmp_path / "sshd", env={"PATH": f"{shims}:{os.environ['PATH']}"}) as server:
        error = _refused(server, agent_binary)
        assert error.code == "VEN-HOST-ARCH"
        assert "riscv64" in str(error)
        shim.unlink()
        error = _refused(server, foreign)
        assert error.code == "VEN-HOST-ARCH"
        assert "aarch64" in str(error)
        assert not server.cache.exists(), "nothing is copied in vain"


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (
            'printf "\\0\\0\\0\\0\\0\\102\\0\\0\\0%s" '
            '\'{"protocol": 7, "identity": {"version": "9.9.9"}, "more": "and more"}\'',
            "9.9.9",
        ),
        ("echo error: unrecognized subcommand >&2; exit 2", "cannot be a host"),
        ("echo good morning; sleep 0.2", "good morning"),
    ],
)
def test_an_agent_of_another_version(server: Sshd, tmp_path: Path, answer: str, says: str) -> None:
    agent = tmp_path / "agent"
    agent.write_text(f"#!/bin/sh\n{answer}\n")
    error = _refused(server, agent)
    assert error.code == "VEN-HOST-VERSION"
    assert says in str(error)


@pytest.mark.root
@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        ("size=64k", "VEN-HOST-SPACE", "No space left"),
        ("ro", "VEN-HOST-FOLDER", "Read-only file system"),
        ("noexec", "VEN-HOST-FOLDER", "cannot execute the agent"),
    ],
)
def test_where_the_agent_cannot_be_kept(
    tmp_path: Path, agent_binary: Path, options: str, code: str, says: str
) -> None:
    if os.getuid() != 0:
        pytest.skip("only root may mount a small file system")
    cache = tmp_path / "sshd" / "cache"
    cache.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "venturi-test", cache], check=True)
    try:
        with sshd(tmp_path / "sshd") as server:
            error = _refused(server, agent_binary)
        left = [each for each in cache.rglob("*") if each.is_file()]
    finally:
        subprocess.run(["umount", "--lazy", cache], check=True)
    assert error.code == code
    assert says in str(error)
    assert left == [] or options == "noexec"


@contextmanager
def _at_work(host: LiveHost, place: Path) -> Iterator[tuple[Callable[[], bool], Iterator[bytes]]]:
    """Start processes that must end with the link; yield a check for remains, and an endless
    output.
    """
    script = "echo $$ > pid$1; while :; do echo line; sleep 0.05; done"
    process = host.start(["sh", "-c", f"setsid sleep 601 & {script}", "sh", "1"], cwd=place)
    run = host.supervise(["sh", "-c", script, "sh", "2"], log=place / "log", cwd=place, env={})
    temporary = host.files.temporary("venturi-test-")
    folder = temporary.__enter__()
    lines = process.lines()
    next(lines)
    wait_until(lambda: len([each for each in place.glob("pid*") if each.read_text()]) == 2)
    pids = [int(each.read_text()) for each in place.glob("pid*")]

    def is_left() -> bool:
        running = any(Path(f"/proc/{pid}").exists() for pid in pids)
        sleeping = subprocess.run(
            ["pgrep", "-f", "^sleep 601$"], stdout=subprocess.DEVNULL, check=False
        )
        return running or sleeping.returncode == 0 or folder.exists()

    assert is_left()
    yield is_left, lines
    run.release()
    run.reap()
    temporary.__exit__(None, None, None)


def _lost(lines: Iterator[bytes], within_s: float) -> VenturiError:
    started_s = time.monotonic()
    with pytest.raises(VenturiError) as caught:
        for _ in lines:
            pass
    assert time.monotonic() - started_s < within_s
    return caught.value


@pytest.mark.slow
def test_a_server_that_is_killed(own_server: Sshd, agent_binary: Path, tmp_path: Path) -> None:
    with (
        connected("far", agent_binary, ssh=own_server.ssh) as host,
        _at_work(host, tmp_path) as (is_left, lines),
    ):
        for pid in own_server.sessions():
            os.kill(pid, signal.SIGKILL)
        assert _lost(lines, 10.0).code == "VEN-HOST-LOST"
        with pytest.raises(VenturiError, match="the connection to far was lost"):
            host.files.stat(tmp_path)
    wait_until(lambda: not is_left())


@pytest.mark.slow
def test_a_server_that_is_stopped(own_server: Sshd, agent_binary: Path, tmp_path: Path) -> None:
    with (
        connected("far", agent_binary, ssh=own_server.ssh, silence_s=1.0) as host,
        _at_work(host, tmp_path) as (is_left, lines),
    ):
        for pid in own_server.sessions():
            os.kill(pid, signal.SIGSTOP)
        assert "it was silent for 1" in str(_lost(lines, 10.0))
    # The agent hears nothing either, and ends by itself.
    wait_until(lambda: not is_left())


@pytest.mark.root
@pytest.mark.slow
def test_a_cable_that_is_cut(tmp_path: Path, agent_binary: Path) -> None:
    ip = shutil.which("ip", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if os.getuid() != 0 or ip is None:
        pytest.skip("only root, with iproute2, may make a network")
    name = f"vt{os.getpid()}"
    near, far = f"{name}a", f"{name}b"

    def run(*command: str) -> None:
        subprocess.run([ip, *command], check=True)

    run("netns", "add", name)
    try:
        run("link", "add", near, "type", "veth", "peer", "name", far, "netns", name)
        run("addr", "add", "198.18.77.1/30", "dev", near)
        run("link", "set", near, "up")
        for inside in (("addr", "add", "198.18.77.2/30", "dev", far), ("link", "set", far, "up")):
            run("-n", name, *inside)
        within = ["nsenter", f"--net=/run/netns/{name}"]
        with (
            sshd(tmp_path / "sshd", address="198.18.77.2", within=within) as server,
            connected("far", agent_binary, ssh=server.ssh, silence_s=1.0) as host,
            _at_work(host, tmp_path) as (is_left, lines),
        ):
            run("link", "set", near, "down")
            assert "it was silent" in str(_lost(lines, 10.0))
            wait_until(lambda: not is_left())
    finally:
        run("netns", "delete", name)
