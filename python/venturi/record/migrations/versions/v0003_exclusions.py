"""Additions by people: rules that leave trials out, and saved views. And a count of all changes."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_ID = sa.String(64).with_variant(sa.String(64, collation="C"), "postgresql")
_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Creates the tables."""
    op.create_table(
        "exclusions",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("conditions", sa.Text, nullable=False),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("created_at_us", sa.BigInteger, nullable=False),
        sa.Column("revoked_at_us", sa.BigInteger),
        sa.Column("revoked_by", sa.Text),
    )
    op.create_table(
        "views",
        sa.Column("name", _TEXT, primary_key=True),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("created_at_us", sa.BigInteger, nullable=False),
    )
    changes = op.create_table("changes", sa.Column("made", sa.BigInteger, nullable=False))
    op.bulk_insert(changes, [{"made": 0}])
    if op.get_bind().dialect.name == "postgresql":
        # Else it takes key and text for independent, and joins tens of thousands of rows in loops.
        op.execute(
            "CREATE STATISTICS configuration_values (dependencies, ndistinct, mcv) "
            "ON key, text FROM configuration"
        )
        op.execute("ANALYZE configuration")


def downgrade() -> None:
    """Removes the tables; refused while there is an exclusion or a view."""
    for table in ("exclusions", "views"):
        count = op.get_bind().execute(sa.select(sa.func.count()).select_from(sa.table(table)))
        if found := count.scalar_one():
            raise ValueError(f"{found} {table} are recorded, which revision 0002 cannot hold")
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP STATISTICS configuration_values")
    for table in ("exclusions", "views", "changes"):
        op.drop_table(table)
