"""Names of hosts and folders of disks as columns: who compares many trials reads no records."""

import json

import sqlalchemy as sa
from alembic import op

from venturi.record.store.tables import machines_text

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_RECORDS = sa.table("records", sa.column("id"), sa.column("record"))
_TRIALS = sa.table(
    "trials",
    sa.column("id"),
    sa.column("group_key"),
    sa.column("host_names"),
    sa.column("disk_folders"),
)


def upgrade() -> None:
    """Adds the columns, and fills them from one record of each repeat group: they are alike in
    these."""
    for name in ("host_names", "disk_folders"):
        op.add_column("trials", sa.Column(name, sa.Text))
    connection = op.get_bind()
    first = sa.select(sa.func.min(_TRIALS.c.id)).group_by(_TRIALS.c.group_key)
    query = (
        sa.select(_TRIALS.c.group_key, _RECORDS.c.record)
        .join(_RECORDS, _RECORDS.c.id == _TRIALS.c.id)
        .where(_TRIALS.c.id.in_(first))
    )
    groups: dict[tuple[str | None, str | None], list[str]] = {}
    for group, record in connection.execute(query):
        cluster = json.loads(record)["cluster"]
        found = machines_text(
            [host["name"] for host in cluster["hosts"]], cluster.get("disks_by_role") or {}
        )
        groups.setdefault(found, []).append(group)
    for (names, folders), keys in groups.items():
        of_these = _TRIALS.c.group_key == sa.bindparam("group")
        statement = sa.update(_TRIALS).where(of_these)
        values = statement.values(host_names=names, disk_folders=folders)
        connection.execute(values, [{"group": key} for key in keys])


def downgrade() -> None:
    """Removes the remaining ones: on SQLite, a refused downgrade has already removed some."""
    there = {column["name"] for column in sa.inspect(op.get_bind()).get_columns("trials")}
    for name in there & {"host_names", "disk_folders"}:
        op.drop_column("trials", name)
