"""Other processes' use of a trial's host while it executed: columns to filter and exclude by.

Nothing is known of it for the trials that are there.
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_COLUMNS = (
    ("disturbed", sa.Boolean),
    ("cpu_others_share", sa.Double),
    ("disk_others_share", sa.Double),
    ("cpu_steal_share", sa.Double),
)


def upgrade() -> None:
    """Adds the columns."""
    for name, kind in _COLUMNS:
        op.add_column("trials", sa.Column(name, kind))


def downgrade() -> None:
    """Removes the remaining ones: on SQLite, a refused downgrade has already removed some."""
    there = {column["name"] for column in sa.inspect(op.get_bind()).get_columns("trials")}
    for name, _kind in _COLUMNS:
        if name in there:
            op.drop_column("trials", name)
