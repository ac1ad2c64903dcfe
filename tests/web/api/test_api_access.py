"""Who may do what: hosts, origins, tokens, sessions; and the pages' files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from api_client import READ_TOKEN, UPLOAD_BYTES_MAX, WRITE_TOKEN, client_of
from venturi.core.errors import VenturiError
from venturi.core.settings import Settings
from venturi.record.store.repository import TrialRepository
from venturi.web.api.security import BODY_BYTES_MAX, Access

EXCLUSION = {"conditions": ["disk=SSD"], "author": "Ada", "reason": "cold"}
VIEW = {"name": "mine", "url": "/trials?sort=elapsed_s", "author": "Ada"}


@pytest.fixture
def empty(settings: Settings) -> Iterator[TrialRepository]:
    with TrialRepository.open(settings) as opened:
        yield opened


def status_of(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def both() -> Access:
    return Access(READ_TOKEN, WRITE_TOKEN, upload_bytes_max=UPLOAD_BYTES_MAX)


def test_names_that_are_not_ours_are_refused(empty: TrialRepository) -> None:
    access = Access(hosts=frozenset({"lab.example"}))
    with client_of(empty, access) as client:
        for host in ("localhost", "localhost:8321", "127.0.0.1:1", "[::1]:8321", "lab.example:80"):
            assert client.get("/api/status", headers={"Host": host}).status_code == 200, host
        for host in ("evil.example", "10.0.0.1", "localhost.evil.example", "[", "", "a@b:c"):
            answer = client.get("/api/status", headers={"Host": host})
            assert status_of(answer) == (421, "VEN-API-HOST"), host
            assert client.get("/", headers={"Host": host}).status_code == 421


def test_a_server_beyond_loopback_answers_to_addresses_but_not_to_other_names(
    empty: TrialRepository,
) -> None:
    access = Access(READ_TOKEN, loopback=False, hosts=frozenset({"lab.example"}))
    with client_of(empty, access) as client:
        for host, status in {"10.0.0.1:8321": 200, "lab.example": 200, "evil.example": 421}.items():
            answer = client.get("/api/status", headers={"Host": host, **bearer(READ_TOKEN)})
            assert answer.status_code == status


def test_pages_of_other_sites_change_nothing(empty: TrialRepository) -> None:
    with client_of(empty) as client:
        for headers in (
            {"Origin": "http://evil.example"},
            {"Origin": "null"},
            {"Origin": "http://localhost:9999"},
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site", "Origin": "http://localhost"},
        ):
            for method, path in (
                ("POST", "/api/exclusions"),
                ("POST", "/api/session"),
                ("DELETE", "/api/views/x"),
            ):
                answer = client.request(method, path, json=EXCLUSION, headers=headers)
                assert status_of(answer) == (403, "VEN-API-FORBIDDEN"), headers
        assert client.get("/api/exclusions").json() == {"exclusions": []}
        form = {"Content-Type": "text/plain"}
        sent = client.post("/api/views", content=b'{"name":"x"}', headers=form)
        assert sent.status_code == 422, "what a form of another site could send is not read"
        for headers in ({"Origin": "http://localhost"}, {"Sec-Fetch-Site": "same-origin"}, {}):
            answer = client.post("/api/exclusions", json=EXCLUSION, headers=headers)
            assert answer.status_code == 201


def test_on_loopback_without_tokens_uploads_say_how_to_allow_them(empty: TrialRepository) -> None:
    with client_of(empty) as client:
        zipped = {"Content-Type": "application/zip"}
        answer = client.post("/api/uploads", content=b"x", headers=zipped)
        assert status_of(answer) == (403, "VEN-API-FORBIDDEN")
        assert "venturi token add" in answer.json()["hint"]
        assert "--write-token-file" in answer.json()["hint"]
        assert client.get("/api/status", headers=bearer("x" * 20)).status_code == 401


def test_a_write_token_alone_leaves_reading_open_and_changes_closed(empty: TrialRepository) -> None:
    with client_of(empty, Access(write_token=WRITE_TOKEN)) as client:
        found = client.get("/api/status").json()
        assert (found["role"], found["uploads"]) == ("read", True)
        assert status_of(client.post("/api/views", json=VIEW)) == (401, "VEN-API-TOKEN")
        answer = client.post("/api/views", json=VIEW, headers=bearer(WRITE_TOKEN))
        assert answer.status_code == 201


def test_with_tokens_each_role_does_what_it_may(empty: TrialRepository, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<!doctype html><title>Venturi</title>")
    with client_of(empty, both(), tmp_path) as client:
        for path in ("/api/status", "/api/trials", "/api/openapi.json", "/api/nothing"):
            answer = client.get(path)
            assert status_of(answer) == (401, "VEN-API-TOKEN")
            assert answer.headers["www-authenticate"] == "Bearer"
            assert client.get(path, headers=bearer(WRITE_TOKEN[:-1])).status_code == 401
            assert client.get(path, headers={"Authorization": "Basic eDp5"}).status_code == 401
            assert client.get(f"{path}?token={READ_TOKEN}").status_code == 401
        assert client.get("/").status_code == 200, "the page with the login form is no secret"
        read, write = bearer(READ_TOKEN), bearer(WRITE_TOKEN)
        assert client.get("/api/status", headers=read).json()["role"] == "read"
        assert client.get("/api/status", headers=write).json()["role"] == "write"
        assert status_of(client.post("/api/views", json=VIEW, headers=read))[0] == 403
        assert client.post("/api/views", json=VIEW, headers=write).status_code == 201


def test_a_browser_trades_a_token_for_a_cookie(empty: TrialRepository) -> None:
    with client_of(empty, both()) as client:
        assert client.post("/api/session", json={"token": "wrong" * 5}).status_code == 401
        answer = client.post("/api/session", json={"token": WRITE_TOKEN})
        assert answer.json() == {"role": "write", "token": "write-token"}
        cookie = answer.headers["set-cookie"]
        assert WRITE_TOKEN not in cookie
        assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
        assert "Secure" not in cookie
        assert client.get("/api/status").json()["role"] == "write"
        assert client.delete("/api/session").status_code == 204
        assert client.get("/api/status").status_code == 401
    with client_of(empty, Access(READ_TOKEN, https=True)) as client:
        answer = client.post("/api/session", json={"token": READ_TOKEN})
        assert "Secure" in answer.headers["set-cookie"].split("; ")


def test_a_cookie_is_good_for_a_week_and_for_its_role_only(
    empty: TrialRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    with client_of(empty, both()) as client:
        value = both().new_session("read")
        role, expires, signature = value.split(".")

        def status(cookie: str) -> int:
            return client.get(
                "/api/status", headers={"Cookie": f"venturi_session={cookie}"}
            ).status_code

        assert status(value) == 200
        assert status(f"write.{expires}.{signature}") == 401
        assert status(f"{role}.{int(expires) + 1}.{signature}") == 401
        for nonsense in (
            "",
            "write",
            "write..",
            "write.9999999999.",
            f"admin.{expires}.{signature}",
        ):
            assert status(nonsense) == 401
        later = float(expires) + 1
        monkeypatch.setattr("venturi.web.api.security.time.time", lambda: later)
        assert status(value) == 401
    with client_of(empty, Access("another-read-token-1", WRITE_TOKEN)) as client:
        monkeypatch.undo()
        cookie = {"Cookie": f"venturi_session={value}"}
        assert client.get("/api/status", headers=cookie).status_code == 401


@pytest.mark.parametrize(
    "tokens",
    [
        ("short", None),
        (None, "has a blank in the middle"),
        ("the-same-0123456789", "the-same-0123456789"),
    ],
)
def test_unsafe_access_is_refused(tokens: tuple[str | None, str | None]) -> None:
    with pytest.raises(VenturiError) as caught:
        Access(*tokens)
    assert caught.value.code == "VEN-SERVE-TOKEN"
    assert caught.value.hint


def test_tokens_are_not_shown() -> None:
    assert WRITE_TOKEN not in repr(both())


def test_big_bodies_are_refused_before_they_are_read(empty: TrialRepository) -> None:
    with client_of(empty, Access(write_token=WRITE_TOKEN, upload_bytes_max=10_000)) as client:
        write = bearer(WRITE_TOKEN)

        def parts(size: int) -> Iterator[bytes]:
            for _ in range(size // 1_000):
                yield b" " * 1_000

        for path, kind, size in (
            ("/api/exclusions", "application/json", BODY_BYTES_MAX + 1_000),
            ("/api/session", "application/json", BODY_BYTES_MAX + 1_000),
            ("/api/uploads", "application/zip", 11_000),
        ):
            headers = {**write, "Content-Type": kind}
            stated = client.post(path, content=b"".join(parts(size)), headers=headers)
            assert status_of(stated) == (413, "VEN-API-SIZE"), path
            unstated = client.post(path, content=parts(size), headers=headers)
            assert status_of(unstated) == (413, "VEN-API-SIZE"), path


# ---- the pages' files ----


def test_pages_files_and_policy(empty: TrialRepository, tmp_path: Path) -> None:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<!doctype html><title>Venturi</title>")
    (tmp_path / "assets/app-DkJ3f9_x.js").write_text("console.log(1);" * 200)
    (tmp_path / "favicon.svg").write_text("<svg/>")
    (tmp_path.parent / "secret.txt").write_text("secret")
    (tmp_path / "link.txt").symlink_to(tmp_path.parent / "secret.txt")
    with client_of(empty, assets=tmp_path) as client:
        for page in ("/", "/trials", "/trials/01ABC", "/cost?by=disk&where=a%3D1", "/exclusions"):
            answer = client.get(page)
            assert (answer.status_code, "Venturi" in answer.text) == (200, True)
            policy = answer.headers["content-security-policy"]
            assert "script-src 'self';" in policy
            assert "frame-ancestors 'none'" in policy
            assert answer.headers["cache-control"] == "no-cache"
            again = client.get(page, headers={"If-None-Match": answer.headers["etag"]})
            assert again.status_code == 304
        script = client.get("/assets/app-DkJ3f9_x.js")
        assert script.headers["content-type"] == "text/javascript; charset=utf-8"
        assert script.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert script.headers["content-encoding"] == "gzip"
        assert client.get("/favicon.svg").headers["content-type"] == "image/svg+xml"
        for path in ("/../secret.txt", "/%2e%2e/secret.txt", "/link.txt", "/assets", "/index.html"):
            assert client.get(path).status_code == 404, path
        strayed = client.get("/nowhere", headers={"Accept": "text/html"})
        assert (strayed.status_code, "Venturi" in strayed.text) == (404, True)
        assert status_of(client.post("/trials"))[0] == 405


def test_pages_that_were_not_built_say_how_to_build_them(
    empty: TrialRepository, tmp_path: Path
) -> None:
    with client_of(empty, assets=tmp_path / "none") as client:
        answer = client.get("/trials", headers={"Accept": "text/html"})
        assert (answer.status_code, "make setup" in answer.text) == (503, True)
        assert status_of(client.get("/trials")) == (503, "VEN-API-PAGES")
        assert client.get("/api/status").status_code == 200
