"""The repository's tables.

`records` holds each record as JSON text, read whole and by id. `trials` (one narrow row per trial)
and `configuration` (one row per configuration key) are searchable copies, written in the same
transaction. Samples have no table: a migration can derive one from the records when something
filters on them. `exclusions` and `views` are added by people; nothing is derived from them.
`quarantine`, `removals` and `removed` list records that no longer exist, with the reason. `jobs`
has summaries of jobs for lists.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)

from venturi.core.errors import VenturiError
from venturi.record.trial import CPU_OTHERS, CPU_STEAL, DISK_OTHERS, Scalar, Trial
from venturi.record.trial_json import encode

# The newest migration; a test holds it to the files in migrations/versions.
REVISION = "0011"
METADATA = MetaData()
TEXT_MAX = 200  # characters of the names of hosts and folders that are kept to compare them by
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# Compared byte by byte: ids with a common beginning lie together, and both databases sort in the
# same order.
_ID = String(64).with_variant(String(64, collation="C"), "postgresql")
_TEXT = Text().with_variant(Text(collation="C"), "postgresql")
# SQLite's own row number is an INTEGER.
_SERIAL = BigInteger().with_variant(Integer(), "sqlite")

RECORDS = Table(
    "records",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("configuration", Text, nullable=False),
    Column("record", Text, nullable=False),
)

# Columns with few values; many trials share all of them.
KIND = (
    "workload",
    "workload_version",
    "scale",
    "input_bytes",
    "engine",
    "state",
    "warm_up",
    "provenance",
    "source",
    "instance_type",
    "network",
    "hosts",
    "engine_version",
)

TRIALS = Table(
    "trials",
    METADATA,
    Column("serial", _SERIAL, primary_key=True, autoincrement=True),
    Column("id", _ID, nullable=False),
    Column("workload", _TEXT, nullable=False),
    Column("workload_version", _TEXT, nullable=False),
    Column("scale", _TEXT),
    Column("input_bytes", BigInteger),
    Column("engine", _TEXT, nullable=False),
    Column("engine_version", _TEXT, nullable=False),
    Column("state", _TEXT, nullable=False),
    Column("failure_kind", _TEXT),
    Column("failure", _TEXT),
    Column("experiment", _TEXT),
    Column("group_key", _TEXT, nullable=False),
    Column("repetition", BigInteger, nullable=False),
    Column("warm_up", Boolean, nullable=False),
    Column("provenance", _TEXT, nullable=False),
    Column("source", _TEXT, nullable=False),
    Column("instance_type", _TEXT),
    Column("network", _TEXT),
    Column("hosts", BigInteger, nullable=False),
    Column("started_at_us", BigInteger),
    Column("elapsed_s", Double),
    Column("warnings", BigInteger, nullable=False),
    # Whether other processes used the host; NULL where unknown.
    Column("disturbed", Boolean),
    Column(CPU_OTHERS, Double),
    Column(DISK_OTHERS, Double),
    Column(CPU_STEAL, Double),
    # As `machines_text` has them.
    Column("host_names", _TEXT),
    Column("disk_folders", _TEXT),
    Column("cluster_name", _TEXT),
    Index("trials_by_id", "id", unique=True),
    Index("trials_by_workload", "workload", "engine"),
    # Empty in PostgreSQL (see its migration): it groups by hashing, and such long texts may not fit
    # in its entries. Not said here, because that alone would load PostgreSQL's dialect.
    Index("trials_by_kind", *KIND),
    Index("trials_by_state", "state"),
    Index("trials_by_experiment", "experiment"),
    Index("trials_by_group", "group_key"),
    Index("trials_by_start", "started_at_us"),
    Index("trials_by_cluster", "cluster_name"),
)

# `text` and `number` are those of `text_of` and `number_of`; a key without a value has no row.
CONFIGURATION = Table(
    "configuration",
    METADATA,
    Column("trial", BigInteger, primary_key=True, autoincrement=False),
    Column("key", _TEXT, primary_key=True),
    Column("text", _TEXT, nullable=False),
    Column("number", Double),
    # Answers "which trials", "how many have which value" and ranges of one key by itself.
    Index("configuration_by_value", "key", "text", "number", "trial"),
    sqlite_with_rowid=False,
)

# Authors are as in `record.authors`: `author` is the stated name, `author_name` the verified one.
# `conditions` is a JSON list of texts that `record.query.parse_condition` reads.
EXCLUSIONS = Table(
    "exclusions",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("conditions", Text, nullable=False),
    Column("author", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("created_at_us", BigInteger, nullable=False),
    Column("revoked_at_us", BigInteger),
    Column("revoked_by", Text),
    Column("author_name", Text),
    Column("author_known_by", Text),
    Column("revoked_by_name", Text),
    Column("revoked_by_known_by", Text),
)

VIEWS = Table(
    "views",
    METADATA,
    Column("name", _TEXT, primary_key=True),
    Column("url", Text, nullable=False),
    Column("author", Text, nullable=False),
    Column("created_at_us", BigInteger, nullable=False),
    Column("author_name", Text),
    Column("author_known_by", Text),
)

# `digest` is the SHA-256 of the secret, which is kept nowhere (see `record.tokens`).
TOKENS = Table(
    "tokens",
    METADATA,
    Column("name", _ID, primary_key=True),
    Column("role", Text, nullable=False),
    Column("digest", _ID, nullable=False, unique=True),
    Column("created_at_us", BigInteger, nullable=False),
    Column("expires_at_us", BigInteger),
    Column("last_used_at_us", BigInteger),
    Column("revoked_at_us", BigInteger),
    Column("author", Text, nullable=False),
    Column("author_name", Text),
    Column("author_known_by", Text),
)

# A browser's sessions; `token` is the name of the token that it has traded.
SESSIONS = Table(
    "sessions",
    METADATA,
    Column("digest", _ID, primary_key=True),
    Column("token", _ID, nullable=False),
    Column("expires_at_us", BigInteger, nullable=False),
)

# Actions that leave no other trace of their author.
ACTIONS = Table(
    "actions",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("at_us", BigInteger, nullable=False),
    Column("action", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("author", Text, nullable=False),
    Column("author_name", Text),
    Column("author_known_by", Text),
    Index("actions_by_subject", "subject"),
)

# Records that can't be read, as they were stored: a trial, an exclusion or a view (`kind`) with the
# id or name `subject`.
QUARANTINE = Table(
    "quarantine",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("content", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("quarantined_at_us", BigInteger, nullable=False),
)

# Deletions for good. `conditions` as in `exclusions`. Their trials aren't imported again unless
# readmitted.
REMOVALS = Table(
    "removals",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("conditions", Text, nullable=False),
    Column("author", Text, nullable=False),
    Column("author_name", Text),
    Column("author_known_by", Text),
    Column("reason", Text, nullable=False),
    Column("removed_at_us", BigInteger, nullable=False),
    Column("readmitted_at_us", BigInteger),
    Column("readmitted_by", Text),
    Column("readmitted_by_name", Text),
    Column("readmitted_by_known_by", Text),
)

# The trials that went with a removal.
REMOVED = Table(
    "removed",
    METADATA,
    Column("trial", _ID, primary_key=True),
    Column("removal", _ID, primary_key=True),
    Index("removed_by_removal", "removal"),
)

# One row for each trial with an engine's account: the summary that a version of the program made of
# it, or NULL, as after each change of the record. `changed` is the count of `changes` that a write
# of the row became part of; NULL within its transaction.
JOBS = Table(
    "jobs",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("program", _TEXT),
    Column("summary", Text),
    Column("changed", BigInteger),
    Index("jobs_by_change", "changed"),
)

# One row: how many times anything was written.
CHANGES = Table("changes", METADATA, Column("made", BigInteger, nullable=False))

# An entry of PostgreSQL's indexes has at most 2,700 bytes.
_TEXT_MAX = 200
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def microseconds(moment: datetime) -> int:
    """Return a time in microseconds since 1970, which all databases sort in the same order."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def moment(microseconds: int) -> datetime:
    """The UTC time of a number of microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=microseconds)


def shown_moment(microseconds: int | None) -> datetime | None:
    """That time for a list. None also if the stored value is no date (see `record.upkeep`), because
    one trial must not prevent the others from being listed.
    """
    try:
        return None if microseconds is None else moment(microseconds)
    except OverflowError:
        return None


@lru_cache(4096, typed=True)
def text_of(value: Scalar) -> str:
    """The text by which a configuration value, or its key, is searched, counted and grouped.

    2, 2.0 and "2" have one text, and so have true and "true": sources differ in how they write the
    same setting. NUL, which PostgreSQL cannot hold, becomes its symbol; a text of more than 200
    characters keeps its first 180, followed by … and a digest of the whole.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    text = str(value).replace("\0", "\u2400")
    if len(text) > _TEXT_MAX:
        text = f"{text[:180]}…{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    return text


@lru_cache(4096)
def number_of(text: str) -> float | None:
    """The number that `text` writes in decimal, by which ranges are searched, or None."""
    number = float(text) if _NUMBER.fullmatch(text) else math.nan
    return number if math.isfinite(number) else None


def storable(text: str) -> bool:
    """Whether a database can hold `text`: no NUL, no half of a surrogate pair."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def record_row(trial: Trial) -> dict[str, Any]:
    """`trial` as a row of `RECORDS`."""
    return {
        "id": trial.id,
        "configuration": json.dumps(trial.searchable),
        "record": encode(trial),
    }


def trial_row(trial: Trial) -> dict[str, Any]:
    """`trial` as a row of `TRIALS`, but for its serial number."""
    names, folders = machines_text(
        (host.name for host in trial.cluster.hosts), trial.cluster.disks_by_role
    )
    return {
        "id": trial.id,
        "workload": trial.workload.name,
        "workload_version": trial.workload.version,
        "scale": trial.workload.scale,
        "input_bytes": _storable(trial, "input_bytes", trial.workload.input_bytes),
        "engine": trial.engine.name,
        "engine_version": trial.engine.version,
        "state": trial.state.value,
        "failure_kind": trial.failure and trial.failure.kind,
        "failure": trial.failure and trial.failure.code,
        "experiment": trial.experiment,
        "group_key": trial.group_key,
        "repetition": _storable(trial, "repetition", trial.repetition),
        "warm_up": trial.warm_up,
        "provenance": trial.provenance.kind.value,
        "source": trial.provenance.source,
        "instance_type": trial.cluster.instance_type,
        "network": trial.cluster.network,
        "hosts": len(trial.cluster.hosts),
        "started_at_us": None if trial.started_at is None else microseconds(trial.started_at),
        "elapsed_s": trial.elapsed_s,
        "warnings": len(trial.warnings),
        "disturbed": trial.disturbed,
        **{
            metric: next(iter(trial.values(metric)), None)
            for metric in (CPU_OTHERS, DISK_OTHERS, CPU_STEAL)
        },
        "host_names": names,
        "disk_folders": folders,
        "cluster_name": trial.cluster.name,
    }


def machines_text(
    host_names: Iterable[str], disks_by_role: Mapping[str, Iterable[object]]
) -> tuple[str | None, str | None]:
    """The hosts' names and the disks' folders as two texts, equal where they are; None for none.

    Of long ones the beginning and a digest.
    """
    names = ", ".join(sorted(host_names))
    folders = "; ".join(
        f"{role}: {', '.join(map(str, disks_by_role[role]))}" for role in sorted(disks_by_role)
    )
    return _shortened(text_of(names)), _shortened(text_of(folders))


def _shortened(text: str) -> str | None:
    if len(text) <= TEXT_MAX:
        return text or None
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return f"{text[: TEXT_MAX - 20]}... {digest}"


def configuration_rows(serial: int, trial: Trial) -> list[dict[str, Any]]:
    """The configuration and labels of `trial` as rows of `CONFIGURATION` under `serial`."""
    texts = {
        text_of(key): text_of(value) for key, value in trial.searchable.items() if value is not None
    }
    return [
        {"trial": serial, "key": key, "text": text, "number": number_of(text)}
        for key, text in texts.items()
    ]


def _storable(trial: Trial, field: str, value: int | None) -> int | None:
    if value is not None and not -(2**63) <= value < 2**63:
        raise VenturiError(
            "VEN-RECORD-SCHEMA",
            f"{field} is {value}, more than a database holds",
            where={"trial": trial.id, "field": field},
        )
    return value
