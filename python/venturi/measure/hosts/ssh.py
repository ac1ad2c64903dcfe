"""Hosts over SSH, by the system's own client. The user's configuration, known hosts, keys, agent
and jump hosts apply; Venturi never prompts, and no secret passes through it.

One connection does everything. A line of shell identifies the host and searches a cache folder for
the agent by its digest. A missing or damaged agent is sent, verified and given its name; then the
shell becomes the agent, and the link begins. Nothing keeps running when the connection ends.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shlex
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from venturi.core.errors import VenturiError
from venturi.core.units import format_duration
from venturi.measure.hosts import threads
from venturi.measure.hosts.far_end import FarEnd
from venturi.measure.hosts.link import SILENCE_S
from venturi.measure.hosts.remote import RemoteHost, linked

CONNECT_S = 10.0
COPY_S = 300.0
"""The agent may take that long over a thin line, or onto a slow disk."""
_MARK = "venturi-far-end"
_NOISE_BYTES = 1 << 20
_NOT_EXECUTED = 126  # a shell's exit status in that case
_CACHE = '"${XDG_CACHE_HOME:-$HOME/.cache}/venturi/agents"'

# Machine field of an ELF header -> the output of `uname -m` on such a machine.
_MACHINES = {21: "ppc64le", 22: "s390x", 62: "x86_64", 183: "aarch64", 243: "riscv64"}

# One line, without characters that login shells treat differently (', ! and backslashes).
_SCRIPT = " ".join(
    (
        'd=@FOLDER/@DIGEST; a="$d/venturi-agent"; t="$d/.@TOKEN";',
        # Hosts may share a home: a failed one removes the folder, unless it has a file by now.
        'begin() { mkdir -p "$d" && true > "$t"; };',
        'whole() { s=$(sha256sum < "$1") && test "${s%% *}" = @DIGEST; };',
        'echo @MARK system "$(uname -s)" "$(uname -m)";',
        'if test -f "$a" && whole "$a"; then touch "$d" 2> /dev/null;',
        "else echo @MARK absent; read go || exit 1;",
        "( LC_ALL=C; export LC_ALL; umask 077; { begin || begin || begin; }",
        '&& head -c @BYTES > "$t" && whole "$t" && chmod 700 "$t"',
        # Another process may have sent and started it by now: a running agent must keep its name.
        '&& { { ln "$t" "$a" || whole "$a"; } 2> /dev/null || mv -f "$t" "$a"; } && rm -f "$t" )',
        '|| { rm -f "$t"; rmdir "$d" 2> /dev/null; echo @MARK failed; exit 1; };',
        # Remove copies unused for a month, and leftovers of interrupted copies. Others may use the
        # folder, too: remove only Venturi's files.
        'find @FOLDER -mindepth 1 -maxdepth 1 -type d -name "@DIGITS" -mtime +30',
        '-exec rm -f {}/venturi-agent ";" -exec rmdir {} ";" 2> /dev/null;',
        'find "$d" -name ".*" -type f -mmin +60 -exec rm -f {} +; fi;',
        'echo @MARK start; exec "$a" host',
    )
)

# Messages of ssh -> code, sentence, hint. The first match counts.
_REFUSALS: tuple[tuple[tuple[str, ...], str, str, str], ...] = (
    (
        ("REMOTE HOST IDENTIFICATION HAS CHANGED",),
        "VEN-HOST-KEY-CHANGED",
        "has a key that differs from the known one, so it may be a different host",
        "ask its administrator; if it was reinstalled, run `ssh-keygen -R HOST`, then {ssh}",
    ),
    (
        ("Host key verification failed",),
        "VEN-HOST-KEY",
        "has an unknown key",
        "run {ssh} once, compare the fingerprint with the host's own, and accept it",
    ),
    (
        ("Permission denied (", "Too many authentication failures"),
        "VEN-HOST-LOGIN",
        "rejects all our SSH keys",
        "{ssh} must work without a password: use `ssh-add -l` and `ssh-copy-id`",
    ),
    (
        ("Could not resolve hostname",),
        "VEN-HOST-NAME",
        "has a name that cannot be resolved",
        "correct it, or give it a HostName in ~/.ssh/config",
    ),
    (
        ("Connection refused",),
        "VEN-HOST-REFUSED",
        "refuses connections",
        "check that sshd is running there on this port, and try {ssh}",
    ),
    (
        ("No route to host", "Network is unreachable"),
        "VEN-HOST-UNREACHABLE",
        "cannot be reached",
        "check that it and its network are up, and try {ssh}",
    ),
    (
        ("timed out",),
        "VEN-HOST-TIMEOUT",
        "does not answer",
        "check that it is up and that no firewall blocks it, and try {ssh}",
    ),
)


@contextmanager
def connected(
    destination: str,
    agent: Path,
    *,
    name: str = "",
    folder: str = "",
    ssh: Sequence[str] = ("ssh",),
    connect_s: float = CONNECT_S,
    silence_s: float = SILENCE_S,
    on_send: Callable[[int], None] = lambda sent_bytes: None,
) -> Iterator[RemoteHost]:
    """Yield the host that `ssh DESTINATION` reaches, until the block is left; `name` is its display
    name.

    `agent` is this machine's copy of the agent for that host, kept in `folder` there (by default
    venturi/agents in the user's cache); `on_send` receives its size if it has to be sent.
    VEN-HOST-... says why the host can't be reached or used.
    """
    name = name or destination
    if not destination or destination.startswith("-") or "\0" in destination:
        raise VenturiError(
            "VEN-HOST-NAME",
            f"{destination!r} is not a destination for `ssh`",
            where={"host": name},
            hint="write HOST, USER@HOST, or a Host in ~/.ssh/config",
        )
    given = _RemoteAgent(agent, _read(agent), on_send)
    script = shlex.quote(_script(given.binary, folder))
    options = [
        "-T",
        "-o",
        "BatchMode=yes",
        "-o",
        f"ConnectTimeout={max(1, round(connect_s))}",
        "-o",
        "RemoteCommand=none",
        "-o",
        "ClearAllForwardings=yes",
    ]
    with ExitStack() as stack:
        far = FarEnd([*ssh, *options, "--", destination, f"exec sh -c {script}"], name)
        stack.callback(far.close)
        opening = _Handshake(far, name, destination, given, connect_s)
        opening.until_it_starts()
        try:
            host = stack.enter_context(linked(far, name, silence_s=silence_s))
        except VenturiError as error:
            raise opening.not_run(error) from error
        yield host


@dataclass(frozen=True)
class _RemoteAgent:
    """The agent to run there."""

    path: Path
    binary: bytes
    on_send: Callable[[int], None]


class _Handshake:
    """The exchange before the agent starts."""

    def __init__(
        self, far: FarEnd, name: str, destination: str, agent: _RemoteAgent, connect_s: float
    ) -> None:
        self._far = far
        self._name = name
        self._ssh = f"`ssh {destination}`"
        self._agent = agent
        self._patience_s = 2 * connect_s
        self._deadline_s = time.monotonic() + self._patience_s
        self._heard = ""  # the last line without our mark

    def until_it_starts(self) -> None:
        """Send the agent if necessary; return once it starts, else raise the reason."""
        while (said := self._marked())[0] != "start":
            match said:
                case ["system", system, machine]:
                    self._check(system, machine)
                case ["absent"]:
                    self._agent.on_send(len(self._agent.binary))
                    self._send()
                case _:
                    raise self._not_kept()

    def not_run(self, error: VenturiError) -> VenturiError:
        """Return the reason why the agent, although present, doesn't answer, if `error` is a failed
        start.
        """
        if error.code != "VEN-HOST-START" or error.where.get("status") != _NOT_EXECUTED:
            return error
        said = self._far.last_word()
        if "format" in said:
            return self._error(
                "VEN-HOST-ARCH",
                f"cannot run the agent {self._agent.path}: {said}",
                "give an agent that was built for that host",
            )
        return self._error(
            "VEN-HOST-FOLDER",
            f"cannot execute the agent: {said}",
            "give a folder there for the agent on a file system without noexec",
        )

    def _send(self) -> None:
        self._patience_s = COPY_S
        self._deadline_s = time.monotonic() + COPY_S
        killer = threading.Timer(COPY_S, self._far.kill)
        killer.daemon = True
        threads.start(killer)
        try:
            with suppress(OSError):  # the far end says why it does not take it
                self._far.write(b"go\n" + self._agent.binary)
        finally:
            killer.cancel()

    def _marked(self) -> list[str]:
        """The next line that is ours; a login shell may say others."""
        noise = 0
        while noise < _NOISE_BYTES:
            line = self._line()
            if line.startswith(f"{_MARK} "):
                return line.split()[1:]
            noise += len(line)
            self._heard = line or self._heard
        raise self._error(
            "VEN-HOST-SSH",
            "prints too much at login",
            "make its shell's start-up files silent without a terminal",
        )

    def _line(self) -> str:
        line = bytearray()
        while not line.endswith(b"\n") and len(line) < _NOISE_BYTES:
            try:
                # One byte at a time: the bytes after the mark are for the link.
                more = self._far.read(1, self._deadline_s - time.monotonic())
            except TimeoutError:
                self._far.kill()
                raise self._silent() from None
            if not more and time.monotonic() > self._deadline_s:
                raise self._silent()
            if not more:
                self._heard = line.decode(errors="replace").strip() or self._heard
                raise self._refused()
            line += more
        return line.decode(errors="replace").strip()

    def _check(self, system: str, machine: str) -> None:
        ours = machine_of(self._agent.binary)
        if system != "Linux" or (ours is not None and machine != ours):
            raise self._error(
                "VEN-HOST-ARCH",
                f"is {system} on {machine}, the agent {self._agent.path} for Linux on {ours}",
                f"build the agent for {machine} and set that file as this host's agent",
            )

    def _not_kept(self) -> VenturiError:
        said = self._far.words()
        last = said.rpartition("\n")[2]
        if any(sign in said for sign in ("No space left", "Disk quota exceeded")):
            return self._error(
                "VEN-HOST-SPACE",
                f"has no room for the agent: {last}",
                "free some space there, or set another folder there for the agent",
            )
        return self._error(
            "VEN-HOST-FOLDER",
            f"cannot store the agent: {last or 'it arrived damaged'}",
            "set a writable folder there for the agent",
        )

    def _silent(self) -> VenturiError:
        how_long = format_duration(self._patience_s)
        return self._error(
            "VEN-HOST-TIMEOUT",
            f"has not answered for {how_long}",
            f"check its load and disk; {self._ssh} must log in without delay: see whether its "
            "shell's start-up files hang",
        )

    def _refused(self) -> VenturiError:
        status = self._far.status()
        said = self._far.words()
        for signs, code, sentence, hint in _REFUSALS:
            if any(sign in said for sign in signs):
                return self._error(code, sentence, hint.format(ssh=self._ssh))
        last = said.rpartition("\n")[2] or self._heard or f"status {status}"
        return self._error(
            "VEN-HOST-SSH", f"cannot be reached: {last}", f"run {self._ssh} for details"
        )

    def _error(self, code: str, sentence: str, hint: str) -> VenturiError:
        where = {"host": self._name, "ssh": self._far.words()[-2000:] or None}
        return VenturiError(code, f"{self._name} {sentence}", where=where, hint=hint)


def machine_of(binary: bytes) -> str | None:
    """Return the output of `uname -m` on machines that run an ELF file; None for other files and
    unknown machines.
    """
    if len(binary) < 20 or not binary.startswith(b"\x7fELF"):
        return None
    order = ">" if binary[5] == 2 else "<"
    (number,) = struct.unpack_from(f"{order}H", binary, 18)
    return _MACHINES.get(number)


def _script(binary: bytes, folder: str) -> str:
    kept = _CACHE
    if folder.startswith("~/"):
        kept = f'"$HOME"/{shlex.quote(folder[2:])}'
    elif folder:
        # Relative to the home; no command may take it for an option.
        kept = shlex.quote(folder if folder.startswith("/") else f"./{folder}")
    values = {
        "FOLDER": kept,
        "MARK": _MARK,
        "BYTES": str(len(binary)),
        "DIGEST": hashlib.sha256(binary).hexdigest(),
        "DIGITS": 64 * "[0-9a-f]",
        "TOKEN": secrets.token_hex(8),
    }
    # In one pass: a folder's name may look like a placeholder.
    return re.sub("@([A-Z]+)", lambda found: values[found[1]], _SCRIPT)


def _read(agent: Path) -> bytes:
    try:
        return agent.read_bytes()
    except OSError as error:
        raise VenturiError(
            "VEN-AGENT-MISSING",
            f"{agent} cannot be read: {error.strerror}",
            where={"path": os.fspath(agent)},
            hint="install the wheel (`pip install venturi`) or set VENTURI_AGENT to its path",
        ) from error
