"""Records that are no longer among the trials: unreadable and removed ones."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_ID = sa.String(64).with_variant(sa.String(64, collation="C"), "postgresql")
_TABLES = ("quarantine", "removals", "removed")


def upgrade() -> None:
    """Creates the tables."""
    op.create_table(
        "quarantine",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("quarantined_at_us", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "removals",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("conditions", sa.Text, nullable=False),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("author_name", sa.Text),
        sa.Column("author_known_by", sa.Text),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("removed_at_us", sa.BigInteger, nullable=False),
        sa.Column("readmitted_at_us", sa.BigInteger),
        sa.Column("readmitted_by", sa.Text),
        sa.Column("readmitted_by_name", sa.Text),
        sa.Column("readmitted_by_known_by", sa.Text),
    )
    op.create_table(
        "removed",
        sa.Column("trial", _ID, primary_key=True),
        sa.Column("removal", _ID, primary_key=True),
    )
    op.create_index("removed_by_removal", "removed", ["removal"])


def downgrade() -> None:
    """Removes the tables; refused while they hold quarantined or removed records."""
    there = set(sa.inspect(op.get_bind()).get_table_names()) & set(_TABLES)
    for table in sorted(there):
        count = op.get_bind().execute(sa.select(sa.func.count()).select_from(sa.table(table)))
        if found := count.scalar_one():
            raise ValueError(f"{table} has {found} rows, which revision 0008 cannot hold")
    for table in there:
        op.drop_table(table)
