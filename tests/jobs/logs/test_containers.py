"""Logs in containers, and logs that another tool wrote again, read like the plain log."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import tarfile
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import cramjam
import pytest

from venturi.core.errors import VenturiError
from venturi.core.settings import Settings
from venturi.jobs.logs import spark
from venturi.jobs.logs.find import spark_logs
from venturi.jobs.logs.trial import lost
from venturi.record.importing import containers
from venturi.record.importing.containers import is_container, unpacked
from venturi.record.importing.decompression import zstd
from venturi.record.importing.formats import FORMATS
from venturi.record.importing.importer import found, import_file
from venturi.record.importing.recognise import formats_of, recognise
from venturi.record.importing.streams import STREAMED, LogLimits, LogText
from venturi.record.query.paging import whole_trials
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import State

DATA = Path(__file__).parents[2] / "data"
SPARK = DATA / "spark/4.3.0"
CASE = DATA / "cases/log-zip"
LOG = SPARK / "join.log"
TEXT = LOG.read_bytes()
Write = Callable[[Path], Path]


def zipped(path: Path, members: Iterable[tuple[str, bytes]] = (("app-1", TEXT),)) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return path


def tarred(path: Path, mode: Any = "w", name: str = "logs/app-1", data: bytes = TEXT) -> Path:
    with tarfile.open(path, mode) as tar:
        info = tarfile.TarInfo(name)
        info.size = len(data)
        tar.addfile(info, io.BytesIO(data))
    return path


def lz4_frame(data: bytes, *, linked: bool) -> bytes:
    packer = cramjam.lz4.Compressor(block_linked=linked)
    packer.compress(data)
    return bytes(packer.finish())


def written(data: bytes) -> Write:
    def write(path: Path) -> Path:
        path.write_bytes(data)
        return path

    return write


def lines(change: Callable[[dict[str, Any]], str]) -> bytes:
    events = (json.loads(line) for line in TEXT.splitlines())
    return b"".join(change(event).encode() + b"\n" for event in events)


def last_first(event: dict[str, Any]) -> str:
    def turned(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: turned(value[key]) for key in reversed(value)}
        return [turned(each) for each in value] if isinstance(value, list) else value

    return json.dumps(turned(event))


WAYS: dict[str, Write] = {
    "zip": zipped,
    "tar": tarred,
    "tgz": lambda path: tarred(path, "w:gz"),
    "tar.bz2": lambda path: tarred(path, "w:bz2"),
    "tar.xz": lambda path: tarred(path, "w:xz"),
    "bz2": written(bz2.compress(TEXT)),
    "xz": written(lzma.compress(TEXT)),
    "gz": written(gzip.compress(TEXT)),
    "zip of gz": lambda path: zipped(path, [("app-1.gz", gzip.compress(TEXT))]),
    "byte order mark and CRLF": written(b"\xef\xbb\xbf" + TEXT.replace(b"\n", b"\r\n")),
    "sorted keys": written(lines(lambda event: json.dumps(event, sort_keys=True))),
    "spaces": written(lines(json.dumps)),
    "keys reversed": written(lines(last_first)),
}


def added(path: Path, repository: TrialRepository) -> dict[str, object]:
    """For each file at `path` by name: how many trials were added, the error's code, or None."""
    found_there: dict[str, object] = {}
    for format_ in formats_of(path):
        for name, take in found(format_, path):
            try:
                result = take and take(repository, lambda *_: None).added
            except VenturiError as error:
                result = error.code
            found_there[name.name] = found_there.get(name.name) or result
    return found_there


def facts(repository: TrialRepository) -> dict[str, Any]:
    """The recorded facts of the only trial, except for the name and checksum of its log."""
    (trial,) = whole_trials(repository)
    return {
        "workload": trial.workload.name,
        "state": trial.state,
        "elapsed_s": trial.elapsed_s,
        "configuration": trial.configuration,
        "warnings": [warning.message for warning in trial.warnings],
        "samples": [(each.metric, each.phase, each.value) for each in trial.samples],
    }


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    home = tmp_path_factory.mktemp("plain") / "home"
    with TrialRepository.open(Settings(home, None, None, allow_debug=False)) as repository:
        import_file(repository, "spark-eventlog", LOG)
        return facts(repository)


@pytest.mark.parametrize("kind_of_database", ["sqlite"])
@pytest.mark.parametrize("way", WAYS)
def test_a_log_is_read_like_the_plain_one(
    way: str, tmp_path: Path, repository: TrialRepository, plain: dict[str, Any]
) -> None:
    path = WAYS[way](tmp_path / "log")  # the name says nothing
    assert recognise(path).name == "spark-eventlog"
    import_file(repository, "spark-eventlog", path)
    assert facts(repository) == plain


@pytest.mark.parametrize("kind_of_database", ["sqlite"])
@pytest.mark.parametrize("name", ["*.zip", "sorted-keys.json"])
def test_log_zip(name: str, repository: TrialRepository) -> None:
    (path,) = CASE.glob(name)
    assert recognise(path).name == "spark-eventlog"
    report = import_file(repository, "spark-eventlog", path)
    (arrival,) = report.trials
    counts = [arrival.account[key] for key in ("name", "stages", "task_attempts", "events")]
    assert counts == ["lost yarn-137", 4, 48, 116]
    assert sum(arrival.account["skipped"].values()) == 0


@pytest.mark.parametrize("kind_of_database", ["sqlite"])
def test_several_logs_and_a_rolling_one_in_a_zip(
    tmp_path: Path, repository: TrialRepository
) -> None:
    rolling = SPARK / "eventlog_v2_local-1795206808966"
    members = [
        (f"logs/{rolling.name}/{part.name}", part.read_bytes()) for part in rolling.iterdir()
    ]
    path = zipped(tmp_path / "all.zip", [("logs/app-1", TEXT), *members])
    assert recognise(path).name == "spark-eventlog"
    taken = [
        (name, take(repository, lambda *_: None)) for name, take in found(recognise(path), path)
    ]
    assert [name for name, _ in taken] == [path / "logs/app-1", path / "logs" / rolling.name]
    assert [report.added for _, report in taken] == [1, 1]


@pytest.mark.parametrize("kind_of_database", ["sqlite"])
def test_a_folder_of_containers(tmp_path: Path, repository: TrialRepository) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    zipped(folder / "one.zip")
    tarred(folder / "two.tgz", "w:gz", data=(SPARK / "tiny.log").read_bytes())
    format_ = recognise(folder)
    assert format_.name == "spark-eventlog"
    for _, take in found(format_, folder):
        take(repository, lambda *_: None)
    names = {trial.workload.name for trial in whole_trials(repository)}
    assert names == {"venturi-fixture-join", "venturi-fixture-tiny"}


def test_a_history_in_a_tar(tmp_path: Path) -> None:
    history = next((DATA / "mapreduce/3.4.2").glob("*TeraGen*.jhist"))
    path = tarred(tmp_path / "a", name=f"done/{history.name}", data=history.read_bytes())
    assert recognise(path).name == "mapreduce-history"


def test_an_archive_of_trials_stays_one(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", [("manifest.json", b"{}")])
    assert not is_container(path)
    assert recognise(path).name == "archive"


@pytest.mark.parametrize("name", ["../up", "/etc/venturi", "a/../../up"])
def test_an_unsafe_name_is_refused(name: str, tmp_path: Path) -> None:
    for path in (zipped(tmp_path / "a.zip", [(name, TEXT)]), tarred(tmp_path / "a.tar", name=name)):
        with pytest.raises(VenturiError, match="unsafe name"), unpacked(path):
            pass
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.tar", "a.zip"]


def test_a_bomb_is_refused_before_it_fills_the_disk(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", [("log", bytes(4 << 20))])
    limits = LogLimits(free_bytes=1 << 20, expansion=1)
    with pytest.raises(VenturiError) as error, unpacked(path, limits):
        pass
    assert error.value.code == "VEN-INGEST-LIMIT"


@pytest.mark.parametrize("mode", ["zip", "w", "w:gz", "w:bz2", "w:xz"])
def test_a_cut_container_is_an_error_or_a_short_log(
    mode: str, tmp_path: Path, repository: TrialRepository
) -> None:
    path = tmp_path / "a"
    zipped(path) if mode == "zip" else tarred(path, mode)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(VenturiError) as error:
        import_file(repository, "spark-eventlog", path)
    assert error.value.code in {"VEN-INGEST-FORMAT", "VEN-INGEST-LIMIT"}
    assert "cut off" in error.value.message
    assert all(trial.state is State.INTERRUPTED for trial in whole_trials(repository))


@pytest.fixture
def streamed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containers, "_STREAMED_BYTES", 1 << 10)


@pytest.mark.usefixtures("streamed")
def test_a_large_log_in_a_zip_is_streamed(tmp_path: Path, repository: TrialRepository) -> None:
    path = zipped(tmp_path / "a.zip", [("app-1", b"\xef\xbb\xbf" + TEXT), ("short", b"{}")])
    with unpacked(path) as folder:
        assert (folder / "app-1").stat().st_size <= 64 << 10 < len(TEXT)
        text = LogText([folder / "app-1"])
        assert list(text.lines()) == TEXT.splitlines()
        assert text.truncated is None
    assert STREAMED == {}
    assert import_file(repository, "spark-eventlog", zipped(tmp_path / "b.zip")).added == 1


@pytest.mark.usefixtures("streamed")
def test_a_damaged_log_that_is_streamed_is_kept_up_to_the_damage(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", [("app-1", 20 * TEXT)])
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    with unpacked(path) as folder:
        text = LogText([folder / "app-1"])
        assert list(text.lines())
        assert "damaged or cut off" in str(text.truncated)


@pytest.mark.usefixtures("streamed")
def test_a_bomb_that_would_be_streamed_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", [("log", b"{" + bytes(4 << 20))])
    limits = LogLimits(free_bytes=1 << 20, expansion=1)
    with pytest.raises(VenturiError) as error, unpacked(path, limits):
        pass
    assert error.value.code == "VEN-INGEST-LIMIT"
    assert STREAMED == {}


def inside(data: bytes, name: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return made.getvalue()


@pytest.mark.parametrize("first", [b"", os.urandom(100_000)], ids=["short", "long"])
def test_a_zip_in_a_zip(first: bytes, tmp_path: Path, repository: TrialRepository) -> None:
    """The inner one may exceed the bytes that are read to recognize a file."""
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("_noise", first)
        archive.writestr("app-1", TEXT)
    path = zipped(tmp_path / "a.zip", [("in/inner.zip", inner.getvalue())])
    assert recognise(path).name == "spark-eventlog"
    assert import_file(repository, "spark-eventlog", path).added == 1


def test_containers_in_too_many_containers_are_refused(
    tmp_path: Path, repository: TrialRepository
) -> None:
    data = TEXT
    for depth in range(4):
        data = inside(data, f"{depth}.zip" if depth else "app-1")
    path = written(data)(tmp_path / "a.zip")
    with pytest.raises(VenturiError, match="lies in more than 2 containers"):
        recognise(path)
    (take,) = [take for _, take in found(FORMATS["spark-eventlog"], path) if take]
    with pytest.raises(VenturiError) as error:
        take(repository, lambda *_: None)
    assert error.value.code == "VEN-INGEST-LIMIT"
    assert "lies in more than 2 containers" in error.value.message
    with pytest.raises(VenturiError):
        recognise(path)


def test_a_zip_with_a_password_is_an_error_that_says_so(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip")
    data = bytearray(path.read_bytes())
    for magic, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(magic) + at] |= 1
    path.write_bytes(data)
    for reading in (recognise, lambda path: list(found(FORMATS["spark-eventlog"], path))):
        with pytest.raises(VenturiError) as error:
            reading(path)
        assert error.value.code == "VEN-INGEST-FORMAT"
        assert "protected by a password" in error.value.message
        assert "with its password" in str(error.value.hint)


def test_files_added_by_a_mac_are_left_out(tmp_path: Path, repository: TrialRepository) -> None:
    members = [
        ("logs/app-1", TEXT),
        ("logs/.DS_Store", b"\0\0\0\1Bud1"),
        ("__MACOSX/logs/._app-1", b"\0\5\x16\7"),
    ]
    path = zipped(tmp_path / "a.zip", members)
    assert import_file(repository, "spark-eventlog", path).added == 1


def test_an_error_in_a_container_names_the_container(
    tmp_path: Path, repository: TrialRepository
) -> None:
    damaged = gzip.compress(TEXT)[:20]
    members = [("app-1", TEXT), ("app-2.gz", damaged), ("README", b"hello")]
    path = zipped(tmp_path / "a.zip", members)
    assert added(path, repository) == {"README": None, "app-1": 1, "app-2.gz": "VEN-INGEST-FORMAT"}
    *_, (_, take) = found(FORMATS["spark-eventlog"], path)
    assert take is not None
    with pytest.raises(VenturiError) as error:
        take(repository, lambda *_: None)
    assert str(error.value.where["file"]) == f"{path}/app-2.gz"


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        (b"\n\n" + TEXT, (0, 0)),
        (b"\xef\xbb\xbf" + TEXT.replace(b"\n", b"\r\n"), (0, 0)),
        (TEXT + b"".join(TEXT.splitlines(keepends=True)[10:20]), (0, 0)),
        (TEXT[:3_000] + b"\n" + TEXT[3_100:], (2, 0)),
        (b"\x00\x00\n" + TEXT[:20] + b"\n" + TEXT, (2, 0)),
    ],
    ids=[
        "blank lines",
        "mark and CRLF",
        "repeated lines",
        "a line cut in the middle",
        "damaged first lines",
    ],
)
def test_a_damaged_line_costs_itself(text: bytes, counts: tuple[int, int], tmp_path: Path) -> None:
    path = written(text)(tmp_path / "app-1")
    assert recognise(path).name == "spark-eventlog"
    account, whole = (spark.read(spark_logs(each)[0]) for each in (path, LOG))
    assert account.application == whole.application
    assert account.reading.malformed <= counts[0]
    assert bool(counts[0]) == bool(list(lost(account.reading)))


def test_members_that_cannot_be_read_cost_no_others(
    tmp_path: Path, repository: TrialRepository
) -> None:
    tiny = (SPARK / "tiny.log").read_bytes()
    path = zipped(tmp_path / "a.zip", [("app-1", TEXT), ("secret", b"x"), ("app-3", tiny)])
    data = bytearray(path.read_bytes())
    for magic, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.rindex(magic, 0, data.rindex(b"secret", 0, data.rindex(b"app-3"))) + at] |= 1
    path.write_bytes(data)
    assert added(path, repository) == {"app-1": 1, "app-3": 1, "a.zip": "VEN-INGEST-FORMAT"}


@pytest.mark.parametrize(
    ("at", "byte", "why"),
    [(1, 9, "packed in a way that is not supported"), (None, 0, "damaged or cut off, in 'app-1'")],
)
def test_a_damaged_member_is_named(
    at: int | None, byte: int, why: str, tmp_path: Path, repository: TrialRepository
) -> None:
    tiny = (SPARK / "tiny.log").read_bytes()
    path = zipped(tmp_path / "a.zip", [("app-1", tiny), ("app-2", TEXT)])
    data = bytearray(path.read_bytes())
    if at is None:
        data[60:160] = bytes(100)
    else:  # the way of packing, in both places
        data[8] = data[data.index(b"PK\1\2") + 10] = byte
    path.write_bytes(data)
    assert added(path, repository) == {"app-2": 1, "a.zip": "VEN-INGEST-FORMAT"}
    *_, (_, take) = found(FORMATS["spark-eventlog"], path)
    assert take is not None
    with pytest.raises(VenturiError, match=why):
        take(repository, lambda *_: None)


def test_a_cut_tar_adds_the_logs_before_the_cut(
    tmp_path: Path, repository: TrialRepository
) -> None:
    path = tmp_path / "a.tgz"
    with tarfile.open(path, "w:gz") as tar:
        for name in ("join.log", "spill.log"):
            tar.add(SPARK / name, name)
    path.write_bytes(path.read_bytes()[:-5_000])
    outcome = added(path, repository)
    assert (outcome["join.log"], outcome["a.tgz"]) == (1, "VEN-INGEST-FORMAT")


def test_windows_paths_in_a_zip(tmp_path: Path, repository: TrialRepository) -> None:
    rolling = SPARK / "eventlog_v2_local-1795206808966"
    members = [("logs\\", b"")]
    members += [
        (f"logs\\{rolling.name}\\{part.name}", part.read_bytes()) for part in rolling.iterdir()
    ]
    path = zipped(tmp_path / "a.zip", members)
    assert added(path, repository) == {"a.zip": 1}


@pytest.mark.parametrize("damage", ["cut", "empty", "three bytes"])
def test_a_zip_without_files_is_named_as_such(damage: str, tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", () if damage == "empty" else [("app-1", TEXT)])
    if damage != "empty":
        path.write_bytes(path.read_bytes()[: 3 if damage == "three bytes" else -100])
    with pytest.raises(VenturiError) as error:
        recognise(path)
    why = {"cut": "zip file that was cut off", "empty": "an empty zip file"}
    assert why.get(damage, "unknown format") in error.value.message


@pytest.mark.parametrize(
    "pack",
    [
        lambda path: written(zstd.compress(tarred(path).read_bytes()))(path),
        lambda path: written(gzip.compress(zipped(path).read_bytes()))(path),
        written(gzip.compress(TEXT) + b"garbage"),
        written(gzip.compress(TEXT[:999]) + gzip.compress(TEXT[999:])),
        written(gzip.compress(zstd.compress(TEXT))),
        lambda path: tarred(path, "w:xz", data=zstd.compress(TEXT)),
        written(zstd.compress(gzip.compress(TEXT))),
        written(bytes(cramjam.lz4.compress(bz2.compress(TEXT)))),
        written(lz4_frame(TEXT, linked=True)),
        written(lz4_frame(TEXT, linked=False)),
        written(bz2.compress(zstd.compress(lzma.compress(TEXT)))),
        lambda path: written(lz4_frame(tarred(path).read_bytes(), linked=True))(path),
        lambda path: written(gzip.compress(zstd.compress(zipped(path).read_bytes())))(path),
    ],
    ids=[
        "tar.zst",
        "zip.gz",
        "garbage after gz",
        "two gz members",
        "zstd.gz",
        "zstd in tar.xz",
        "gz.zst",
        "bz2.lz4",
        "linked lz4",
        "lz4",
        "xz.zst.bz2",
        "tar.lz4",
        "zip.zst.gz",
    ],
)
def test_a_log_in_several_layers_is_read_like_the_plain_one(
    pack: Callable[[Path], Path],
    tmp_path: Path,
    repository: TrialRepository,
    plain: dict[str, Any],
) -> None:
    path = pack(tmp_path / "log")
    assert recognise(path).name == "spark-eventlog"
    import_file(repository, "spark-eventlog", path)
    assert facts(repository) == plain


def test_a_cut_layer_keeps_the_text_before_the_cut(tmp_path: Path) -> None:
    noise = os.urandom(300_000).hex().encode() + b"\n"
    packed = zstd.compress(gzip.compress(b"first\n" + noise + b"last\n"))
    text = LogText([written(packed[: len(packed) // 2])(tmp_path / "log")])
    assert next(text.lines()) == b"first"
    list(text.lines())
    assert text.truncated is not None


def test_bombs_of_several_layers_are_refused(tmp_path: Path) -> None:
    nothing = gzip.compress(b"")  # a middle layer of many empty members has no text
    path = written(gzip.compress(nothing * 200_000))(tmp_path / "log")
    limits = LogLimits(free_bytes=1 << 20, expansion=2)
    with pytest.raises(VenturiError, match="unpacks to more than"):
        list(LogText([path], limits).lines())
    data = TEXT
    for _ in range(5):
        data = gzip.compress(data)
    with pytest.raises(VenturiError, match="compressed more than 4 times"):
        list(LogText([written(data)(path)]).lines())


def test_results_are_found_in_folders_and_containers(
    tmp_path: Path, repository: TrialRepository
) -> None:
    fio = (DATA / "results/fio/jobs.json").read_bytes()
    iperf3 = (DATA / "results/iperf3/runs.json").read_bytes()
    members = [("fio.json", fio), ("app-1", TEXT), ("iperf3.json.gz", gzip.compress(iperf3))]
    path = zipped(tmp_path / "a.zip", [*members, ("README", b"hello")])
    outcome = added(path, repository)
    assert outcome == {"fio.json": 3, "app-1": 1, "iperf3.json.gz": 5, "README": None}
    with pytest.raises(VenturiError, match="may be spark-eventlog or fio or iperf3"):
        recognise(path)


def test_cut_results_that_are_compressed_add_nothing(
    tmp_path: Path, repository: TrialRepository
) -> None:
    packed = gzip.compress((DATA / "results/scout/runs.csv").read_bytes())
    path = written(packed[:-20])(tmp_path / "runs.csv.gz")
    with pytest.raises(VenturiError, match="cut off") as error:
        import_file(repository, recognise(path).name, path)
    assert error.value.where["file"] == str(path)
    assert import_file(repository, "scout", written(packed)(path)).added == 4
