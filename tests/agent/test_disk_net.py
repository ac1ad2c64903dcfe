"""`venturi-agent disk` and `net` really run here, on small data: results, refusals, kills."""

from __future__ import annotations

import json
import random
import resource
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

MIB = 1 << 20
SMALL = ("--bytes", 64 * MIB, "--iterations", 1, "--min-seconds", 0, "--random-seconds", 0.2)
LOOPBACK = "loopback: memory copying, not a network"

Event = dict[str, Any]


def events(text: str) -> list[Event]:
    return [json.loads(line) for line in text.splitlines()]


def run(agent: Path, *args: object) -> tuple[int, list[Event]]:
    command = [str(agent), *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, events(done.stdout)


def result(agent: Path, *args: object) -> Any:
    status, said = run(agent, *args)
    assert status == 0, said[-1]
    assert said[-1]["event"] == "result"
    return said[-1]["data"]


def refusal(agent: Path, *args: object) -> Event:
    status, said = run(agent, *args)
    assert status == 1, said[-1]
    assert said[-1]["event"] == "error"
    return said[-1]


@contextmanager
def started(agent: Path, *args: object) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [str(agent), *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def wait_until(true: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 30
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


# --- disk -----------------------------------------------------------------------------------------


def long_measurement(folder: Path) -> tuple[object, ...]:
    """Arguments that keep the disk busy until someone stops it."""
    size = ("--bytes", 64 * MIB, "--random-block-bytes", 4096)
    times = ("--random-seconds", 60, "--max-seconds", 60)
    return ("disk", "--dir", folder, "--mode", "random_read", *size, *times)


def data_files(folder: Path) -> list[Path]:
    return list(folder.glob(".venturi-disk-[0-9]*-*/data-*"))


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with foreign files that look much like ours, and must stay as they are."""
    place = tmp_path / "disk"
    place.mkdir()
    foreign = {
        place / "data-000": b"mine",
        place / ".venturi-disk-notes" / "data-000": b"also mine",
        place / ".venturi-disk-1-00112233445566ff" / "thesis.tex": b"only copy",
    }
    for path, text in foreign.items():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text)
    yield place
    for path, text in foreign.items():
        assert path.read_bytes() == text
    found = {path for path in place.rglob("*") if path.is_file()}
    assert found == set(foreign)


def test_every_mode_is_reported_and_nothing_stays(agent_binary: Path, folder: Path) -> None:
    modes = "read,write,read_write,random_read,shuffle_read"
    sizes = ("--random-block-bytes", "4096,65536", "--random-queue-depth", "1,8")
    status, said = run(agent_binary, "disk", "--dir", folder, *SMALL, "--mode", modes, *sizes)
    assert status == 0
    names = [event["name"] for event in said if event["event"] == "phase"]
    assert names == ["prepare", *modes.split(",")]
    data = said[-1]["data"]
    assert [device["dir"] for device in data["devices"]] == [str(folder)]
    assert data["devices"][0]["file_system"]
    assert data["slow"] == []
    together = [m for m in data["measurements"] if m["dir"] is None]
    assert len(data["measurements"]) == 2 * len(together)
    assert [(m["mode"], m["role"], m["block_bytes"], m["queue_depth"]) for m in together] == [
        ("read", "read", 4 * MIB, 4),
        ("write", "write", 4 * MIB, 4),
        ("read_write", "read", 4 * MIB, 4),
        ("read_write", "write", 4 * MIB, 4),
        *(("random_read", "read", size, depth) for size in (4096, 65536) for depth in (1, 8)),
        ("shuffle_read", "read", 65536, 4),
    ]
    for m in data["measurements"]:
        rate = m["bytes_per_s"]
        assert rate["stdev"] is None  # one iteration has none
        assert rate["min"] == rate["mean"] == rate["max"] == rate["iterations"][0] > 0
        assert m["iops"]["mean"] * m["block_bytes"] == pytest.approx(rate["mean"])
        latency = m["latency_s"]
        assert 0 < latency["p50"] <= latency["p90"] <= latency["p99"] <= latency["p99_9"]
        assert m["steady"] == (m["unsteady_reason"] is None)
    written = next(m for m in together if m["mode"] == "write")
    assert written["bytes"] >= 64 * MIB


@pytest.mark.slow
def test_reads_reach_the_device(agent_binary: Path, folder: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock
    data = result(agent_binary, "disk", "--dir", folder, *SMALL, "--mode", "read,random_read")
    if data["devices"][0]["file_system"] == "tmpfs":
        pytest.skip("the temporary folder is in memory: there is no device to reach")
    read = 512 * (resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock - before)
    told = sum(m["bytes"] for m in data["measurements"] if m["dir"] is None)
    assert told > 64 * MIB * 0.9
    assert read >= told * 0.99


def test_half_of_the_directories_is_read_while_the_others_are_written(
    agent_binary: Path, tmp_path: Path
) -> None:
    dirs = [tmp_path / name for name in "abcd"]
    options: list[object] = []
    for path in dirs:
        path.mkdir()
        options += ["--dir", path]
    small = ("--bytes", 16 * MIB, "--block-bytes", MIB, "--iterations", 2, "--min-seconds", 0)
    status, said = run(agent_binary, "disk", *options, *small, "--mode", "read_write")
    assert status == 0
    warnings = [event["code"] for event in said if event["event"] == "warning"]
    assert warnings.count("VEN-DISK-SHARED") == 3
    measurements = said[-1]["data"]["measurements"]
    a, b, c, d = (str(path) for path in dirs)
    assert [(m["role"], m["dir"]) for m in measurements] == [
        *(("read", a), ("read", b), ("read", None)),
        *(("write", c), ("write", d), ("write", None)),
    ]
    for role in ("read", "write"):
        of_role = [m for m in measurements if m["role"] == role]
        *alone, together = (m["bytes_per_s"]["iterations"] for m in of_role)
        for number, rate in enumerate(together):  # one window for all: rates add up
            assert sum(rates[number] for rates in alone) == pytest.approx(rate, rel=1e-6)
    assert all(not any(path.iterdir()) for path in dirs)


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_middle_removes_the_files(
    agent_binary: Path, folder: Path, stop: signal.Signals
) -> None:
    with started(agent_binary, *long_measurement(folder)) as process:
        wait_until(lambda: len(data_files(folder)) == 16, "no test files")
        process.send_signal(stop)
        said = events(process.communicate(timeout=30)[0])
        assert process.returncode == 130
    assert said[-1]["code"] == "VEN-INTERRUPTED"


def test_the_next_start_removes_what_a_killed_one_left_and_nothing_in_use(
    agent_binary: Path, folder: Path
) -> None:
    with started(agent_binary, *long_measurement(folder)) as killed:
        wait_until(lambda: len(data_files(folder)) == 16, "no test files")
        left = data_files(folder)
        killed.kill()
        killed.wait()
    assert all(path.exists() for path in left)
    with started(agent_binary, *long_measurement(folder)) as running:
        wait_until(lambda: not any(path.exists() for path in left), "orphans stay")
        wait_until(lambda: len(data_files(folder)) == 16, "no test files")
        used = data_files(folder)
        status, said = run(agent_binary, "disk", "--dir", folder, *SMALL, "--mode", "read")
        assert status == 0
        assert all(event["event"] != "warning" for event in said)
        assert data_files(folder) == used
        running.terminate()
        told = events(running.communicate(timeout=30)[0])
    orphan = next(event for event in told if event["event"] == "warning")
    assert orphan["code"] == "VEN-DISK-ORPHAN"
    assert left[0].parent.name in orphan["message"]


@pytest.mark.slow
def test_kills_at_any_instant_leave_nothing_that_the_next_start_does_not_remove(
    agent_binary: Path, folder: Path
) -> None:
    instants = random.Random(20260102)
    for _ in range(12):
        arguments = ("disk", "--dir", folder, *SMALL, "--mode", "read_write,shuffle_read")
        with started(agent_binary, *arguments) as process:
            time.sleep(instants.uniform(0, 0.3))
            process.kill()
    result(agent_binary, "disk", "--dir", folder, *SMALL, "--mode", "write")
    assert data_files(folder) == []


def test_bad_directories_are_refused(agent_binary: Path, folder: Path, tmp_path: Path) -> None:
    a_file = tmp_path / "file"
    a_file.write_text("x")
    cases = {
        tmp_path / "missing": "No such file",
        a_file: "not a directory",
        Path("/proc"): "cannot create test files",
    }
    for path, words in cases.items():
        error = refusal(agent_binary, "disk", "--dir", path, *SMALL, "--mode", "write")
        assert error["code"] == "VEN-DISK-DIR"
        assert error["where"]["path"] == str(path)
        assert words in error["message"]
        assert error["hint"]
    same = refusal(agent_binary, "disk", "--dir", folder, "--dir", f"{folder}/.", *SMALL)
    assert (same["code"], "given twice" in same["message"]) == ("VEN-DISK-DIR", True)


def test_more_than_half_of_the_free_space_is_refused(agent_binary: Path, folder: Path) -> None:
    error = refusal(agent_binary, "disk", "--dir", folder, "--bytes", 1 << 60, "--mode", "write")
    assert error["code"] == "VEN-DISK-SPACE"
    assert error["where"]["needed_bytes"] == 1 << 60
    assert 0 < error["where"]["free_bytes"] < 1 << 60


def test_impossible_options_are_refused(agent_binary: Path, folder: Path) -> None:
    for option, value in {"--block-bytes": 1000, "--queue-depth": 0, "--slow-factor": 2}.items():
        error = refusal(agent_binary, "disk", "--dir", folder, *SMALL, option, value)
        assert (error["code"], error["where"]["option"]) == ("VEN-DISK-OPTION", option)
    status, _ = run(agent_binary, "disk", "--dir", folder, "--mode", "erase")
    assert status == 2


# --- net ------------------------------------------------------------------------------------------

FEW = ("--bytes", 16 * MIB, "--message-bytes", 256 << 10, "--iterations", 1)


@contextmanager
def listening(agent: Path, *args: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    with started(agent, "net", "--listen", "127.0.0.1:0", *args) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["event"] == "started"
        told = json.loads(process.stdout.readline())
        assert told["event"] == "listening"
        yield process, told["address"]


def test_loopback_peers_receive_what_was_sent(agent_binary: Path) -> None:
    data = result(agent_binary, "net", "--loopback", 4, *FEW, "--sockets-per-peer", 2)
    assert data["label"] == LOOPBACK
    kinds = [(m["pattern"], m["peers"]) for m in data["measurements"]]
    assert kinds == [("pairwise", 4), ("all_to_all", 2), ("all_to_all", 4)]
    for m in data["measurements"]:
        sent = m["peers"] * 16 * MIB
        assert m["bytes_sent"] == m["bytes_received"] == sent
        assert m["messages_sent"] == m["messages_received"] == sent // (256 << 10)
        assert (m["valid"], m["invalid_reason"], m["sockets_per_peer"]) == (True, None, 2)
        assert all(m["matrix"][i][i] is None for i in range(m["peers"]))
        assert 0 < m["slowest_peer"]["bytes_per_s"] <= m["bytes_per_s"]["mean"]
    everyone = data["measurements"][-1]["matrix"]
    assert all(everyone[i][j] > 0 for i in range(4) for j in range(4) if i != j)


def test_listeners_serve_only_who_knows_the_token(agent_binary: Path, tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("rosebud\n")
    with (
        listening(agent_binary, "--token", "rosebud") as (one, a),
        listening(agent_binary, "--token-file", secret) as (other, b),
    ):
        peers = ("--peer", a, "--peer", b)
        for strange in (
            b"GET / HTTP/1.1\r\n\r\n",
            b"\xff" * 64,
            struct.pack("<I", 9) + b"not json!",
        ):
            host, port = a.rsplit(":", 1)
            with socket.create_connection((host, int(port)), timeout=5) as stranger:
                stranger.sendall(strange)
        assert refusal(agent_binary, "net", *peers, *FEW)["code"] == "VEN-NET-TOKEN"
        assert refusal(agent_binary, "net", *peers, "--token", "x", *FEW)["code"] == "VEN-NET-TOKEN"
        for _ in range(2):
            data = result(agent_binary, "net", *peers, "--token-file", secret, *FEW)
            assert data["label"] == LOOPBACK
            assert data["valid"]
        one.terminate()
        other.send_signal(signal.SIGINT)
        assert events(one.communicate(timeout=30)[0])[-1]["event"] == "result"
        assert events(other.communicate(timeout=30)[0])[-1]["code"] == "VEN-INTERRUPTED"
        assert (one.returncode, other.returncode) == (0, 130)


def test_listening_to_the_world_needs_a_token(agent_binary: Path) -> None:
    error = refusal(agent_binary, "net", "--listen", "0.0.0.0:0")
    assert error["code"] == "VEN-NET-TOKEN"
    assert "token" in error["hint"]


def test_a_peer_that_dies_is_named(agent_binary: Path) -> None:
    with listening(agent_binary) as (one, a), listening(agent_binary) as (_, b):
        forever = ("net", "--peer", a, "--peer", b, "--max-seconds", 30, "--iterations", 1)
        with started(agent_binary, *forever) as coordinator:
            time.sleep(0.7)
            one.kill()
            said = events(coordinator.communicate(timeout=60)[0])
            assert coordinator.returncode == 1
        assert said[-1]["code"] == "VEN-NET-LOST"
        assert said[-1]["where"]["address"] == a


@pytest.mark.slow
def test_a_cancelled_coordinator_leaves_its_peers_in_service(agent_binary: Path) -> None:
    with listening(agent_binary) as (_, a), listening(agent_binary) as (_, b):
        peers = ("--peer", a, "--peer", b)
        with started(agent_binary, "net", *peers, "--max-seconds", 2) as coordinator:
            time.sleep(0.5)
            coordinator.send_signal(signal.SIGINT)
            said = events(coordinator.communicate(timeout=30)[0])
            assert coordinator.returncode == 130
            assert said[-1]["code"] == "VEN-INTERRUPTED"
        time.sleep(2.5)  # work that has begun ends by time
        assert result(agent_binary, "net", *peers, *FEW)["valid"]


def test_nobody_there_and_impossible_options_are_refused(agent_binary: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed = f"127.0.0.1:{server.getsockname()[1]}"
    error = refusal(agent_binary, "net", "--peer", closed, "--peer", "127.0.0.1:1")
    assert (error["code"], error["where"]) == ("VEN-NET-CONNECT", {"address": closed})
    assert refusal(agent_binary, "net", "--loopback", 1)["code"] == "VEN-NET-OPTION"
    assert refusal(agent_binary, "net", "--loopback", 2, "--scale", 3)["code"] == "VEN-NET-OPTION"
    assert run(agent_binary, "net")[0] == 2


class LyingPeer:
    """Speaks the protocol, and reports one message fewer than it received."""

    HEADER = struct.Struct("<8sQQQ")

    def __init__(self) -> None:
        self.server = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.server.getsockname()[1]}"
        self.received = 0
        self.ended = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.server.accept()
            except OSError:
                return
            threading.Thread(target=self._greet, args=(connection,), daemon=True).start()

    def _greet(self, connection: socket.socket) -> None:
        with connection:
            if self._read(connection)["data"] is not None:
                while part := connection.recv(1 << 16):
                    self.received += len(part)
                self.ended.set()
                return
            self._write(connection, "Ready")
            plan: Any = None
            while (order := self._read(connection)) is not None:
                if isinstance(order, dict):
                    plan = order["Prepare"]
                    self.received = 0
                    self.ended.clear()
                elif order == "Connect":
                    self._send_one_message(plan)
                self._write(connection, self._report(plan) if order == "Go" else "Ready")

    def _send_one_message(self, plan: Any) -> None:
        size = plan["message_bytes"]
        for peer in plan["destinations"]:
            host, port = plan["peers"][peer].rsplit(":", 1)
            with socket.create_connection((host, int(port)), timeout=5) as stream:
                hello = {"version": 2, "token": "", "data": [plan["run"], plan["index"]]}
                self._write(stream, hello)
                stream.sendall(self.HEADER.pack(b"venturi\x01", plan["index"], 0, size))
                stream.sendall(bytes(size - self.HEADER.size))
                stream.sendall(self.HEADER.pack(b"venturi\x01", plan["index"], 1, 0))

    def _report(self, plan: Any) -> Any:
        size = plan["message_bytes"]
        if plan["sources"]:
            assert self.ended.wait(10)
        got = (self.received - self.HEADER.size) // size - 1
        sent = [{"peer": p, "messages": 1, "bytes": size} for p in plan["destinations"]]
        received = [{"peer": p, "messages": got, "bytes": got * size} for p in plan["sources"]]
        report = {"sent": sent, "received": received, "receiving_s": 0.5, "problems": []}
        return {"Report": report}

    @staticmethod
    def _read(connection: socket.socket) -> Any:
        length = connection.recv(4, socket.MSG_WAITALL)
        if len(length) < 4:
            return None
        return json.loads(connection.recv(struct.unpack("<I", length)[0], socket.MSG_WAITALL))

    @staticmethod
    def _write(connection: socket.socket, value: object) -> None:
        text = json.dumps(value).encode()
        connection.sendall(struct.pack("<I", len(text)) + text)


def test_a_receiver_that_counts_less_makes_the_result_invalid(agent_binary: Path) -> None:
    liar = LyingPeer()
    with liar.server, listening(agent_binary) as (_, honest):
        peers = ("--peer", honest, "--peer", liar.address)
        status, said = run(agent_binary, "net", *peers, *FEW, "--pattern", "pairwise")
    assert status == 3
    assert [e["code"] for e in said if e["event"] == "warning"] == ["VEN-NET-COUNT"]
    data = said[-1]["data"]
    assert data["valid"] is False
    (measured,) = data["measurements"]
    assert measured["messages_sent"] == measured["messages_received"] + 1
    assert f"{liar.address}, which received 63 messages" in measured["invalid_reason"]
