"""Logs that are not all there yet: a folder that is written to, a history server."""

from __future__ import annotations

import io
import json
import os
import random
import re
import shutil
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from command_line import venturi
from torture.web.failing_server import FAILURES, FailingServer, zip_of
from venturi.cli.results.follow import follow, import_served
from venturi.cli.results.import_files import import_all
from venturi.cli.results.watch_notes import WatchNotes
from venturi.core.errors import VenturiError
from venturi.core.settings import Settings
from venturi.record.importing.formats import FORMATS, Format
from venturi.record.query.paging import whole_trials
from venturi.record.store.repository import TrialRepository

LOGS = Path(__file__).parents[2] / "data" / "spark" / "4.3.0"
SPARK = FORMATS["spark-eventlog"]


@pytest.fixture(autouse=True)
def _home(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VENTURI_HOME", str(settings.home))


def statuses(sources: list[str]) -> dict[str, str]:
    """The state of each followed log by the end of its name."""
    notes = WatchNotes(sources)
    states = {each["key"]: each["state"] for each in notes.status()["logs"]}
    return {re.split("[ /]", key)[-1]: state for key, state in states.items()}


class StoppedError(Exception):
    """Ends a watch that has no end."""


def looks(folder: Path, steps: list[tuple[str, bytes]], format_: Format | None = SPARK) -> None:
    """Follows `folder`, into which a file is written before each look but the first."""
    left = iter(steps)

    def pause(_: float) -> None:
        step = next(left, None)
        if step is None:
            raise StoppedError
        put(folder, *step)

    with pytest.raises(StoppedError):
        follow(format_, [str(folder)], 10.0, pause)


def put(folder: Path, name: str, content: bytes) -> None:
    """Write a file that was last changed a minute ago."""
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (path.stat().st_mtime - 60,) * 2)


def names(settings: Settings) -> set[str]:
    with TrialRepository.open(settings) as repository:
        return {trial.workload.name for trial in whole_trials(repository)}


def test_a_running_application_is_updated_and_a_restart_reads_no_log_again(
    tmp_path: Path, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny, join = ((LOGS / name).read_bytes() for name in ("tiny.log", "join.log"))
    put(tmp_path, "deep/one", tiny)
    without_end = join[: join.rindex(b"\n", 0, -1) + 1]
    looks(tmp_path, [("two.inprogress", without_end), ("notes", b"no log")])
    told = capsys.readouterr()
    assert len(names(settings)) == 2
    assert told.out.count("added: trial") == 2
    assert "rejected: [VEN-INGEST-FORMAT]" in told.err
    (tmp_path / "two.inprogress").unlink()
    put(tmp_path, "two", join)
    looks(tmp_path, [])
    told = "".join(capsys.readouterr())
    assert len(names(settings)) == 2
    assert told.count("updated") == 1
    assert "added" not in told
    assert "rejected" not in told
    assert "already here" not in told


def test_the_format_of_a_folder_is_recognized_once_it_has_logs(
    tmp_path: Path, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny = (LOGS / "tiny.log").read_bytes()
    looks(tmp_path, [("one", tiny)], None)
    told = "".join(capsys.readouterr())
    assert "contains no log of an engine" in told
    assert told.count("added: trial") == 1


def test_a_log_that_is_still_written_waits(tmp_path: Path, settings: Settings) -> None:
    (tmp_path / "fresh").write_bytes((LOGS / "tiny.log").read_bytes())
    looks(tmp_path, [])
    assert names(settings) == set()


@pytest.fixture
def server() -> Iterator[str]:
    """A history server with one application and an archive that tries to leave its folder."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("app-1", (LOGS / "tiny.log").read_bytes())
        archive.writestr("../../escaped/..", b"x")
    listed = [
        {"id": "app-1", "attempts": [{"lastUpdatedEpoch": 7, "completed": True}]},
        {"id": "../up", "attempts": [{"lastUpdatedEpoch": 7}]},
    ]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answers = {
                "/api/v1/applications?status=completed": json.dumps(listed).encode(),
                "/api/v1/applications/app-1/logs": packed.getvalue(),
            }
            answer = answers.get(self.path)
            self.send_response(200 if answer else 404)
            self.end_headers()
            self.wfile.write(answer or b"")

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_history_server_gives_what_is_over(server: str, settings: Settings) -> None:
    outcomes, status = import_served(server)
    assert (len(outcomes), status) == (1, 0)
    assert len(names(settings)) == 1


def test_the_verb_imports_from_a_server_and_files_together(server: str, settings: Settings) -> None:
    done = venturi("import", server, LOGS / "join.log", "--json", home=settings.home)
    assert done.returncode == 0, done.stderr
    file, served = json.loads(done.stdout)["data"]
    assert file["file"] == str(LOGS / "join.log")
    assert (served["file"], served["format"]) == (f"{server} app-1", "spark-eventlog")
    assert len(names(settings)) == 2
    again = venturi("import", "spark-eventlog", server, "--json", home=settings.home)
    assert [each["added"] for each in json.loads(again.stdout)["data"]] == [0]


@pytest.fixture
def store() -> Iterator[str]:
    """A folder of fsspec's store in memory with a log, a rolling log, and one that goes on."""
    memory = fsspec.filesystem("memory")
    rolling = LOGS / "eventlog_v2_local-1795206808966"
    memory.pipe("/logs/deep/app-1", (LOGS / "join.log").read_bytes())
    memory.pipe("/logs/app-2.inprogress", b"{}")
    memory.pipe("/logs/.app-1.crc", b"x")
    for file in rolling.iterdir():
        memory.pipe(f"/logs/{rolling.name}/{file.name}", file.read_bytes())
    yield "memory://logs"
    memory.rm("/logs", recursive=True)


def test_object_storage_gives_what_is_whole(
    store: str, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    outcomes, status = import_served(store)
    assert status == 0
    rolling = f"{store}/eventlog_v2_local-1795206808966"
    assert [each.file for each in outcomes] == [f"{store}/deep/app-1", rolling]
    assert [line.partition(": ")[0] for line in capsys.readouterr().out.splitlines()] == [
        f"{store}/deep/app-1",
        rolling,
    ]
    assert len(names(settings)) == 2
    assert import_served(f"{store}/deep/app-1")[1] == 0


def test_an_object_that_marks_a_folder_is_no_log(
    store: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = MemoryFileSystem.find

    def with_marker(self: Any, path: str, **more: Any) -> Any:
        found = find(self, path, **more)
        marker = {f"{path}/void/": {"size": 0, "type": "file"}}  # as s3fs lists it
        return found | marker if isinstance(found, dict) else found

    monkeypatch.setattr(MemoryFileSystem, "find", with_marker)
    outcomes, status = import_served(store)
    assert (len(outcomes), status) == (2, 0)
    with pytest.raises(VenturiError, match="it has no files"):
        import_served("memory://nothing-but-that")


def test_what_is_no_log_or_cannot_be_had_does_not_stop_the_others(
    store: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe("/logs/a-note", b"no log")
    memory.pipe("/logs/../eventlog-2026-01-01--00-00", b"leaves its folder")
    memory.pipe("/logs/a-secret", b"{}")
    get_file = MemoryFileSystem.get_file

    def guarded(self: Any, path: str, *to: Any, **more: Any) -> None:
        if path.endswith("secret"):
            raise PermissionError("Access Denied")
        get_file(self, path, *to, **more)

    monkeypatch.setattr(MemoryFileSystem, "get_file", guarded)
    outcomes, status = import_served(store)
    codes = {str(each.file): each.error and each.error.code for each in outcomes}
    assert codes == {
        f"{store}/a-note": "VEN-INGEST-FORMAT",
        f"{store}/a-secret": "VEN-INGEST-SERVER",
        f"{store}/deep/app-1": None,
        f"{store}/eventlog_v2_local-1795206808966": None,
    }
    assert status == 1


def test_where_nothing_is_over_that_is_said(
    store: str, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    assert import_served(f"{store}/app-2.inprogress") == ([], 0)
    assert "no application is over there" in capsys.readouterr().err


def test_a_store_is_looked_at_again(
    store: str, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    def end(_: float) -> None:
        raise StoppedError

    for added in (2, 0):
        with pytest.raises(StoppedError):
            follow(SPARK, [store], 10.0, end)
        assert capsys.readouterr().out.count("added: trial") == added


@pytest.mark.parametrize("url", ["memory://absent", "nosuchstore://logs"])
def test_a_store_that_cannot_be_read_is_said(url: str) -> None:
    with pytest.raises(VenturiError) as raised:
        import_served(url)
    assert raised.value.code == "VEN-INGEST-SERVER"


@pytest.mark.parametrize("url", ["s3://", "s3:///"])
def test_a_store_without_a_bucket_is_no_folder_here(url: str) -> None:
    with pytest.raises(VenturiError, match="s3:// cannot be read: it names no bucket"):
        import_served(url)


@pytest.fixture
def failing() -> Iterator[tuple[FailingServer, str]]:
    """A server with one sound application, which fails only if a test says so."""
    name = "app-1"
    server = FailingServer(
        random.Random(1), {name: zip_of({name: (LOGS / "tiny.log").read_bytes()})}
    )
    server.rate = 0.0
    with server.serving() as url:
        yield server, url


def watch(url: str, steps: list[Callable[[], None]]) -> None:
    """Follow a server; a step is taken before each look but the first."""
    left = iter(steps)

    def pause(_: float) -> None:
        step = next(left, None)
        if step is None:
            raise StoppedError
        step()

    with pytest.raises(StoppedError):
        follow(SPARK, [url], 0.0, pause)


@pytest.mark.parametrize("failure", FAILURES)
def test_a_log_that_a_failing_server_kept_out_is_imported_once_it_works(
    failure: str, failing: tuple[FailingServer, str], settings: Settings
) -> None:
    server, url = failing
    fail = iter([None, failure, failure])  # the list works, the log doesn't, then the list doesn't
    server.failure = lambda: next(fail, None)  # type: ignore[method-assign]
    watch(url, [lambda: None, lambda: None])
    assert len(names(settings)) == 1
    assert WatchNotes([url]).status()["imported"] == 1


def test_a_log_that_stays_unreadable_is_refused_with_its_reason(
    failing: tuple[FailingServer, str], settings: Settings
) -> None:
    server, url = failing
    server.applications = {"app-2": b"no zip", "app-1": server.applications["app-1"]}
    watch(url, [])
    assert statuses([url]) == {"app-2": "waiting"}, "the server may have damaged it on the way"
    watch(url, [])
    assert statuses([url]) == {"app-2": "refused"}
    done = venturi("import", url, "--watch", "--status", home=settings.home)
    first, _, *more = done.stdout.splitlines()
    assert first == "2 logs followed: 1 imported, 0 waiting, 1 refused"
    (line,) = (each for each in more if "app-2: [VEN-IMPORT-FORMAT]" in each)
    assert "not a usable zip file" in line
    watched = sum(server.seen.values())
    watch(url, [])
    assert sum(server.seen.values()) == watched + 1, "it is listed, and not downloaded again"


def test_a_busy_repository_keeps_no_log_out(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "one", (LOGS / "tiny.log").read_bytes())
    busy = iter([True])

    def import_or_not(*arguments: Any, **more: Any) -> Any:
        if next(busy, False):
            raise VenturiError("VEN-RECORD-BUSY", "another command holds the repository")
        return import_all(*arguments, **more)

    monkeypatch.setattr("venturi.cli.results.follow.import_all", import_or_not)
    looks(tmp_path, [])
    assert (names(settings), statuses([str(tmp_path)])) == (set(), {"one": "waiting"})
    looks(tmp_path, [])
    assert len(names(settings)) == 1
    assert statuses([str(tmp_path)]) == {}


def test_a_server_without_the_space_that_an_archive_needs_is_asked_again(
    failing: tuple[FailingServer, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, url = failing
    full = shutil.disk_usage("/")._replace(free=1)
    monkeypatch.setattr("venturi.record.importing.download.shutil.disk_usage", lambda _: full)
    watch(url, [])
    assert statuses([url]) == {"app-1": "waiting"}
    monkeypatch.undo()


def test_a_server_of_another_kind_is_an_error(server: str) -> None:
    with pytest.raises(VenturiError, match="history server") as raised:
        import_served(f"{server}/elsewhere")
    assert raised.value.code == "VEN-INGEST-SERVER"
