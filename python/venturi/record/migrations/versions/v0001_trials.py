"""The table of trials."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Creates the table and its indexes."""
    op.create_table(
        "trials",
        sa.Column(
            "id",
            sa.String(64).with_variant(sa.String(64, collation="C"), "postgresql"),
            primary_key=True,
        ),
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
    op.create_index("trials_by_workload", "trials", ["workload", "engine"])
    op.create_index("trials_by_state", "trials", ["state"])
    op.create_index("trials_by_experiment", "trials", ["experiment"])
    op.create_index("trials_by_group", "trials", ["group_key"])
    op.create_index("trials_by_start", "trials", ["started_at_us"])


def downgrade() -> None:
    """Removes the table with everything in it."""
    op.drop_table("trials")
