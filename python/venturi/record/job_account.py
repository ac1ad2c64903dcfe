"""An engine's own account of one application: tables of its jobs, stages, tasks and executors.

The parsers of `jobs.logs` fill the tables and `jobs.stages` reads them. They are kept as Parquet
with the trial. `account_tables` lists the columns that every engine has, `account_kind` each
engine's own metrics (`executorRunTime`, `GC_TIME_MILLIS`), which keep their names and units. An
absent value is null, never 0. Times are milliseconds since 1970 (UTC) on the clock of the driver or
application master, so their differences need no synchronized clocks. The account of a job that
Venturi ran itself also has `origin_ms`: when, on that clock, the trial began.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal

from venturi.core.errors import VenturiError
from venturi.record.account_kind import ACCOUNT_KINDS, AccountKind
from venturi.record.account_tables import ACCOUNT_NAME, OPTIONAL_TABLES, TABLES, has_account
from venturi.record.dropped_tables import require_tables, tables_dropped

if TYPE_CHECKING:
    import polars as pl
    from pydantic import TypeAdapter

    from venturi.record.store.repository import TrialRepository
    from venturi.record.store.trial_store import TrialStore
    from venturi.record.trial import Trial

Outcome = Literal["succeeded", "failed", "unfinished"]
OUTPUT_LOST = "its output was lost with its executor"
"""The reason of a task that succeeded but was wasted."""
NOT_RECORDED = "no task recorded it"
"""Why a metric has no value that an engine's tasks could have recorded."""
TIERS_SETTING = "spark.storage.hierarchyStore"
"""Spark's setting, of the plugin for tiered storage, that says which tiers a job has."""
NO_TIERS = "none"
"""The value that a plan has there for stock Spark."""
"""The artifact with the application's own facts; its tables are in the same folder."""


@dataclass(frozen=True, slots=True)
class Application:
    """Facts of an account about the application as a whole.

    `attempt` is the engine's, where it made several. Times are on the driver's clock in
    milliseconds since 1970, None where the account does not say. `exit_code` is None where the
    engine does not record it. `end_recorded` says whether the log has the event of its end,
    `id_recorded` whether it has `id`, which is a file's name otherwise.
    """

    id: str
    name: str
    engine: str
    engine_version: str
    attempt: str | None = None
    user: str | None = None
    started_ms: int | None = None
    ended_ms: int | None = None
    outcome: Outcome = "unfinished"
    reason: str | None = None
    exit_code: int | None = None
    end_recorded: bool = False
    java_version: str | None = None
    id_recorded: bool = True

    @property
    def elapsed_s(self) -> float | None:
        """Seconds from its start to its end, None if either is unknown."""
        if self.started_ms is None or self.ended_ms is None:
            return None
        return (self.ended_ms - self.started_ms) / 1e3


@dataclass(frozen=True, slots=True)
class AccountReading:
    """How an account was read: nothing is left out silently.

    `sha256` is that of the uncompressed text, so it does not depend on the compression. `skipped`
    counts the ignored events by type; `unknown`, those of a type that no version up to 4.x has;
    `malformed`, lines that are not events; `oversized`, lines beyond the limit; `damaged`, known
    events that lack required fields. `wrong` lists the values that were left out because of a wrong
    type. `dropped` counts the events by kind that are missing according to other events.
    `truncated` says how the text ended too early, None if it did not. `reader` is a digest of the
    program that read it, None for a version that didn't record one.
    """

    files: tuple[str, ...]
    sha256: str
    text_bytes: int
    compression: str | None
    events: int
    skipped: Mapping[str, int] = field(default_factory=dict)
    unknown: Mapping[str, int] = field(default_factory=dict)
    damaged: Mapping[str, int] = field(default_factory=dict)
    malformed: int = 0
    oversized: int = 0
    wrong: tuple[str, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)
    truncated: str | None = None
    reader: str | None = None

    @property
    def lost(self) -> bool:
        """Whether possibly important parts were not read."""
        return bool(
            self.damaged
            or self.malformed
            or self.oversized
            or self.wrong
            or any(self.dropped.values())
            or self.truncated
        )


@dataclass(frozen=True, slots=True)
class AccountFacts:
    """A stored account without its tables."""

    application: Application
    reading: AccountReading
    configured: bool


@dataclass(frozen=True, slots=True)
class JobAccount:
    """The account of one application: its facts, its tables, its configuration.

    `configuration` is the effective configuration, with secrets masked. `chosen` are the keys in it
    that a user chose; the others are the engine's defaults and the ids of this one execution.

    `origin_ms` is when the trial began, on the account's clock: phases and series count from there.
    It is missing, with a reason, where unknown; an ingested account only has its own beginning.
    `applications` is how many the trial ran concurrently, including this one.

    These are None where the engine records none: `queries` with the operators of their plans, the
    metrics of these and the changes to the first plans, `timers`, `memory`, also over time,
    `caches` and `batches`. `tiers` says where files were, where the engine itself has tiers.
    `described` describes the accounts of an engine that has no log in `ACCOUNT_KINDS`.
    """

    application: Application
    reading: AccountReading
    jobs: pl.DataFrame
    stages: pl.DataFrame
    tasks: pl.DataFrame
    executors: pl.DataFrame
    configuration: Mapping[str, str]
    chosen: tuple[str, ...]
    origin_ms: float | None = None
    origin_reason: str | None = None
    applications: int = 1
    queries: pl.DataFrame | None = None
    operators: pl.DataFrame | None = None
    operator_metrics: pl.DataFrame | None = None
    plan_changes: pl.DataFrame | None = None
    timers: pl.DataFrame | None = None
    tiers: pl.DataFrame | None = None
    memory: pl.DataFrame | None = None
    memory_over_time: pl.DataFrame | None = None
    caches: pl.DataFrame | None = None
    batches: pl.DataFrame | None = None
    described: AccountKind | None = None

    @property
    def kind(self) -> AccountKind:
        """The kind of account that the engine records; VEN-MODEL-INPUT if it is unknown."""
        engine = self.application.engine
        found = ACCOUNT_KINDS.get(engine, self.described)
        if found is None:
            raise VenturiError(
                "VEN-MODEL-INPUT",
                f"nothing is known about the accounts of engine {engine!r}",
                where={"engine": engine},
            )
        return found

    @property
    def outcome_unknown(self) -> bool:
        """Whether the application ended, and the event that says how is missing.

        SparkContext.stop() ends open jobs, so an end with an open job lacks the job's end.
        """
        ended = self.application.end_recorded or self.reading.dropped.get("application end")
        return bool(self.application.outcome == "unfinished" and ended)

    @property
    def began_s(self) -> float | None:
        """Seconds from the beginning of the trial to that of the application, None: not known."""
        if self.origin_ms is None or self.application.started_ms is None:
            return None
        return (self.application.started_ms - self.origin_ms) / 1e3

    def table(self, name: str) -> pl.DataFrame:
        """The table called `name`, one of those that are `there`."""
        found: pl.DataFrame = getattr(self, name)
        return found

    @property
    def there(self) -> tuple[str, ...]:
        """The names of the tables that it has."""
        return (*TABLES, *(name for name in OPTIONAL_TABLES if getattr(self, name) is not None))


def files(account: JobAccount) -> Iterator[tuple[str, bytes]]:
    """The artifacts of `account`: their names and contents."""
    facts = {
        "application": asdict(account.application),
        "reading": asdict(account.reading),
        "configuration": dict(account.configuration),
        "chosen": account.chosen,
        "origin_ms": account.origin_ms,
        "origin_reason": account.origin_reason,
        "applications": account.applications,
    }
    if account.described is not None:
        facts["kind"] = asdict(account.described)
    yield ACCOUNT_NAME, json.dumps(facts).encode()
    for name in account.there:
        parquet = BytesIO()
        account.table(name).write_parquet(parquet, compression="zstd")
        yield f"{name}.parquet", parquet.getvalue()


def attach(repository: TrialRepository, trial: Trial, account: JobAccount) -> Trial:
    """Store `account` among the artifacts of `trial`, which the caller saves next."""
    return repository.attach_all(trial, "other", files(account))


def has_tiers(settings: Mapping[str, str]) -> bool:
    """Whether the settings of a job ask for tiers."""
    return settings.get(TIERS_SETTING, NO_TIERS).strip() not in {NO_TIERS, ""}


def has_tables(trial: Trial) -> bool:
    """Whether `trial` has an account with its tables, so that it can be loaded."""
    return has_account(trial) and tables_dropped(trial) is None


# By these the rows of one table refer to another's: none is without.
_KEYS = {
    "jobs": ("job_id",),
    "stages": ("stage_id", "attempt"),
    "tasks": ("stage_id", "stage_attempt", "task_id"),
    "executors": ("executor_id",),
    "queries": ("query_id",),
    "operators": ("query_id", "node", "name"),
    "operator_metrics": ("query_id", "node", "metric", "value"),
    "plan_changes": ("query_id", "came", "operator", "n"),
    "timers": ("stage_id", "stage_attempt"),
    "tiers": ("at_ms", "executor_id", "tier", "order", "kind"),
    "memory": ("executor_id", "metric", "value"),
    "memory_over_time": ("executor_id", "at_ms"),
    "caches": ("rdd_id",),
    "batches": ("stream", "batch_id", "began_ms"),
}


@cache
def _checker(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter  # noqa: PLC0415 - slow to load

    return TypeAdapter(kind)


def stored_facts(repository: TrialStore, trial: Trial) -> AccountFacts | None:
    """The facts of the account of `trial`; None if its file is missing or isn't the recorded one.

    An import that is killed while it replaces the files of a trial leaves such a file.
    """
    (artifact,) = [each for each in trial.artifacts if each.name == ACCOUNT_NAME] or (None,)
    try:
        content = b"" if artifact is None else repository.artifact_path(artifact).read_bytes()
        if artifact is None or hashlib.sha256(content).hexdigest() != artifact.sha256:
            return None
        facts = json.loads(content)
        return AccountFacts(
            _checker(Application).validate_python(facts["application"]),
            _checker(AccountReading).validate_python(facts["reading"]),
            bool(facts["configuration"]),
        )
    except (KeyError, TypeError, ValueError, OSError, VenturiError):
        return None


def load(repository: TrialStore, trial: Trial) -> JobAccount:
    """Load the account of `trial`; VEN-RECORD-ARTIFACT if it is missing or damaged.

    Columns that an earlier version did not read are null: unknown. If `venturi repository keep`
    dropped the tables, this raises VEN-RECORD-DROPPED.
    """
    from venturi.record.store.frames import pl, read_table

    require_tables(trial)
    paths = {each.name: each for each in trial.artifacts}
    try:
        facts = json.loads(repository.artifact_path(paths[ACCOUNT_NAME]).read_bytes())
        application = _checker(Application).validate_python(facts["application"])
        described = None
        if (kind := ACCOUNT_KINDS.get(application.engine)) is None:
            kind = described = _checker(AccountKind).validate_python(facts["kind"])
            if kind.engine != application.engine:
                raise ValueError(f"it describes accounts of {kind.engine!r}")
        tables = {
            name: read_table(
                repository.artifact_path(paths[f"{name}.parquet"]),
                kind.schema(name),
            )
            for name in (*TABLES, *OPTIONAL_TABLES)
            if name in TABLES or f"{name}.parquet" in paths
        }
        for name, table in tables.items():
            if table.schema != kind.schema(name):
                raise ValueError(f"{name} has columns of other types")
            if nameless := [key for key in _KEYS[name] if table[key].null_count()]:
                raise ValueError(f"{name} has rows without {nameless[0]}")
        if application.ended_ms is None and len(tables["tasks"]):
            raise ValueError("there are tasks, and no end of the application")
        return JobAccount(
            application=application,
            reading=_checker(AccountReading).validate_python(facts["reading"]),
            configuration=facts["configuration"],
            chosen=tuple(facts["chosen"]),
            origin_ms=_checker(float | None).validate_python(facts.get("origin_ms")),
            origin_reason=facts.get("origin_reason"),
            applications=facts.get("applications", 1),
            described=described,
            **tables,
        )
    except (KeyError, TypeError, ValueError, OSError, pl.exceptions.PolarsError) as error:
        raise VenturiError(
            "VEN-RECORD-ARTIFACT",
            f"the engine's account kept with trial {trial.id} cannot be read: {error}",
            where={"trial": trial.id},
            hint="import it again",
        ) from error
