"""Lost nodes: the job begins anew, or the survivors do the lost node's tasks again."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from venturi.model.distribution import Array
from venturi.model.io_cost import SECONDS_PER_HOUR
from venturi.model.scenario import Plan, Speeds, times

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
        self, plan: Plan, count: int, shares: Array, speeds: Speeds, rng: np.random.Generator
    ) -> None:
        nodes = plan.scenario.nodes
        self.share = np.broadcast_to(shares, (count, nodes)).copy()
        self.lost = np.zeros(count, dtype=np.int64)
        self._tasks = plan.scenario.tasks_per_node
        self._alive = np.ones((count, nodes), dtype=bool)
        self._per_node_s = plan.scenario.loss_per_node_hour / SECONDS_PER_HOUR
        self._startup_s = plan.scenario.job.startup_s
        self._rng = rng
        # Seconds that each node takes for an equal share of each phase.
        self._unit = [
            np.broadcast_to(times(terms, 1.0, speeds), (count, nodes)) for terms in plan.terms
        ]

    def phase(self, index: int, finish: Array) -> Array:
        """Finishing times of a phase with its losses; events in the order of time."""
        finish = np.where(self._alive, finish, 0.0)
        now = np.full(len(finish), -self._startup_s if index == 0 else 0.0)
        trials = np.flatnonzero(self._alive.any(axis=1))
        while True:
            left = self._alive[trials].sum(axis=1)
            now[trials] += self._rng.exponential(size=trials.size) / (left * self._per_node_s)
            trials = trials[now[trials] < finish[trials].max(axis=1)]
            if not trials.size:
                return finish
            victims = self._choose(trials)
            self._alive[trials, victims] = False
            self.lost[trials] += 1
            self._redo(index, finish, trials, victims, np.maximum(now[trials], 0.0))
            trials = trials[self._alive[trials].any(axis=1)]

    def _choose(self, trials: Counts) -> Counts:
        """One living node of each trial, each equally likely."""
        victims = self._rng.integers(self._alive.shape[1], size=trials.size)
        while (dead := ~self._alive[trials, victims]).any():
            victims[dead] = self._rng.integers(self._alive.shape[1], size=int(dead.sum()))
        return victims

    def _redo(self, index: int, finish: Array, trials: Counts, victims: Counts, now: Array) -> None:
        alive = self._alive[trials]
        left = alive.sum(axis=1)
        end = finish[trials, victims]
        share = self.share[trials, victims]
        again = self._unit[0][trials]
        if index == 0:
            undone = np.ones(trials.size)
        else:
            undone = (
                np.ceil(self._tasks * np.clip(1 - now / np.maximum(end, _INSTANT_S), 0, 1))
                / self._tasks
            )
            again = again + self._unit[1][trials]
        taken = (share * undone / np.maximum(left, 1))[:, None]
        later = np.maximum(finish[trials], now[:, None]) + taken * again
        kept = np.where(alive & (taken > 0), later, finish[trials])
        kept[np.arange(trials.size), victims] = np.minimum(end, now)
        kept[left == 0] = np.inf  # nobody is left to go on
        finish[trials] = kept
        self.share[trials] += np.where(alive, taken, 0.0)
        self.share[trials, victims] = 0.0
