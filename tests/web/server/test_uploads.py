"""Uploads: damaged and hostile files, and concurrent clients while the server is killed."""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import signal
import socket
import subprocess
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from api_client import UPLOAD_BYTES_MAX, WRITE_TOKEN, Server, client_of
from venturi.core.settings import Settings
from venturi.record.importing.exchange import export_trials
from venturi.record.query.counting import count
from venturi.record.query.paging import whole_trials
from venturi.record.query.selection import Query
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import State, Trial
from venturi.record.upkeep.check import check
from venturi.record.upkeep.locks import exclusive_files_lock
from venturi.web.api.security import Access

HEADERS = {"Authorization": f"Bearer {WRITE_TOKEN}", "Content-Type": "application/zip"}
Archive = Callable[..., bytes]


@pytest.fixture
def archive(tmp_path: Path, make_trial: Callable[..., Trial]) -> Iterator[Archive]:
    """Makes archives of trials with the ids given, each with a log."""
    trial = make_trial(state=State.SUCCEEDED, elapsed_s=1.0)
    settings = Settings(tmp_path / "source", None, None, allow_debug=False)
    with TrialRepository.open(settings) as source:

        def make(*ids: str) -> bytes:
            trials = [
                source.attach(replace(trial, id=id_), "log", "a.log", f"{id_} ran\n".encode())
                for id_ in ids
            ]
            file = tmp_path / "archive.zip"
            export_trials(source, trials, file, overwrite=True)
            return file.read_bytes()

        yield make


@pytest.fixture
def uploads(repository: TrialRepository) -> Iterator[httpx.Client]:
    access = Access(write_token=WRITE_TOKEN, upload_bytes_max=UPLOAD_BYTES_MAX)
    with client_of(repository, access) as client:
        client.headers.update(HEADERS)
        yield client


def rewritten(content: bytes, change: Callable[[str, bytes], bytes], **more: bytes) -> bytes:
    """`content` with every file passed through `change`, and `more` files."""
    target = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
        for name, data in more.items():
            new.writestr(name, data)
    return target.getvalue()


def test_what_is_acknowledged_is_stored_and_a_second_time_changes_nothing(
    uploads: httpx.Client, repository: TrialRepository, archive: Archive
) -> None:
    content = archive("a1", "a2")
    first = uploads.post("/api/uploads", content=content)
    assert first.status_code == 201
    assert first.json() == {"added": ["a1", "a2"], "already_present": [], "refused": []}
    again = uploads.post("/api/uploads", content=content)
    assert again.status_code == 200
    assert again.json() == {"added": [], "already_present": ["a1", "a2"], "refused": []}
    assert uploads.get("/api/trials/a1/artifacts/a.log").text == "a1 ran\n"
    assert count(repository, Query()) == 2


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder with 2 MiB in all."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount")
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def test_a_full_disk_is_a_problem_document_and_stores_nothing(
    full_disk: Path, archive: Archive
) -> None:
    settings = Settings(full_disk / "home", None, None, allow_debug=False)
    content = archive("a1", "a2")
    access = Access(write_token=WRITE_TOKEN, upload_bytes_max=UPLOAD_BYTES_MAX)
    with TrialRepository.open(settings) as repository, client_of(repository, access) as client:
        fill = full_disk / "fill"
        with suppress(OSError), fill.open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 4096)
        refused = client.post("/api/uploads", content=content, headers=HEADERS)
        assert refused.status_code in {503, 507}, refused.text
        assert refused.headers["Content-Type"] == "application/problem+json"
        assert str(full_disk) not in refused.text
        assert count(repository, Query()) == 0
        fill.unlink()
        assert check(repository).findings == ()
        stored = client.post("/api/uploads", content=content, headers=HEADERS)
        assert stored.status_code == 201, stored.text


def test_a_damaged_trial_is_refused_by_itself_with_its_line_and_field(
    uploads: httpx.Client, repository: TrialRepository, archive: Archive
) -> None:
    def damage(name: str, data: bytes) -> bytes:
        return data.replace(b"a2 ran", b"a2 RAN") if "a2" in name else data

    answer = uploads.post("/api/uploads", content=rewritten(archive("a1", "a2"), damage))
    assert (answer.status_code, answer.json()["added"]) == (201, ["a1"])
    (refused,) = answer.json()["refused"]
    assert (refused["line"], refused["trial"]) == (2, "a2")
    assert count(repository, Query()) == 1
    assert not (repository.artifacts_dir / "a2" / "a.log").exists()

    def unknown_field(name: str, data: bytes) -> bytes:
        wrong = json.dumps({**json.loads(lines["b1"]), "surprise": 1}).encode()
        if name == "trials.ndjson":
            return wrong + b"\n"
        if name == "manifest.json":
            entry = {"id": "b1", "sha256": hashlib.sha256(wrong).hexdigest()}
            return json.dumps({**json.loads(data), "trials": [entry]}).encode()
        return data

    content = archive("b1")
    lines = {"b1": zipfile.ZipFile(io.BytesIO(content)).read("trials.ndjson")}
    answer = uploads.post("/api/uploads", content=rewritten(content, unknown_field))
    assert (answer.status_code, answer.json()["code"]) == (422, "VEN-RECORD-SCHEMA")
    assert answer.json()["where"]["line"] == 1
    assert "surprise" in answer.json()["detail"]
    assert count(repository, Query()) == 1


def test_hostile_archives_are_refused_whole(
    uploads: httpx.Client, repository: TrialRepository, archive: Archive
) -> None:
    content = archive("a1")

    def same(_name: str, data: bytes) -> bytes:
        return data

    def bomb() -> bytes:
        target = io.BytesIO()
        with (
            zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new,
            new.open("artifacts/a1/zeros", "w") as file,
        ):
            for _ in range(9):
                file.write(bytes(1 << 20))
        return target.getvalue()

    for name, hostile in {
        "empty": b"",
        "no zip": b"not a zip",
        "cut off": content[: len(content) // 2],
        "a folder up": rewritten(content, same, **{"artifacts/../../evil": b"x"}),
        "absolute": rewritten(content, same, **{"/etc/evil": b"x"}),
        "backslash": rewritten(content, same, **{"artifacts\\..\\evil": b"x"}),
        "another file": rewritten(content, same, **{"index.html": b"x"}),
        "bomb": bomb(),
        "no manifest": rewritten(content, lambda n, d: b"{}" if n == "manifest.json" else d),
        "deep": rewritten(content, lambda n, d: b"[" * 10**5 if n == "manifest.json" else d),
        "cut lines": rewritten(content, lambda n, d: d[:-9] if n == "trials.ndjson" else d),
    }.items():
        answer = uploads.post("/api/uploads", content=hostile)
        assert (answer.status_code, answer.json()["code"]) == (422, "VEN-EXCHANGE-FORMAT"), name
        assert "/proc" not in answer.text, name
    assert count(repository, Query()) == 0
    assert [path for path in repository.artifacts_dir.rglob("*") if path.is_file()] == []


def test_only_zips_that_are_not_too_big_are_read(uploads: httpx.Client) -> None:
    answer = uploads.post("/api/uploads", content=b"{}", headers={"Content-Type": "text/json"})
    assert (answer.status_code, answer.json()["code"]) == (422, "VEN-API-REQUEST")
    answer = uploads.post("/api/uploads", content=bytes(UPLOAD_BYTES_MAX + 1))
    assert (answer.status_code, answer.json()["code"]) == (413, "VEN-API-SIZE")


def test_another_trial_with_an_id_that_is_taken_is_refused(
    uploads: httpx.Client,
    repository: TrialRepository,
    make_trial: Callable[..., Trial],
    archive: Archive,
) -> None:
    repository.add(make_trial(id="a1", state=State.SUCCEEDED, elapsed_s=9.0))
    answer = uploads.post("/api/uploads", content=archive("a1"))
    assert (answer.status_code, answer.json()["code"]) == (409, "VEN-RECORD-DUPLICATE")
    assert repository.get("a1").elapsed_s == 9.0


CLIENTS, UPLOADS_EACH, TRIALS_EACH = 20, 4, 3


@pytest.mark.slow
def test_no_acknowledged_trial_is_lost_and_none_is_there_twice(
    start_server: Callable[..., Server], archive: Archive
) -> None:
    """20 concurrent clients; the server is killed twice while they upload, and started again."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def start() -> Server:
        return start_server("--port", str(port), VENTURI_WRITE_TOKEN=WRITE_TOKEN)

    # Each upload has a trial that others upload too.
    contents = [
        [
            archive(*(f"c{client}u{number}t{n}" for n in range(TRIALS_EACH)), f"shared{number}")
            for number in range(UPLOADS_EACH)
        ]
        for client in range(CLIENTS)
    ]
    expected = CLIENTS * UPLOADS_EACH * TRIALS_EACH + UPLOADS_EACH
    server = start()
    acknowledged: list[list[str]] = [[] for _ in range(CLIENTS)]
    added: list[list[str]] = [[] for _ in range(CLIENTS)]
    wrong: list[str] = []

    def upload(client: int) -> None:
        with httpx.Client(timeout=30, headers=HEADERS, trust_env=False) as session:
            for content in contents[client]:
                while True:
                    try:
                        answer = session.post(
                            f"http://127.0.0.1:{port}/api/uploads", content=content
                        )
                    except httpx.TransportError:
                        time.sleep(0.05)
                        continue
                    if answer.status_code not in {200, 201} or answer.json()["refused"]:
                        wrong.append(answer.text)
                        return
                    acknowledged[client] += [
                        *answer.json()["added"],
                        *answer.json()["already_present"],
                    ]
                    added[client] += answer.json()["added"]
                    break

    threads = [threading.Thread(target=upload, args=(client,)) for client in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for _ in range(2):
        before = sum(map(len, acknowledged))
        while sum(map(len, acknowledged)) < before + expected // 5 and not wrong:
            time.sleep(0.01)
        time.sleep(random.Random(before).uniform(0, 0.1))
        server.end(signal.SIGKILL)
        said = {id_ for ids in acknowledged for id_ in ids}
        server = start()
        with httpx.Client(trust_env=False) as client:
            for id_ in random.Random(1).sample(sorted(said), 5):
                assert client.get(f"{server.url}api/trials/{id_}").status_code == 200
    for thread in threads:
        thread.join(120)
    assert wrong == []
    status, _ = server.end()
    assert status == 0
    settings = Settings(server.home, None, None, allow_debug=False)
    with TrialRepository.open(settings) as repository:
        stored = [trial.id for trial in whole_trials(repository)]
        assert {id_ for ids in acknowledged for id_ in ids} == set(stored)
        assert len(stored) == expected
        assert count(repository, Query()) == expected
        for trial in whole_trials(repository):
            (log,) = trial.artifacts
            assert repository.artifact_path(log).read_text() == f"{trial.id} ran\n"
    newly = [id_ for ids in added for id_ in ids]
    assert len(newly) == len(set(newly)), "a trial was acknowledged as new twice"


def test_uploads_that_wait_keep_nobody_from_reading(
    start_server: Callable[..., Server], archive: Archive
) -> None:
    server = start_server(VENTURI_WRITE_TOKEN=WRITE_TOKEN)
    content = archive("waiting")
    with ThreadPoolExecutor(20) as clients:
        with exclusive_files_lock(server.home):
            sent = [
                clients.submit(
                    httpx.post,
                    f"{server.url}api/uploads",
                    content=content,
                    headers=HEADERS,
                    timeout=60,
                )
                for _ in range(20)
            ]
            time.sleep(2)
            assert not any(each.done() for each in sent)
            assert httpx.get(f"{server.url}api/trials", timeout=20).status_code == 200
        assert {each.result().status_code for each in sent} == {200, 201}
