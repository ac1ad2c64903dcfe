"""Failures are counted by their class, where the last word of their code had stood.

Only the column that is searched changes: a record keeps its text and is classed when it is read.
"""

import sqlalchemy as sa
from alembic import op

from venturi.core.errors import class_of

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_TRIALS = sa.table(
    "trials",
    sa.column("state"),
    sa.column("failure"),
    sa.column("failure_kind"),
    sa.column("provenance"),
)
_OF_STATE = {"invalid": "wrong output", "interrupted": "interrupted"}


def upgrade() -> None:
    """Puts the class in place of the last word."""
    ours = _TRIALS.c.failure.like("VEN-%-%") & (_TRIALS.c.provenance != "imported")
    query = sa.select(_TRIALS.c.state, _TRIALS.c.failure).where(ours).distinct()
    for state, code in op.get_bind().execute(query).all():
        of_these = (_TRIALS.c.state == state) & (_TRIALS.c.failure == code) & ours
        by_old_rule = _TRIALS.c.failure_kind == code.rpartition("-")[2].lower()
        kind = _OF_STATE.get(state) or class_of(code).value
        op.execute(sa.update(_TRIALS).where(of_these & by_old_rule).values(failure_kind=kind))


def downgrade() -> None:
    """Nothing: older Venturis show either word."""
