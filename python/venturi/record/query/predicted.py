"""The trials that store a prediction of their own time."""

from __future__ import annotations

import sqlalchemy as sa

from venturi.record.prediction import ELAPSED
from venturi.record.query.conditions import Condition
from venturi.record.query.selection import rules_of, where
from venturi.record.store.repository import TrialRepository
from venturi.record.store.tables import RECORDS, TRIALS
from venturi.record.trial import Trial
from venturi.record.trial_json import stored_trial


def predicted_trials(
    repository: TrialRepository, *conditions: Condition, with_excluded: bool = False
) -> list[Trial]:
    """The trials that meet all `conditions` and store a prediction, newest first.

    Those that exclusions cover are left out, unless `with_excluded`.
    """
    with repository.reading() as connection:
        statement = (
            sa.select(RECORDS.c.id, RECORDS.c.record)
            .join(TRIALS, TRIALS.c.id == RECORDS.c.id)
            .where(RECORDS.c.record.contains(f'"{ELAPSED}"', autoescape=True))
            .where(*where(conditions, () if with_excluded else rules_of(connection)))
            .order_by(TRIALS.c.started_at_us.desc().nulls_last(), TRIALS.c.id.desc())
        )
        found = connection.execute(statement).all()
    return [stored_trial(record, id_) for id_, record in found]
