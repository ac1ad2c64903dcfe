"""`venturi serve` and `venturi push` as processes and commands of their own."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from api_client import READ_TOKEN, WRITE_TOKEN, Server
from command_line import venturi
from venturi.cli.main import cli
from venturi.core.errors import VenturiError
from venturi.core.settings import Settings
from venturi.record.query.counting import count
from venturi.record.query.selection import Query
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import State, Trial

Start = Callable[..., Server]


def serve(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A server that is expected not to start."""
    return venturi("serve", *arguments, home=home)


@pytest.mark.slow
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_it_says_where_it_listens_and_ends_when_asked(start_server: Start, by: int) -> None:
    server = start_server()
    assert httpx.get(f"{server.url}api/status", trust_env=False).json()["trials"] == 0
    status, said = server.end(by)
    assert (status, said) == (0, "the server has ended\n")


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = serve(tmp_path, "--port", str(port))
    assert (done.returncode, done.stdout) == (1, "")
    assert "VEN-SERVE-ADDRESS" in done.stderr
    assert f"port {port}" in done.stderr
    assert "--port 0" in done.stderr


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "no-such-host.invalid"])
def test_without_a_token_it_listens_on_loopback_only(tmp_path: Path, host: str) -> None:
    done = serve(tmp_path, "--host", host, "--port", "0")
    assert (done.returncode, done.stdout) == (1, "")
    assert "VEN-SERVE-TOKEN" in done.stderr
    assert "venturi token add" in done.stderr


@pytest.mark.slow
def test_tokens_come_from_files_that_nobody_else_can_read(
    start_server: Start, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text(f"{READ_TOKEN}\n")
    file.chmod(0o644)
    done = serve(tmp_path / "home", "--read-token-file", str(file))
    assert done.returncode == 1
    assert "VEN-SERVE-TOKEN" in done.stderr
    assert READ_TOKEN not in done.stderr
    file.chmod(0o600)
    server = start_server("--host", "0.0.0.0", "--read-token-file", str(file))
    with httpx.Client(
        base_url=server.url.replace("0.0.0.0", "127.0.0.1"), trust_env=False
    ) as client:
        assert client.get("/api/status").status_code == 401
        headers = {"Authorization": f"Bearer {READ_TOKEN}"}
        assert client.get("/api/status", headers=headers).status_code == 200


@pytest.mark.slow
def test_a_home_that_others_may_read_is_told_with_what_mends_it(
    start_server: Start, tmp_path: Path
) -> None:
    home = tmp_path / "server"
    home.mkdir()
    home.chmod(0o755)
    _, said = start_server().end()
    assert f"can read the repository in {home}" in said
    assert "`venturi repository check --mend`" in said
    home.chmod(0o750)
    _, said = start_server().end()
    assert "may read" not in said


# ---- push ----


@pytest.fixture
def source(
    tmp_path: Path, make_trial: Callable[..., Trial], monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """A repository of 250 trials, one of them unfinished, at VENTURI_HOME."""
    home = tmp_path / "home"
    monkeypatch.setenv("VENTURI_HOME", str(home))
    monkeypatch.setenv("VENTURI_PUSH_TOKEN", WRITE_TOKEN)
    trial = make_trial(state=State.SUCCEEDED, elapsed_s=1.0)
    ids = [f"p{number:03}" for number in range(250)]
    with TrialRepository.open(Settings(home, None, None, allow_debug=False)) as repository:
        for id_ in ids[:2]:
            repository.add(repository.attach(replace(trial, id=id_), "log", "a.log", b"ran"))
        repository.add_many(
            replace(trial, id=id_, configuration={"n": number}) for number, id_ in enumerate(ids)
        )
        repository.add(make_trial(id="unfinished"))
    return ids


def push(*arguments: str) -> tuple[int, dict[str, list[Any]]]:
    result = CliRunner().invoke(cli, ["push", *arguments, "--json"], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.return_value, json.loads(result.stdout)["data"]


@pytest.mark.slow
def test_trials_are_pushed_once_in_batches(start_server: Start, source: list[str]) -> None:
    server = start_server(VENTURI_WRITE_TOKEN=WRITE_TOKEN)
    status, sent = push(server.url, "--where", "n<10", "--where", "n>=5")
    assert (status, sorted(sent["added"])) == (0, source[5:10])
    status, sent = push(server.url, "p000", "p005")
    assert (sent["added"], sent["already_present"]) == (["p000"], ["p005"])
    status, sent = push(server.url, "--all")
    assert (status, len(sent["added"]), len(sent["already_present"])) == (0, 244, 6)
    server.end()
    with TrialRepository.open(Settings(server.home, None, None, allow_debug=False)) as repository:
        assert count(repository, Query()) == 250
        (log,) = repository.get("p000").artifacts
        assert repository.artifact_path(log).read_bytes() == b"ran"


@pytest.mark.slow
def test_a_push_goes_on_when_the_server_comes_back(start_server: Start, source: list[str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def later() -> None:
        time.sleep(0.5)
        start_server("--port", str(port), VENTURI_WRITE_TOKEN=WRITE_TOKEN)

    starter = threading.Thread(target=later)
    starter.start()
    status, sent = push(f"http://127.0.0.1:{port}", *source[:3])
    starter.join()
    assert (status, sent["added"]) == (0, source[:3])


@pytest.mark.slow
def test_a_trial_that_the_server_refuses_does_not_hold_up_others(
    start_server: Start, source: list[str], make_trial: Callable[..., Trial], tmp_path: Path
) -> None:
    settings = Settings(tmp_path / "server", None, None, allow_debug=False)
    with TrialRepository.open(settings) as repository:
        repository.add(make_trial(id=source[1], state=State.SUCCEEDED, elapsed_s=9.0))
    server = start_server(VENTURI_WRITE_TOKEN=WRITE_TOKEN)
    status, sent = push(server.url, *source[:3])
    assert (status, sent["added"]) == (1, [source[0], source[2]])
    (refused,) = sent["refused"]
    assert (refused["trial"], refused["code"]) == (source[1], "VEN-RECORD-DUPLICATE")  # type: ignore[index]
    status, sent = push(server.url, source[1])
    assert (status, len(sent["refused"])) == (1, 1)


@pytest.mark.usefixtures("source")
def test_a_token_is_not_sent_where_others_can_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for url, hint in {
        "http://192.0.2.1:8321/": "--insecure",
        "http://lab.example/": "--insecure",
        "https://user:hunter2@lab.example/": "--token-file",
        "ftp://lab.example/": "https://",
        "lab.example": "https://",
    }.items():
        with pytest.raises(VenturiError) as caught:
            push(url, "--all")
        assert caught.value.code == "VEN-PUSH"
        assert hint in caught.value.hint
        assert "hunter2" not in str(caught.value.as_dict())
    monkeypatch.delenv("VENTURI_PUSH_TOKEN")
    with pytest.raises(VenturiError) as caught:
        push("http://127.0.0.1:9/", "--all")
    assert "--token-file" in caught.value.hint


@pytest.mark.slow
def test_a_push_says_why_it_ends(start_server: Start, source: list[str]) -> None:
    with pytest.raises(VenturiError) as caught:
        push("http://127.0.0.1:9/", source[0], "--retry-for", "0.3s")
    assert caught.value.code == "VEN-PUSH"
    server = start_server(VENTURI_WRITE_TOKEN="another-token-0123")
    with pytest.raises(VenturiError) as caught:
        push(server.url, source[0])
    assert caught.value.where["code"] == "VEN-API-TOKEN"
    assert WRITE_TOKEN not in str(caught.value.as_dict())


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_what_the_server_refuses_for_good_is_sent_once_and_named(
    start_server: Start,
    source: list[str],
    make_trial: Callable[..., Trial],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    database: str,
) -> None:
    """An older version stored a name with NUL, which no PostgreSQL holds."""
    more = {"VENTURI_WRITE_TOKEN": WRITE_TOKEN}
    if database == "postgresql":
        more["VENTURI_DATABASE_URL"] = request.getfixturevalue("postgresql").new_repository()
    server = start_server(**more)
    home = Settings(tmp_path / "home", None, None, allow_debug=False)
    with monkeypatch.context() as older, TrialRepository.open(home) as repository:
        older.setattr("venturi.record.store.rows.check", lambda *_: None)
        old = make_trial(id="old", state=State.SUCCEEDED, elapsed_s=1.0, experiment="a\0b")
        repository.add(old)
    for chosen in (["old"], ["old", *source[:2]]):
        status, sent = push(server.url, *chosen, "--retry-for", "1s")
        assert status == 1
        (refused,) = sent["refused"]
        assert (refused["trial"], refused["code"]) == ("old", "VEN-RECORD-LIMIT")
        assert "experiment is a\\x00b, with the control character U+0000" in refused["reason"]
        assert sent["added"] == chosen[1:]
