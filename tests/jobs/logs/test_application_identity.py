"""One application attempt is one trial, however often its growing log is imported."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from event_log import put
from venturi.cli.results.follow import follow
from venturi.core.errors import VenturiError
from venturi.core.settings import Settings
from venturi.jobs.logs import spark
from venturi.jobs.logs import trial as storing
from venturi.jobs.logs.find import spark_logs
from venturi.jobs.logs.trial import trial_of
from venturi.record.access.authors import Author
from venturi.record.account_tables import ACCOUNT_NAME
from venturi.record.importing.formats import FORMATS
from venturi.record.importing.identity import text_id_of
from venturi.record.importing.importer import import_file
from venturi.record.importing.tally import Arrival, ArrivalKind
from venturi.record.job_account import attach, load
from venturi.record.query.conditions import Condition
from venturi.record.query.paging import whole_trials
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Engine, State, Trial
from venturi.record.upkeep.check import check
from venturi.record.upkeep.removal import remove

DATA = Path(__file__).parents[2] / "data"
LOG = DATA / "spark/4.3.0/join.log"
LINES = LOG.read_bytes().splitlines(keepends=True)
HISTORY = min((DATA / "mapreduce/3.4.2").glob("*.jhist"))
ROLLING = "eventlog_v2_local-1795206808966"


def imported(repository: TrialRepository, path: Path, format_: str = "spark-eventlog") -> Arrival:
    (arrival,) = import_file(repository, format_, path).trials
    return arrival


def beginning(lines: int) -> bytes:
    return b"".join(LINES[:lines])


def the_trial(repository: TrialRepository) -> Trial:
    (trial,) = whole_trials(repository)
    return trial


def stored_by_0_1_0(repository: TrialRepository, path: Path) -> Trial:
    """The trial that Venturi up to 0.1.0 made of a log: its id depends on the text."""
    account = spark.read(*spark_logs(path))
    trial = trial_of(account)
    id_ = text_id_of("spark-eventlog", account.application, account.reading)
    return repository.add(attach(repository, replace(trial, id=id_), account))


def test_a_growing_log_is_one_trial_at_every_import(
    repository_settings: Settings, tmp_path: Path
) -> None:
    steps = [round(len(LINES) * n / 10) for n in range(1, 11)]
    named = next(n for n, line in enumerate(LINES, 1) if b'ApplicationStart"' in line)
    ids, states = set(), []
    with TrialRepository.open(repository_settings, labels={"team": "etl"}) as repository:
        for lines in range(1, named):
            report = import_file(
                repository, "spark-eventlog", put(tmp_path / "app-1.inprogress", beginning(lines))
            )
            assert (report.waiting, report.sound, report.kept) == (1, True, 0)
        for lines in steps:
            log = put(tmp_path / "app-1.inprogress", beginning(lines))
            ids |= {imported(repository, log).trial for _ in range(2)}
            states.append(the_trial(repository).state)
        log = log.rename(tmp_path / "app-1")
        assert imported(repository, log).kind is ArrivalKind.PRESENT
        trial = the_trial(repository)
        assert ids == {trial.id}
        assert states == [State.RUNNING] * 9 + [State.SUCCEEDED]
        assert trial.labels == {"team": "etl"}
        assert len(load(repository, trial).tasks) == 18
        assert check(repository).findings == ()


def test_watching_gives_the_trials_of_repeated_imports(
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("VENTURI_HOME", str(settings.home))
    folder = tmp_path / "logs"
    folder.mkdir()
    sizes = iter((20, 30, 40, 58))
    seen = []

    class StoppedError(Exception):
        pass

    def pause(_: float) -> None:
        with TrialRepository.open(settings) as repository:
            watched = [(each.id, each.state) for each in whole_trials(repository)]
        other = replace(settings, home=tmp_path / "other")
        with TrialRepository.open(other) as repository:
            for log in folder.iterdir():
                imported(repository, log)
            assert watched == [(each.id, each.state) for each in whole_trials(repository)]
        seen.append(watched)
        lines = next(sizes, None)
        if lines is None:
            raise StoppedError
        put(folder / "app-1.inprogress", beginning(lines), ago_s=60 + lines)
        if lines == len(LINES):
            (folder / "app-1.inprogress").rename(folder / "app-1")

    with pytest.raises(StoppedError):
        follow(FORMATS["spark-eventlog"], [str(folder)], 10.0, pause)
    states = [state for each in seen for _, state in each]
    assert states == [State.RUNNING] * 3 + [State.SUCCEEDED]
    assert len({id_ for each in seen for id_, _ in each}) == 1
    assert capsys.readouterr().out.count("updated") == 1, "progress isn't printed, the end is"


def test_a_log_that_is_no_longer_written_is_of_an_interrupted_application(
    settings: Settings, tmp_path: Path
) -> None:
    name = tmp_path / "app-1.inprogress"
    with TrialRepository.open(settings) as repository:
        imported(repository, put(name, beginning(30)))
        assert the_trial(repository).state is State.RUNNING
        assert imported(repository, put(name, beginning(30), 3_601)).kind is ArrivalKind.UPDATED
        assert the_trial(repository).state is State.INTERRUPTED
        assert imported(repository, put(name, beginning(30), 3_601)).kind is ArrivalKind.PRESENT
        assert imported(repository, put(name, beginning(40))).kind is ArrivalKind.UPDATED
        assert the_trial(repository).state is State.RUNNING


@pytest.mark.parametrize("name", ["app-1", "app-1.inprogress.gz"])
def test_a_new_copy_of_an_old_log_is_not_running(
    name: str, settings: Settings, tmp_path: Path
) -> None:
    content = beginning(30)
    log = put(tmp_path / name, gzip.compress(content) if name.endswith("gz") else content)
    with TrialRepository.open(settings) as repository:
        imported(repository, log)
        assert the_trial(repository).state is State.INTERRUPTED


def test_a_log_without_a_name_of_progress_is_running_while_its_events_are_new(
    settings: Settings, tmp_path: Path
) -> None:
    now_ms = round(time.time() * 1e3)
    start = {"App Name": "a", "App ID": "app-7", "Timestamp": now_ms - 5_000}
    lines = [
        {"Event": "SparkListenerLogStart", "Spark Version": "4.0.0"},
        {"Event": "SparkListenerApplicationStart", **start},
    ]
    content = "".join(json.dumps(each) + "\n" for each in lines).encode()
    with TrialRepository.open(settings) as repository:
        imported(repository, put(tmp_path / "eventlog", content))
        assert the_trial(repository).state is State.RUNNING


def test_a_rolling_log_is_running_by_its_status(settings: Settings, tmp_path: Path) -> None:
    folder = tmp_path / ROLLING
    folder.mkdir()
    parts = sorted((LOG.parent / ROLLING).glob("events_*"))
    for part in parts[:1]:
        put(folder / part.name, part.read_bytes())
    status = folder / f"appstatus_{ROLLING.removeprefix('eventlog_v2_')}"
    put(folder / f"{status.name}.inprogress", b"")
    with TrialRepository.open(settings) as repository:
        first = imported(repository, folder)
        assert the_trial(repository).state is State.RUNNING
        for part in parts:
            put(folder / part.name, part.read_bytes())
        (folder / f"{status.name}.inprogress").rename(status)
        assert imported(repository, folder).trial == first.trial
        assert the_trial(repository).state is State.SUCCEEDED


def test_an_older_copy_does_not_replace_a_more_complete_log(
    repository_settings: Settings, tmp_path: Path
) -> None:
    copy = put(tmp_path / "copy", beginning(40))
    with TrialRepository.open(repository_settings) as repository:
        imported(repository, LOG)
        older = imported(repository, copy)
        assert (older.kind, older.note) == (ArrivalKind.OLDER, "40 events, 58 are stored")
        assert the_trial(repository).state is State.SUCCEEDED
        assert import_file(repository, "spark-eventlog", copy).sound


def test_a_contradicting_log_of_a_finished_application_is_refused(
    settings: Settings, tmp_path: Path
) -> None:
    end = json.loads(LINES[-1])
    other = json.dumps(end | {"Timestamp": end["Timestamp"] + 5_000}).encode()
    with TrialRepository.open(settings) as repository:
        imported(repository, LOG)
        before = the_trial(repository)
        report = import_file(
            repository, "spark-eventlog", put(tmp_path / "app-1", b"".join(LINES[:-1]) + other)
        )
        assert report.trials[0].kind is ArrivalKind.CONTRADICTING
        assert report.trials[0].note.startswith("end ")
        assert not report.sound
        assert the_trial(repository) == before


def test_another_form_of_the_same_events_is_already_here(
    settings: Settings, tmp_path: Path
) -> None:
    spaced = b"".join(json.dumps(json.loads(line)).encode() + b"\n" for line in LINES)
    with TrialRepository.open(settings) as repository:
        imported(repository, LOG)
        again = imported(repository, put(tmp_path / "app-1", spaced))
        assert (again.kind, again.note) == (ArrivalKind.PRESENT, "")


def test_a_better_reader_updates_what_an_earlier_one_stored(
    repository_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with TrialRepository.open(repository_settings) as repository:
        with monkeypatch.context() as patched:
            patched.setattr(storing, "reader_version", lambda: "earlier")
            first = imported(repository, LOG)
        updated = imported(repository, LOG)
        assert (updated.kind, updated.trial) == (ArrivalKind.UPDATED, first.trial)
        assert imported(repository, LOG).kind is ArrivalKind.PRESENT
        the_trial(repository)


def test_a_later_version_is_not_undone(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    with TrialRepository.open(settings) as repository:
        with monkeypatch.context() as patched:
            patched.setattr(storing, "reader_version", lambda: "later")
            imported(repository, LOG)
        trial = the_trial(repository)
        later = replace(trial, software=replace(trial.software, venturi_version="99.0.0"))
        repository.supersede(trial, later)
        assert imported(repository, LOG).kind is ArrivalKind.PRESENT


def test_an_application_under_an_old_id_is_updated(
    repository_settings: Settings, tmp_path: Path
) -> None:
    cut = put(tmp_path / "app-1.inprogress", beginning(40))
    with TrialRepository.open(repository_settings) as repository:
        old = stored_by_0_1_0(repository, cut)
        arrival = imported(repository, LOG)
        assert (arrival.kind, arrival.trial) == (ArrivalKind.UPDATED, old.id)
        assert the_trial(repository).state is State.SUCCEEDED
        assert imported(repository, LOG).kind is ArrivalKind.PRESENT
        assert check(repository).findings == ()


def test_of_several_old_trials_the_most_complete_one_counts(
    settings: Settings, tmp_path: Path
) -> None:
    cut = put(tmp_path / "app-1.inprogress", beginning(40))
    with TrialRepository.open(settings) as repository:
        stored_by_0_1_0(repository, cut)
        whole = stored_by_0_1_0(repository, LOG)
        for path, kind in ((LOG, ArrivalKind.UPDATED), (cut, ArrivalKind.OLDER)):
            arrival = imported(repository, path)
            assert (arrival.kind, arrival.trial) == (kind, whole.id)
        assert len(whole_trials(repository)) == 2


def test_a_killed_update_is_repaired_by_the_next_import(settings: Settings) -> None:
    with TrialRepository.open(settings) as repository:
        imported(repository, LOG)
        (account,) = repository.artifacts_dir.glob(f"*/{ACCOUNT_NAME}")
        account.write_bytes(account.read_bytes() + b" ")
        assert check(repository).findings
        assert imported(repository, LOG).kind is ArrivalKind.UPDATED
        assert check(repository).findings == ()


def test_a_history_with_its_configuration_updates_the_one_without(
    settings: Settings, tmp_path: Path
) -> None:
    bare = put(tmp_path / HISTORY.name, HISTORY.read_bytes())
    with TrialRepository.open(settings) as repository:
        first = imported(repository, bare, "mapreduce-history")
        whole = imported(repository, HISTORY, "mapreduce-history")
        assert (whole.kind, whole.trial) == (ArrivalKind.UPDATED, first.trial)
        assert imported(repository, bare, "mapreduce-history").kind is ArrivalKind.PRESENT
        assert load(repository, the_trial(repository)).configuration


def test_a_removed_application_stays_removed_while_its_log_grows(
    settings: Settings, tmp_path: Path
) -> None:
    name = tmp_path / "app-1.inprogress"
    with TrialRepository.open(settings) as repository:
        imported(repository, put(name, beginning(30)))
        remove(
            repository,
            [Condition.equal("state", "running")],
            ["state=running"],
            Author(said="me"),
            "x",
        )
        with pytest.raises(VenturiError) as refused:
            imported(repository, put(name, beginning(40)))
        assert refused.value.code == "VEN-RECORD-REMOVED"
        assert whole_trials(repository) == []


def test_the_log_of_a_measured_trial_adds_no_other(
    repository_settings: Settings, make_trial: Callable[..., Trial]
) -> None:
    account = spark.read(*spark_logs(LOG))
    started_at = trial_of(account).started_at
    assert started_at is not None
    engine = Engine("spark", "4.3.0")
    trial = make_trial(engine=engine, started_at=started_at - timedelta(seconds=20))
    with TrialRepository.open(repository_settings) as repository:
        measured = repository.add(attach(repository, trial, account))
        for _ in range(2):
            arrival = imported(repository, LOG)
            assert (arrival.kind, arrival.trial) == (ArrivalKind.PRESENT, measured.id)
        assert the_trial(repository) == measured
        assert imported(repository, LOG.parent / "tiny.log").kind is ArrivalKind.ADDED
