"""A backup is a consistent snapshot of a repository, and is restored completely or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import random
import stat
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from fork_server import Forked, ForkServer
from planted import OVERFLOWING, add_overflowing
from venturi.core.errors import VenturiError
from venturi.core.settings import Settings
from venturi.record.access import exclusions, tokens, views
from venturi.record.access.authors import Author
from venturi.record.access.owner import current_owner
from venturi.record.query import paging
from venturi.record.query.conditions import parse_condition
from venturi.record.store.repository import TrialRepository
from venturi.record.store.tables import SESSIONS
from venturi.record.trial import State, Trial
from venturi.record.upkeep import quarantine, removal
from venturi.record.upkeep.backup import COPIED, back_up, restore
from venturi.record.upkeep.check import check

MakeTrial = Callable[..., Trial]
ANN = Author("ann", "login")
SEED = 20261122


@pytest.fixture
def emptied(
    request: pytest.FixtureRequest, tmp_path: Path, repository_settings: Settings
) -> Iterator[TrialRepository]:
    """An empty repository to restore into: on the other kind of database."""
    url = None
    if repository_settings.database_url is None:
        url = request.getfixturevalue("postgresql").new_repository()
    settings = replace(repository_settings, home=tmp_path / "other", database_url=url)
    with TrialRepository.open(settings) as opened:
        yield opened


def ended(repository: TrialRepository, trial: Trial, content: bytes = b"what it said") -> Trial:
    trial = repository.attach(trial, "log", "its.log", content)
    trial = replace(trial, state=State.SUCCEEDED, elapsed_s=3.0)
    repository.add(trial)
    return trial


def trials_in(repository: TrialRepository) -> dict[str, Trial]:
    return {trial.id: trial for trial in paging.whole_trials(repository)}


def rows_in(repository: TrialRepository) -> dict[str, list[dict[str, object]]]:
    with repository.reading() as connection:
        return {
            table.name: [
                dict(row)
                for row in connection.execute(
                    sa.select(table).order_by(*table.primary_key.columns)
                ).mappings()
            ]
            for table in COPIED
        }


def fill(repository: TrialRepository, make_trial: MakeTrial) -> list[Trial]:
    """Something of everything."""
    trials = [ended(repository, make_trial(), bytes([n]) * n * 1000) for n in range(1, 4)]
    exclusions.add(repository, ["workload=terasort"], "Ada", "because")
    views.save(repository, "mine", "/trials?where=threads%3D2", "Ada")
    tokens.add(repository, "ci", "write", ANN)
    gone = ended(repository, make_trial(experiment="old"))
    conditions = [parse_condition(f"id={gone.id}")]
    removal.remove(repository, conditions, [f"id={gone.id}"], ANN, "old")
    bad = repository.attach(make_trial(), "log", "its.log", b"its log")
    add_overflowing(repository, bad, OVERFLOWING[1])
    check(repository, mend=True)
    return trials


def test_all_of_it_comes_back_on_the_other_database(
    repository: TrialRepository, emptied: TrialRepository, make_trial: MakeTrial, tmp_path: Path
) -> None:
    fill(repository, make_trial)
    file = tmp_path / "whole.backup"
    copied = back_up(repository, file)
    assert (copied.trials, copied.artifacts, copied.damaged, copied.missing) == (3, 4, (), ())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    restored = restore(emptied, file, keep_tokens=True)
    assert (restored.trials, restored.artifacts) == (3, 4)
    assert (restored.interrupted, restored.quarantined) == (0, 0)
    before, after = rows_in(repository), rows_in(emptied)
    assert before == after
    assert all(
        before[name]
        for name in (
            "records",
            "exclusions",
            "views",
            "tokens",
            "removals",
            "removed",
            "quarantine",
        )
    )
    report = check(emptied)
    assert report.findings == ()
    assert report.artifacts == 3
    for path in repository.artifacts_dir.rglob("*.log"):
        there = emptied.artifacts_dir / path.relative_to(repository.artifacts_dir)
        assert there.read_bytes() == path.read_bytes()
        assert stat.S_IMODE(there.stat().st_mode) == 0o600
    # And back to the kind of database that it came from, from there.
    again = tmp_path / "again.backup"
    assert back_up(emptied, again).trials == 3


def test_tokens_come_back_revoked_unless_they_are_kept(
    repository: TrialRepository, emptied: TrialRepository, tmp_path: Path
) -> None:
    file = tmp_path / "whole.backup"
    _, secret = tokens.add(repository, "ci", "write", ANN)
    tokens.add(repository, "old", "read", ANN)
    gone = tokens.revoke(repository, "old")
    back_up(repository, file)
    tokens.revoke(repository, "ci")
    assert restore(emptied, file).revoked == 1
    found = tokens.holder(emptied, secret)
    assert found is not None
    assert found.revoked_at is not None
    assert not tokens.in_force(emptied)
    assert gone in tokens.find(emptied)


def test_every_table_is_copied_or_derived() -> None:
    names = {table.name for table in COPIED}
    assert SESSIONS.name not in names
    assert names == {
        "records",
        "exclusions",
        "views",
        "quarantine",
        "removals",
        "removed",
        "tokens",
        "actions",
    }


def test_only_an_empty_repository_is_filled(
    repository: TrialRepository, emptied: TrialRepository, make_trial: MakeTrial, tmp_path: Path
) -> None:
    fill(repository, make_trial)
    file = tmp_path / "whole.backup"
    back_up(repository, file)
    before = rows_in(repository)
    with pytest.raises(VenturiError) as caught:
        restore(repository, file)
    assert caught.value.code == "VEN-REPOSITORY-NOT-EMPTY"
    assert rows_in(repository) == before
    (emptied.artifacts_dir / "01LEFTBEHIND").mkdir(parents=True)
    with pytest.raises(VenturiError, match="no trial is recorded") as caught:
        restore(emptied, file)
    assert caught.value.code == "VEN-REPOSITORY-NOT-EMPTY"
    assert check(emptied, mend=True).whole
    views.save(emptied, "mine", "/trials", "Ada")
    with pytest.raises(VenturiError, match="views"):
        restore(emptied, file)


def test_what_was_at_work_is_interrupted_and_what_cannot_be_read_set_aside(
    repository: TrialRepository, emptied: TrialRepository, make_trial: MakeTrial, tmp_path: Path
) -> None:
    running = make_trial(state=State.EXECUTING, owner=current_owner())
    planned, bad = make_trial(), make_trial()
    bad = repository.attach(bad, "log", "its.log", b"its log")
    repository.add_many([running, planned])
    add_overflowing(repository, bad, OVERFLOWING[0])
    file = tmp_path / "running.backup"
    assert back_up(repository, file).artifacts == 1
    restored = restore(emptied, file)
    assert (restored.trials, restored.interrupted, restored.quarantined) == (2, 1, 1)
    found = trials_in(emptied)
    assert found[running.id].state is State.INTERRUPTED
    assert found[planned.id] == planned
    (kept,) = quarantine.find(emptied)
    assert (kept.subject, kept.content[:1]) == (bad.id, "{")
    assert emptied.artifact_path(bad.artifacts[0]).read_bytes() == b"its log"
    assert check(emptied).findings == ()


def test_what_an_older_version_let_in_is_restored_as_the_door_has_it(
    repository: TrialRepository,
    emptied: TrialRepository,
    make_trial: MakeTrial,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """SQLite held names with NUL, which no PostgreSQL holds, and every number."""
    sound = ended(repository, make_trial())
    if repository_is_lite(repository):
        old = make_trial(
            state=State.SUCCEEDED, elapsed_s=1.0, experiment="a\0b", configuration={"k\0": "v\0w"}
        )
        hopeless = replace(old, id="hopeless", repetition=-1)
        with monkeypatch.context() as older:
            older.setattr("venturi.record.store.rows.check", lambda *_: None)
            repository.add(old)
            repository.add(hopeless)
        with repository.writing() as connection:
            connection.exec_driver_sql(
                "INSERT INTO views (name, url, author, created_at_us) VALUES (?, '/', 'A', 0)",
                ("a\0view",),
            )
    file = tmp_path / "a.backup"
    back_up(repository, file)
    told = restore(emptied, file)
    found = trials_in(emptied)
    assert found.pop(sound.id) == sound
    if not repository_is_lite(repository):
        assert (told.trials, found) == (1, {})
        return
    assert (told.trials, told.quarantined) == (2, 1)
    (it,) = found.values()
    assert (it.experiment, dict(it.configuration)) == ("a\ufffdb", {"k\ufffd": "v\ufffdw"})
    assert "experiment is a\\x00b, with the control character U+0000" in it.warnings[-1].message
    (aside,) = quarantine.find(emptied)
    assert (aside.subject, "repetition is -1" in aside.reason) == ("hopeless", True)
    assert [view.name for view in views.find(emptied)] == ["a\u2400view"]


def repository_is_lite(repository: TrialRepository) -> bool:
    with repository.reading() as connection:
        return connection.dialect.name == "sqlite"


def test_damaged_and_missing_artifacts_are_told_and_stay_what_they_were(
    repository: TrialRepository, emptied: TrialRepository, make_trial: MakeTrial, tmp_path: Path
) -> None:
    damaged, missing = (ended(repository, make_trial()) for _ in range(2))
    repository.artifact_path(damaged.artifacts[0]).write_bytes(b"another")
    repository.artifact_path(missing.artifacts[0]).unlink()
    file = tmp_path / "damaged.backup"
    copied = back_up(repository, file)
    assert copied.damaged == (damaged.artifacts[0].path,)
    assert copied.missing == (missing.artifacts[0].path,)
    assert restore(emptied, file).artifacts == 1
    assert emptied.artifact_path(damaged.artifacts[0]).read_bytes() == b"another"


def _rewritten(file: Path, change: Callable[[dict[str, bytes]], None]) -> None:
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def _manifest_with(files: dict[str, bytes], **changes: object) -> None:
    said = json.loads(files["manifest.json"])
    files["manifest.json"] = json.dumps({**said, **changes}).encode()


def _other_byte(members: dict[str, bytes], beginning: str) -> None:
    name = next(each for each in members if each.startswith(beginning))
    members[name] = members[name][:-2] + b"#" + members[name][-1:]


def _signed(members: dict[str, bytes], name: str, content: bytes) -> None:
    """Puts `content` in place of the member `name`, with its right size and digest."""
    members[name] = content
    listed = json.loads(members["manifest.json"])["members"]
    for each in listed:
        if each["name"] == name:
            each |= {"size_bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    _manifest_with(members, members=listed)


# As the name of a column: a statement of its own choice.
_STATEMENT = "name, url, author, created_at_us) SELECT 'v', '/cost', '', 5 --"
DAMAGES: dict[str, Callable[[dict[str, bytes]], None]] = {
    "an artifact": lambda members: _other_byte(members, "artifacts/"),
    "a table": lambda members: _other_byte(members, "tables/records"),
    "a table missing": lambda members: members.__delitem__("tables/views.ndjson"),
    "no manifest": lambda members: members.__delitem__("manifest.json"),
    "another format": lambda members: _manifest_with(members, format="venturi-export"),
    "a newer version": lambda members: _manifest_with(members, version=2),
    "a newer revision": lambda members: _manifest_with(members, revision="9999"),
    "no members": lambda members: _manifest_with(members, members=None),
    "a column that is a statement": lambda members: _signed(
        members, "tables/views.ndjson", json.dumps({_STATEMENT: 1}).encode() + b"\n"
    ),
    "a row that is none": lambda members: _signed(members, "tables/views.ndjson", b"[1]\n"),
    "nested without end": lambda members: _signed(
        members, "tables/views.ndjson", b"[" * 200_000 + b"\n"
    ),
    "outside": lambda members: (
        members.__setitem__("artifacts/../x", b""),
        _manifest_with(
            members,
            members=[
                *json.loads(members["manifest.json"])["members"],
                {"name": "artifacts/../x", "size_bytes": 0, "sha256": ""},
            ],
        ),
    )[0],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_damaged_restores_nothing(
    repository: TrialRepository,
    emptied: TrialRepository,
    make_trial: MakeTrial,
    tmp_path: Path,
    damage: str,
) -> None:
    fill(repository, make_trial)
    file = tmp_path / "damaged.backup"
    back_up(repository, file)
    _rewritten(file, DAMAGES[damage])
    with pytest.raises(VenturiError) as caught:
        restore(emptied, file)
    assert caught.value.code == "VEN-BACKUP-FORMAT"
    assert not any(rows_in(emptied).values())
    home = emptied.artifacts_dir.parent
    assert not emptied.artifacts_dir.exists()
    assert not list(home.glob(".restoring*"))


def test_artifacts_that_unpack_to_more_than_the_file_are_not_unpacked(
    repository: TrialRepository, emptied: TrialRepository, make_trial: MakeTrial, tmp_path: Path
) -> None:
    fill(repository, make_trial)
    file = tmp_path / "bomb.backup"
    back_up(repository, file)
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    _signed(members, next(each for each in members if "artifacts/" in each), bytes(1 << 20))
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(VenturiError, match="more bytes than the file"):
        restore(emptied, file)
    assert not any(rows_in(emptied).values())


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_a_backup_that_was_cut_off_restores_nothing(
    repository: TrialRepository,
    emptied: TrialRepository,
    make_trial: MakeTrial,
    tmp_path: Path,
    share: float,
) -> None:
    fill(repository, make_trial)
    file = tmp_path / "cut.backup"
    back_up(repository, file)
    os.truncate(file, int(file.stat().st_size * share))
    with pytest.raises(VenturiError) as caught:
        restore(emptied, file)
    assert caught.value.code == "VEN-BACKUP-FORMAT"
    assert not any(rows_in(emptied).values())


def test_it_is_one_moment_while_others_write(
    repository: TrialRepository,
    repository_settings: Settings,
    emptied: TrialRepository,
    make_trial: MakeTrial,
    tmp_path: Path,
) -> None:
    trials = [make_trial(repetition=n) for n in range(400)]
    written = threading.Event()

    def write() -> None:
        with TrialRepository.open(repository_settings) as own:
            for number, trial in enumerate(trials):
                ended(own, trial, str(number).encode())
                if number == 20:
                    written.set()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert written.wait(60)
        file = tmp_path / "moment.backup"
        copied = back_up(repository, file)
    finally:
        writer.join()
    assert copied.missing == copied.damaged == ()
    restored = restore(emptied, file)
    assert restored.trials > 20
    found = {trial.repetition for trial in trials_in(emptied).values()}
    assert found == set(range(restored.trials)), "written one after the other"
    assert check(emptied).findings == ()


KILLED = """
import sys
from pathlib import Path
from venturi.record.store.repository import TrialRepository
from venturi.record.upkeep.backup import back_up, restore
from venturi.core.settings import Settings

home, url, file, what = sys.argv[1:]
settings = Settings(Path(home), url or None, None, allow_debug=False)
with TrialRepository.open(settings) as repository:
    print("begins", flush=True)
    if what == "backup":
        back_up(repository, Path(file), overwrite=True)
    else:
        restore(repository, Path(file))
"""


def _killed_after(
    server: ForkServer, settings: Settings, file: Path, what: str, delay_s: float
) -> None:
    arguments = [str(settings.home), settings.database_url or "", str(file), what]
    with Forked(server, arguments, None, dict(os.environ), KILLED) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begins\n"
        time.sleep(delay_s)
        process.kill()


@pytest.mark.slow
def test_a_killed_backup_or_restore_leaves_nothing_half(
    repository: TrialRepository,
    repository_settings: Settings,
    emptied: TrialRepository,
    make_trial: MakeTrial,
    tmp_path: Path,
    fork_server: ForkServer,
) -> None:
    chance = random.Random(SEED)
    for number in range(60):
        ended(repository, make_trial(), bytes([number]) * 200_000)
    whole = rows_in(repository)
    file, target = tmp_path / "whole.backup", tmp_path / "killed" / "target.backup"
    target.parent.mkdir()
    began = time.monotonic()
    back_up(repository, file)
    took_s = time.monotonic() - began
    for _ in range(6):
        target.unlink(missing_ok=True)
        _killed_after(fork_server, repository_settings, target, "backup", chance.uniform(0, took_s))
        if target.exists():
            with zipfile.ZipFile(target) as archive:
                assert archive.testzip() is None
    back_up(repository, target, overwrite=True)
    assert [path.name for path in target.parent.iterdir()] == [target.name]
    other = Settings(
        emptied.artifacts_dir.parent,
        None
        if repository_settings.database_url
        else emptied._database._url.render_as_string(hide_password=False),
        None,
        allow_debug=False,
    )
    for _ in range(6):
        _killed_after(fork_server, other, file, "restore", chance.uniform(0, 2 * took_s))
        rows = rows_in(emptied)
        if any(rows.values()):
            assert rows == whole
            break
        assert check(emptied, mend=True).whole
        assert not emptied.artifacts_dir.exists() or not any(emptied.artifacts_dir.iterdir())
    else:
        restore(emptied, file)
    assert rows_in(emptied) == whole
    assert check(emptied).findings == ()
