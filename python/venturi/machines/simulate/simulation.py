"""A seeded simulation of a two-pass job on nodes that differ and may be lost.

It has the two phases of `dataflow.job_time` with a barrier after each: a phase ends when its last
node does. Each trial draws the values that the equations take as single figures. A node's time is
that of its slowest term: the equation's term, times the node's share of the data, divided by the
node's speed (its drawn rate over the stated one). With constant rates, equal shares and no losses,
a trial therefore equals `job_time` exactly.

Assumptions beyond the equations:

- Data are assigned to nodes beforehand, and a node that is done doesn't take over another's share.
- The network is slow for all nodes or for single ones, as its `RateDistribution` says; flows do
  not collide.
- Nodes are lost as a Poisson process, each independently of its age and of its load.
- Restart of the job: an equally fast node replaces the lost one immediately, and all work restarts.
- Restart of tasks: the node isn't replaced; when it is lost, the survivors take equal parts of its
  work. In map and shuffle that is everything it held. In sort and reduce it is the tasks that it
  had not written yet, including their part of map and shuffle. This needs the input elsewhere, so
  it is rejected for 2-IO jobs, which lose their only copy with the node.
- Speculation: see `_speculate`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from venturi.core.domain import invalid
from venturi.core.units import SECONDS_PER_HOUR
from venturi.machines.cost.choices import Durability
from venturi.machines.cost.dataflow import MAP, REDUCE
from venturi.machines.simulate.distribution import Array
from venturi.machines.simulate.node_loss import Survivors, restart_job
from venturi.machines.simulate.scenario import (
    RESOURCES,
    Recovery,
    Scenario,
    SimulationPlan,
    Speeds,
    plan_of,
    times,
)

PHASES = (MAP, REDUCE)
NODE_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0)  # of the nodes' finishing times
_BIN, _BINS = 0.01, 700  # nodes' times are counted in bins of 1 %, to a factor of e^7 either way
_CHUNK_VALUES = 1_000_000  # values in one array: about 25 such arrays exist concurrently
_CHUNK_VALUES_TASKS = 30_000  # where arrays are gone through for each loss: what a cache holds
# Each random choice has its own stream, so that two scenarios which differ in one choice are
# otherwise compared on the same draws.
_STREAMS = (*RESOURCES, "shares", "losses")

Counts = npt.NDArray[np.int64]
OnProgress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """The result of a simulation, one value per trial in each array.

    `total_s` = start-up + both phases + `repeated_s`, the time of attempts that a loss ended; it is
    infinite for a trial that didn't finish. `phase_s` has the shape (2, trials) and covers the
    attempt that succeeded. `node_finish_s` has the shape (2, levels, trials): seconds into the
    phase by which that share of the nodes (`NODE_LEVELS`) is done; `node_counts` counts these times
    over all trials, see `node_histogram`. `expected_s`: the phases' times by the equations.
    `culled`: nodes dropped for being slow. `lower_bound`: a rate is an advertised limit, so the job
    takes at least this long.
    """

    scenario: Scenario
    seed: int
    total_s: Array
    phase_s: Array
    node_finish_s: Array
    node_counts: Counts
    expected_s: tuple[float, float]
    repeated_s: Array
    lost_nodes: Counts
    restarts: Counts
    culled: Counts
    lower_bound: bool
    assumptions: tuple[str, ...]

    @property
    def trials(self) -> int:
        return self.total_s.size

    @property
    def unfinished(self) -> int:
        """Trials that did not finish."""
        return int(np.sum(~np.isfinite(self.total_s)))

    def quantile_s(self, level: float) -> float:
        """The time within which the share `level` of the trials is done; infinite if never.

        The smallest value with at least that share at or below it (definition 1 of Hyndman and Fan
        1996), which stays defined where some trials do not finish.
        """
        return _quantile(self.total_s, level)

    @property
    def median_s(self) -> float:
        return self.quantile_s(0.5)

    def interval_s(self, level: float = 0.95) -> tuple[float, float]:
        """Between which times the share `level` of the trials lies, equal tails."""
        return self.quantile_s((1 - level) / 2), self.quantile_s((1 + level) / 2)

    def median_noise_s(self) -> tuple[float, float]:
        """95 % interval of the median for the number of trials: the range over other seeds.

        Order statistics at n/2 -+ 1.96 sqrt(n)/2 (David and Nagaraja 2003, section 7.1).
        """
        half_width = 0.98 / np.sqrt(self.trials)
        return self.quantile_s(max(0.0, 0.5 - half_width)), self.quantile_s(
            min(1.0, 0.5 + half_width)
        )

    def phase_quantile_s(self, phase: int, level: float) -> float:
        """As `quantile_s`, of one phase."""
        return _quantile(self.phase_s[phase], level)

    def node_finish_median_s(self, phase: int) -> dict[float, float]:
        """When which share of the nodes is done with a phase, in the median trial."""
        times = self.node_finish_s[phase]
        return {level: _quantile(row, 0.5) for level, row in zip(NODE_LEVELS, times, strict=True)}

    def node_histogram(self, phase: int, bins: int = 40) -> tuple[Counts, Array]:
        """Counts and edges (s) of all nodes' times in a phase, over all trials.

        The bins are equally wide on a logarithmic scale, a multiple of 1 %, and at most `bins`.
        """
        counts = self.node_counts[phase]
        filled = np.flatnonzero(counts)
        if not filled.size:
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        first, last = int(filled[0]), int(filled[-1]) + 1
        width = -(-(last - first) // bins)
        starts = np.arange(first, last, width)
        edges = np.append(starts, starts[-1] + width) - _BINS
        merged = np.add.reduceat(counts[:last], starts)
        return merged, self.expected_s[phase] * np.exp(edges * _BIN)

    def share_within(self, deadline_s: float) -> float:
        """Share of the trials that finish within `deadline_s`."""
        return float(np.mean(self.total_s <= deadline_s))

    def histogram(self, bins: int = 20) -> tuple[Counts, Array]:
        """Counts and edges (s) of the trials that finished; no bins if none did."""
        finished = self.total_s[np.isfinite(self.total_s)]
        if not finished.size:
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        if np.ptp(finished) <= 1e-9 * finished.max():
            bins = 1
        counts, edges = np.histogram(finished, bins)
        return counts.astype(np.int64), edges


_Outcome = dict[str, Any]  # arrays by the name of the result's field


def simulate(
    scenario: Scenario,
    trials: int = 1000,
    seed: int = 1,
    on_progress: OnProgress | None = None,
) -> SimulationResult:
    """Runs `scenario` `trials` times; the same seed gives the same answer.

    `on_progress` is called with the number of trials done. Memory is bounded by working in chunks
    of trials. Errors: VEN-MODEL-INPUT for a rate that the job needs and the node does not state,
    VEN-MODEL-RANGE for more losses than redoing tasks can describe.
    """
    if trials < 1:
        raise invalid("trials", trials, "at least 1")
    if seed < 0:
        raise invalid("seed", seed, "at least 0")
    plan, lower_bound, assumptions = plan_of(scenario)
    seeds = np.random.SeedSequence(seed).spawn(len(_STREAMS))
    streams = {name: np.random.default_rng(s) for name, s in zip(_STREAMS, seeds, strict=True)}
    values = _CHUNK_VALUES if scenario.recovery is Recovery.JOB else _CHUNK_VALUES_TASKS
    step = max(1, values // (scenario.nodes + scenario.spare))
    outcomes: list[_Outcome] = []
    for start in range(0, trials, step):
        outcomes.append(_run(plan, min(step, trials - start), streams))
        if on_progress is not None:
            on_progress(min(start + step, trials))
    counts = sum(outcome.pop("node_counts") for outcome in outcomes)
    together = {
        name: np.concatenate([outcome[name] for outcome in outcomes], axis=-1)
        for name in outcomes[0]
    }
    return SimulationResult(
        scenario,
        seed,
        lower_bound=lower_bound,
        assumptions=assumptions,
        node_counts=counts,
        expected_s=plan.expected_s,
        **together,
    )


def _run(plan: SimulationPlan, count: int, streams: Mapping[str, np.random.Generator]) -> _Outcome:
    """Runs `count` trials together; arrays have the shape (trials, nodes)."""
    scenario = plan.scenario
    provisioned = scenario.nodes + scenario.spare
    speeds: Speeds = {
        resource: rate.speeds(streams[resource], count, provisioned)
        for resource, rate in scenario.rates.items()
    }
    if scenario.one_path:
        speeds = {**speeds, "volumes": speeds["storage"]}
    speeds, culled = _cull(plan, count, speeds)
    shares = _shares(scenario, count, streams["shares"])
    by_tasks = scenario.recovery is Recovery.TASKS and scenario.loss_per_node_hour > 0
    survivors = Survivors(plan, count, shares, speeds, streams["losses"]) if by_tasks else None
    phase_s, finish_s, counts = [], [], []
    for index in range(len(PHASES)):
        share = shares if survivors is None else survivors.share
        finish = _finish(plan, index, count, share, speeds)
        if survivors is not None:
            finish = survivors.phase(index, finish)
        phase_s.append(finish.max(axis=1))
        finish_s.append(np.quantile(finish, NODE_LEVELS, axis=1, method="inverted_cdf"))
        counts.append(_counted(finish, plan.expected_s[index]))
    total_s = phase_s[0] + phase_s[1] + scenario.job.startup_s
    lost, restarts = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    repeated_s = np.zeros(count)
    if survivors is not None:
        lost = survivors.lost
    elif scenario.loss_per_node_hour:
        per_s = scenario.nodes * scenario.loss_per_node_hour / SECONDS_PER_HOUR
        repeated_s, restarts = restart_job(streams["losses"], total_s, per_s)
        lost = restarts.copy()
    return {
        "total_s": total_s + repeated_s,
        "phase_s": np.stack(phase_s),
        "node_finish_s": np.stack(finish_s),
        "node_counts": np.stack(counts),
        "repeated_s": repeated_s,
        "lost_nodes": lost,
        "restarts": restarts,
        "culled": culled,
    }


def _quantile(values: Array, level: float) -> float:
    return float(np.quantile(values, level, method="inverted_cdf"))


def _counted(times: Array, expected_s: float) -> Counts:
    """How many of `times` lie in which bin; zero times are not counted."""
    finite = times[(times > 0) & np.isfinite(times)]
    if expected_s <= 0:
        return np.zeros(2 * _BINS, dtype=np.int64)
    bins = np.floor(np.log(finite / expected_s) / _BIN).astype(np.int64) + _BINS
    return np.bincount(np.clip(bins, 0, 2 * _BINS - 1), minlength=2 * _BINS)


def _finish(plan: SimulationPlan, index: int, count: int, share: Array, speeds: Speeds) -> Array:
    """When each node is done with a phase, in seconds since its beginning."""
    shape = count, plan.scenario.nodes
    finish = np.broadcast_to(times(plan.terms[index], share, speeds), shape)
    return _speculate(plan, index, finish, share, speeds)


def _cull(plan: SimulationPlan, count: int, speeds: Speeds) -> tuple[Speeds, Counts]:
    """Drops `spare` nodes by the time that each needs for an equal share of the job."""
    scenario = plan.scenario
    nodes, provisioned = scenario.nodes, scenario.nodes + scenario.spare
    if not scenario.spare:
        return speeds, np.zeros(count, dtype=np.int64)
    alone = times(plan.terms[0], 1.0, speeds) + times(plan.terms[1], 1.0, speeds)
    alone = np.broadcast_to(alone, (count, provisioned))
    if scenario.cull_below is not None:
        limit = np.median(alone, axis=1, keepdims=True) / scenario.cull_below
        alone = np.where(alone > limit, alone, 0.0)
    dropped = np.argpartition(alone, nodes - 1, axis=1)[:, nodes:]
    culled = np.sum(np.take_along_axis(alone, dropped, axis=1) > 0, axis=1)
    kept = np.ones((count, provisioned), dtype=bool)
    np.put_along_axis(kept, dropped, False, axis=1)
    # By mask and not by the partition's order: the hot node must be any node, not a fast one.
    left = {
        resource: speed if speed.shape[1] == 1 else speed[kept].reshape(count, nodes)
        for resource, speed in speeds.items()
    }
    return left, culled.astype(np.int64)


def _shares(scenario: Scenario, count: int, rng: np.random.Generator) -> Array:
    """Each node's share of the shuffle relative to the mean; (1, 1) if all are equal.

    Dirichlet with equal parameters a has the coefficient of variation sqrt((N-1) / (N a + 1)).
    """
    nodes = scenario.nodes
    if scenario.share_cv:
        concentration = ((nodes - 1) / scenario.share_cv**2 - 1) / nodes
        weights = rng.gamma(concentration, size=(count, nodes))
        # Where all are too small for a number, one node has everything, as the limit has it.
        empty = np.flatnonzero(~weights.any(axis=1))
        weights[empty, rng.integers(nodes, size=empty.size)] = 1.0
        weights /= weights.mean(axis=1, keepdims=True)
        return weights
    skew = scenario.job.partition_skew
    if skew == 1:
        return np.ones((1, 1))
    shares = np.full((1, nodes), (nodes - skew) / max(1, nodes - 1))
    shares[0, 0] = skew
    return shares


def _speculate(
    plan: SimulationPlan,
    index: int,
    finish: Array,
    share: Array,
    speeds: Speeds,
) -> Array:
    """Finishing times with speculative copies of lagging tasks.

    Each node runs its tasks one after the other. Once `rule.quantile` of the nodes are done, a task
    that has run for `rule.behind` times the median node's time per task gets a copy on a finished
    node; the first to end counts, the other is stopped.

    The copy takes as long as on the median node, or as long as sending its input over the network
    if that is slower. With one copy of the data (2-IO), it reads from the lagging node, with disks
    that then serve two readers at half their rate each: the original slows down too, and copies
    don't help a node with slow disks. With other durability it reads from finished nodes, at no
    cost for the job. So copies hurt if nodes are uneven but healthy and the data are in one place,
    and help if one node is really slow and the data are elsewhere.
    """
    rule, tasks = plan.scenario.speculation, plan.scenario.tasks_per_node
    if rule is None or plan.scenario.nodes == 1:
        return finish
    middle = np.median(finish, axis=1)
    ready = np.quantile(finish, rule.quantile, axis=1, method="inverted_cdf")
    rows, columns = np.nonzero(finish > np.maximum(rule.behind * middle, ready)[:, None])
    if not rows.size:
        return finish

    def at(values: Array) -> Array:
        return np.broadcast_to(values, finish.shape)[rows, columns]

    own, detected = at(finish) / tasks, rule.behind * middle[rows] / tasks
    network = np.median(speeds.get("network", np.ones((1, 1))), axis=1)
    fetch = np.broadcast_to(plan.fetch_s[index] / network, middle.shape)[rows]
    copy = at(share) * np.maximum(middle[rows], fetch) / tasks
    slowed = np.ones(rows.size)
    if plan.scenario.job.durability is Durability.TWO_IO:
        local = [term for term in plan.terms[index] if term.resource in {"storage", "volumes"}]
        shared = 2 * at(times(local, share, speeds)) / tasks
        copy, slowed = np.maximum(copy, shared), np.maximum(1.0, shared / own)

    def with_copy(since: Array) -> Array:
        """How long a task takes that is copied after it has run for `since`."""
        return since + np.minimum((own - since) * slowed, copy)

    done = np.minimum(np.floor(ready[rows] / own), tasks - 1)
    running = with_copy(np.maximum(detected, ready[rows] - done * own))
    changed = finish.copy()
    changed[rows, columns] = done * own + running + (tasks - 1 - done) * with_copy(detected)
    return changed
