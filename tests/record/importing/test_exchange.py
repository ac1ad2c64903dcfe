"""The exchange archive: complete, repeatable, mergeable, and safe to read."""

from __future__ import annotations

import hashlib
import io
import json
import stat
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from venturi.core.errors import VenturiError
from venturi.core.settings import Settings
from venturi.record.importing.containers import MANIFEST, RECORDS
from venturi.record.importing.exchange import (
    ArchiveLimits,
    export_trials,
    import_archive,
)
from venturi.record.importing.importer import import_file
from venturi.record.importing.tally import ImportReport
from venturi.record.query.paging import whole_trials
from venturi.record.store.files import replacing
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Failure, State, Trial, new_id
from venturi.record.trial_json import encode

MakeTrial = Callable[..., Trial]
Members = dict[str, bytes]


@pytest.fixture
def others(settings: object, tmp_path: Path) -> Iterator[Callable[[], TrialRepository]]:
    """Opens further, empty repositories."""
    with ExitStack() as stack:
        count = iter(range(100))

        def open_another() -> TrialRepository:
            home = tmp_path / f"other{next(count)}"
            another = Settings(home=home, database_url=None, agent=None, allow_debug=False)
            return stack.enter_context(TrialRepository.open(another))

        yield open_another


def finished(repository: TrialRepository, trial: Trial, content: bytes = b"content") -> Trial:
    """`trial` as it ended, with two artifacts, stored."""
    trial = replace(trial, state=State.SUCCEEDED, elapsed_s=1.5)
    trial = repository.attach(trial, "log", "run.log", content)
    trial = repository.attach(trial, "other", "host.parquet", content[::-1] * 1000)
    repository.add(trial)
    return trial


def contents(repository: TrialRepository) -> list[tuple[Trial, list[bytes]]]:
    """Everything in `repository`."""
    return [
        (trial, [repository.artifact_path(artifact).read_bytes() for artifact in trial.artifacts])
        for trial in whole_trials(repository)
    ]


def members_of(path: Path) -> Members:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def added(report: ImportReport) -> tuple[str, ...]:
    return tuple(each.trial for each in report.trials if each.added)


def present(report: ImportReport) -> tuple[str, ...]:
    return tuple(each.trial for each in report.trials if not each.added)


def write(path: Path, members: Members) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def test_export_and_import_lose_nothing(
    repository: TrialRepository,
    others: Callable[[], TrialRepository],
    make_trial: MakeTrial,
    tmp_path: Path,
) -> None:
    failure = Failure("space", "VEN-X", "full")
    for number in range(3):
        finished(repository, make_trial(repetition=number), b"%d" % number)
    repository.add(make_trial(state=State.FAILED, failure=failure))
    other, path, seen = others(), tmp_path / "a.zip", []

    export_trials(repository, whole_trials(repository), path)
    report = import_archive(other, path, progress=lambda *step: seen.append(step))

    ids = tuple(sorted(trial.id for trial in whole_trials(repository)))
    assert (added(report), present(report), report.refused) == (ids, (), ())
    assert (report.added, report.already_present, report.failed) == (4, 0, 1)
    assert contents(other) == contents(repository)
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    again = import_archive(other, path)
    assert (added(again), present(again), again.refused) == ((), ids, ())
    assert contents(other) == contents(repository)
    back = import_archive(repository, path)
    assert back == again


def test_equal_trials_give_equal_archives(
    repository: TrialRepository, make_trial: MakeTrial, tmp_path: Path
) -> None:
    trials = [finished(repository, make_trial()) for _ in range(2)]
    export_trials(repository, trials, tmp_path / "a")
    export_trials(repository, [*reversed(trials), trials[0]], tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_two_repositories_merge(
    repository: TrialRepository,
    others: Callable[[], TrialRepository],
    make_trial: MakeTrial,
    tmp_path: Path,
) -> None:
    other = others()
    shared = finished(repository, make_trial())
    export_trials(repository, [shared], tmp_path / "shared")
    import_archive(other, tmp_path / "shared")
    finished(repository, make_trial(experiment="here"))
    finished(other, make_trial(experiment="there"))
    export_trials(repository, whole_trials(repository), tmp_path / "here")
    export_trials(other, whole_trials(other), tmp_path / "there")
    for target, source in ((repository, "there"), (other, "here")):
        report = import_archive(target, tmp_path / source)
        assert (report.added, present(report)) == (1, (shared.id,))
    assert contents(repository) == contents(other)
    assert len(contents(repository)) == 3


def test_a_trial_without_its_files_gets_them_back(
    repository: TrialRepository, make_trial: MakeTrial, tmp_path: Path
) -> None:
    trial = finished(repository, make_trial())
    before = contents(repository)
    export_trials(repository, [trial], tmp_path / "a")
    repository.artifact_path(trial.artifacts[0]).unlink()
    assert present(import_archive(repository, tmp_path / "a")) == (trial.id,)
    assert contents(repository) == before


def test_export_refuses(repository: TrialRepository, make_trial: MakeTrial, tmp_path: Path) -> None:
    path = tmp_path / "a"
    trial = finished(repository, make_trial())
    running = make_trial(state=State.EXECUTING)

    def code(trials: list[Trial], **options: bool) -> str:
        with pytest.raises(VenturiError) as caught:
            export_trials(repository, trials, path, **options)
        return caught.value.code

    assert code([running]) == "VEN-RECORD-STATE"
    path.write_text("precious")
    assert code([trial]) == "VEN-OUTPUT-EXISTS"
    file = repository.artifact_path(trial.artifacts[0])
    file.write_bytes(b"changed")
    assert code([trial], overwrite=True) == "VEN-RECORD-ARTIFACT"
    file.unlink()
    assert code([trial], overwrite=True) == "VEN-RECORD-ARTIFACT"
    assert path.read_text() == "precious", "a failed export leaves what was there"
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []
    file.write_bytes(b"content")
    export_trials(repository, [trial], path, overwrite=True)
    assert zipfile.is_zipfile(path)


@pytest.fixture
def archive(others: Callable[[], TrialRepository], make_trial: MakeTrial, tmp_path: Path) -> Path:
    """A sound archive of three trials."""
    repository = others()
    for number in range(3):
        finished(repository, make_trial(id=f"trial{number}"), b"%d" % number * 100)
    export_trials(repository, whole_trials(repository), tmp_path / "sound.zip")
    return tmp_path / "sound.zip"


def with_record(members: Members, index: int, line: bytes, *, sign: bool) -> Members:
    """`members` with another record at `index`; with `sign`, the manifest has its digest."""
    lines = members[RECORDS].splitlines()
    lines[index] = line
    manifest = json.loads(members[MANIFEST])
    if sign:
        manifest["trials"][index]["sha256"] = hashlib.sha256(line).hexdigest()
    return members | {
        RECORDS: b"".join(line + b"\n" for line in lines),
        MANIFEST: json.dumps(manifest).encode(),
    }


def swapped(members: Members, old: bytes, new: bytes, *, sign: bool = True) -> Members:
    line = members[RECORDS].splitlines()[1]
    assert old in line
    return with_record(members, 1, line.replace(old, new), sign=sign)


def drop(members: Members, name: str) -> Members:
    return {key: data for key, data in members.items() if key != name}


LOG = "artifacts/trial1/run.log"
ONE_BAD_TRIAL: dict[str, tuple[str, Callable[[Members], Members]]] = {
    "a changed record": (
        "VEN-EXCHANGE-FORMAT",
        lambda m: swapped(m, b'"elapsed_s":1.5', b'"elapsed_s":0.5', sign=False),
    ),
    "a record that is no JSON": (
        "VEN-RECORD-SCHEMA",
        lambda m: with_record(m, 1, b"{", sign=True),
    ),
    "an unknown key": ("VEN-RECORD-SCHEMA", lambda m: swapped(m, b'"seed"', b'"speed"')),
    "an unknown version": (
        "VEN-RECORD-VERSION",
        lambda m: swapped(m, b'"schema_version":3', b'"schema_version":9'),
    ),
    "another id": ("VEN-EXCHANGE-FORMAT", lambda m: swapped(m, b'"trial1"', b'"trial9"')),
    "an id that means the newest trial": (
        "VEN-EXCHANGE-FORMAT",
        lambda m: swapped(m, b'"id":"trial1"', b'"id":"last"'),
    ),
    "an id that leads outside": (
        "VEN-RECORD-SCHEMA",
        lambda m: swapped(m, b'"id":"trial1"', b'"id":"../../x"'),
    ),
    "an unfinished trial": (
        "VEN-RECORD-STATE",
        lambda m: swapped(m, b'"state":"succeeded"', b'"state":"executing"'),
    ),
    "an artifact's path that leads outside": (
        "VEN-EXCHANGE-FORMAT",
        lambda m: swapped(m, b'"path":"trial1/run.log"', b'"path":"trial1/../../x"'),
    ),
    "an artifact's name that leads outside": (
        "VEN-RECORD-ARTIFACT",
        lambda m: swapped(
            m | {"artifacts/trial1/.x": m[LOG]},
            b'"name":"run.log","path":"trial1/run.log"',
            b'"name":".x","path":"trial1/.x"',
        ),
    ),
    "a missing artifact": ("VEN-EXCHANGE-FORMAT", lambda m: drop(m, LOG)),
    "a longer artifact": ("VEN-EXCHANGE-FORMAT", lambda m: m | {LOG: m[LOG] + b"!"}),
    "a changed artifact": ("VEN-RECORD-ARTIFACT", lambda m: m | {LOG: b"!" + m[LOG][1:]}),
}


@pytest.mark.parametrize("damage", ONE_BAD_TRIAL)
def test_a_damaged_trial_is_refused_by_itself(
    repository: TrialRepository, archive: Path, tmp_path: Path, damage: str
) -> None:
    code, change = ONE_BAD_TRIAL[damage]
    path = write(tmp_path / "bad.zip", change(members_of(archive)))
    report = import_archive(repository, path)
    assert added(report) == ("trial0", "trial2")
    (refusal,) = report.refused
    assert (refusal.line, refusal.value, refusal.code) == (2, "trial1", code)
    assert refusal.reason
    assert {trial.id for trial in whole_trials(repository)} == {"trial0", "trial2"}
    assert not (repository.artifacts_dir / "trial1" / "run.log").exists()
    assert sorted(p.name for p in repository.artifacts_dir.iterdir() if any(p.iterdir())) == [
        "trial0",
        "trial2",
    ]


def special(name: str, mode: int) -> Callable[[Path, Members], None]:
    def build(path: Path, members: Members) -> None:
        write(path, members)
        with zipfile.ZipFile(path, "a") as archive:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            archive.writestr(info, "/etc/passwd")

    return build


def twice(path: Path, members: Members) -> None:
    write(path, members)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr(RECORDS, members[RECORDS])


def edited(change: Callable[[Members], Members]) -> Callable[[Path, Members], None]:
    return lambda path, members: write(path, change(members)) and None


def cut_off(path: Path, members: Members) -> None:
    write(path, members)
    path.write_bytes(path.read_bytes()[:-100])


def flipped(path: Path, members: Members) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        start = archive.getinfo(RECORDS).header_offset
    data = bytearray(path.read_bytes())
    for offset in range(start + 80, start + 300):
        data[offset] ^= 0x55
    path.write_bytes(data)


def manifest_with(**changes: object) -> Callable[[Path, Members], None]:
    return edited(
        lambda m: m | {MANIFEST: json.dumps({**json.loads(m[MANIFEST]), **changes}).encode()}
    )


def of_version_9(path: Path, members: Members) -> None:
    data = bytearray(write(path, members).read_bytes())
    data[data.index(b"PK\1\2") + 6] = 99
    path.write_bytes(data)


def of_four_gigabytes(path: Path, members: Members) -> None:
    """As its directory says: as much would be reserved to read it."""
    data = bytearray(write(path, members).read_bytes())
    at = data.index(b"PK\1\2") + 20
    data[at : at + 4] = b"\xf0\xff\xff\xff"
    path.write_bytes(data)


BAD_ARCHIVES: dict[str, Callable[[Path, Members], None]] = {
    "empty": lambda path, _: path.write_bytes(b"") and None,
    "text": lambda path, _: path.write_text("trials") and None,
    "cut off": cut_off,
    "flipped bits": flipped,
    "a version that nobody reads": of_version_9,
    "a file of 4 GB": of_four_gigabytes,
    "traversal": special("../../evil", stat.S_IFREG | 0o644),
    "traversal inside": special("artifacts/trial0/../../evil", stat.S_IFREG | 0o644),
    "absolute": special("/etc/evil", stat.S_IFREG | 0o644),
    "backslash": special("artifacts\\..\\evil", stat.S_IFREG | 0o644),
    "symbolic link": special("artifacts/trial0/link", stat.S_IFLNK | 0o777),
    "device": special("artifacts/trial0/device", stat.S_IFCHR | 0o644),
    "something else": special("readme.txt", stat.S_IFREG | 0o644),
    "a file twice": twice,
    "no manifest": edited(lambda m: drop(m, MANIFEST)),
    "no records": edited(lambda m: drop(m, RECORDS)),
    "manifest no JSON": edited(lambda m: m | {MANIFEST: b"{"}),
    "manifest nested": edited(lambda m: m | {MANIFEST: b"[" * 100_000}),
    "manifest a list": edited(lambda m: m | {MANIFEST: b"[]"}),
    "other format": manifest_with(format="something"),
    "newer version": manifest_with(version=2),
    "trials no list": manifest_with(trials=3),
    "a trial without digest": manifest_with(trials=[{"id": "trial0"}]),
    "fewer trials in the manifest": manifest_with(trials=[]),
    "records cut off": edited(lambda m: m | {RECORDS: m[RECORDS][:-1]}),
}


@pytest.mark.parametrize("damage", BAD_ARCHIVES)
def test_a_bad_archive_is_an_error(
    settings: object,
    others: Callable[[], TrialRepository],
    archive: Path,
    tmp_path: Path,
    damage: str,
) -> None:
    repository, path = others(), tmp_path / "bad.zip"
    BAD_ARCHIVES[damage](path, members_of(archive))
    before = {file for file in tmp_path.rglob("*") if "other1" not in file.parts}
    with pytest.raises(VenturiError) as caught:
        import_archive(repository, path)
    assert caught.value.code == "VEN-EXCHANGE-FORMAT"
    assert caught.value.where["file"] == str(path)
    assert {file for file in tmp_path.rglob("*") if "other1" not in file.parts} == before


@pytest.mark.parametrize(
    "limits",
    [
        ArchiveLimits(members=3),
        ArchiveLimits(total_bytes=1000),
        ArchiveLimits(free_bytes=0, manifest_times=0),
        ArchiveLimits(free_bytes=0, manifest_line_bytes=0),
        ArchiveLimits(free_bytes=0, records_times=0),
    ],
)
def test_limits_are_kept(
    others: Callable[[], TrialRepository], archive: Path, limits: ArchiveLimits
) -> None:
    repository = others()
    with pytest.raises(VenturiError) as caught:
        import_archive(repository, archive, limits=limits)
    assert caught.value.code == "VEN-EXCHANGE-FORMAT"
    assert whole_trials(repository) == []


def test_the_directory_of_an_archive_is_not_read_if_it_is_too_big(
    others: Callable[[], TrialRepository], tmp_path: Path
) -> None:
    path = tmp_path / "many.zip"
    with zipfile.ZipFile(path, "w") as many:
        for number in range(30_000):
            many.writestr(zipfile.ZipInfo(str(number)), b"")
    with pytest.raises(VenturiError, match=r"its directory has \d{7} bytes") as caught:
        import_archive(others(), path, limits=ArchiveLimits(members=10))
    assert caught.value.code == "VEN-EXCHANGE-FORMAT"


def test_a_manifest_that_unpacks_to_more_than_digests_do_is_not_read(
    others: Callable[[], TrialRepository], archive: Path, tmp_path: Path
) -> None:
    manifest = json.loads(members_of(archive)[MANIFEST])
    manifest["trials"] += [{"id": "x", "sha256": "0" * 64}] * 300_000
    path = tmp_path / "wide.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wide:
        for name, data in members_of(archive).items():
            wide.writestr(name, json.dumps(manifest) if name == MANIFEST else data)
    assert path.stat().st_size < 200_000
    with pytest.raises(VenturiError, match=r"manifest\.json unpacks to \d{8} bytes") as caught:
        import_archive(others(), path)
    assert caught.value.code == "VEN-EXCHANGE-FORMAT"


def test_nobody_waits_while_an_archive_is_read(
    others: Callable[[], TrialRepository], archive: Path
) -> None:
    """Only the storing of a trial that was read and checked is done one after the other."""
    repository, stored = others(), []
    progress: list[int] = []

    class Storing:
        def __enter__(self) -> None:
            stored.append(len(whole_trials(repository)))

        def __exit__(self, *_: object) -> None:
            stored.append(len(whole_trials(repository)))

    bad = with_record(members_of(archive), 1, b"{", sign=True)
    path = write(archive.with_name("bad.zip"), bad)
    import_archive(repository, path, storing=Storing(), progress=lambda n, _: progress.append(n))
    assert stored == [0, 1, 1, 2], "the trial that is none was refused outside"
    assert progress == [1, 2, 3]


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        (b'"2026-01-02T03:04:05.678901Z"', b'"0001-01-01T00:00:00+23:59"', "started_at"),
        (b'"2026-01-02T03:04:05.678901Z"', b'"9999-12-31T23:59:59-23:59"', "started_at"),
        (b'"elapsed_s":1.5', b'"elapsed_s":-5', "elapsed_s"),
        (b'"terasort"', b'"tera\\u0000sort"', "workload.name"),
        (b'"terasort"', b'"' + b"n" * 1_000_000 + b'"', "workload.name"),
        (
            b'"threads":2',
            b",".join(b'"k%d":1' % number for number in range(100_000)),
            "configuration",
        ),
    ],
    ids=["year 1", "year 9999", "negative time", "NUL", "1 MB", "100,000 keys"],
)
def test_what_readers_cannot_bear_is_refused_by_itself(
    repository: TrialRepository, archive: Path, tmp_path: Path, old: bytes, new: bytes, field: str
) -> None:
    path = write(tmp_path / "bad.zip", swapped(members_of(archive), old, new))
    report = import_archive(repository, path)
    assert added(report) == ("trial0", "trial2")
    (refusal,) = report.refused
    assert (refusal.line, refusal.value, refusal.code) == (2, "trial1", "VEN-RECORD-LIMIT")
    assert refusal.reason.startswith(f"{field} is ")
    assert len(refusal.reason) < 300
    assert not (repository.artifacts_dir / "trial1" / "run.log").exists()


def series_of(rows: int, **columns: pl.Expr) -> bytes:
    """A series of equal rows, but for `columns`."""
    plain = {"t_s": 1.0, "metric": "m", "device": "d", "value": 1.0, "unit": "B"}
    frame = pl.DataFrame({"row": pl.int_range(rows, eager=True)})
    made = frame.select(**{name: pl.lit(value) for name, value in plain.items()} | columns)
    file = io.BytesIO()
    made.select(pl.all()).write_parquet(file, compression="zstd")
    return file.getvalue()


EQUAL = {"t_s": pl.when(pl.col("row") < 0).then(0.0).otherwise(1.0)}


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        (lambda: series_of(10, **EQUAL), None, ""),
        (lambda: series_of(1_001, **EQUAL), "VEN-RECORD-LIMIT", "1,001 rows, more than 1,000"),
        (
            lambda: series_of(10, t_s=pl.col("row").cast(pl.String)),
            "VEN-RECORD-ARTIFACT",
            "column t_s is missing",
        ),
        (
            lambda: series_of(10, value=pl.concat_list("row").cast(pl.List(pl.Float64))),
            "VEN-RECORD-ARTIFACT",
            "column value is missing",
        ),
        (lambda: b"PAR1" * 10, "VEN-RECORD-ARTIFACT", "not a readable table"),
        (
            lambda: series_of(10, metric=pl.lit("m" * 201)),
            "VEN-RECORD-LIMIT",
            "metric is 201 characters, more than 200",
        ),
    ],
    ids=["sound", "too many rows", "another type", "nested", "no Parquet", "a long text"],
)
def test_the_end_of_a_series_says_whether_it_can_be_read(
    others: Callable[[], TrialRepository],
    settings: Settings,
    make_trial: MakeTrial,
    tmp_path: Path,
    content: Callable[[], bytes],
    code: str | None,
    said: str,
) -> None:
    source = others()
    trial = make_trial(id="a", state=State.SUCCEEDED, elapsed_s=1.0)
    artifact = source.attach(trial, "other", "host.parquet", content()).artifacts[0]
    trial = replace(trial, artifacts=(replace(artifact, kind="series"),))
    source.add(trial)
    export_trials(source, [trial], tmp_path / "a.zip")
    limits = replace(settings.limits, series_rows=1_000)
    with TrialRepository.open(replace(settings, limits=limits)) as repository:
        report = import_archive(repository, tmp_path / "a.zip")
        assert [refusal.code for refusal in report.refused] == ([code] if code else [])
        assert all(said in refusal.reason for refusal in report.refused)
        assert report.added == (code is None)
        kept = list((repository.artifacts_dir / "a").glob("*"))
        assert len(kept) == report.added, "nothing of a refused series stays"


def test_another_trial_with_the_same_id_is_refused(
    repository: TrialRepository, archive: Path, make_trial: MakeTrial
) -> None:
    mine = finished(repository, make_trial(id="trial1", experiment="mine"), b"mine")
    report = import_archive(repository, archive)
    assert [(r.value, r.code) for r in report.refused] == [("trial1", "VEN-RECORD-DUPLICATE")]
    assert repository.get("trial1") == mine
    assert repository.artifact_path(mine.artifacts[0]).read_bytes() == b"mine"


def test_an_id_that_begins_another_is_its_own(
    repository: TrialRepository, archive: Path, make_trial: MakeTrial
) -> None:
    finished(repository, make_trial(id="trial12"))
    assert added(import_archive(repository, archive)) == ("trial0", "trial1", "trial2")


def test_the_same_record_by_its_text(archive: Path, make_trial: MakeTrial) -> None:
    """The archive's lines are the records themselves: other tools can read them."""
    members = members_of(archive)
    line = members[RECORDS].splitlines()[0].decode()
    assert json.loads(line)["id"] == "trial0"
    assert encode(make_trial(id=new_id())).count("\n") == 0


def test_what_a_killed_import_had_begun_to_write_is_removed_and_nothing_else(
    others: Callable[[], TrialRepository], archive: Path, tmp_path: Path
) -> None:
    repository = others()
    folder = repository.artifacts_dir / "trial9"
    folder.mkdir(parents=True)
    half, own, whole = (folder / f".a.{n}.part" for n in ("7", "1", "part"))
    kept = folder / "a.log"
    for path in (half, own, whole, kept):
        path.write_bytes(b"half")
    with replacing(folder / "written") as file:
        file.write(b"still written")
        file.flush()
        written = Path(file.name)
        import_file(repository, "archive", archive)
        assert {path.name for path in folder.iterdir()} == {"a.log", written.name}
    assert (folder / "written").read_bytes() == b"still written"
