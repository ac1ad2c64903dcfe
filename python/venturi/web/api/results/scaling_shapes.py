"""The answers of `/api/scaling`."""

from __future__ import annotations

from dataclasses import dataclass

from venturi.core.statistics.stats import Interval
from venturi.results.effects.effect import NumericCurve
from venturi.web.api.shapes import Key, Scalar, SpreadData


@dataclass(frozen=True, slots=True)
class ScalingPoint:
    x: float
    n: int
    elapsed_s: SpreadData


@dataclass(frozen=True, slots=True)
class CurvePoint:
    x: float
    elapsed_s: float
    low_s: float | None
    high_s: float | None


@dataclass(frozen=True, slots=True)
class Cliff:
    """Where the data stop fitting in memory: between `below` and `above`, times jump by `jump`."""

    below: float
    above: float
    jump: float
    evidence: str


@dataclass(frozen=True, slots=True)
class ScalingEffect:
    """At `x_high` a trial takes `ratio` of the time at `x_low`; the interval is of medians.

    Without a curve, `ratio` is of the medians `measured` at both, if they were.
    """

    x_low: float
    x_high: float
    ratio: float
    interval: Interval | None
    measured: bool


@dataclass(frozen=True, slots=True)
class ScalingGroup:
    """The measured points of one context and its curve, or the reason for its absence.

    `name` distinguishes it from the other curves. `basis` describes the data behind the curve, and
    `reason` explains why it has no interval. `error_relative` is its error at points held out from
    the fit.
    """

    name: str
    key: Key
    points: tuple[ScalingPoint, ...]
    curve: tuple[CurvePoint, ...]
    basis: str | None
    formula: str | None
    error_relative: float | None
    cliff: Cliff | None
    reason: str | None
    verdict: str
    effect: ScalingEffect | None
    predicted: CurvePoint | None


@dataclass(frozen=True, slots=True)
class ScalingListed:
    """A curve that may be drawn: `skip` leads to it."""

    skip: int
    key: Key
    x_low: float
    x_high: float
    values: int
    trials: int


@dataclass(frozen=True, slots=True)
class Scaling:
    """Curves of time against x; the trials of each match in all other settings.

    `by` are the keys by which the `total` curves differ, `same` the settings that the drawn ones
    share. If x changes only together with other keys, these are in `leave_out`: without them there
    are curves. `matched` has all values of a setting compared with one of them, as `/api/effect`.
    """

    x: str
    x_unit: str
    meaning: str
    verdict: str
    by: tuple[str, ...]
    same: dict[str, Scalar]
    groups: tuple[ScalingGroup, ...]
    listed: tuple[ScalingListed, ...]
    total: int
    skip: int
    warnings: tuple[str, ...]
    leave_out: tuple[str, ...] = ()
    matched: NumericCurve | None = None
