"""A real nginx before a real server, with the configuration that the guide shows."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from http.client import HTTPSConnection
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from api_client import Server
from command_line import venturi
from venturi.core.settings import Settings
from venturi.record.access import tokens
from venturi.record.access.authors import Author
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import State, Trial

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "share" / "proxy.md"
NAME = "lab.example"
RULE = {"conditions": ["disk=SSD"], "reason": "cold"}
ARTIFACT_BYTES = 24 << 20

pytestmark = pytest.mark.slow


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def configuration(folder: Path, server_port: int, https: int, http: int) -> str:
    """The guide's, on ports that are free here, in a folder of the test's."""
    (site,) = re.findall(r"^```nginx\n(.*?)^```$", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    for there, here in (
        ("127.0.0.1:8321", f"127.0.0.1:{server_port}"),
        ("listen 443 ssl", f"listen 127.0.0.1:{https} ssl"),
        ("listen 80;", f"listen 127.0.0.1:{http};"),
        ("/etc/ssl/lab.example.pem", f"{folder}/certificate.pem"),
        ("/etc/ssl/private/lab.example.key", f"{folder}/key.pem"),
    ):
        assert site.count(there) == 1, there
        site = site.replace(there, here)
    parts = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"{part}_temp_path {folder}/{part};\n" for part in parts)
    user = "user root;\n" if os.geteuid() == 0 else ""
    return (
        f"{user}daemon off; master_process off; pid {folder}/pid;\n"
        f"error_log {folder}/error.log info;\nevents {{}}\n"
        f"http {{\naccess_log {folder}/access.log;\n{temporary}{site}}}\n"
    )


@dataclass
class Lab:
    """nginx, the server behind it, and a token for each role."""

    server: Server
    folder: Path
    url: str
    plain_url: str
    secrets: dict[str, str]

    def trusted(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.folder / "certificate.pem"))

    def client(self, name: str = "", url: str = "", **headers: str) -> httpx.Client:
        if name:
            headers["Authorization"] = f"Bearer {self.secrets[name]}"
        host = f"{NAME}:{urlsplit(self.url).port}"
        return httpx.Client(
            base_url=url or self.url,
            trust_env=False,
            verify=self.trusted(),
            headers={"Host": host, **headers},
            timeout=30,
        )

    @property
    def log(self) -> str:
        return (self.folder / "error.log").read_text() + (self.folder / "access.log").read_text()


@contextlib.contextmanager
def nginx_before(server: Server, folder: Path) -> Iterator[tuple[int, int]]:
    """nginx, and the ports on which it speaks https and http."""
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip("nginx is not installed (Debian package nginx-light)")
    folder.mkdir()
    names = f"subjectAltName=DNS:{NAME},IP:127.0.0.1"
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
            "-subj",
            f"/CN={NAME}",
            "-addext",
            names,
            "-keyout",
            folder / "key.pem",
            "-out",
            folder / "certificate.pem",
        ],
        check=True,
        capture_output=True,
        timeout=60,
    )
    port = urlsplit(server.url).port
    assert port is not None
    https, http = free_port(), free_port()
    file = folder / "nginx.conf"
    file.write_text(configuration(folder, port, https, http))
    process = subprocess.Popen([program, "-c", file], stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 30
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", https), 1):
                break
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < deadline
            time.sleep(0.02)
        yield https, http
    finally:
        process.terminate()
        process.communicate(timeout=30)


@pytest.fixture
def lab(
    start_server: Callable[..., Server], tmp_path: Path, make_trial: Callable[..., Trial]
) -> Iterator[Lab]:
    home = Settings(tmp_path / "server", None, None, allow_debug=False)
    with TrialRepository.open(home) as repository:
        roles: dict[str, tokens.Role] = {"reader": "read", "writer": "write"}
        made = {
            name: tokens.add(repository, name, role, Author("ada", "login"))[1]
            for name, role in roles.items()
        }
        trial = make_trial(id="big", state=State.SUCCEEDED, elapsed_s=1.0)
        content = secrets.token_bytes(ARTIFACT_BYTES)
        repository.add(repository.attach(trial, "log", "big.log", content))
    server = start_server("--proxy", "127.0.0.1", "--allow-host", NAME)
    folder = tmp_path / "nginx"
    with nginx_before(server, folder) as (https, http):
        yield Lab(server, folder, f"https://127.0.0.1:{https}", f"http://127.0.0.1:{http}", made)


def test_it_serves_over_https_and_asks_everybody_for_a_token(lab: Lab) -> None:
    with lab.client() as client:
        answer = client.get("/api/status")
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        moved = client.get(f"{lab.plain_url}/trials?x=1")
        assert (moved.status_code, moved.headers["location"]) == (301, f"https://{NAME}/trials?x=1")
        for headers in (
            {"X-Forwarded-For": "127.0.0.1"},
            {"X-Real-IP": "127.0.0.1"},
            {"Forwarded": "for=127.0.0.1"},
        ):
            assert client.get("/api/status", headers=headers).status_code == 401
        assert client.get("/api/status", headers={"Host": "evil.example"}).status_code == 421
    with lab.client("reader") as client:
        assert client.get("/api/status").json()["token"] == "reader"
        assert client.post("/api/exclusions", json=RULE).status_code == 403
        page = client.get("/trials", headers={"Accept": "text/html"})
        assert page.status_code in {200, 503}, "503 where the pages were not built"
    # The server itself asks those on this machine, too.
    with lab.client(url=lab.server.url, Host="localhost") as client:
        assert client.get("/api/status").status_code == 401


def test_a_browser_logs_in_and_other_sites_do_nothing_in_its_name(lab: Lab) -> None:
    own = f"https://{NAME}:{urlsplit(lab.url).port}"
    with lab.client(Origin=own) as client:
        made = client.post("/api/session", json={"token": lab.secrets["writer"]})
        assert {"Secure", "HttpOnly", "SameSite=strict"} <= set(
            made.headers["set-cookie"].split("; ")
        )
        # The client does not know that the name is this machine's.
        cookie = {"Cookie": f"venturi_session={made.cookies['venturi_session']}"}
        done = client.post("/api/exclusions", json=RULE, headers=cookie)
        assert (done.status_code, done.json()["author"]["text"]) == (201, "writer")
        for origin in (own.replace("https", "http"), "https://evil.example", f"https://{NAME}"):
            answer = client.post("/api/exclusions", json=RULE, headers={**cookie, "Origin": origin})
            assert answer.status_code == 403, origin
    assert lab.secrets["writer"] not in lab.log


def test_big_archives_and_downloads_pass_without_being_kept(
    lab: Lab, tmp_path: Path, make_trial: Callable[..., Trial]
) -> None:
    source = Settings(tmp_path / "source", None, None, allow_debug=False)
    with TrialRepository.open(source) as repository:
        trial = make_trial(id="pushed", state=State.SUCCEEDED, elapsed_s=1.0)
        content = secrets.token_bytes(3 << 20)  # nginx itself takes no more than 1 MB
        trial = repository.attach(trial, "log", "a.log", content)
        repository.add(replace(trial, configuration={"disk": "SSD"}))
    certificate = str(lab.folder / "certificate.pem")
    pushed = venturi(
        "push",
        lab.url,
        "--all",
        home=tmp_path / "source",
        VENTURI_PUSH_TOKEN=lab.secrets["writer"],
        SSL_CERT_FILE=certificate,
    )
    assert pushed.returncode == 0, pushed.stderr
    with lab.client("reader") as client:
        by = client.get("/api/trials/pushed").json()["added_by"]
        assert by["text"] == "writer"
        with client.stream("GET", "/api/trials/big/artifacts/big.log") as answer:
            parts = answer.iter_raw(65_536)
            size = len(next(parts))
            time.sleep(0.5)  # a visitor who takes their time
            size += sum(map(len, parts))
        assert size == ARTIFACT_BYTES
    assert "buffered to a temporary file" not in lab.log
    connection = HTTPSConnection(urlsplit(lab.url).netloc, context=lab.trusted(), timeout=30)
    with contextlib.closing(connection):
        connection.putrequest("POST", "/api/uploads")
        connection.putheader("Content-Length", str(2 << 30))
        connection.endheaders()
        assert connection.getresponse().status == 413
    assert "client intended to send too large body" in lab.log


def test_the_word_of_a_proxy_that_is_none_counts_for_nothing(
    start_server: Callable[..., Server], tmp_path: Path
) -> None:
    home = Settings(tmp_path / "server", None, None, allow_debug=False)
    with TrialRepository.open(home) as repository:
        _, secret = tokens.add(repository, "ci", "read", Author("ada", "login"))
    server = start_server("--proxy", "192.0.2.0/24")
    with httpx.Client(base_url=server.url, trust_env=False) as client:
        forged = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.1"}
        made = client.post("/api/session", json={"token": secret}, headers=forged)
        assert made.status_code == 200
        assert "Secure" not in made.headers["set-cookie"].split("; ")
