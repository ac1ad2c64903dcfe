"""The effect of a setting: plain values for all pages and verbs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Literal

from venturi.core.statistics.stats import Interval
from venturi.results.effects.confounders import Confounder, Omission

Value = str | int | float | bool | datetime | None
Key = tuple[Value, ...]
Standing = Literal["best", "tied", "worse", "cannot tell"]


class EffectOutcome(StrEnum):
    """The verdict on a value compared with the baseline."""

    FASTER = "faster"
    SLOWER = "slower"
    NO_DIFFERENCE = "no difference"
    CANNOT_TELL = "cannot tell"
    DEPENDS = "depends"
    CONFOUNDED = "confounded"


@dataclass(frozen=True, slots=True)
class PartEffect:
    """The effect for one value of a key, such as one machine or one kind of work."""

    value: Value
    strata: int
    trials: int
    ratio: float
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class KeyDependence:
    """The effect depends on `keys`, which change together: see `dependence.Dependence`."""

    keys: tuple[str, ...]
    share: float
    p_value: float
    opposite: bool
    parts: tuple[PartEffect, ...]


@dataclass(frozen=True, slots=True)
class Reach:
    """The effect on other machines, by `strata.over_machines`; no interval for under 3."""

    machines: int
    ratio: float
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class ModelEffect:
    """The effect adjusted by a model, not matched, from `kept` of `trials` trials."""

    ratio: float
    interval: Interval
    kept: int
    trials: int


@dataclass(frozen=True, slots=True)
class CrudeRatio:
    """The confounded ratio of the medians of all trials."""

    ratio: float
    median_s: float
    baseline_median_s: float


@dataclass(frozen=True, slots=True)
class NextStep:
    """The next step: in words, and as conditions to add or keys to leave out."""

    words: str
    where: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LinkedKey:
    """A key that changes only together with the chosen key: `value` with the value, `baseline` with
    the baseline.
    """

    key: str
    value: Value
    baseline: Value


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of `value` compared with `baseline`, all else being equal.

    `ratio` is of times, below 1 if the value takes less; None without matched settings. Over
    several kinds of work it is their mean. `strata` settings have both, with `n` and `n_baseline`
    trials. In `below` of them the value takes less time, in `above` more. 80 % of their ratios lie
    from `low_tenth` to `high_tenth`. `points` are these ratios, sorted (of more than 2,000 as many
    evenly sampled).

    `n_all`, `n_baseline_all` and `failed` are of the selection. `sure`: it is faster or slower at
    95 % for all values tested together (Bonferroni). `these_only` is about the few measured
    settings, `other_machines` about machines that were not measured. `together` are keys that
    differ wherever the value does. The ratio is then their joint effect, and a significant
    difference is confounded.
    """

    value: Key
    baseline: Key
    outcome: EffectOutcome
    verdict: str
    ratio: float | None
    interval: Interval | None
    sure: bool
    reason: str | None
    strata: int
    n: int
    n_baseline: int
    n_all: int
    n_baseline_all: int
    failed: int
    below: int
    above: int
    low_tenth: float | None
    high_tenth: float | None
    points: tuple[float, ...]
    these_only: Interval | None
    other_machines: Reach | None
    machines: tuple[PartEffect, ...]
    works: tuple[PartEffect, ...]
    depends: tuple[KeyDependence, ...]
    confounders: tuple[Confounder, ...]
    omissions: tuple[Omission, ...]
    adjusted: ModelEffect | None
    crude: CrudeRatio | None
    together: tuple[LinkedKey, ...]
    next: NextStep


@dataclass(frozen=True, slots=True)
class ValueCount:
    """A value of the keys, and how many counted trials have it; `failed` count for nothing."""

    value: Key
    n: int
    failed: int


@dataclass(frozen=True, slots=True)
class CurveValue:
    """A value of a numeric key with `n` trials, and how it stands to the best one.

    `ratio` is of times to those of the reference, over so many matched `settings`. The intervals
    hold for all values together. The reference has no settings and no interval.
    """

    value: float
    n: int
    settings: int | None
    ratio: float | None
    interval: Interval | None
    standing: Standing = "cannot tell"


@dataclass(frozen=True, slots=True)
class NumericCurve:
    """The values of a numeric key in order, and which are statistically best, in a sentence.

    All are compared with the value `reference`. `best` are the ends of the best range; None if
    nothing is known to be best.
    """

    key: str
    values: tuple[CurveValue, ...]
    sentence: str
    reference: float
    best: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Effects:
    """The effects of `keys`: of each of their values (or combinations) on the time.

    `main` is the index in `effects` of the effect that leads the verdict: the largest certain one,
    else the one with most strata, or None without any. `along` changes only together with the keys
    and is part of their effect. `ignored` was left out on request: trials match although they
    differ in it. `rows` says which effects can be compared with each other; empty if there is only
    one. `explained` has the meaning of coded values. `curve` is that of one numeric key.
    """

    keys: tuple[str, ...]
    baseline: Key | None
    baseline_reason: str
    verdict: str
    main: int | None
    effects: tuple[Effect, ...]
    values: tuple[ValueCount, ...]
    along: tuple[str, ...]
    ignored: tuple[str, ...]
    level: float
    trials: int
    warnings: tuple[str, ...]
    rows: str = ""
    explained: Mapping[str, str] = field(default_factory=dict)
    curve: NumericCurve | None = None
