"""Old jobs lose their task tables and keep their summary, whatever is killed in between."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from event_log import put
from fork_server import Forked, ForkServer
from job_samples import planned
from venturi.core.errors import VenturiError
from venturi.core.settings import Settings
from venturi.jobs.fleet import answer
from venturi.jobs.fleet.fleet import Fleet
from venturi.jobs.fleet.kept import kept_summary
from venturi.jobs.fleet.retention import DroppedTables, drop_tables, removable_jobs, remove_jobs
from venturi.machines.cost.job_prices import JobPrices
from venturi.record.access.authors import Author
from venturi.record.account_tables import ACCOUNT_NAME, ACCOUNT_TABLES
from venturi.record.dropped_tables import DROPPED, SUMMARY_NAME, tables_dropped
from venturi.record.importing.exchange import export_trials, import_archive
from venturi.record.importing.importer import import_file
from venturi.record.importing.tally import ArrivalKind
from venturi.record.job_account import load
from venturi.record.query.paging import whole_trials
from venturi.record.query.selection import Query
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Provenance, ProvenanceKind, State, Trial
from venturi.record.upkeep import removal
from venturi.record.upkeep.backup import back_up, restore
from venturi.record.upkeep.check import check

LOGS = Path(__file__).parents[2] / "data/spark/4.3.0"
FIRST = Path(__file__).parents[2] / "data/summaries/job-summary.json"
NAMES = ("join.log", "failedjob.log", "tiny.log")
LATER = datetime(2030, 1, 1, tzinfo=UTC)
EARLIER = datetime(2020, 1, 1, tzinfo=UTC)
ANN = Author("ann", "login")


def imported(repository: TrialRepository, *names: str) -> list[Trial]:
    for name in names:
        import_file(repository, "spark-eventlog", LOGS / name)
    return whole_trials(repository)


def keep(repository: TrialRepository, before: datetime = LATER) -> DroppedTables:
    return drop_tables(repository, before, LATER)


def fleet(repository: TrialRepository) -> Fleet:
    return answer.fleet(repository, Query(), JobPrices())


def files_of(repository: TrialRepository, trial: Trial) -> set[str]:
    return {path.name for path in (repository.artifacts_dir / trial.id).iterdir()}


def tables_of(repository: TrialRepository) -> list[Path]:
    return [path for path in repository.artifacts_dir.rglob("*") if path.name in ACCOUNT_TABLES]


def test_old_jobs_lose_their_tables_and_keep_their_row(repository: TrialRepository) -> None:
    trials = imported(repository, *NAMES)
    before, size = fleet(repository), sum(path.stat().st_size for path in tables_of(repository))
    dry = drop_tables(repository, LATER, LATER, dry_run=True)
    assert whole_trials(repository) == trials
    found = keep(repository)
    assert sorted(found.trials) == sorted(each.id for each in trials)
    assert (found.trials, found.freed_bytes) == (dry.trials, dry.freed_bytes)
    assert found.freed_bytes == size
    assert (found.running, found.undated, found.unsummarized) == (0, 0, ())
    for trial in whole_trials(repository):
        assert {each.name for each in trial.artifacts} == {ACCOUNT_NAME, SUMMARY_NAME}
        assert files_of(repository, trial) == {ACCOUNT_NAME, SUMMARY_NAME}
        assert "dropped on 2030-01-01 by `venturi repository keep`" in str(tables_dropped(trial))
        with pytest.raises(VenturiError, match="can't be analyzed again") as caught:
            load(repository, trial)
        assert caught.value.code == DROPPED
        assert "venturi import LOG" in caught.value.hint
    assert fleet(repository) == before
    assert check(repository).findings == ()


def test_a_second_run_does_nothing(repository: TrialRepository) -> None:
    imported(repository, *NAMES)
    keep(repository)
    trials = whole_trials(repository)
    assert keep(repository) == DroppedTables((), 0, 0, 0, 0, ())
    assert whole_trials(repository) == trials


def test_the_summary_has_findings_and_shares(repository: TrialRepository, tmp_path: Path) -> None:
    trial = planned(repository, tmp_path)
    before = fleet(repository)
    keep(repository)
    kept = kept_summary(repository, repository.get(trial.id))
    assert kept is not None
    assert kept.diagnosis is not None
    assert kept.narrowest is not None
    assert kept.diagnosis.findings[0].title == before.jobs[0].finding
    assert sum(kept.narrowest.shares.values()) == pytest.approx(1.0)
    assert kept.counts == {"jobs": 2, "stages": 5, "task_attempts": 11}
    assert kept.elapsed_s == 60.0


def test_young_running_and_measured_jobs_keep_their_tables(
    repository: TrialRepository, tmp_path: Path
) -> None:
    old = planned(repository, tmp_path)
    assert old.started_at is not None
    assert old.elapsed_s is not None
    running = replace(old, id="running", state=State.RUNNING, elapsed_s=None)
    measured = replace(
        old, id="measured", provenance=Provenance(ProvenanceKind.MEASURED, "venturi run")
    )
    for trial in (running, measured):
        artifacts = tuple(
            repository.attach(
                replace(trial, artifacts=()),
                "other",
                each.name,
                repository.artifact_path(each),
            ).artifacts[0]
            for each in old.artifacts
        )
        repository.add(replace(trial, artifacts=artifacts))
    ended = old.started_at + timedelta(seconds=old.elapsed_s)
    assert keep(repository, ended).trials == ()
    found = keep(repository, ended + timedelta(seconds=1))
    assert (found.trials, found.running) == ((old.id,), 1)
    for id_ in ("running", "measured"):
        assert load(repository, repository.get(id_)).tasks.height == 11


def test_importing_the_log_again_restores_the_tables(repository: TrialRepository) -> None:
    (before,) = imported(repository, "join.log")
    rows = load(repository, before).tasks
    keep(repository)
    (arrival,) = import_file(repository, "spark-eventlog", LOGS / "join.log").trials
    assert (arrival.kind, arrival.trial) == (ArrivalKind.UPDATED, before.id)
    assert arrival.note == "its task tables had been dropped"
    (after,) = whole_trials(repository)
    assert (after, tables_dropped(after)) == (before, None)
    assert load(repository, after).tasks.equals(rows)
    assert check(repository).findings == ()
    (again,) = import_file(repository, "spark-eventlog", LOGS / "join.log").trials
    assert again.kind is ArrivalKind.PRESENT


def test_a_cut_log_does_not_replace_the_summary_of_the_whole_one(
    repository: TrialRepository, tmp_path: Path
) -> None:
    imported(repository, "join.log")
    keep(repository)
    trials = whole_trials(repository)
    half = (LOGS / "join.log").read_bytes().splitlines(keepends=True)[:40]
    cut = put(tmp_path / "join.log", b"".join(half), ago_s=86_400)
    (arrival,) = import_file(repository, "spark-eventlog", cut).trials
    assert arrival.kind is ArrivalKind.OLDER
    assert whole_trials(repository) == trials


KILLED = """
import os, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from venturi.core.settings import Settings
from venturi.jobs.fleet import retention
from venturi.record.store.repository import TrialRepository

home, url, step, number = sys.argv[1:]
left = int(number)
def kill_at(function):
    def call(*arguments):
        global left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments)
    return call

owner = TrialRepository if step in ("attach", "supersede") else retention
setattr(owner, step, kill_at(getattr(owner, step)))
settings = Settings(Path(home), url or None, None, allow_debug=False)
later = datetime(2030, 1, 1, tzinfo=UTC)
with TrialRepository.open(settings) as repository:
    retention.drop_tables(repository, later, later)
"""


@pytest.mark.parametrize("step", ["attach", "supersede", "forget_answers", "remove_tables"])
def test_a_killed_run_leaves_whole_jobs_and_the_next_one_completes(
    repository: TrialRepository,
    repository_settings: Settings,
    fork_server: ForkServer,
    step: str,
) -> None:
    imported(repository, *NAMES)
    before = fleet(repository)
    settings = (str(repository_settings.home), repository_settings.database_url or "")
    with Forked(fork_server, [*settings, step, "2"], None, dict(os.environ), KILLED) as process:
        assert process.wait(100) == -signal.SIGKILL
    dropped = []
    for trial in whole_trials(repository):
        if tables_dropped(trial) is None:
            assert load(repository, trial).tasks.height
        else:
            dropped.append(trial)
            assert kept_summary(repository, trial) is not None
    assert len(dropped) == (1 if step in {"attach", "supersede"} else 2)
    assert fleet(repository) == before
    found = keep(repository)
    assert len(found.trials) == 3 - len(dropped)
    assert bool(found.leftover_bytes) == (len(dropped) == 2)
    assert tables_of(repository) == []
    assert fleet(repository) == before
    assert check(repository).findings == ()
    assert keep(repository) == DroppedTables((), 0, 0, 0, 0, ())


def test_a_job_without_a_readable_account_stays_as_it_is(repository: TrialRepository) -> None:
    trials = imported(repository, "join.log", "tiny.log")
    damaged = repository.artifacts_dir / trials[0].id / "tasks.parquet"
    damaged.write_bytes(b"no table")
    found = keep(repository)
    assert found.trials == (trials[1].id,)
    ((unsummarized),) = found.unsummarized
    assert unsummarized.trial == trials[0].id
    assert "cannot be read" in unsummarized.reason
    assert repository.get(trials[0].id) == trials[0]
    assert damaged.exists()


def test_a_missing_summary_is_an_error_with_the_remedy(repository: TrialRepository) -> None:
    imported(repository, "join.log")
    keep(repository)
    (trial,) = whole_trials(repository)
    (repository.artifacts_dir / trial.id / SUMMARY_NAME).write_bytes(b"{")
    with pytest.raises(VenturiError, match="summary kept with trial") as caught:
        kept_summary(repository, trial)
    assert (caught.value.code, caught.value.hint) == ("VEN-RECORD-ARTIFACT", "import its log again")


def test_jobs_beyond_the_age_of_summaries_are_removed_on_record(
    repository: TrialRepository, tmp_path: Path
) -> None:
    old = planned(repository, tmp_path)
    (young,) = [each for each in imported(repository, "join.log") if each.id != old.id]
    assert young.started_at is not None
    keep(repository)
    assert removable_jobs(repository, young.started_at).ids == (old.id,)
    assert remove_jobs(repository, EARLIER, ANN, "too old").ids == ()
    assert removal.find(repository) == ()
    found = remove_jobs(repository, young.started_at, ANN, "too old")
    assert found.ids == (old.id,)
    assert [each.id for each in whole_trials(repository)] == [young.id]
    (made,) = removal.find(repository)
    assert (made.trials, made.reason) == ((old.id,), "too old")
    assert made.conditions[0].startswith("imported jobs that ended before 20")
    assert not (repository.artifacts_dir / old.id).exists()
    assert check(repository).findings == ()


@pytest.fixture
def other(tmp_path: Path) -> TrialRepository:
    """A second repository."""
    return TrialRepository.open(Settings(tmp_path / "other", None, None, allow_debug=False))


def test_an_archive_of_a_job_without_tables_can_be_imported(
    repository: TrialRepository, other: TrialRepository, tmp_path: Path
) -> None:
    full, bare = tmp_path / "full.zip", tmp_path / "bare.zip"
    export_trials(repository, imported(repository, "join.log"), full)
    keep(repository)
    trials = whole_trials(repository)
    export_trials(repository, trials, bare)
    with other:
        assert import_archive(other, bare).added == 1
        assert whole_trials(other) == trials
        assert fleet(other) == fleet(repository)
        assert check(other).findings == ()
        uploaded = import_archive(other, full, by=ANN)
        assert (uploaded.already_present, uploaded.refused) == (1, ())
        assert whole_trials(other) == trials


def test_an_archive_from_before_restores_the_tables(
    repository: TrialRepository, tmp_path: Path
) -> None:
    full, bare = tmp_path / "full.zip", tmp_path / "bare.zip"
    (before,) = imported(repository, "join.log")
    export_trials(repository, [before], full)
    keep(repository)
    export_trials(repository, whole_trials(repository), bare)
    assert import_archive(repository, full).updated == 1
    assert whole_trials(repository) == [before]
    assert load(repository, before).tasks.height == 18
    assert import_archive(repository, bare).already_present == 1
    assert whole_trials(repository) == [before]
    assert check(repository).findings == ()


def test_a_backup_has_the_summaries(
    repository: TrialRepository, other: TrialRepository, tmp_path: Path
) -> None:
    imported(repository, *NAMES)
    keep(repository)
    copied = back_up(repository, tmp_path / "whole.backup")
    assert (copied.trials, copied.missing, copied.damaged) == (3, (), ())
    with other:
        restore(other, tmp_path / "whole.backup")
        assert fleet(other) == fleet(repository)
        assert check(other).findings == ()


def test_a_summary_of_the_first_version_can_be_read(
    repository: TrialRepository, tmp_path: Path
) -> None:
    planned(repository, tmp_path)
    keep(repository)
    (trial,) = whole_trials(repository)
    stored = FIRST.read_bytes()
    (repository.artifacts_dir / trial.id / SUMMARY_NAME).write_bytes(stored)
    kept = kept_summary(repository, trial)
    assert kept is not None
    assert kept.diagnosis is not None
    written = json.loads(stored)
    assert kept.row.finding == written["row"]["finding"]
    assert kept.diagnosis.sentence == written["diagnosis"]["sentence"]
