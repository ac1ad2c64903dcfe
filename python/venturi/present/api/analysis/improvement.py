"""`/api/improvement`: configurations against a baseline, and what each single key does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

from venturi.model.compare.effects import Pair, speedup
from venturi.model.statistics.stats import ALPHA, MEDIAN_LEVEL
from venturi.present.api.analysis.cells import (
    ByDep,
    Cell,
    alike,
    keys_of,
    label,
    merged,
    named_key,
    refused,
    same,
    shown,
)
from venturi.present.api.analysis.matched import effects_of, repeats_of
from venturi.present.api.analysis.speedup import against
from venturi.present.api.analysis.spreads import as_fast, interval, no_spread, spread_of
from venturi.present.api.asking import Parameter
from venturi.present.api.context import SelectionDep, Services
from venturi.present.api.shapes import (
    ImprovedConfiguration,
    Improvement,
    Key,
    ParameterEffect,
)

CONFIGURATIONS_MAX = 200
KEYS_MAX = 6  # whose effects are told


def improvement(
    services: Services,
    selection: SelectionDep,
    by: ByDep = None,
    baseline: Annotated[
        str | None,
        Parameter(
            max_length=2_000,
            description="A JSON list of the values of `by`; default: the most frequent.",
            examples=['["HDD", "ETH"]'],
        ),
    ] = None,
) -> Improvement:
    """How much faster each configuration is than the baseline, over like work."""
    keys = keys_of(by)
    if not keys:
        raise refused("there is nothing to vary", "by", "give by=KEY for what was chosen")
    every, found, _ = alike(services.repository, selection, keys)
    work = every[len(keys) :]
    warnings = []
    if work:
        warnings.append(
            f"over {len({cell.key[len(keys) :] for cell in found})} kinds of work that differ in "
            f"{', '.join(work)}: a speedup is the geometric mean over those that both have"
        )
    base = _baseline(found, keys, baseline)
    configurations = compared(found, keys, base)
    if len(configurations) > CONFIGURATIONS_MAX:
        warnings.append(
            f"only the {CONFIGURATIONS_MAX} configurations with the most trials are shown, of "
            f"{len(configurations):,}"
        )
    effects: dict[str, tuple[ParameterEffect, ...]] = {}
    repeats = repeats_of(services.repository, selection, keys)
    for place, key in enumerate(keys[:KEYS_MAX]):
        text = None if base is None or base[place] is None else shown(base[place])
        effects[key], told = effects_of(repeats, key, text)
        warnings += [each for each in told if each not in warnings]
    shown_ = configurations[:CONFIGURATIONS_MAX]
    return Improvement(keys, base, shown_, effects, tuple(warnings))


def _baseline(found: Sequence[Cell], keys: Sequence[str], text: str | None) -> Key | None:
    """The configuration named, or that with the most counted trials."""
    counts: Counter[Key] = Counter()
    for cell in found:
        counts[cell.key[: len(keys)]] += len(cell.elapsed_s)
    if text is not None:
        wanted = named_key(text, keys, "baseline")
        for key in counts:
            if same(key, wanted):
                return key
        near = "; ".join(label(key) for key, _ in counts.most_common(5))
        raise refused(f"there is no configuration {text[:80]}", "baseline",
                      f"the most frequent are: {near}")  # fmt: skip
    return min(counts, key=lambda key: (-counts[key], label(key)), default=None)


def compared(
    found: Sequence[Cell], keys: Sequence[str], base: Key | None
) -> tuple[ImprovedConfiguration, ...]:
    """Each configuration against the baseline, work by work; the fastest first."""
    if base is None:
        return ()
    count = len(keys)
    by_work: dict[Key, dict[Key, Cell]] = {}
    for cell in found:
        by_work.setdefault(cell.key[count:], {})[cell.key[:count]] = cell
    every = merged(found, count)
    kept = [cell for cell in every if cell.key == base]
    kept += [cell for cell in every if cell.key != base and cell.elapsed_s]
    alpha = ALPHA / max(1, len(kept) - 1)
    made = []
    for cell in kept[: CONFIGURATIONS_MAX + 1]:
        pairs = [
            (of_work[cell.key].elapsed_s, of_work[base].elapsed_s)
            for of_work in by_work.values()
            if cell.key in of_work and base in of_work
            and of_work[cell.key].elapsed_s and of_work[base].elapsed_s
        ]  # fmt: skip
        several = len(by_work) > 1
        made.append(_one(cell, keys, base, pairs, alpha, several=several))
    return tuple(sorted(made, key=lambda one: (one.speedup is None, -(one.speedup or 0))))


def _one(
    cell: Cell,
    keys: Sequence[str],
    base: Key,
    pairs: Sequence[Pair],
    alpha: float,
    *,
    several: bool,
) -> ImprovedConfiguration:
    n = len(cell.elapsed_s)
    changes = tuple(
        f"{key}: {shown(before)} → {shown(after)}"
        for key, before, after in zip(keys, base, cell.key, strict=True)
        if before != after
    )
    name, base_name = label(cell.key), label(base)
    if cell.key == base:
        value, within, verdict = (1.0 if n else None), None, "the baseline"
    elif len(pairs) == 1:
        ratio, verdict = against(*pairs[0], name, base_name, alpha)
        value, within = ratio.value, interval(ratio.interval)
    else:
        ratio = speedup(pairs, MEDIAN_LEVEL)
        value, within = ratio.value, interval(ratio.interval)
        if ratio.interval is None:
            verdict = f"cannot tell: {ratio.reason}"
        elif ratio.interval.low <= 1 <= ratio.interval.high:
            verdict = f"cannot tell: the {ratio.interval.percent} interval has 1 in it"
        else:
            verdict = f"{as_fast(name, base_name, ratio)}, over {len(pairs)} kinds of work"
    elapsed = spread_of(cell.elapsed_s)
    if several:
        elapsed = no_spread(n, "of different work: not pooled")
    return ImprovedConfiguration(cell.key, n, elapsed, value, within, changes, verdict)
