"""Named tokens and their sessions, a log of actions, and the authors' verified names.

Authors recorded before were only stated by the user, so they stay without a verified name.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_ID = sa.String(64).with_variant(sa.String(64, collation="C"), "postgresql")
_KNOWN = {
    "exclusions": ("author_name", "author_known_by", "revoked_by_name", "revoked_by_known_by"),
    "views": ("author_name", "author_known_by"),
}


_AUTHOR = ("author_name", "author_known_by")


def upgrade() -> None:
    """Adds the tables and columns that are not here: going back leaves them."""
    there = set(sa.inspect(op.get_bind()).get_table_names())
    if "tokens" not in there:
        _create_tables()
    for table, names in _KNOWN.items():
        columns = {column["name"] for column in sa.inspect(op.get_bind()).get_columns(table)}
        for name in names:
            if name not in columns:
                op.add_column(table, sa.Column(name, sa.Text))


def _create_tables() -> None:
    op.create_table(
        "tokens",
        sa.Column("name", _ID, primary_key=True),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("digest", _ID, nullable=False, unique=True),
        sa.Column("created_at_us", sa.BigInteger, nullable=False),
        sa.Column("expires_at_us", sa.BigInteger),
        sa.Column("last_used_at_us", sa.BigInteger),
        sa.Column("revoked_at_us", sa.BigInteger),
        sa.Column("author", sa.Text, nullable=False),
        *(sa.Column(name, sa.Text) for name in _AUTHOR),
    )
    op.create_table(
        "sessions",
        sa.Column("digest", _ID, primary_key=True),
        sa.Column("token", _ID, nullable=False),
        sa.Column("expires_at_us", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "actions",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("at_us", sa.BigInteger, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("author", sa.Text, nullable=False),
        *(sa.Column(name, sa.Text) for name in _AUTHOR),
    )
    op.create_index("actions_by_subject", "actions", ["subject"])


def downgrade() -> None:
    """Leaves all: an older Venturi does not look at it, and SQLite would not restore tables that a
    refused downgrade has removed. Refused while there is a token, which older servers would refuse.
    """
    count = op.get_bind().execute(sa.select(sa.func.count()).select_from(sa.table("tokens")))
    if found := count.scalar_one():
        raise ValueError(f"{found} tokens are recorded, which revision 0007 cannot hold")
