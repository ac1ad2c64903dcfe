"""Describes an effect in words: one sentence, and the next step."""

from __future__ import annotations

import math
from collections.abc import Sequence

from venturi.core.statistics.stats import Interval
from venturi.core.units import size_text
from venturi.core.wording import joined
from venturi.results.effects.effect import Effect, EffectOutcome, Effects, PartEffect, Value
from venturi.results.effects.linked_keys import FACTORS

KEYS_TOLD = 3
MOSTLY = 0.75  # of the settings are on one machine: worth a word
MOST_MORE = 20  # times as many settings are still worth a number
_PLAIN = {"none", "true", "false", "yes", "no", "on", "off"}


def in_order(values: Sequence[Value]) -> tuple[tuple[int, float, str], ...]:
    """Numbers by size, then texts."""
    return tuple(_rank(value) for value in values)


def _rank(value: Value) -> tuple[int, float, str]:
    try:
        return 0, float(str(value)), ""
    except ValueError:
        return 1, 0.0, str(value)


def shown(key: str, value: Value) -> str:
    """A value of `key` for people: `SSD`, `64 KiB`."""
    if value is None:
        return "none given"
    if key.endswith("_bytes") and str(value).isdigit():
        return size_text(int(str(value)))
    return str(value)


def named(keys: Sequence[str], values: Sequence[Value]) -> str:
    """Values with the names that they need: `SSD`, `8 maps` as `maps 8`, `SSD IB`."""
    return " ".join(_named(key, value) for key, value in zip(keys, values, strict=True))


def _named(key: str, value: Value) -> str:
    text = shown(key, value)
    bare = isinstance(value, str) and _rank(value)[0] == 1 and text.casefold() not in _PLAIN
    return text if bare else f"{key.removeprefix('configuration.')} {text}"


def ratio_text(ratio: float) -> str:
    """Three figures: `0.228`, `1.07`, `14.8`."""
    return f"{ratio:#.3g}".rstrip(".")


def change(ratio: float) -> str:
    """`77 % less time`, `6.4 % more time`, `3.2 times the time`, `the same time`."""
    if ratio >= 2:
        return f"{ratio:.2g} times the time"
    percent = 100 * abs(ratio - 1)
    if percent < 0.05:
        return "the same time"
    digits = 0 if percent >= 9.95 else 1
    return f"{percent:.{digits}f} % {'less' if ratio < 1 else 'more'} time"


def interval_text(interval: Interval) -> str:
    """`95 % interval 0.222 to 0.234`."""
    low, high = ratio_text(interval.low), ratio_text(interval.high)
    return f"{100 * interval.level:.3g} % interval {low} to {high}"


def _settings(count: int) -> str:
    return f"{count:,} matched setting{'s' * (count != 1)}"


def _over(effect: Effect) -> str:
    works = len(effect.works)
    of_works = f"mean over {works} workloads, " if works > 1 else ""
    trials = f"{effect.n + effect.n_baseline:,} trials"
    most = max(effect.machines, key=lambda part: part.strata, default=None)
    mostly = ""
    if most is not None and MOSTLY * effect.strata <= most.strata < effect.strata:
        mostly = f" ({most.strata:,} on {most.value})"
    return f"{of_works}{_settings(effect.strata)}{mostly}, {trials}"


def verdict(effect: Effect, keys: Sequence[str]) -> str:
    """Return a sentence that compares a value with the baseline."""
    name, base = named(keys, effect.value), named(keys, effect.baseline)
    if effect.outcome is EffectOutcome.CONFOUNDED or effect.ratio is None:
        why = _confounded(effect) if effect.ratio is None else _with_others(effect, keys)
        return f"Cannot compare {name} with {base}: {why}"
    figures = _figures(effect, effect.ratio)
    if effect.outcome is EffectOutcome.DEPENDS:
        found = next(each for each in effect.depends if each.opposite)
        key = found.keys[0]
        low, high = found.parts[0], found.parts[1]
        return (
            f"The effect of {name} compared with {base} depends on {key}: "
            f"{change(low.ratio)} with {named((key,), (low.value,))}, {change(high.ratio)} "
            f"with {named((key,), (high.value,))} (overall: {figures})"
        )
    if effect.outcome is EffectOutcome.CANNOT_TELL:
        why = "" if effect.interval else f": {effect.reason}"
        return f"Cannot tell whether {name} takes less or more time than {base}{why} ({figures})"
    if effect.outcome is EffectOutcome.NO_DIFFERENCE:
        return f"{name} differs from {base} by at most 5 % ({figures})"
    if effect.ratio >= 2:
        return f"{name} takes {effect.ratio:.2g} times the time of {base} ({figures})"
    return f"{name} takes {change(effect.ratio)} than {base} ({figures})"


def _figures(effect: Effect, ratio: float) -> str:
    within = f", {interval_text(effect.interval)}" if effect.interval else ""
    return f"ratio {ratio_text(ratio)}{within}; {_over(effect)}"


def _with_others(effect: Effect, keys: Sequence[str]) -> str:
    """Name keys that change with these, their joint effect, and the trials to add."""
    told = effect.together[:KEYS_TOLD]
    names = joined(each.key for each in told)
    rest = len(effect.together) - len(told)
    more = f" and {rest} more" if rest else ""
    both = [(*keys, *(each.key for each in told))] * 2
    sides = (
        (*effect.value, *(each.value for each in told)),
        (*effect.baseline, *(each.baseline for each in told)),
    )
    own, base = (named(k, values) for k, values in zip(both, sides, strict=True))
    assert effect.ratio is not None
    return (
        f"confounded by {names}{more}, which always "
        f"change{'s' * (len(effect.together) == 1)} with it; add trials that change "
        f"{joined(keys)} but not {names}{more}. Together: {own} compared with {base}: "
        f"{change(effect.ratio)} ({_figures(effect, effect.ratio)})"
    )


def _confounded(effect: Effect) -> str:
    apart = [each for each in effect.confounders if each.flagged]
    if not apart:
        return "no two trials with them match in all other keys"
    names = joined(each.keys[0] for each in apart[:KEYS_TOLD])
    more = f" and {len(apart) - KEYS_TOLD} more" if len(apart) > KEYS_TOLD else ""
    return f"confounded by {names}{more}; no two trials with them match in all other keys"


def what_next(effect: Effect, keys: Sequence[str]) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return the next step: words, conditions to add, keys to ignore."""
    name, base = named(keys, effect.value), named(keys, effect.baseline)
    if effect.strata == 0:
        words, best = f"measure {name} and {base}, all else being equal", effect.omissions[:1]
        if not best:
            return words, (), ()
        count = f"{best[0].strata:,} setting{'s' * (best[0].strata != 1)}"
        differ = "differs" if best[0].strata == 1 else "differ"
        words = f"{words}, or use --ignore {joined(best[0].keys)}: {count} {differ} in nothing else"
        return words, (), best[0].keys
    if effect.outcome is EffectOutcome.CONFOUNDED:
        others = joined(each.key for each in effect.together)
        words = (
            f"add trials that change {joined(keys)} but not {others}, or estimate their effect "
            "together"
        )
        return words, (), ()
    if effect.outcome is EffectOutcome.DEPENDS:
        found = next(each for each in effect.depends if each.opposite)
        key = found.keys[0]
        both = tuple(f"{key}={part.value}" for part in found.parts[:2])
        return f"look at one value of {key}", both, ()
    if effect.outcome is EffectOutcome.CANNOT_TELL:
        return _more_needed(effect, name, base), (), ()
    return _how_far(effect)


def _how_far(effect: Effect) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    if effect.depends:
        key = effect.depends[0].keys[0]
        parts = sorted(effect.depends[0].parts, key=lambda part: -part.strata)
        return (
            f"the effect varies with {key}; look at one value of it",
            _where(key, parts),
            (),
        )
    reach = effect.other_machines
    if reach is not None and reach.interval is None:
        few = "one machine" if reach.machines == 1 else f"{reach.machines} machines"
        return f"measured on {few}: other machines may differ", (), ()
    return "", (), ()


def _where(key: str, parts: Sequence[PartEffect]) -> tuple[str, ...]:
    return tuple(f"{key}={part.value}" for part in parts[:2])


def _more_needed(effect: Effect, name: str, base: str) -> str:
    if effect.strata == 1:
        return f"measure {name} and {base} in more settings, or more often in this one"
    if effect.interval is None:
        return f"measure {name} and {base} in more settings"
    half = math.log(effect.interval.high / effect.interval.low) / 2
    wanted = math.ceil(effect.strata * (half / math.log(1.05)) ** 2)
    if not effect.strata < wanted <= MOST_MORE * effect.strata or len(effect.works) > 1:
        return f"measure {name} and {base} in more settings"
    return f"about {wanted:,} settings with both would show a difference of 5 %"


def comparable_rows(
    keys: Sequence[str], baseline: Sequence[Value], sets: Sequence[Sequence[Sequence[Value]]]
) -> str:
    """Return which effects can be compared: those of each of `sets` have the same settings."""
    if sum(map(len, sets)) < 2:
        return ""
    if len(sets) == 1:
        return "All rows have the same settings, so you can compare them"
    text = f"Settings differ by row, so compare each row with {named(keys, baseline)}"
    groups = [joined([named(keys, value) for value in each]) for each in sets if len(each) > 1]
    more = f"; and {len(groups) - KEYS_TOLD} more groups" if len(groups) > KEYS_TOLD else ""
    listed = "; ".join(groups[:KEYS_TOLD])
    return text + (f". Comparable with each other: {listed}{more}" if groups else " only")


def headline(answer: Effects, best: str = "") -> str:
    """Return the first line: the leading value, the `best` ones, and the outcomes of the others."""
    what = joined(answer.keys)
    if answer.baseline is None:
        return f"No counted trial has a value of {what}; `venturi keys` lists the keys with values"
    if answer.main is None:
        only = named(answer.keys, answer.baseline)
        return f"Nothing to compare: all {answer.trials:,} trials have {only}"
    said = answer.effects[answer.main].verdict + (f". {best}" if best else "")
    said += _of_others(answer, answer.main)
    if answer.along and f"confounded by {answer.along[0]}" not in said:
        said += f". {linked_text(answer.along, answer.keys) or _only_together(answer)}"
    return said


def _only_together(answer: Effects) -> str:
    changes = f"change{'s' * (len(answer.along) == 1)}"
    return f"{joined(answer.along)} {changes} only together with {joined(answer.keys)}"


def linked_text(linked: Sequence[str], keys: Sequence[str]) -> str | None:
    """Return that `linked` follow from the platform that `keys` describe; None if they don't."""
    if not set(keys) <= FACTORS:
        return None
    rest = len(linked) - KEYS_TOLD
    named = joined([*linked[:KEYS_TOLD], *([f"{rest} more"] if rest > 0 else [])])
    return f"{named} follow{'s' * (len(linked) == 1)} from {joined(keys)} in all trials"


def _of_others(answer: Effects, main: int) -> str:
    others = [outcome_text(each) for place, each in enumerate(answer.effects) if place != main]
    if not others:
        return ""
    words = {
        "faster": "faster",
        "slower": "slower",
        "perhaps faster": "perhaps faster",
        "perhaps slower": "perhaps slower",
        "no difference": "without a difference",
        "depends": "depending on another setting",
        "cannot tell": "with too little data",
        "confounded": "not comparable (confounded)",
    }
    counts = [
        f"{others.count(outcome)} {word}" for outcome, word in words.items() if outcome in others
    ]
    which = "other value" if len(others) == 1 else f"{len(others)} other values"
    return f". The {which}: {', '.join(counts)}"


def outcome_text(effect: Effect) -> str:
    """Return the outcome in a word or two: `faster`, `perhaps slower`, `cannot tell`."""
    return ("perhaps " if perhaps(effect) else "") + effect.outcome.value


def perhaps(effect: Effect) -> bool:
    """Return whether it is faster or slower alone, but not after correction for all values."""
    return effect.outcome in {EffectOutcome.FASTER, EffectOutcome.SLOWER} and not effect.sure
