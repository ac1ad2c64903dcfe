"""The account of a job that Venturi ran itself: on the trial's clock, or with a reason why not."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

import own_samples
from engine_runs import run
from this_host import FILES
from venturi.core.settings import Settings
from venturi.measure.engines import account as own
from venturi.measure.engines.hadoop import history
from venturi.measure.engines.hadoop.history import HISTORY, HISTORY_CONF
from venturi.measure.engines.spark import event_log
from venturi.measure.hosts.host import Files
from venturi.measure.trial.job import Attachment
from venturi.record import job_account
from venturi.record.job_account import JobAccount
from venturi.record.query.paging import whole_trials
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Trial

DATA = Path(__file__).parents[2] / "data"
SPARK, HADOOP = DATA / "spark" / "4.3.0", DATA / "mapreduce" / "3.4.2"
MOMENTS = ("submitted_ms", "ended_ms")
ORIGIN_S = 5_000.0  # of a monotonic clock
Keep = Callable[..., own.KeptAccount]


def _read(files: Files, log: Attachment, logs: Sequence[Attachment]) -> JobAccount | None:
    """The account in a log of Spark or Hadoop."""
    found = event_log.read_account(files, log, logs)
    return history.read_account(files, log, logs) if found is None else found


@pytest.fixture
def keep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Keep:
    """Keeps the account of logs of a trial that began at `origin_ms` and took two minutes."""

    def of(
        *logs: tuple[str, Path],
        origin_ms: float = own_samples.FACTS["origin_ms"],
        executed_s: tuple[float, float] = (0.2, 18.0),
    ) -> own.KeptAccount:
        now = SimpleNamespace(
            time=lambda: origin_ms / 1e3 + 120.0, monotonic=lambda: ORIGIN_S + 120.0
        )
        monkeypatch.setattr(own, "time", now)
        execution = own.Execution(ORIGIN_S, *(ORIGIN_S + each for each in executed_s))
        attachments = [Attachment("other", name, path) for name, path in logs]
        return own.account_of(_read, FILES, attachments, execution, tmp_path / "account")

    return of


@pytest.fixture
def loaded(
    settings: Settings, make_trial: Callable[..., Trial]
) -> Callable[[own.KeptAccount], JobAccount]:
    """The account that was kept, as it comes back from a repository."""

    def of(kept: own.KeptAccount) -> JobAccount:
        with TrialRepository.open(settings) as repository:
            trial = make_trial()
            for each in kept.attachments:
                trial = repository.attach(trial, each.kind, each.name, each.path)
            repository.add(trial)
            return job_account.load(repository, trial)

    return of


def test_stages_lie_within_the_phases_of_the_trial(
    keep: Keep, loaded: Callable[[own.KeptAccount], JobAccount]
) -> None:
    kept = keep(("engine.log", DATA / "no-such-file"), ("eventlog.json", own_samples.LOG))
    assert kept.warnings == ()
    account = loaded(kept)
    assert account.began_s == pytest.approx(2.821467, abs=1e-3)
    assert account.origin_ms is not None
    phases = {name: (start, start + took) for name, start, took in own_samples.FACTS["phases"]}
    assert phases["start"][0] < account.began_s < phases["start"][1]
    assert len(account.stages) == 3
    for stage in account.stages.iter_rows(named=True):
        began_s, ended_s = ((stage[m] - account.origin_ms) / 1e3 for m in MOMENTS)
        assert phases["sort"][0] < began_s < ended_s < phases["sort"][1]


@pytest.mark.parametrize(("off_s", "said"), [(-7.0, "at least 4 s"), (30.0, "at least 30 s")])
def test_a_driver_with_another_clock_is_not_put_on_the_axis(
    keep: Keep, loaded: Callable[[own.KeptAccount], JobAccount], off_s: float, said: str
) -> None:
    origin_ms = own_samples.FACTS["origin_ms"] - off_s * 1e3
    kept = keep(("eventlog.json", own_samples.LOG), origin_ms=origin_ms)
    account = loaded(kept)
    assert account.origin_ms is None
    assert account.began_s is None
    assert said in (account.origin_reason or "")


def test_of_several_applications_one_that_failed_else_the_longest(
    keep: Keep, loaded: Callable[[own.KeptAccount], JobAccount], tmp_path: Path
) -> None:
    short, long, failed = SPARK / "tiny.log", SPARK / "spill.log", SPARK / "failedjob.log"
    account = loaded(keep(("eventlog-1.json", short), ("eventlog-2.json", long)))
    assert account.reading.files == (long.name,)
    assert account.applications == 2
    shutil.rmtree(tmp_path / "account")
    logs = (("eventlog-1.json", long), ("eventlog-2.json", failed), ("eventlog-3.json", short))
    account = loaded(keep(*logs))
    assert account.reading.files == (failed.name,)
    assert account.applications == 3


def test_an_application_that_never_ended_has_an_account(
    keep: Keep, loaded: Callable[[own.KeptAccount], JobAccount]
) -> None:
    account = loaded(keep(("eventlog.json", SPARK / "killed.log.inprogress")))
    assert account.application.outcome == "unfinished"
    assert account.tasks.height > 0


def test_a_history_under_the_names_it_was_kept_by(
    keep: Keep, loaded: Callable[[own.KeptAccount], JobAccount], tmp_path: Path
) -> None:
    history, conf = tmp_path / "a", tmp_path / "b"
    shutil.copy(next(HADOOP.glob("*_0001-*word+count*.jhist")), history)
    shutil.copy(HADOOP / "job_1795207510805_0001_conf.xml", conf)
    account = loaded(keep((HISTORY, history), (HISTORY_CONF, conf)))
    assert [stage["name"] for stage in account.stages.iter_rows(named=True)] == ["map", "reduce"]
    assert account.configuration["mapreduce.job.name"] == "word count"


def test_what_cannot_be_read_is_a_warning(keep: Keep, tmp_path: Path) -> None:
    nonsense = tmp_path / "nonsense"
    nonsense.write_text("this is no event log\n")
    kept = keep(("eventlog.json", nonsense))
    assert kept.attachments == ()
    assert [warning.code for warning in kept.warnings] == ["VEN-INGEST-FORMAT"]
    both = keep(("eventlog-1.json", nonsense), ("eventlog-2.json", own_samples.LOG))
    assert len(both.attachments) == 1 + len(own_samples.account().there)
    assert len(both.warnings) == 1
    kept = keep(("eventlog.json", own_samples.LOG))  # the folder is there already: a full disk
    assert kept.attachments == ()
    assert [warning.code for warning in kept.warnings] == ["VEN-INGEST-LOST"]


def test_a_trial_without_logs_has_no_account(keep: Keep) -> None:
    assert keep(("engine.log", DATA), ("counters.json", DATA)) == own.KeptAccount()


def test_an_account_from_before_trials_had_origins_still_loads(
    settings: Settings, make_trial: Callable[..., Trial]
) -> None:
    told = own_samples.account()
    files = dict(job_account.files(told))
    facts = json.loads(files[job_account.ACCOUNT_NAME])
    old = {key: facts[key] for key in ("application", "reading", "configuration", "chosen")}
    files[job_account.ACCOUNT_NAME] = json.dumps(old).encode()
    with TrialRepository.open(settings) as repository:
        trial = make_trial()
        for name, content in files.items():
            trial = repository.attach(trial, "other", name, content)
        account = job_account.load(repository, trial)
    assert (account.origin_ms, account.began_s, account.applications) == (None, None, 1)
    assert account.application == told.application
    assert account.stages.equals(told.stages)


FAKE_SPARK = """\
import json, sys, time
from pathlib import Path
options = dict(word.split("=", 1) for word in sys.argv if word.startswith("spark."))
lines = Path({log!r}).read_text().splitlines()
shift = int(time.time() * 1e3) - json.loads(lines[{first}])["Timestamp"]
def moved(value):
    if isinstance(value, dict):
        return {{key: moved(each) for key, each in value.items()}}
    if isinstance(value, list):
        return list(map(moved, value))
    return value + shift if isinstance(value, int) and value > 1_600_000_000_000 else value
text = "\\n".join(json.dumps(moved(json.loads(line))) for line in lines)
Path(options["spark.eventLog.dir"].removeprefix("file://"), "app.inprogress").write_text(text)
print("ERROR the input is bad")
sys.exit(1)
"""


@pytest.mark.slow
def test_a_trial_whose_job_failed_has_its_account(tmp_path: Path, mark: str) -> None:
    """A stand-in for spark-submit leaves a recorded log, moved to now, and fails."""
    log = SPARK / "killed.log.inprogress"
    kinds = [json.loads(line)["Event"] for line in log.read_text().splitlines()]
    first = kinds.index("SparkListenerApplicationStart")
    spark, java = tmp_path / "spark", tmp_path / "java"
    for path in (spark / "bin" / "spark-submit", java / "bin" / "java"):
        path.parent.mkdir(parents=True)
        path.write_text(f"#!{sys.executable}\n{FAKE_SPARK.format(log=str(log), first=first)}")
        path.chmod(0o755)
    (spark / "jars").mkdir()
    (spark / "jars" / "spark-core_2.13-4.3.0.jar").touch()
    (java / "release").write_text('JAVA_VERSION="17.0.1"\n')
    home = tmp_path / "home"
    status, done, _ = run(
        home,
        mark,
        "pi",
        "--engine",
        "spark",
        "--scale",
        "tiny",
        "--repeat",
        1,
        SPARK_HOME=str(spark),
        JAVA_HOME=str(java),
    )
    assert (status, done["error"]["code"]) == (1, "VEN-ENGINE-FAILED")
    with TrialRepository.open(Settings(home, None, None, allow_debug=False)) as repository:
        (trial,) = whole_trials(repository)
        account = job_account.load(repository, trial)
    assert account.application.outcome == "unfinished"
    assert account.application.reason == "the log ends before the application does"
