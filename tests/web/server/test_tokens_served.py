"""Named tokens against servers with processes of their own, asked as an attacker would."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from api_client import WRITE_TOKEN, Server
from command_line import venturi
from venturi.core.settings import Settings
from venturi.record.access import tokens
from venturi.record.access.actions import VIEW_DELETED, find_actions
from venturi.record.access.authors import Author
from venturi.record.importing.exchange import export_trials
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import State, Trial, now

Start = Callable[..., Server]
RULE = {"conditions": ["disk=SSD"], "reason": "cold"}
VIEW = {"name": "mine", "url": "/trials"}
ADA = Author("ada", "login")

pytestmark = pytest.mark.slow


@dataclass
class Door:
    """A server that requires a token, and tokens of every kind."""

    server: Server
    repository: TrialRepository
    secrets: dict[str, str]

    @contextmanager
    def client(self, name: str = "", **headers: str) -> Iterator[httpx.Client]:
        if name:
            headers["Authorization"] = f"Bearer {self.secrets[name]}"
        with httpx.Client(base_url=self.server.url, trust_env=False, headers=headers) as client:
            yield client

    def status(self, name: str = "", **headers: str) -> int:
        with self.client(name, **headers) as client:
            return client.get("/api/status").status_code

    def raw(self, *lines: str) -> bytes:
        """The answer to a request that no well-behaved client would send."""
        parts = urlsplit(self.server.url)
        assert parts.port is not None
        with socket.create_connection(("127.0.0.1", parts.port), 10) as connection:
            request = "\r\n".join((*lines, f"Host: {parts.netloc}", "Connection: close", "", ""))
            connection.sendall(request.encode("latin-1"))
            return b"".join(iter(lambda: connection.recv(65_536), b""))


@pytest.fixture
def door(start_server: Start, tmp_path: Path) -> Iterator[Door]:
    home = Settings(tmp_path / "server", None, None, allow_debug=False)
    with TrialRepository.open(home) as repository:
        roles: dict[str, tokens.Role] = {"reader": "read", "writer": "write", "gone": "write"}
        secrets = {name: tokens.add(repository, name, role, ADA)[1] for name, role in roles.items()}
        tokens.revoke(repository, "gone")
        soon = now() + timedelta(seconds=1)
        secrets["short"] = tokens.add(repository, "short", "write", ADA, soon)[1]
        yield Door(start_server("--require-token"), repository, secrets)


def archive_of(make_trial: Callable[..., Trial], folder: Path) -> bytes:
    with TrialRepository.open(Settings(folder, None, None, allow_debug=False)) as source:
        trial = make_trial(id="pushed", state=State.SUCCEEDED, elapsed_s=1.0)
        file = folder / "trials.zip"
        export_trials(source, [replace(trial, configuration={"disk": "SSD"})], file)
        return file.read_bytes()


def test_each_does_what_its_role_lets_it_and_no_more(
    door: Door, make_trial: Callable[..., Trial], tmp_path: Path
) -> None:
    zipped = {"Content-Type": "application/zip"}
    content = archive_of(make_trial, tmp_path / "source")
    while now() < (tokens.find(door.repository)[2].expires_at or now()):
        time.sleep(0.05)
    for name, why in {"gone": "revoked", "short": "expired"}.items():
        with door.client(name) as client:
            answer = client.get("/api/status")
            assert (answer.status_code, why in answer.json()["detail"]) == (401, True)
            login = {"token": door.secrets[name]}
            assert client.post("/api/session", json=login).status_code == 401
            assert client.post("/api/uploads", content=content, headers=zipped).status_code == 401
    with door.client() as client:
        for path in ("/api/status", "/api/trials", "/api/openapi.json"):
            assert client.get(path).status_code == 401
        assert client.post("/api/exclusions", json=RULE).status_code == 401
    with door.client("reader") as client:
        found = client.get("/api/status").json()
        assert (found["role"], found["token"], found["uploads"]) == ("read", "reader", True)
        for method, path, body in (
            ("POST", "/api/exclusions", RULE),
            ("POST", "/api/views", VIEW),
            ("DELETE", "/api/views/mine", None),
            ("POST", "/api/starter", None),
            ("POST", "/api/uploads", None),
            ("PUT", "/api/views/mine", None),
        ):
            # A read token stays one, whatever else it says it is.
            more = {
                "X-Role": "write",
                "X-HTTP-Method-Override": "GET",
                "X-Forwarded-User": "writer",
            }
            answer = client.request(method, f"{path}?role=write", json=body, headers=more)
            assert (answer.status_code, answer.json()["code"]) == (403, "VEN-API-FORBIDDEN"), path
        logged_in = client.post("/api/session", json={"token": door.secrets["reader"]})
        assert logged_in.json() == {"role": "read", "token": "reader"}
    with door.client(Cookie=f"venturi_session={logged_in.cookies['venturi_session']}") as client:
        assert client.get("/api/status").json()["token"] == "reader"
        assert client.post("/api/exclusions", json=RULE).status_code == 403
    with door.client("writer") as client:
        assert client.get("/api/status").json()["token"] == "writer"
        assert client.post("/api/uploads", content=content, headers=zipped).status_code == 201
        by = client.get("/api/trials/pushed").json()["added_by"]
        assert (by["name"], by["known_by"]) == ("writer", "token")
    shown = venturi("show", "pushed", home=tmp_path / "server").stdout
    assert re.search(r"uploaded by +writer$", shown, re.MULTILINE), shown


def test_the_author_is_the_token_whatever_a_client_writes(door: Door) -> None:
    smuggled = {
        "X-Author": "root",
        "X-Forwarded-User": "root",
        "From": "root",
        "Remote-User": "root",
    }
    with door.client("writer", **smuggled) as client:
        made = client.post("/api/exclusions", json={**RULE, "author": "root"}).json()
        assert made["author"] == {
            "name": "writer",
            "known_by": "token",
            "said": "root",
            "text": "writer (says: root)",
        }
        path = f"/api/exclusions/{made['id']}/revoke"
        more = {"author": None, "revoked_by": "root", "known_by": "login", "name": "root"}
        back = client.post(path, json=more).json()
        assert back["revoked_by"]["text"] == "writer"
        saved = client.post("/api/views", json={**VIEW, "author": "reader"}).json()
        assert saved["author"]["text"] == "writer (says: reader)"
        for said in ("a\nb", "\u202eresu", "x" * 101, "\x1b[31m", {"name": "root"}, ["root"]):
            for path, body in (("/api/exclusions", RULE), ("/api/views", {**VIEW, "name": "n"})):
                answer = client.post(path, json={**body, "author": said})
                assert answer.status_code == 422, said
        for reason in ("two\nlines", "\x00", "x" * 1_001, "\x1b[2J"):
            answer = client.post("/api/exclusions", json={**RULE, "reason": reason})
            assert answer.status_code == 422, reason
        assert client.delete("/api/views/mine").status_code == 204
    with door.repository.reading() as connection:
        (deleted,) = find_actions(connection, VIEW_DELETED)
    assert (deleted.subject, deleted.author) == ("mine", Author("writer", "token"))


def test_nothing_but_the_secret_itself_opens(door: Door) -> None:
    secret = door.secrets["writer"]
    digest = next(iter(tokens_digests(door.repository)))
    for wrong in (
        secret[:-1],
        secret.swapcase(),
        secret.upper(),
        f"{secret} x",
        f"{secret},",
        f"x{secret}",
        "writer",
        digest,
        f"ven_{digest[:43]}",
        "ven_" + "A" * 43,
        f'"{secret}"',
        "x",
    ):
        assert door.status(Authorization=f"Bearer {wrong}") == 401, wrong
        assert door.status(Cookie=f"venturi_session={wrong}") == 401, wrong
    assert door.status(Cookie=f"venturi_session={secret}") == 401, "a token is no session"
    for scheme in ("Basic", "Token", "Digest", "BearerX"):
        assert door.status(Authorization=f"{scheme} {secret}") == 401
    blanks = door.raw("GET /api/status HTTP/1.1", f"Authorization: bearer   {secret}  ")
    assert blanks.startswith(b"HTTP/1.1 200")
    reader = door.secrets["reader"]
    for first, second in ((reader, secret), (secret, reader), (secret, "x")):
        answer = door.raw(
            "GET /api/status HTTP/1.1",
            f"Authorization: Bearer {first}",
            f"Authorization: Bearer {second}",
        )
        assert answer.startswith(b"HTTP/1.1 401"), "which of two counts is nobody's guess"
    for spaces in ("\t", "\xa0", "\x0b"):
        answer = door.raw("GET /api/status HTTP/1.1", f"Authorization: Bearer {spaces}{secret}")
        assert answer[9:12] in {b"401", b"400"}, spaces
    folded = door.raw("GET /api/status HTTP/1.1", "X: y", f" Authorization: Bearer {secret}")
    assert b" 401 " in folded or b" 400 " in folded
    with door.client(Cookie="venturi_session=session_" + "A" * 43) as client:
        assert client.get("/api/status").status_code == 401


def tokens_digests(repository: TrialRepository) -> list[str]:
    with repository.reading() as connection:
        return list(connection.exec_driver_sql("SELECT digest FROM tokens").scalars())


def test_other_sites_change_nothing_with_a_visitors_cookie(door: Door) -> None:
    with door.client() as client:
        made = client.post("/api/session", json={"token": door.secrets["writer"]})
        cookie = made.headers["set-cookie"]
        assert {"HttpOnly", "SameSite=strict"} <= set(cookie.split("; "))
        assert door.secrets["writer"] not in cookie
        for headers in (
            {"Origin": "http://evil.example"},
            {"Origin": "null"},
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"},
        ):
            for method, path in (("POST", "/api/exclusions"), ("DELETE", "/api/session")):
                answer = client.request(method, path, json=RULE, headers=headers)
                assert answer.status_code == 403, headers
        assert client.get("/api/status", headers={"Host": "evil.example"}).status_code == 421
        assert client.get("/api/exclusions").json() == {"exclusions": []}
        kept = client.cookies["venturi_session"]
        assert client.delete("/api/session").status_code == 204
    assert door.status(Cookie=f"venturi_session={kept}") == 401, "logging out ends the session"


def test_a_token_is_in_no_address_and_in_no_log(door: Door, tmp_path: Path) -> None:
    secret = door.secrets["writer"]
    with door.client() as client:
        quoted = secret.replace("_", "%5F")
        for path in (
            f"/api/status?token={secret}",
            f"/?t={secret}",
            f"/{secret}",
            f"/api/trials/{secret}",
            f"/api/trials?where=a%3D{quoted}",
        ):
            answer = client.get(path)
            assert answer.status_code == 422, path
            assert "revoke" in answer.json()["hint"]
            assert secret not in answer.text
        answer = client.post("/api/session", json={"token": [secret]})
        assert answer.status_code == 422
        assert secret not in answer.text
        broken = client.post("/api/session", content=b'{"token": "' + secret.encode())
        assert secret not in broken.text
    door.raw(f"GET /api/status?{secret} HTTP/9.9", f"Authorization: Bearer {secret}")
    door.raw(f"Authorization: Bearer {secret}")
    assert door.status("writer") == 200
    status, said = door.server.end()
    assert (status, secret in said) == (0, False)
    for file in (tmp_path / "server").rglob("*"):
        assert not file.is_file() or secret.encode() not in file.read_bytes(), file


def test_on_loopback_a_proxys_requests_are_not_this_machines(start_server: Start) -> None:
    server = start_server()
    with httpx.Client(base_url=server.url, trust_env=False) as client:
        assert client.get("/api/status").json()["token"] is None
        made = client.post("/api/exclusions", json={**RULE, "author": "root"})
        assert made.json()["author"]["text"] == "root (not verified)"
        for name in ("X-Forwarded-For", "Forwarded", "X-Real-IP", "X-Forwarded-Proto"):
            answer = client.get("/api/status", headers={name: "127.0.0.1"})
            assert (answer.status_code, "--proxy" in answer.json()["hint"]) == (401, True)
        below = client.get("/", headers={"X-Forwarded-Prefix": "/venturi"})
        assert (below.status_code, below.json()["code"]) == (421, "VEN-API-HOST")


def test_two_servers_of_one_database_take_and_drop_a_token_at_once(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("postgresql").new_repository()
    settings = Settings(tmp_path, url, None, allow_debug=False)
    own = {"VENTURI_DATABASE_URL": url, "VENTURI_READ_TOKEN": WRITE_TOKEN}
    both = [Server(tmp_path / name, "--port", "0", **own) for name in ("one", "two")]
    try:
        for server in both:
            server.start()
        with TrialRepository.open(settings) as repository, httpx.Client(trust_env=False) as client:

            def statuses(**headers: str) -> list[int]:
                return [
                    client.get(f"{server.url}api/status", headers=headers).status_code
                    for server in both
                ]

            _, secret = tokens.add(repository, "ci", "write", ADA)
            bearer = {"Authorization": f"Bearer {secret}"}
            assert statuses(**bearer) == [200, 200]
            login = client.post(f"{both[0].url}api/session", json={"token": secret})
            cookie = {"Cookie": f"venturi_session={login.cookies['venturi_session']}"}
            client.cookies.clear()
            assert statuses(**cookie) == [200, 200]
            deadline = time.monotonic() + 30
            while tokens.find(repository)[0].last_used_at is None and time.monotonic() < deadline:
                time.sleep(0.02)
            used = tokens.find(repository)[0].last_used_at
            assert used is not None
            for _ in range(5):
                assert statuses(**bearer) == [200, 200]
            assert tokens.find(repository)[0].last_used_at == used, "not with every request"
            tokens.revoke(repository, "ci")
            assert statuses(**bearer) == [401, 401]
            assert statuses(**cookie) == [401, 401]
    finally:
        for server in both:
            if server.process is not None:
                server.end()
