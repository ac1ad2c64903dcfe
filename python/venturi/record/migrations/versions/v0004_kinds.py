"""An index with which SQLite finds the trials of one kind, without sorting them."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_KIND = (
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


def upgrade() -> None:
    """Creates the index; in PostgreSQL it stays empty."""
    op.create_index("trials_by_kind", "trials", list(_KIND), postgresql_where=sa.text("false"))


def downgrade() -> None:
    """Removes the index."""
    op.drop_index("trials_by_kind", "trials", if_exists=True)
