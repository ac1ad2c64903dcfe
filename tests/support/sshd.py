"""An SSH server for the tests: its keys, its configuration, its port, and a client's
configuration that leads to it. It touches neither this machine's SSH nor a user's.
"""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

DEADLINE_S = 20.0
_SBIN = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def need_sshd() -> str:
    """The server; skips where it is not installed."""
    found = shutil.which("sshd", path=_SBIN)
    if found is None or shutil.which("ssh-keygen") is None:
        pytest.skip("there is no OpenSSH server (Debian's openssh-server)")
    return found


@dataclass(frozen=True)
class Sshd:
    """A running server, and the data that a client needs for it."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes]

    @property
    def ssh(self) -> list[str]:
        """The client's command."""
        return ["ssh", "-F", str(self.folder / "client")]

    @property
    def cache(self) -> Path:
        """The user's cache there."""
        return self.folder / "cache"

    def sessions(self) -> list[int]:
        """Processes of the server that serve a connection."""
        found: list[int] = []
        waiting = _children(self.process.pid)
        while waiting:
            pid = waiting.pop()
            with suppress(OSError):  # it has just ended
                if Path(f"/proc/{pid}/comm").read_text().startswith("sshd"):
                    found.append(pid)
                    waiting += _children(pid)
        return found

    def client(self, **changes: str) -> None:
        """Writes the client's configuration, with some of it changed."""
        said = {
            "HostName": "127.0.0.1",
            "Port": str(self.port),
            "User": getpass.getuser(),
            "IdentityFile": str(self.folder / "user"),
            "IdentitiesOnly": "yes",
            "IdentityAgent": "none",
            "UserKnownHostsFile": str(self.folder / "known_hosts"),
            "GlobalKnownHostsFile": "/dev/null",
        }
        lines = "".join(f"  {key} {value}\n" for key, value in (said | changes).items())
        (self.folder / "client").write_text(f"Host far\n{lines}")


def _children(pid: int) -> list[int]:
    with suppress(OSError):
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def make_key(path: Path) -> str:
    """A new key; its public half."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    return path.with_suffix(".pub").read_text()


@contextmanager
def sshd(
    folder: Path,
    *,
    env: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
    address: str = "127.0.0.1",
    within: Sequence[str] = (),
) -> Iterator[Sshd]:
    """A server with its files in `folder`; `env` is the environment of its sessions, `within` a
    command that enters a namespace.
    """
    program = need_sshd()
    folder.mkdir(exist_ok=True)
    host_key = make_key(folder / "host")
    (folder / "authorized_keys").write_text(make_key(folder / "user"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    known = f"[{address}]:{port}"
    (folder / "known_hosts").write_text(f"{known} {host_key}")
    own = {
        # A session that is killed in the user's start-up files could leave their locks behind.
        "HOME": str(folder),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "VENTURI_LOCK": str(folder / "measuring.lock"),
    }
    said = own | dict(env or {})
    (folder / "server").write_text(
        f"ListenAddress {address}:{port}\n"
        f"HostKey {folder / 'host'}\n"
        f"AuthorizedKeysFile {folder / 'authorized_keys'}\n"
        "PidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n"
        "KbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\nLogLevel ERROR\n"
        f"SetEnv {' '.join(f'{name}={value}' for name, value in said.items())}\n"
        + "".join(f"{option}\n" for option in options)
    )
    command = [program, "-D", "-e", "-f", str(folder / "server")]
    if os.getuid() == 0:  # it wants a folder in /run, which is not ours to make
        private = 'mount -t tmpfs none /run && mkdir -m 755 /run/sshd && exec "$@"'
        command = ["unshare", "--mount", "sh", "-c", private, "sh", *command]
    process = subprocess.Popen([*within, *command], stderr=subprocess.PIPE)
    server = Sshd(folder, port, process)
    server.client(HostName=address)
    try:
        _await(server, address)
        yield server
    finally:
        for pid in server.sessions():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.kill()
        process.communicate()


def _await(server: Sshd, address: str) -> None:
    deadline_s = time.monotonic() + DEADLINE_S
    while True:
        try:
            socket.create_connection((address, server.port), 1.0).close()
        except OSError:
            if server.process.poll() is not None:
                assert server.process.stderr is not None
                pytest.fail(server.process.stderr.read().decode())
            assert time.monotonic() < deadline_s
            time.sleep(0.02)
        else:
            return
