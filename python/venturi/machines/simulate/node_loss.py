"""Lost nodes: the job restarts, or the surviving nodes repeat the lost node's tasks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from venturi.core.units import SECONDS_PER_HOUR
from venturi.machines.simulate.distribution import Array
from venturi.machines.simulate.scenario import SimulationPlan, Speeds, times

Counts = npt.NDArray[np.int64]
_INSTANT_S = 1e-9
RESTARTS_MAX = 1000  # a trial with more has not finished


def restart_job(
    rng: np.random.Generator, total_s: Array, losses_per_s: float
) -> tuple[Array, Counts]:
    """Seconds spent on attempts that a loss ended, and how many they were."""
    repeated_s, restarts = np.zeros(total_s.size), np.zeros(total_s.size, dtype=np.int64)
    running = np.arange(total_s.size)
    for _ in range(RESTARTS_MAX):
        lost_at = rng.exponential(1 / losses_per_s, running.size)
        early = lost_at < total_s[running]
        running = running[early]
        if not running.size:
            return repeated_s, restarts
        repeated_s[running] += lost_at[early]
        restarts[running] += 1
    repeated_s[running] = np.inf
    return repeated_s, restarts


class Survivors:
    """Nodes of a chunk of trials, some of which are lost while others take over their work."""

    def __init__(
        self,
        plan: SimulationPlan,
        count: int,
        shares: Array,
        speeds: Speeds,
        rng: np.random.Generator,
    ) -> None:
        shape = count, plan.scenario.nodes
        self.lost = np.zeros(count, dtype=np.int64)
        self._share = np.broadcast_to(shares, shape)
        self._taken = np.zeros(count)  # by each survivor, of the shares of those lost
        self._tasks = plan.scenario.tasks_per_node
        self._alive = np.ones(shape, dtype=bool)
        self._per_node_s = plan.scenario.loss_per_node_hour / SECONDS_PER_HOUR
        self._startup_s = plan.scenario.job.startup_s
        self._rng = rng
        # Seconds that each node takes for an equal share of each phase; none once it is lost.
        self._unit = [np.broadcast_to(times(t, 1.0, speeds), shape).copy() for t in plan.terms]

    @property
    def share(self) -> Array:
        """Each node's share of the data over the mean share; 0 of those lost."""
        return np.where(self._alive, self._share + self._taken[:, None], 0.0)

    def phase(self, index: int, finish: Array) -> Array:
        """Finishing times of a phase with its losses; events in the order of time."""
        before = ~self._alive
        finish = np.where(before, 0.0, finish)
        # A lost node's data are read again and, after the first phase, sorted again.
        again = self._unit[0] if index == 0 else self._unit[0] + self._unit[1]
        left = self._alive.sum(axis=1)
        now = np.full(len(finish), -self._startup_s if index == 0 else 0.0)
        trials = np.flatnonzero(left)
        gone: list[tuple[Counts, Counts, Array]] = []
        while True:
            now[trials] += self._rng.exponential(size=trials.size) / (
                left[trials] * self._per_node_s
            )
            trials = trials[now[trials] < finish[trials].max(axis=1)]
            if not trials.size:
                break
            victims, at = self._choose(trials), np.maximum(now[trials], 0.0)
            end = finish[trials, victims]
            self._alive[trials, victims] = False
            self.lost[trials] += 1
            left[trials] -= 1
            ended = np.minimum(end, at)
            finish[trials, victims] = ended
            gone.append((trials, victims, ended))
            taken = self._share[trials, victims] + self._taken[trials]
            if index > 0:
                undone = np.clip(1 - at / np.maximum(end, _INSTANT_S), 0, 1)
                taken *= np.ceil(self._tasks * undone) / self._tasks
            taken /= np.maximum(left[trials], 1)
            for unit in (*self._unit, again):
                unit[trials, victims] = 0.0
            self._hand_over(finish, again, trials, taken, at)
            trials = trials[left[trials] > 0]
        finish[before] = 0.0
        for lost, victims, ended in gone:
            finish[lost, victims] = ended
            finish[lost[left[lost] == 0]] = np.inf  # no node is left
        return finish

    def _choose(self, trials: Counts) -> Counts:
        """One living node of each trial, each equally likely."""
        victims = self._rng.integers(self._alive.shape[1], size=trials.size)
        while (dead := ~self._alive[trials, victims]).any():
            victims[dead] = self._rng.integers(self._alive.shape[1], size=int(dead.sum()))
        return victims

    def _hand_over(
        self, finish: Array, again: Array, trials: Counts, taken: Array, now: Array
    ) -> None:
        """Divides the work of lost nodes among the survivors, immediately or when they are done.

        Changes `finish`. Lost nodes finish `now`, which is never the last.
        """
        busy = taken > 0
        if busy.all() and trials.size == len(finish):  # no copies
            np.maximum(finish, now[:, None], out=finish)
            finish += taken[:, None] * again
        else:
            rows = trials[busy]
            later = np.maximum(finish[rows], now[busy, None])
            finish[rows] = later + taken[busy, None] * again[rows]
        self._taken[trials] += taken
