"""`/api/effect`: the effect of a setting, or of a combination of settings."""

from __future__ import annotations

from typing import Annotated

from venturi.record.query.grouping import GROUP_KEYS_MAX
from venturi.results.effects.effect import Effects
from venturi.results.effects.effects import LEVEL
from venturi.web.api.context import SelectionDep, Services
from venturi.web.api.request_arguments import Parameter
from venturi.web.api.results.cells import IgnoredKeys, KeepKeys
from venturi.web.effects import LEVEL_LEAST, LEVEL_MOST, Question, effects


def effect(
    services: Services,
    selection: SelectionDep,
    key: Annotated[
        list[str],
        Parameter(
            min_length=1,
            max_length=GROUP_KEYS_MAX,
            description="The key to compare values of; with several, every combination.",
            examples=[["disk"]],
        ),
    ],
    *,
    baseline: Annotated[
        str | None,
        Parameter(
            max_length=2_000,
            description="The value to compare with (a JSON list for several keys); default: the "
            "most frequent.",
            examples=["HDD", '["HDD", "ETH"]'],
        ),
    ] = None,
    ignore: IgnoredKeys = None,
    keep: KeepKeys = None,
    level: Annotated[
        float,
        Parameter(
            ge=LEVEL_LEAST,
            le=LEVEL_MOST,
            description="Confidence level of the verdict's intervals.",
        ),
    ] = LEVEL,
    crude: Annotated[
        bool, Parameter(description="Also give the crude ratio over all trials (confounded).")
    ] = False,
) -> Effects:
    """The effect of a setting on time, over trials that match in every other recorded setting."""
    question = Question(key, baseline, ignore or (), level, crude, keep=keep or ())
    return effects(services.repository, selection.query(), question)
