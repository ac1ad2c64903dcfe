"""The question for the effect of a setting, with names and values as text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from venturi.core.errors import VenturiError
from venturi.core.statistics.stats import ALPHA
from venturi.core.wording import NAMES_SHOWN, joined
from venturi.record.query.checks import require_keys
from venturi.record.query.conditions import OF_RECORDS, refused
from venturi.record.query.grouping import GROUP_KEYS_MAX
from venturi.record.query.selection import Query
from venturi.record.query.trial_columns import (
    CHOSEN,
    ORIGIN,
    WORK,
    TrialColumns,
    check_settings,
    column_for,
    trial_columns,
)
from venturi.record.store.repository import TrialRepository
from venturi.record.store.tables import text_of
from venturi.record.trial import LABEL
from venturi.record.vocabulary import explained
from venturi.results.effects.effect import EffectOutcome, Effects, Key
from venturi.results.effects.effect_words import headline, named
from venturi.results.effects.effects import EffectQuestion, UnknownBaselineError, effects_of
from venturi.results.ranking.rank_trials import counted_of, rank_trials, refusal
from venturi.results.ranking.rank_words import best_groups
from venturi.results.ranking.ranking import Objective

LEVEL_LEAST, LEVEL_MOST = 0.5, 0.999


@dataclass(frozen=True, slots=True)
class Question:
    """The question: `baseline` is a value of the only key, or a JSON list with one of each.

    Trials must match in the keys `keep`, although these are unique per trial.

    The answer has only the effects of `values`, written in the same way (None: of all; empty: of
    the leading one).
    """

    keys: Sequence[str]
    baseline: str | None = None
    ignore: Sequence[str] = ()
    level: float = 1 - ALPHA
    crude: bool = False
    values: Sequence[str] | None = None
    keep: Sequence[str] = ()


def effects(repository: TrialRepository, query: Query, question: Question) -> Effects:
    """The effects of the keys of `question` on the trials of `query`.

    VEN-QUERY-VALUE for wrong keys.
    """
    keys = require_keys(repository, question.keys, columns=CHOSEN)
    if not keys or not all(keys):
        raise refused("no key is given", "key", "name a key, such as disk")
    if len(keys) > GROUP_KEYS_MAX:
        raise refused(f"{len(keys)} keys", "key", f"at most {GROUP_KEYS_MAX} make a combination")
    for key in keys:
        if key in (*WORK, *ORIGIN):
            hint = "times of different workloads aren't compared; give a setting of the workload"
            raise refused(f"{key} isn't a setting", "key", hint)
    check_settings(keys, "key")
    if not LEVEL_LEAST <= question.level <= LEVEL_MOST:
        hint = f"give one from {LEVEL_LEAST} to {LEVEL_MOST}, such as 0.95"
        raise refused(f"{question.level} isn't a confidence level", "level", hint)
    ignored = frozenset(require_keys(repository, question.ignore, also=OF_RECORDS))
    ignored -= set(keys)
    if work := sorted(ignored & {*WORK, *ORIGIN, "engine"}):
        raise refused(
            f"{work[0]} can't be ignored", "ignore", "times of different workloads aren't compared"
        )
    texts = None if question.baseline is None else _values(question.baseline, len(keys))
    keep = require_keys(repository, question.keep, also=OF_RECORDS)
    found = trial_columns(repository, query, keep)
    labels = {key: column_for(repository, found, key) for key in keys if key.startswith(LABEL)}
    found = replace(found, columns={**found.columns, **labels})
    columns = [found.column(key).values for key in keys]

    def written(texts: Sequence[str]) -> Key:
        return tuple(
            next((v for v in values if v is not None and text_of(v) == text), text)
            for values, text in zip(columns, texts, strict=True)
        )

    baseline = None if texts is None else written(texts)
    values = None
    if question.values is not None:
        values = tuple(written(_values(text, len(keys))) for text in question.values)
    asked = EffectQuestion(keys, baseline, ignored, question.level, question.crude, values)
    try:
        answer = effects_of(found, asked)
    except UnknownBaselineError as error:
        raise _unknown(question.baseline or "", keys, error.known) from error
    if question.values is None and (best := _best(repository, found, answer)):
        answer = replace(answer, verdict=headline(answer, best))
    return replace(answer, explained=explained(_shown(answer)))


def _best(repository: TrialRepository, found: TrialColumns, answer: Effects) -> str:
    """Return which of several faster values are the best, as their ranking says; "" if there
    aren't several.

    Each value was compared with the baseline in settings of its own, so the lowest ratio need not
    be the best value.
    """
    faster = [each for each in answer.effects if each.outcome is EffectOutcome.FASTER]
    if len(faster) < 2 or answer.curve is not None:
        return ""
    names = joined(named(answer.keys, each.value) for each in faster[:NAMES_SHOWN])
    more = f" or {len(faster) - NAMES_SHOWN} more" if len(faster) > NAMES_SHOWN else ""
    trials = counted_of(repository, found, answer.keys, answer.ignored)
    if refusal(trials, answer.keys, None):
        return f"Can't tell which of {names}{more} is the best"
    return best_groups(rank_trials(trials, answer.keys, Objective.TIME))


def _shown(answer: Effects) -> dict[str, list[str]]:
    """The values that the answer names, by key: those of the keys, and those on which the leading
    effect depends.
    """
    found: dict[str, list[str]] = {key: [] for key in answer.keys}
    for each in answer.values:
        for key, value in zip(answer.keys, each.value, strict=True):
            if value is not None:
                found[key].append(text_of(value))
    if answer.main is not None:
        for depends in answer.effects[answer.main].depends:
            parts = [text_of(part.value) for part in depends.parts if part.value is not None]
            found.setdefault(depends.keys[0], []).extend(parts)
    return found


def _values(text: str, count: int) -> list[str]:
    """The texts of the values: one as it stands, of several a JSON list or A,B."""
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        listed = None
    if isinstance(listed, list) and not any(isinstance(each, list | dict) for each in listed):
        values = [text_of(value) for value in listed]
    else:
        values = [text] if count == 1 else [each.strip() for each in text.split(",")]
    if len(values) != count:
        raise refused(
            f"{text[:80]!r} is not a value of each key",
            "baseline",
            'give one of each, such as HDD,ETH or ["HDD", "ETH"]',
        )
    return values


def _unknown(text: str, keys: Sequence[str], known: Sequence[Key]) -> VenturiError:
    most = ", ".join(named(keys, value) for value in known[:NAMES_SHOWN])
    hint = f"the most frequent are: {most}" if most else "no trial is counted"
    return refused(f"no counted trial has {text[:80]!r}", "baseline", hint)
