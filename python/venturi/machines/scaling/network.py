"""The network of N nodes, from NetBench at fewer: a curve, its interval, and how far it may go.

Nothing is extrapolated beyond 8 times the measured size, unless forced; then the result says so.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from venturi.core.domain import invalid
from venturi.core.errors import VenturiError
from venturi.core.quantity import Quantity, ValueKind
from venturi.core.statistics.quantiles import student_quantile
from venturi.core.units import format_rate
from venturi.record.measured_over import measured_over
from venturi.record.trial import ProvenanceKind, Sample, State, Trial

Array = npt.NDArray[np.float64]

LEVEL = 0.90  # of every interval here
MAX_EXTRAPOLATION = 8  # chosen by us: three doublings beyond the largest that was measured
MIN_SIZES = 3  # two parameters and one degree of freedom for an interval
RIVAL = 2.0  # a curve that predicts less than twice as badly is not ruled out


def check_range(
    name: str, asked: float, smallest: float, largest: float, *, force: bool = False
) -> str:
    """Refuses `asked` beyond 8 times the largest, or below an eighth of the smallest measured.

    Returns "" within that range; with `force` a note that names the limit exceeded.
    """
    if smallest / MAX_EXTRAPOLATION <= asked <= largest * MAX_EXTRAPOLATION:
        return ""
    limit = largest * MAX_EXTRAPOLATION if asked > largest else smallest / MAX_EXTRAPOLATION
    if force:
        return f"forced beyond the limit of {limit:g} ({MAX_EXTRAPOLATION} x the measured size)"
    nearest = math.ceil(asked / MAX_EXTRAPOLATION) if asked > largest else asked * MAX_EXTRAPOLATION
    raise VenturiError(
        "VEN-MODEL-RANGE",
        f"{name} is {asked:g}, but the measured range is {smallest:g} to {largest:g}, and "
        f"the limit of extrapolation is {limit:g} ({MAX_EXTRAPOLATION} times)",
        where={"field": name, "value": asked, "limit": limit},
        hint=f"measure at {nearest:g}, or force the extrapolation",
    )


@dataclass(frozen=True, slots=True)
class NetworkScalingPoint:
    """Bandwidth of the slowest node while `nodes` nodes send to each other concurrently."""

    nodes: int
    bytes_per_s: float

    def __post_init__(self) -> None:
        if self.nodes < 2:
            raise invalid("nodes", self.nodes, "at least 2: one node has no peer to send to")
        if not (math.isfinite(self.bytes_per_s) and self.bytes_per_s > 0):
            raise invalid("bytes_per_s", self.bytes_per_s, "finite and above 0")


class Curve(StrEnum):
    """How a node's bandwidth B depends on the nodes N, from fewest parameters; never rising."""

    CONSTANT = "a"  # a switch that does not block
    POWER = "a * N^-b"  # each step up in size meets the same oversubscription
    LINE = "a - b * log2 N"  # each doubling costs the same: a tree of switches
    SHARED = "1 / (a + b * N)"  # all nodes share a core that does not grow with them


@dataclass(frozen=True, slots=True, eq=False)
class NetworkCurveFit:
    """One curve through the points, by least squares of relative errors.

    CONSTANT and POWER are fitted to ln B, LINE to B and SHARED to 1/B with weights that make their
    residuals relative ones. `spread` is the residual standard deviation (relative), `left_out` the
    root mean square of ln(predicted / measured) when all points of one size are left out in turn.
    """

    curve: Curve
    coefficients: Array
    inverse: Array  # (A'A)^-1 of the weighted design
    spread: float
    freedom: int
    left_out: float

    def value(self, nodes: float) -> float:
        """Bytes per second at `nodes`; 0 where LINE has run out."""
        return _evaluate(self.curve, self.coefficients, nodes)

    def interval(self, nodes: float) -> tuple[float, float]:
        """Prediction interval (90 %) of one more measurement at `nodes`, where `value` is above 0.

        ln B +- t * s * sqrt(1 + x'(A'A)^-1 x), x being the gradient of ln B (Draper and Smith
        1998; for LINE and SHARED by the delta method).
        """
        value = self.value(nodes)
        x = _design(self.curve, np.array([float(nodes)]))[0]
        x = x * {Curve.LINE: 1 / value, Curve.SHARED: value}.get(self.curve, 1.0)
        spread = self.spread * math.sqrt(1 + float(x @ self.inverse @ x))
        half = min(student_quantile(self.freedom, (1 + LEVEL) / 2) * spread, 300.0)
        return value * math.exp(-half), value * math.exp(half)

    @property
    def formula(self) -> str:
        """The curve with its numbers."""
        a, b = (*map(float, self.coefficients), 0.0)[:2]
        if self.curve is Curve.LINE:
            return f"{format_rate(a)} - {format_rate(-b)} * log2 N"
        if self.curve is Curve.SHARED:
            return f"{format_rate(1 / a)} / (1 + {b / a:.4g} * N)"
        slope = "" if self.curve is Curve.CONSTANT else f" * N^{b:.3f}"
        return format_rate(math.exp(a)) + slope


def _design(curve: Curve, nodes: Array) -> Array:
    ones = np.ones_like(nodes)
    if curve is Curve.CONSTANT:
        return ones[:, None]
    by = {Curve.POWER: np.log(nodes), Curve.LINE: np.log2(nodes), Curve.SHARED: nodes}[curve]
    return np.column_stack([ones, by])


def _evaluate(curve: Curve, coefficients: Array, nodes: float) -> float:
    """Bytes per second; 0 where the curve has none."""
    value = float(_design(curve, np.array([float(nodes)]))[0] @ coefficients)
    if curve is Curve.LINE:
        return max(0.0, value)
    if curve is Curve.SHARED:
        return 1 / value if value > 0 else 0.0
    return math.exp(value)


def _weighted(curve: Curve, nodes: Array, rates: Array) -> tuple[Array, Array]:
    """Design matrix and target, weighted so that residuals are relative errors."""
    design = _design(curve, nodes)
    if curve is Curve.LINE:
        return design / rates[:, None], np.ones_like(rates)
    if curve is Curve.SHARED:
        return design * rates[:, None], np.ones_like(rates)
    return design, np.log(rates)


def _solve(curve: Curve, nodes: Array, rates: Array) -> Array:
    solved = np.linalg.lstsq(*_weighted(curve, nodes, rates), rcond=None)[0]
    return np.asarray(solved, dtype=np.float64)


def _never_rises(curve: Curve, coefficients: Array) -> bool:
    if curve is Curve.CONSTANT:
        return True
    a, b = coefficients
    return bool(a > 0 and b > 0) if curve is Curve.SHARED else bool(b < 0)


def _left_out(curve: Curve, nodes: Array, rates: Array) -> float:
    squares: list[float] = []
    for size in np.unique(nodes):
        kept = nodes != size
        predicted = _evaluate(curve, _solve(curve, nodes[kept], rates[kept]), size)
        if predicted <= 0:
            return math.inf
        squares += [math.log(predicted / rate) ** 2 for rate in rates[~kept]]
    return math.sqrt(statistics.fmean(squares))


def _fit(curve: Curve, nodes: Array, rates: Array) -> NetworkCurveFit | None:
    """The fit, or None for a rise: noise or another network, never extrapolated."""
    coefficients = _solve(curve, nodes, rates)
    if not _never_rises(curve, coefficients):
        return None
    design, target = _weighted(curve, nodes, rates)
    freedom = len(nodes) - len(coefficients)
    residuals = target - design @ coefficients
    return NetworkCurveFit(
        curve,
        coefficients,
        np.asarray(np.linalg.inv(design.T @ design), dtype=np.float64),
        math.sqrt(float(residuals @ residuals) / freedom),
        freedom,
        _left_out(curve, nodes, rates),
    )


@dataclass(frozen=True, slots=True)
class NetworkScaling:
    """B_network(N) of the slowest node. `fits` has the best curve first; none with < 3 sizes.

    A switch that only fills up beyond the largest size measured shows in no curve.
    """

    points: tuple[NetworkScalingPoint, ...]
    fits: tuple[NetworkCurveFit, ...]
    source: str
    as_of: date | None = None

    @property
    def sizes(self) -> tuple[int, ...]:
        """The cluster sizes that were measured."""
        return tuple(sorted({point.nodes for point in self.points}))

    def at(self, nodes: int, *, force: bool = False) -> Quantity:
        """Bytes per second of the slowest of `nodes` nodes, with a prediction interval.

        Derived from the best curve, with a 90 % prediction interval, widened by those of the other
        curves that the points don't rule out. With fewer than three sizes, returns measured sizes
        only. VEN-MODEL-RANGE beyond 8 times the measured sizes unless `force`, for unmeasured sizes
        without a curve, and where the curve has fallen to zero.
        """
        if nodes < 2:
            raise invalid("nodes", nodes, "at least 2: one node has no peer to send to")
        if not self.fits:
            return self._measured(nodes)
        forced = check_range("nodes", nodes, self.sizes[0], self.sizes[-1], force=force)
        best = self.fits[0]
        value = best.value(nodes)
        if value <= 0:
            raise self._out_of_range(nodes, f"{best.formula} has then fallen to nothing")
        # Of so few points the choice of the curve is itself uncertain: what they do not rule out
        # widens the range by its own interval.
        rivals = [
            fit
            for fit in self.fits[1:]
            if fit.left_out <= RIVAL * best.left_out and fit.value(nodes) > 0
        ]
        ends = [end for fit in (best, *rivals) for end in fit.interval(nodes)]
        return Quantity(
            value,
            min(ends),
            max(ends),
            ValueKind.DERIVED,
            self.source,
            self.as_of,
            f"{best.curve}: {best.formula}, fitted to {len(self.points)} figures at "
            f"{self.sizes[0]} to {self.sizes[-1]} nodes, leave-one-size-out error "
            f"{100 * best.left_out:.1f} %" + (f"; {forced}" if forced else ""),
            f"{100 * LEVEL:.0f} % prediction interval (t, {best.freedom} degrees of freedom)"
            + (f" and {len(rivals)} other curve(s) not ruled out" if rivals else ""),
        )

    def _measured(self, nodes: int) -> Quantity:
        rates = [point.bytes_per_s for point in self.points if point.nodes == nodes]
        if not rates:
            raise self._out_of_range(
                nodes, f"no curve is fitted to fewer than {MIN_SIZES} cluster sizes"
            )
        return Quantity(
            statistics.median(rates),
            min(rates),
            max(rates),
            ValueKind.MEASURED,
            self.source,
            self.as_of,
            f"as measured at {nodes} nodes",
            f"smallest and largest of {len(rates)} measurements"
            if len(rates) > 1
            else "one measurement: its range is unknown",
        )

    def _out_of_range(self, nodes: int, why: str) -> VenturiError:
        sizes = ", ".join(map(str, self.sizes))
        return VenturiError(
            "VEN-MODEL-RANGE",
            f"the network of {nodes} nodes cannot be predicted from measurements at {sizes}: {why}",
            where={"field": "nodes", "value": nodes},
            hint=f"measure at {nodes} nodes, or at more sizes",
        )


def network_scaling(
    points: Iterable[NetworkScalingPoint], source: str, as_of: date | None = None
) -> NetworkScaling:
    """The curve through `points`: constant, a power of N, a line in log2 N, or a shared core.

    Chosen by the least leave-one-size-out error (Stone 1974), the one with fewer parameters when
    they are equal; AICc would need more points than its correction has terms.
    """
    kept = tuple(sorted(points, key=lambda point: (point.nodes, point.bytes_per_s)))
    if not kept:
        raise invalid("points", "empty", "one measurement or more")
    nodes = np.array([float(point.nodes) for point in kept])
    rates = np.array([point.bytes_per_s for point in kept])
    fits: list[NetworkCurveFit] = []
    if len(np.unique(nodes)) >= MIN_SIZES:
        found = (_fit(curve, nodes, rates) for curve in Curve)
        # Rounded, so that of equally good curves the simpler one stays in front.
        fits = sorted((f for f in found if f is not None), key=lambda fit: round(fit.left_out, 9))
    return NetworkScaling(kept, tuple(fits), source, as_of)


def network_scaling_from_trials(trials: Iterable[Trial]) -> NetworkScaling:
    """B_network(N) from succeeded NetBench trials: the slowest peer of each all-to-all.

    Refused (VEN-MODEL-INPUT): trials that did not succeed, other workloads, simulated ones,
    loopback, mixed instance types or mixed connection counts. Warm-ups are left out.
    """
    used = [trial for trial in trials if not trial.warm_up]
    for trial in used:
        _check_trial(trial)
    types = {trial.cluster.instance_type for trial in used}
    if len(types) > 1:
        raise invalid("instance_type", sorted(map(str, types)), "one, of all the trials")
    slowest = [
        sample
        for trial in used
        for sample in trial.samples
        if sample.metric == "net_all_to_all_bytes_per_s" and sample.labels.get("slowest") is True
    ]
    sockets = {sample.labels.get("sockets_per_peer") for sample in slowest}
    if len(sockets) > 1:
        raise VenturiError(
            "VEN-MODEL-INPUT",
            f"the trials used {', '.join(sorted(map(str, sockets)))} connections per peer",
            where={"field": "sockets_per_peer"},
            hint="give trials with the same number: figures with different numbers don't fit one "
            "curve",
        )
    points = [
        NetworkScalingPoint(_peers(sample), sample.value)
        for sample in slowest
        if sample.value is not None
    ]
    if not points:
        raise invalid("trials", "without all-to-all figures", "NetBench trials with some")
    source = "NetBench all to all, slowest peer: trials " + ", ".join(t.id for t in used)
    days = [trial.started_at.date() for trial in used if trial.started_at is not None]
    return network_scaling(points, source, max(days, default=None))


def _check_trial(trial: Trial) -> None:
    label = measured_over(trial)
    if trial.state is not State.SUCCEEDED:
        problem = f"is {trial.state}: its figures cannot be used"
    elif trial.engine.name != "netbench":
        problem = f"ran {trial.workload.name} on {trial.engine.name}, not NetBench"
    elif trial.provenance.kind is ProvenanceKind.SIMULATED:
        problem = "is simulated: a curve through a model's own output shows nothing"
    elif not label:
        problem = "doesn't state the measured network"
    elif "loopback" in label:
        problem = "measured loopback, which is memory copying, not a network"
    else:
        return
    raise VenturiError(
        "VEN-MODEL-INPUT",
        f"trial {trial.id} {problem}",
        where={"trial": trial.id},
        hint="measure between hosts: venturi probe net --peer ADDR:PORT --peer ...",
    )


def _peers(sample: Sample) -> int:
    peers = sample.labels.get("peers")
    if not isinstance(peers, int):
        raise invalid("peers", peers, "a number of nodes")
    return peers
