"""Requests that no client sends, to two servers on one PostgreSQL, from all unauthorized roles.

One server is in this process, which is faster; the other is a `venturi serve`, reached over
sockets. Requests come in batches: from roles without write access, after which the stored data must
be unchanged; and from writers, after which everything must still be readable.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import unquote

import sqlalchemy as sa
from starlette.types import ASGIApp

from benchmarks.repository import synthetic_trials
from torture.play import FAULTS_MAX, Play, Round
from torture.record.archive_parts import exported
from torture.web.openapi_requests import HttpRequest, RequestMaker
from torture.worker import ROOT
from venturi.cli.share.changes import RepositoryChanges
from venturi.core.settings import Settings
from venturi.jobs.logs.find import spark_logs
from venturi.jobs.logs.spark import read
from venturi.jobs.logs.trial import take_in
from venturi.record import starter
from venturi.record.access import tokens
from venturi.record.access.authors import Author
from venturi.record.importing.exchange import import_archive
from venturi.record.query.paging import whole_trials
from venturi.record.store.repository import TrialRepository
from venturi.record.store.rows import delete_trials
from venturi.record.store.tables import EXCLUSIONS, METADATA, VIEWS
from venturi.record.trial import now
from venturi.web.api.app import create_app
from venturi.web.api.context import Services
from venturi.web.api.security import COOKIE, SESSION, Access

ANSWER_S = 20.0
"""No answer takes a tenth of this where nothing else runs."""
_UPLOAD_BYTES_MAX = 8 << 20
_BATCH = 100
_AT_ONCE = 4
_OVER_SOCKETS = 0.1
_NOT_WATCHED = {"sessions", "changes", "trials", "configuration"}  # derived from the others
_NOT_READERS = ("nobody", "expired", "revoked", "unknown", "garbled")
Ask = Callable[[HttpRequest], Awaitable["HttpResponse"]]


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """`status` is 0 if the server closed without one, as it may for input that isn't HTTP."""

    status: int
    kind: str
    body: bytes


def play(round_: Play) -> None:
    """Play all requests, most of them from roles without the right to make them."""
    with ExitStack() as stack:
        url = round_.postgresql().new_repository()
        settings = Settings(round_.folder / "home", url, None, allow_debug=False)
        repository = stack.enter_context(TrialRepository.open(settings))
        archive = exported(round_.folder)
        _fill(repository, round_.folder / "exported.zip")
        base = [trial.id for trial in whole_trials(repository)]
        access = Access(closed=True, upload_bytes_max=_UPLOAD_BYTES_MAX)
        services = Services(repository, RepositoryChanges(repository, _UPLOAD_BYTES_MAX))
        app = create_app(services, access=access)
        roles = _roles(repository)
        address = stack.enter_context(_served(settings, round_.folder / "served.log"))
        known = {
            "id": [*base[:3], "t0", "t1", base[-1]],
            "name": ["run.log", "host.parquet", "view 1", "my view"],
            "values": ["terasort", "kmeans", "mapreduce", "spark", "HDD", "IB", "succeeded"],
        }
        maker = RequestMaker(app.openapi(), archive, known)
        with asyncio.Runner() as runner:
            cookies = runner.run(_sessions(app, roles))
            round_.say(f"{len(base)} trials, two servers")
            number = 0
            while number < round_.count and len(round_.faults) < FAULTS_MAX:
                size = min(_BATCH, round_.count - number)
                writes = (number // _BATCH) % 3 == 2
                before = "" if writes else _stored(repository)
                each = range(number, number + size)
                batch = _Batch(round_, maker, app, address, roles, cookies, writes=writes)
                runner.run(batch.play(each))
                if writes:
                    _tidy(repository, set(base))
                elif _stored(repository) != before:
                    round_.fault(
                        f"seed {round_.seed}, cases {each}: those who may not have written"
                    )
                number += size
                if number % (10 * _BATCH) == 0:
                    round_.say(f"{number:,} of {round_.count:,}, {len(round_.faults)} faults")
    said = (round_.folder / "served.log").read_text("utf-8", "replace")
    if "Traceback" in said:
        round_.fault(f"seed {round_.seed}: a traceback in the log: {said[-300:]}")


class _Batch:
    """Requests that are asked some at a time."""

    def __init__(
        self,
        round_: Play,
        maker: RequestMaker,
        app: ASGIApp,
        address: tuple[str, int],
        roles: Mapping[str, str | None],
        cookies: Mapping[str, str],
        *,
        writes: bool,
    ) -> None:
        self._round, self._maker, self._roles, self._cookies = round_, maker, roles, cookies
        self._asks: tuple[Ask, Ask] = (
            lambda request: in_process(app, request),
            lambda request: over_socket(address, request),
        )
        # Most unauthorized requests are refused before they are parsed.
        self._who = ["writer"] if writes else ["reader"] * 6 + list(_NOT_READERS)

    async def play(self, numbers: range) -> None:
        free = asyncio.Semaphore(_AT_ONCE)

        async def one(number: int) -> None:
            async with free:
                await self._one(number)

        await asyncio.gather(*(one(number) for number in numbers))

    async def _one(self, number: int) -> None:
        chance = Random((self._round.seed << 40) + number)
        who = chance.choice(self._who)
        request = self._maker.make(chance)
        if self._roles[who] is not None:
            if who in self._cookies and chance.random() < 0.2:
                shown = ("Cookie", f"{COOKIE}={self._cookies[who]}")
            else:
                shown = ("Authorization", str(self._roles[who]))
            request = replace(request, headers=(*request.headers, shown))
        over_socket = chance.random() < _OVER_SOCKETS
        label = f"seed {self._round.seed}, case {number}: {who}, {request.method} {request.form}"
        self._round.done += 1
        try:
            answer = await asyncio.wait_for(self._asks[over_socket](request), ANSWER_S)
            self._round.seen[_judged(request, who, answer)] += 1
        except TimeoutError:
            self._fault(f"{label}: no answer within {ANSWER_S:.0f} s", request)
        except AssertionError as error:
            self._fault(f"{label}: {error}", request)

    def _fault(self, what: str, request: HttpRequest) -> None:
        self._round.fault(f"{what} ({request.target[:300]} {request.body[:200]!r})")


def _judged(request: HttpRequest, who: str, answer: HttpResponse) -> str:
    """Return the observation if the answer is valid."""
    status, body = answer.status, answer.body
    if status == 0 or (status == 400 and body == b"Invalid HTTP request received."):
        return "no HTTP"
    assert status < 500, f"status {status}: {body[:300]!r}"
    assert b"Traceback (most" not in body, "a traceback in the answer"
    path = unquote(request.target.partition("?")[0])
    data = path == "/api" or path.startswith("/api/")
    if data and path != SESSION and status < 400:
        assert who not in _NOT_READERS, f"{who} reads: status {status}"
        reads = request.method in ("GET", "HEAD", "OPTIONS")
        assert reads or who == "writer", f"{who} writes: status {status}"
    if status < 400:
        return "answered" if request.method in ("GET", "HEAD") else "changed"
    if request.method != "HEAD":
        assert answer.kind == "application/problem+json", f"{status} as {answer.kind}"
        problem = json.loads(body)
        assert problem["status"] == status
        assert problem["code"].startswith("VEN-"), f"code {problem['code']}"
        assert problem["detail"], "no words"
    return f"refused {status}"


def _fill(repository: TrialRepository, archive: Path) -> None:
    """Trials of publications, made ones, one with a log and series, one of an engine's account."""
    starter.import_starter(repository)
    repository.add_many(synthetic_trials(400))
    import_archive(repository, archive)
    for log in spark_logs(ROOT / "tests/data/spark/4.3.0/join.log"):
        take_in(repository, [read(log)])


def _roles(repository: TrialRepository) -> dict[str, str | None]:
    """Return the Authorization header of each role."""
    by = Author("torture", "login")
    _, writer = tokens.add(repository, "writer", "write", by)
    _, reader = tokens.add(repository, "reader", "read", by)
    _, revoked = tokens.add(repository, "gone", "write", by)
    tokens.revoke(repository, "gone")
    soon = now() + timedelta(milliseconds=300)
    _, expired = tokens.add(repository, "late", "write", by, soon)
    while now() <= soon:
        time.sleep(0.05)
    unknown = writer[:-3] + ("abc" if writer[-3:] != "abc" else "xyz")
    return {
        "writer": f"Bearer {writer}",
        "reader": f"Bearer {reader}",
        "nobody": None,
        "expired": f"Bearer {expired}",
        "revoked": f"Bearer {revoked}",
        "unknown": f"Bearer {unknown}",
        "garbled": f"Basic {writer}=",
    }


async def _sessions(app: ASGIApp, roles: Mapping[str, str | None]) -> dict[str, str]:
    """Cookies of those who may log in; the others may not."""
    found = {}
    for who, shown in roles.items():
        body = json.dumps({"token": str(shown).partition(" ")[2]}).encode()
        headers = (("Content-Type", "application/json"),)
        cookies: list[str] = []
        request = HttpRequest("POST", SESSION, "log in", headers, body)
        answer = await in_process(app, request, cookies)
        assert (answer.status == 200) == (who in ("writer", "reader")), f"{who} logs in"
        if cookies:
            found[who] = cookies[0].partition("=")[2].partition(";")[0]
    return found


async def in_process(
    app: ASGIApp, request: HttpRequest, cookies: list[str] | None = None
) -> HttpResponse:
    """Send a request to an application without a network."""
    path, _, query = request.target.partition("?")
    headers = [(b"host", b"localhost"), (b"content-length", str(len(request.body)).encode())]
    headers += [
        (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in request.headers
    ]
    given = dict(headers)
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "scheme": "http",
        "method": request.method,
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "state": {},
        "headers": [*given.items()],
        "client": ("127.0.0.1", 1),
        "server": ("localhost", 80),
    }
    parts = iter([{"type": "http.request", "body": request.body, "more_body": False}])
    status, kind, body = 0, "", []

    async def receive() -> Any:
        return next(parts, {"type": "http.disconnect"})

    async def send(message: Any) -> None:
        nonlocal status, kind
        if message["type"] == "http.response.start":
            status = message["status"]
            for name, value in message["headers"]:
                if name.lower() == b"content-type":
                    kind = value.decode().partition(";")[0]
                if name.lower() == b"set-cookie" and cookies is not None:
                    cookies.append(value.decode())
        else:
            body.append(message.get("body", b""))

    await app(scope, receive, send)
    return HttpResponse(status, kind, b"".join(body))


async def over_socket(address: tuple[str, int], request: HttpRequest) -> HttpResponse:
    """Send a request to a server; return everything that it sent before it closed."""
    reading, writing = await asyncio.open_connection(*address, limit=1 << 26)
    try:
        headers = {"Host": f"{address[0]}:{address[1]}", "Connection": "close"}
        headers |= dict(request.headers) | {"Content-Length": str(len(request.body))}
        lines = [f"{request.method} {request.target} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        writing.write("\r\n".join([*lines, "", ""]).encode("latin-1") + request.body)
        with suppress(ConnectionError):
            await writing.drain()
        data = b""
        with suppress(ConnectionError):
            while part := await reading.read(1 << 20):
                data += part
    finally:
        writing.close()
    head, _, body = data.partition(b"\r\n\r\n")
    first, *rest = head.decode("latin-1").split("\r\n")
    said = {line.partition(":")[0].lower(): line.partition(":")[2].strip() for line in rest}
    if said.get("transfer-encoding") == "chunked":
        body = b"".join(_chunks(body))
    status = int(first.split(" ")[1]) if first.startswith("HTTP/1.1 ") else 0
    return HttpResponse(status, said.get("content-type", "").partition(";")[0], body)


def _chunks(data: bytes) -> Iterator[bytes]:
    while data:
        size, _, data = data.partition(b"\r\n")
        yield data[: int(size or b"0", 16)]
        data = data[int(size or b"0", 16) + 2 :]


@contextmanager
def _served(settings: Settings, log: Path) -> Iterator[tuple[str, int]]:
    """A `venturi serve` on the same repository, and where it listens."""
    environment = {
        **os.environ,
        "VENTURI_HOME": str(settings.home),
        "VENTURI_DATABASE_URL": str(settings.database_url),
    }
    arguments = ("serve", "--port", "0", "--require-token", "--upload-limit", "8MiB")
    with log.open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "venturi.cli.main", *arguments],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=said,
        )
    try:
        assert process.stdout is not None
        with process.stdout as out:
            url = out.readline().decode().strip()
            assert url, log.read_text()
            host, _, port = url.removeprefix("http://").rstrip("/").rpartition(":")
            yield host, int(port)
    finally:
        process.terminate()
        process.wait(60)


def _stored(repository: TrialRepository) -> str:
    """Return a digest of everything that users and trials have stored, in the database and in
    files.
    """
    digest = hashlib.sha256()
    with repository.reading() as connection:
        for name, table in METADATA.tables.items():
            if name not in _NOT_WATCHED:
                columns = [each for each in table.c if each.name != "last_used_at_us"]
                rows = sorted(map(str, connection.execute(sa.select(*columns))))
                digest.update("\n".join([name, *rows]).encode("utf-8", "backslashreplace"))
    files = Counter(str(path) for path in repository.artifacts_dir.rglob("*"))
    digest.update("\n".join(sorted(files)).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()


def _tidy(repository: TrialRepository, base: set[str]) -> None:
    """Undo the writers' changes, so that there is as much to read as before."""
    there = {trial.id for trial in whole_trials(repository)}
    assert base <= there, "a trial is gone"
    with repository.writing() as connection:
        for table in (EXCLUSIONS, VIEWS):
            connection.execute(sa.delete(table))
        delete_trials(connection, there - base)


ROUND = Round(
    name="requests",
    question="Two servers on one PostgreSQL get requests made from the OpenAPI document, with "
    "and without access rights. No 5xx, no unauthorized write, and a problem document "
    "for each error?",
    count=100_000,
    few=75,
    run=play,
)
