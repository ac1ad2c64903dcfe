"""A numeric setting's curve as a table: its values in order, and how each stands to the best."""

from __future__ import annotations

import math

from venturi.results.effects.effect import CurveValue, NumericCurve
from venturi.results.effects.effect_words import ratio_text, shown
from venturi.terminal.table import UNKNOWN, Table, table

FIRST_VALUES = 12
_STANDINGS = ("best", "tied", "worse", "cannot tell")


def curve_lines(curve: NumericCurve, *, whole: bool) -> tuple[str, Table]:
    """A heading, and the values in order; unless `whole`, only the best ones of many."""
    made = table(curve.key, "time ratio", "interval", "settings", "trials", "standing", left=1)
    values = list(curve.values)
    if not whole and len(values) > FIRST_VALUES:
        values.sort(key=lambda each: (_STANDINGS.index(each.standing), each.ratio or math.inf))
        values = sorted(values[:FIRST_VALUES], key=lambda each: each.value)
        note = f"the best {len(values)} of {len(curve.values)} values"
        made.notes.append(("time ratio", note))
    for each in values:
        is_reference = each.value == curve.reference
        made.add(
            value_text(curve.key, each.value),
            UNKNOWN if each.ratio is None else ratio_text(each.ratio),
            "reference" if is_reference else _interval(each),
            UNKNOWN if each.settings is None else f"{each.settings:,}",
            f"{each.n:,}",
            each.standing,
        )
    reference = value_text(curve.key, curve.reference)
    return f"By {curve.key}, compared with {reference} where nothing else differs:", made


def value_text(key: str, value: float) -> str:
    """A value of the key: `64 KiB`, `8`, `0.5`."""
    return shown(key, int(value)) if value.is_integer() else f"{value:g}"


def _interval(each: CurveValue) -> str:
    if each.interval is None:
        return UNKNOWN
    return f"{_end(each.interval.low)} to {_end(each.interval.high)}"


def _end(ratio: float) -> str:
    return "under 0.01" if ratio < 0.01 else "over 100" if ratio > 100 else ratio_text(ratio)
