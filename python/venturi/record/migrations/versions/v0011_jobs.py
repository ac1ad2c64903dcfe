"""Summaries of jobs as a table: a list of jobs reads no records and no files."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_ID = sa.String(64).with_variant(sa.String(64, collation="C"), "postgresql")
_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Creates the table, with a row for each trial that has an account; its summary comes later."""
    op.create_table(
        "jobs",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("program", _TEXT),
        sa.Column("summary", sa.Text),
        sa.Column("changed", sa.BigInteger),
    )
    op.create_index("jobs_by_change", "jobs", ["changed"])
    op.execute(
        "INSERT INTO jobs (id, changed) SELECT id, (SELECT max(made) FROM changes) FROM records "
        "WHERE record LIKE '%\"job-account.json\"%'"
    )


def downgrade() -> None:
    """Removes the table if it is still there: on SQLite, a refused downgrade has removed it."""
    inspector = sa.inspect(op.get_bind())
    if "jobs" in inspector.get_table_names():
        op.drop_table("jobs")
