"""Tables to search, apart from the records: narrow trials, and the configuration key by key.

The derived rows are computed here, by separate code: this step must always do the same, even if the
tables change later.
"""

import hashlib
import json
import math
import re
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_BATCH = 1_000
_ID = sa.String(64).with_variant(sa.String(64, collation="C"), "postgresql")
_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_INDEXES = {
    "trials_by_workload": ["workload", "engine"],
    "trials_by_state": ["state"],
    "trials_by_experiment": ["experiment"],
    "trials_by_group": ["group_key"],
    "trials_by_start": ["started_at_us"],
}
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def upgrade() -> None:
    """Splits the table and fills the new columns from the records."""
    _set_aside("0001")
    records = op.create_table(
        "records",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("configuration", sa.Text, nullable=False),
        sa.Column("record", sa.Text, nullable=False),
    )
    trials = op.create_table(
        "trials",
        sa.Column("serial", _SERIAL, primary_key=True, autoincrement=True),
        sa.Column("id", _ID, nullable=False),
        sa.Column("workload", _TEXT, nullable=False),
        sa.Column("workload_version", _TEXT, nullable=False),
        sa.Column("scale", _TEXT),
        sa.Column("input_bytes", sa.BigInteger),
        sa.Column("engine", _TEXT, nullable=False),
        sa.Column("engine_version", _TEXT, nullable=False),
        sa.Column("state", _TEXT, nullable=False),
        sa.Column("failure_kind", _TEXT),
        sa.Column("failure", _TEXT),
        sa.Column("experiment", _TEXT),
        sa.Column("group_key", _TEXT, nullable=False),
        sa.Column("repetition", sa.BigInteger, nullable=False),
        sa.Column("warm_up", sa.Boolean, nullable=False),
        sa.Column("provenance", _TEXT, nullable=False),
        sa.Column("source", _TEXT, nullable=False),
        sa.Column("instance_type", _TEXT),
        sa.Column("network", _TEXT),
        sa.Column("hosts", sa.BigInteger, nullable=False),
        sa.Column("started_at_us", sa.BigInteger),
        sa.Column("elapsed_s", sa.Double),
        sa.Column("warnings", sa.BigInteger, nullable=False),
    )
    configuration = op.create_table(
        "configuration",
        sa.Column("trial", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("key", _TEXT, primary_key=True),
        sa.Column("text", _TEXT, nullable=False),
        sa.Column("number", sa.Double),
        sqlite_with_rowid=False,
    )
    op.create_index("trials_by_id", "trials", ["id"], unique=True)
    connection = op.get_bind()
    for batch in _batches(connection):
        connection.execute(sa.insert(records), [_record(old) for old in batch])
        connection.execute(sa.insert(trials), [_trial(old) for old in batch])
        ids = [old["id"] for old in batch]
        serials = connection.execute(
            sa.select(trials.c.id, trials.c.serial).where(trials.c.id.in_(ids))
        )
        serial_of = {id_: serial for id_, serial in serials}  # noqa: C416 - rows, not pairs
        settings = [row for old in batch for row in _settings(serial_of[old["id"]], old)]
        if settings:
            connection.execute(sa.insert(configuration), settings)
    op.drop_table("trials_0001")
    for name, columns in _INDEXES.items():
        op.create_index(name, "trials", columns)
    op.create_index("configuration_by_value", "configuration", ["key", "text", "number", "trial"])
    for table in ("trials", "configuration"):
        op.execute(f"ANALYZE {table}")


def downgrade() -> None:
    """Puts the records back beside their columns; refused while a trial has no date."""
    undated = sa.text("SELECT count(*) FROM trials WHERE started_at_us IS NULL")
    count = op.get_bind().execute(undated).scalar_one()
    if count:
        raise ValueError(f"{count} trials have no date, which revision 0001 cannot hold")
    op.drop_index("trials_by_id", "trials")
    _set_aside("0002")
    op.create_table(
        "trials",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("workload", sa.Text, nullable=False),
        sa.Column("workload_version", sa.Text, nullable=False),
        sa.Column("engine", sa.Text, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("experiment", sa.Text),
        sa.Column("group_key", sa.String(16), nullable=False),
        sa.Column("started_at_us", sa.BigInteger, nullable=False),
        sa.Column("elapsed_s", sa.Double),
        sa.Column("provenance", sa.String(16), nullable=False),
        sa.Column("record", sa.Text, nullable=False),
    )
    columns = (
        "id, workload, workload_version, engine, state, experiment, group_key, started_at_us, "
        "elapsed_s, provenance, record"
    )
    op.execute(
        f"INSERT INTO trials ({columns}) SELECT {columns} "  # noqa: S608 - constants
        "FROM trials_0002 JOIN records USING (id)"
    )
    for table in ("trials_0002", "configuration", "records"):
        op.drop_table(table)
    for name, of in _INDEXES.items():
        op.create_index(name, "trials", of)


def _set_aside(revision: str) -> None:
    """Renames the table of trials, and frees the names of its indexes."""
    for name in _INDEXES:
        op.drop_index(name, "trials")
    op.rename_table("trials", f"trials_{revision}")
    if op.get_bind().dialect.name == "postgresql":
        op.execute(f"ALTER INDEX trials_pkey RENAME TO trials_{revision}_pkey")


def _batches(connection: sa.Connection) -> Iterator[list[dict[str, Any]]]:
    """The old rows in order of their ids, with the decoded `record` as `data`."""
    after = ""
    query = sa.text(
        "SELECT id, workload, workload_version, engine, state, experiment, group_key, "
        "started_at_us, elapsed_s, provenance, record FROM trials_0001 "
        "WHERE id > :after ORDER BY id LIMIT :batch"
    )
    while found := connection.execute(query, {"after": after, "batch": _BATCH}).mappings().all():
        after = found[-1]["id"]
        yield [{**old, "data": json.loads(old["record"])} for old in found]


def _record(old: dict[str, Any]) -> dict[str, Any]:
    configuration = json.dumps(old["data"]["configuration"])
    return {"id": old["id"], "configuration": configuration, "record": old["record"]}


def _trial(old: dict[str, Any]) -> dict[str, Any]:
    data = old["data"]
    cluster, failure = data["cluster"], data.get("failure") or {}
    kept = (
        "id",
        "workload",
        "workload_version",
        "engine",
        "state",
        "experiment",
        "group_key",
        "started_at_us",
        "elapsed_s",
        "provenance",
    )
    return {name: old[name] for name in kept} | {
        "scale": data["workload"].get("scale"),
        "input_bytes": data["workload"].get("input_bytes"),
        "engine_version": data["engine"]["version"],
        "failure_kind": failure.get("kind"),
        "failure": failure.get("code"),
        "repetition": data.get("repetition", 0),
        "warm_up": data.get("warm_up", False),
        "source": data["provenance"]["source"],
        "instance_type": cluster.get("instance_type"),
        "network": cluster.get("network"),
        "hosts": len(cluster["hosts"]),
        "warnings": len(data.get("warnings", ())),
    }


def _settings(serial: int, old: dict[str, Any]) -> list[dict[str, Any]]:
    texts = {
        _text(key): _text(value)
        for key, value in old["data"]["configuration"].items()
        if value is not None
    }
    return [
        {"trial": serial, "key": key, "text": text, "number": _number(text)}
        for key, text in texts.items()
    ]


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    text = str(value).replace("\0", "\u2400")
    if len(text) > 200:
        text = f"{text[:180]}…{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    return text


def _number(text: str) -> float | None:
    number = float(text) if _NUMBER.fullmatch(text) else math.nan
    return number if math.isfinite(number) else None
