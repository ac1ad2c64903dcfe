"""Names of clusters as a column: who asks for a cluster's trials reads no records."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_RECORDS = sa.table("records", sa.column("id"), sa.column("record"))
_TRIALS = sa.table("trials", sa.column("id"), sa.column("cluster_name"))


def upgrade() -> None:
    """Adds the column with its index, and fills it. Records of before there were clusters do not
    have the word, and need not be decoded.
    """
    op.add_column("trials", sa.Column("cluster_name", sa.Text))
    op.create_index("trials_by_cluster", "trials", ["cluster_name"])
    connection = op.get_bind()
    named = _RECORDS.c.record.contains('"dilation"')
    found = []
    for id_, record in connection.execute(sa.select(_RECORDS.c.id, _RECORDS.c.record).where(named)):
        name = json.loads(record)["cluster"].get("name")
        if name is not None:
            found.append({"trial": id_, "name": name})
    if found:
        of_it = sa.update(_TRIALS).where(_TRIALS.c.id == sa.bindparam("trial"))
        connection.execute(of_it.values(cluster_name=sa.bindparam("name")), found)


def downgrade() -> None:
    """Removes it if it is still there: on SQLite, a refused downgrade has already removed it."""
    inspector = sa.inspect(op.get_bind())
    if "trials_by_cluster" in {each["name"] for each in inspector.get_indexes("trials")}:
        op.drop_index("trials_by_cluster", "trials")
    if "cluster_name" in {each["name"] for each in inspector.get_columns("trials")}:
        op.drop_column("trials", "cluster_name")
