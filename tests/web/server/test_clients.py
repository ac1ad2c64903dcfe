"""Clients that hold the server up, through real sockets: others are answered all the same."""

from __future__ import annotations

import re
import select
import signal
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import httpx
import polars as pl
import pytest

from api_client import READ_TOKEN, Server
from venturi.core.errors import VenturiError
from venturi.core.settings import Settings, load
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import State, Trial

Start = Callable[..., Server]
Connect = Callable[..., socket.socket]
SOON_S = 20.0
HEADER = b"GET /api/status HTTP/1.1\r\nHost: localhost\r\n"
VIEW = {"name": "a view", "url": "/trials", "author": "Ada"}


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Connections to a server, closed at the end of the test."""
    with ExitStack() as stack:

        def made(server: Server, sent: bytes = b"", source: str = "127.0.0.1") -> socket.socket:
            one = stack.enter_context(
                socket.create_connection(server.address, SOON_S, source_address=(source, 0))
            )
            one.sendall(sent)
            return one

        yield made


def status(server: Server) -> int:
    """The answer to an honest client."""
    return httpx.get(f"{server.url}api/status", trust_env=False, timeout=SOON_S).status_code


def ended(one: socket.socket) -> bytes:
    """The data from the server until it ended the connection."""
    said = b""
    try:
        while part := one.recv(65_536):
            said += part
    except ConnectionResetError:
        pass
    return said


def whole_answer(one: socket.socket) -> bytes:
    """An answer that is a JSON object of one level."""
    said = b""
    while not said.endswith(b"}"):
        part = one.recv(65_536)
        assert part, said
        said += part
    return said


def times_told(log: str, what: str) -> int:
    """How often the log has `what`; equal messages within a second are logged once with a count."""
    lines = re.findall(rf"{re.escape(what)}(?: \((\d+) more of this\))?$", log, re.MULTILINE)
    return sum(int(more or 1) for more in lines)


def is_open(one: socket.socket) -> bool:
    one.settimeout(0.2)
    try:
        return one.recv(1) != b""
    except TimeoutError:
        return True
    except ConnectionResetError:
        return False


@contextmanager
def locked(server: Server) -> Iterator[None]:
    """Blocks writes to the repository as long as this lasts."""
    with sqlite3.connect(server.home / "venturi.sqlite", isolation_level=None) as database:
        database.execute("BEGIN IMMEDIATE")
        yield
        database.execute("ROLLBACK")
    database.close()


def post(server: Server, connect: Connect) -> socket.socket:
    """A request that changes something, on its way."""
    body = b'{"name": "a view", "url": "/trials", "author": "Ada"}'
    head = b"POST /api/views HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return connect(server, head + b"Content-Length: %d\r\n\r\n" % len(body) + body)


def wait_for(said: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + SOON_S
    while not said():
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


@pytest.mark.slow
def test_half_open_connections_beyond_the_files_shut_nobody_out(
    start_server: Start, connect: Connect
) -> None:
    server = start_server(files_max=1_024)
    for _ in range(1_100):
        connect(server, HEADER)
    for _ in range(20):
        assert status(server) == 200
    code, said = server.end()
    assert code == 0
    assert "1,024 files may be open" in said
    assert "broken off: connections" in said
    assert len(said) < 5_000


@pytest.mark.slow
def test_a_header_that_trickles_ends(start_server: Start, connect: Connect) -> None:
    server = start_server(VENTURI_SERVE_HEADER_TIMEOUT_S="1")
    one, silent = connect(server, HEADER), connect(server)
    begun_s = time.monotonic()
    with suppress(ConnectionError):
        while is_open(one):
            assert time.monotonic() < begun_s + SOON_S
            one.sendall(b"X")
    assert ended(silent) == b""
    assert status(server) == 200


@pytest.mark.slow
def test_a_body_that_trickles_ends_and_holds_no_place(
    start_server: Start, connect: Connect
) -> None:
    server = start_server(
        VENTURI_SERVE_BODY_TIMEOUT_S="2",
        VENTURI_SERVE_REQUESTS_MAX="2",
        VENTURI_SERVE_BODIES_MAX="5",
    )
    head = (
        b"POST /api/views HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: 500\r\n\r\n{"
    )
    slow = [connect(server, head) for _ in range(8)]
    assert status(server) == 200
    said = sorted(ended(one)[:12] for one in slow)
    assert said == [b"HTTP/1.1 408"] * 5 + [b"HTTP/1.1 503"] * 3
    assert httpx.post(f"{server.url}api/views", json=VIEW, trust_env=False).status_code == 201
    _, log = server.end()
    assert times_told(log, "receiving too slow") == 5
    assert "Traceback" not in log


@pytest.mark.slow
def test_who_does_not_take_an_answer_loses_it(
    start_server: Start, connect: Connect, make_trial: Callable[..., Trial], tmp_path: Path
) -> None:
    with TrialRepository.open(Settings(tmp_path / "server", None, None, allow_debug=False)) as own:
        trial = replace(make_trial(state=State.SUCCEEDED, elapsed_s=1.0), id="t1")
        own.add(own.attach(trial, "log", "a.log", bytes(30_000_000)))
    server = start_server(
        VENTURI_SERVE_SEND_TIMEOUT_S="1", VENTURI_SERVE_TRANSFER_BYTES_PER_S_MIN="1000000"
    )
    lazy = connect(
        server, b"GET /api/trials/t1/artifacts/a.log HTTP/1.1\r\nHost: localhost\r\n\r\n"
    )
    assert lazy.recv(1)
    time.sleep(4)
    assert 0 < len(ended(lazy)) < 30_000_000
    whole = httpx.get(f"{server.url}api/trials/t1/artifacts/a.log", trust_env=False)
    assert len(whole.content) == 30_000_000
    assert "sending too slow" in server.end()[1]


@pytest.mark.slow
def test_of_one_address_the_connection_goes_that_waits_longest(
    start_server: Start, connect: Connect
) -> None:
    server = start_server(
        VENTURI_SERVE_CONNECTIONS_BY_ADDRESS_MAX="4", VENTURI_SERVE_CONNECTIONS_MAX="6"
    )
    other = connect(server, source="127.0.0.2")
    many = [connect(server) for _ in range(10)]
    assert status(server) == 200  # from the same address
    assert is_open(other)
    assert [is_open(one) for one in many[:6]] == [False] * 6
    more = [connect(server, source=f"127.0.0.{place}") for place in range(3, 10)]
    assert status(server) == 200
    assert not is_open(other)
    assert is_open(more[-1])


@pytest.mark.slow
def test_a_proxy_has_as_many_connections_as_there_are(
    start_server: Start, connect: Connect
) -> None:
    server = start_server(
        "--proxy",
        "127.0.0.0/30",
        VENTURI_READ_TOKEN=READ_TOKEN,
        VENTURI_SERVE_CONNECTIONS_BY_ADDRESS_MAX="2",
    )
    many = [connect(server) for _ in range(5)]
    others = [connect(server, source="127.0.0.9") for _ in range(5)]
    assert status(server) == 401
    assert all(map(is_open, many))
    assert list(map(is_open, others)) == [False] * 3 + [True] * 2


@pytest.mark.slow
def test_more_requests_than_there_is_room_for_are_told_to_come_again(
    start_server: Start, connect: Connect
) -> None:
    server = start_server(VENTURI_SERVE_REQUESTS_MAX="2", VENTURI_SERVE_CONNECTIONS_MAX="4")
    with locked(server):
        first, second = (post(server, connect) for _ in range(2))
        wait_for(lambda: status(server) == 503)
        answer = httpx.get(f"{server.url}api/status", trust_env=False)
        assert (answer.headers["retry-after"], answer.json()["code"]) == ("1", "VEN-API-BUSY")
        # The operator's health checks are answered nevertheless.
        assert httpx.get(f"{server.url}healthz", trust_env=False).text == "ok\n"
        assert httpx.get(f"{server.url}readyz", trust_env=False).text == "ok\n"
        third, fourth = (post(server, connect) for _ in range(2))
        assert {each.recv(12)[-3:] for each in (third, fourth)} == {b"503"}
    assert {each.recv(12)[-3:] for each in (first, second)} == {b"201", b"409"}
    assert status(server) == 200


@pytest.mark.slow
def test_changes_that_wait_for_a_long_writer_hold_nobody_up_and_end(
    start_server: Start, connect: Connect
) -> None:
    server = start_server(VENTURI_SERVE_WRITE_TIMEOUT_S="5")
    with locked(server):
        waiting = [post(server, connect) for _ in range(20)]  # more than there are threads
        assert status(server) == 200
        answered, _, _ = select.select(waiting, [], [], 0)
        assert not answered, "who reads is answered while they wait"
        told = [whole_answer(one) for one in waiting]
        assert {each[:12] for each in told} == {b"HTTP/1.1 503"}
        assert all(b"retry-after: 5" in each.lower() for each in told)
        assert all(b"VEN-RECORD-BUSY" in each for each in told)
    assert httpx.post(f"{server.url}api/views", json=VIEW, trust_env=False).status_code == 201


@pytest.mark.slow
def test_an_answer_that_takes_too_long_is_given_up_and_others_are_answered(
    start_server: Start, make_trial: Callable[..., Trial], tmp_path: Path
) -> None:
    rows = 49_000_000
    file = tmp_path / "host.parquet"
    pl.select(
        t_s=pl.repeat(1.0, rows),
        metric=pl.lit("cpu_user"),
        device=pl.lit(None, pl.String),
        value=pl.lit(0.5),
        unit=pl.lit("fraction"),
    ).write_parquet(file, row_group_size=1_000_000)
    with TrialRepository.open(Settings(tmp_path / "server", None, None, allow_debug=False)) as own:
        trial = replace(make_trial(state=State.SUCCEEDED, elapsed_s=1.0), id="t1")
        own.add(own.attach(trial, "series", "host.parquet", file))
    server = start_server(VENTURI_SERVE_COMPUTE_TIMEOUT_S="1", VENTURI_SERVE_SERIES_AT_ONCE_MAX="1")
    url = f"{server.url}api/trials/t1/series"
    for _ in range(2):  # the second waits for the first's place
        answer = httpx.get(url, trust_env=False, timeout=SOON_S)
        assert (answer.status_code, answer.json()["code"]) == (503, "VEN-API-TIME")
    assert httpx.get(f"{server.url}api/groups?by=workload", trust_env=False).status_code == 200
    code, said = server.end()
    assert code == 0
    assert "given up after 1 s: /trials/{id}/series" in said
    assert "1 requests that were given up were still at work; the server has ended" in said


@pytest.mark.slow
def test_an_answer_that_is_too_big_is_not_sent(start_server: Start) -> None:
    server = start_server(VENTURI_SERVE_ANSWER_BYTES_MAX="1000")
    answer = httpx.get(f"{server.url}api/openapi.json", trust_env=False)
    assert (answer.status_code, answer.json()["code"]) == (422, "VEN-API-ANSWER")
    assert status(server) == 200


@pytest.mark.slow
def test_lines_of_the_log_that_are_equal_are_counted(start_server: Start, connect: Connect) -> None:
    server = start_server()
    for _ in range(500):
        connect(server, b"nonsense\r\n\r\n")
    assert status(server) == 200
    _, said = server.end()
    assert "Invalid HTTP request received." in said
    assert "more of this)" in said
    assert said.count("\n") < 50


@pytest.mark.slow
def test_a_request_that_is_at_work_ends_before_the_server(
    start_server: Start, connect: Connect
) -> None:
    server = start_server()
    idle = connect(server)
    with locked(server):
        at_work = post(server, connect)
        half = connect(server, b"POST /api/session HTTP/1.1\r\nHost: localhost\r\n")
        assert status(server) == 200
        assert server.process is not None
        server.process.send_signal(signal.SIGTERM)
        wait_for(lambda: not is_open(idle))
        assert not is_open(half)
        with pytest.raises(ConnectionRefusedError):
            connect(server)
        assert server.process.poll() is None
    assert b"201 Created" in ended(at_work)
    assert server.ended() == (0, "the server has ended\n")


@pytest.mark.slow
def test_a_second_signal_ends_the_server_at_once(start_server: Start, connect: Connect) -> None:
    server = start_server()
    assert server.process is not None
    with locked(server):
        at_work = post(server, connect)
        assert status(server) == 200
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        code, said = server.end(signal.SIGTERM)
        assert (code, ended(at_work)) == (130, b"")
    assert "SIGTERM again" in said


@pytest.mark.slow
def test_what_takes_longer_than_the_drain_is_broken_off(
    start_server: Start, connect: Connect
) -> None:
    server = start_server(VENTURI_SERVE_DRAIN_TIMEOUT_S="1")
    with locked(server):
        at_work = post(server, connect)
        assert status(server) == 200
        code, said = server.end(signal.SIGTERM)
        assert (code, ended(at_work)) == (0, b"")
    assert "1 requests took longer" in said


@pytest.mark.slow
def test_a_server_whose_repository_cannot_be_read_is_not_ready(start_server: Start) -> None:
    server = start_server(VENTURI_READ_TOKEN=READ_TOKEN)
    database = server.home / "venturi.sqlite"
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    answer = httpx.get(f"{server.url}readyz", trust_env=False)
    assert answer.status_code == 503
    assert "revision 9999" in answer.text
    assert str(server.home) not in answer.text
    assert httpx.get(f"{server.url}healthz", trust_env=False).status_code == 200


def peak_rss_bytes(server: Server) -> int:
    """The most memory that the server has had."""
    assert server.process is not None
    told = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+) kB", told)[0]) * 1_024


@pytest.mark.slow
def test_a_small_file_of_many_equal_rows_is_shown_without_being_held(
    start_server: Start, make_trial: Callable[..., Trial], tmp_path: Path
) -> None:
    rows = 10_000_000
    file = tmp_path / "host.parquet"
    pl.select(
        t_s=pl.repeat(1.0, rows),
        metric=pl.lit("cpu_user"),
        device=pl.lit(None, pl.String),
        value=pl.lit(0.5),
        unit=pl.lit("fraction"),
    ).write_parquet(file, row_group_size=rows)
    assert file.stat().st_size < 100_000
    with TrialRepository.open(Settings(tmp_path / "server", None, None, allow_debug=False)) as own:
        trial = replace(make_trial(state=State.SUCCEEDED, elapsed_s=1.0), id="t1")
        own.add(own.attach(trial, "series", "host.parquet", file))
    server = start_server(
        VENTURI_SERVE_SERIES_AT_ONCE_MAX="1", VENTURI_SERVE_SERIES_WAITING_MAX="1"
    )
    assert status(server) == 200
    before = peak_rss_bytes(server)
    url = f"{server.url}api/trials/t1/series"
    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(lambda _: httpx.get(url, trust_env=False, timeout=200), range(3)))
    assert sorted(each.status_code for each in found) == [200, 200, 503]
    (line,) = next(each for each in found if each.is_success).json()["lines"]
    assert line["values"] == [0.5]
    assert peak_rss_bytes(server) - before < 400_000_000


@pytest.mark.slow
def test_prometheus_is_told_what_happens_if_it_may_ask(
    start_server: Start, connect: Connect
) -> None:
    server = start_server(
        VENTURI_READ_TOKEN=READ_TOKEN, VENTURI_SERVE_METRICS="1", VENTURI_SERVE_HEADER_TIMEOUT_S="1"
    )
    waits = connect(server)
    headers = {"Authorization": f"Bearer {READ_TOKEN}"}
    with httpx.Client(base_url=server.url, trust_env=False, timeout=SOON_S) as client:
        assert client.get("/metrics").status_code == 401
        for path in ("/api/status", "/api/status", "/api/trials/nothing"):
            client.get(path, headers=headers)
        assert ended(waits) == b""
        answer = client.get("/metrics", headers=headers)
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        told = dict(line.rsplit(" ", 1) for line in answer.text.splitlines() if line[0] != "#")
        route = 'venturi_http_requests_total{route="/api/status",status="200"}'
        assert told[route] == "2"
        assert told['venturi_http_requests_total{route="/api/trials/{id}",status="404"}'] == "1"
        times = "venturi_http_request_duration_seconds"
        assert told[times + '_bucket{route="/api/status",le="+Inf"}'] == "2"
        assert told[times + '_count{route="/api/status"}'] == "2"
        assert told['venturi_connections{phase="working"}'] == "1"
        assert told["venturi_requests_in_flight"] == "1"
        assert int(told["venturi_repository_bytes"]) > 4_096
        assert int(told["process_resident_memory_bytes"]) > 1_000_000


@pytest.mark.slow
def test_metrics_are_told_only_where_they_are_asked_for(start_server: Start) -> None:
    answer = httpx.get(f"{start_server().url}metrics", trust_env=False)
    assert "venturi_connections" not in answer.text


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5", "9" * 16])
def test_a_limit_is_a_whole_number(value: str) -> None:
    with pytest.raises(VenturiError) as caught:
        load({"VENTURI_SERVE_REQUESTS_MAX": value})
    assert caught.value.where["variable"] == "VENTURI_SERVE_REQUESTS_MAX"
