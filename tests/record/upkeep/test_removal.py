"""Trials are deleted for good, with their files, on record, and do not come back by themselves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from planted import OVERFLOWING, add_overflowing
from venturi.core.errors import VenturiError
from venturi.core.settings import Settings
from venturi.record.access import exclusions
from venturi.record.access.authors import Author
from venturi.record.importing.exchange import export_trials, import_archive
from venturi.record.query import paging
from venturi.record.query.conditions import parse_condition
from venturi.record.query.selection import Query
from venturi.record.store.repository import AddReport, TrialRepository
from venturi.record.store.tables import CONFIGURATION, RECORDS, TRIALS
from venturi.record.trial import State, Trial
from venturi.record.upkeep import removal
from venturi.record.upkeep.check import check
from venturi.record.upkeep.findings import FindingKind

MakeTrial = Callable[..., Trial]
ANN = Author("ann", "login")


def ended(repository: TrialRepository, trial: Trial) -> Trial:
    trial = repository.attach(trial, "log", "its.log", b"what it said")
    trial = replace(trial, state=State.SUCCEEDED, elapsed_s=3.0)
    repository.add(trial)
    return trial


def remove(repository: TrialRepository, *texts: str) -> tuple[removal.Removal, Sequence[str]]:
    conditions = [parse_condition(text) for text in texts]
    done, found = removal.remove(repository, conditions, texts, ANN, "for a test")
    assert done is not None
    assert done.trials == found.ids
    return done, found.ids


def ids(repository: TrialRepository) -> set[str]:
    return {row.id for row in paging.rows(repository, Query(with_excluded=True)).rows}


def test_a_dry_run_counts_and_changes_nothing(
    repository: TrialRepository, make_trial: MakeTrial
) -> None:
    gone, kept = ended(repository, make_trial(experiment="old")), ended(repository, make_trial())
    running = make_trial(experiment="old", state=State.EXECUTING)
    repository.add(running)
    found = removal.removable(repository, [parse_condition("experiment=old")])
    assert (found.ids, found.unfinished) == ((gone.id,), (running.id,))
    assert found.artifact_bytes == gone.artifacts[0].size_bytes
    with repository.reading() as connection:
        stored = sa.select(RECORDS.c.record).where(RECORDS.c.id == gone.id)
        assert found.record_bytes == len(connection.execute(stored).scalar_one())
    assert ids(repository) == {gone.id, kept.id, running.id}
    assert removal.find(repository) == ()


def test_trials_go_with_rows_and_files_and_it_stays_on_record(
    repository: TrialRepository, make_trial: MakeTrial
) -> None:
    gone = [ended(repository, make_trial(experiment="old")) for _ in range(3)]
    kept = ended(repository, make_trial())
    exclusions.add(repository, [f"id={gone[0].id}"], "Ada", "left out, and removed all the same")
    done, removed = remove(repository, "experiment=old", "threads=2")
    assert sorted(removed) == sorted(each.id for each in gone)
    assert ids(repository) == {kept.id}
    with repository.reading() as connection:
        for table, most in ((RECORDS, 1), (TRIALS, 1), (CONFIGURATION, 2)):
            count = sa.select(sa.func.count()).select_from(table)
            assert connection.execute(count).scalar_one() == most
    assert [path.name for path in repository.artifacts_dir.iterdir()] == [kept.id]
    assert check(repository).findings == ()
    assert removal.find(repository) == (done,)
    assert done.conditions == ("experiment=old", "threads=2")
    assert (done.author, done.reason) == (ANN, "for a test")


def test_what_was_removed_is_not_taken_in_again_until_it_is_readmitted(
    repository: TrialRepository, make_trial: MakeTrial, tmp_path: Path
) -> None:
    gone, kept = ended(repository, make_trial(experiment="old")), ended(repository, make_trial())
    archive = tmp_path / "both.zip"
    export_trials(repository, [gone, kept], archive)
    done, _ = remove(repository, "experiment=old")
    report = import_archive(repository, archive)
    assert (report.added, report.already_present) == (0, 1)
    (refusal,) = report.refused
    assert refusal.code == "VEN-RECORD-REMOVED"
    assert "for a test" in refusal.reason
    assert not (repository.artifacts_dir / gone.id).exists()
    assert repository.add_many([gone, kept, make_trial()]) == AddReport(1, 1, 1)
    with pytest.raises(VenturiError, match="ann: for a test") as caught:
        repository.add(gone)
    assert caught.value.code == "VEN-RECORD-REMOVED"
    assert f"venturi repository readmit {done.id}" in caught.value.hint
    removal.readmit(repository, done.id, ANN)
    assert import_archive(repository, archive).added == 1
    assert repository.get(gone.id) == gone
    assert check(repository).findings == ()
    (told,) = removal.find(repository)
    assert told.readmitted_by == ANN
    with pytest.raises(VenturiError, match="no removal"):
        removal.readmit(repository, "none", ANN)
    remove(repository, f"id={gone.id}")
    assert import_archive(repository, archive).added == 0


def test_a_trial_that_cannot_be_read_can_be_removed(
    repository: TrialRepository, make_trial: MakeTrial
) -> None:
    bad = make_trial()
    add_overflowing(repository, bad, OVERFLOWING[0])
    with repository.writing() as connection:
        ended_rows = sa.update(TRIALS).values(state="failed")
        connection.execute(ended_rows)
    remove(repository, f"id={bad.id}")
    assert ids(repository) == set()


@pytest.mark.parametrize("reason", ["", "  ", "two\nlines", "x" * 1001])
def test_a_removal_needs_a_reason(
    repository: TrialRepository, make_trial: MakeTrial, reason: str
) -> None:
    trial = ended(repository, make_trial())
    with pytest.raises(VenturiError, match="one line") as caught:
        removal.remove(repository, [parse_condition("threads=2")], ["threads=2"], ANN, reason)
    assert caught.value.code == "VEN-REMOVAL-VALUE"
    assert ids(repository) == {trial.id}


KILLED = """
import os, shutil, signal, sys
from pathlib import Path
from venturi.record.access.authors import Author
from venturi.record.query.conditions import parse_condition
from venturi.record.store.repository import TrialRepository
from venturi.record.upkeep import removal
from venturi.core.settings import Settings

def killed(path, *_):
    os.kill(os.getpid(), signal.SIGKILL)

shutil.rmtree = killed
settings = Settings(Path(sys.argv[1]), sys.argv[2] or None, None, allow_debug=False)
with TrialRepository.open(settings) as repository:
    removal.remove(
        repository, [parse_condition("experiment=old")], ["experiment=old"],
        Author("ann", "login"), "killed",
    )
"""


def test_what_a_kill_leaves_of_a_removal_the_check_finds(
    repository: TrialRepository, repository_settings: Settings, make_trial: MakeTrial
) -> None:
    gone, kept = ended(repository, make_trial(experiment="old")), ended(repository, make_trial())
    home, url = repository_settings.home, repository_settings.database_url
    ended_by = subprocess.run(
        [sys.executable, "-c", KILLED, home, url or ""],
        check=False,
        timeout=60,
        env={"PATH": os.environ["PATH"]},
    ).returncode
    assert ended_by == -signal.SIGKILL
    assert ids(repository) == {kept.id}
    assert [each.reason for each in removal.find(repository)] == ["killed"]
    left = [(each.kind, each.subject) for each in check(repository, mend=True).findings]
    assert left == [(FindingKind.LEFTOVER, str(repository.artifacts_dir / gone.id / "its.log"))]
    assert check(repository).findings == ()
    assert repository.artifact_path(kept.artifacts[0]).is_file()


def test_files_that_a_killed_removal_left_are_ours_and_removed(
    repository: TrialRepository, make_trial: MakeTrial
) -> None:
    trial = ended(repository, make_trial())
    left = repository.artifact_path(trial.artifacts[0])
    remove(repository, f"id={trial.id}")
    left.parent.mkdir()
    left.write_bytes(b"what it said")
    (finding,) = check(repository, mend=True).findings
    assert (finding.kind, finding.mended) == (FindingKind.LEFTOVER, True)
    assert finding.message == f"trial {trial.id} was removed"
    assert not left.parent.exists()
