"""Jobs that what-if questions were asked about, kept in memory: a slider asks many in a row."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from weakref import WeakKeyDictionary

from venturi.jobs.whatif.answer import RecordedJob
from venturi.machines.catalog import InstanceType
from venturi.machines.cost.job_prices import JobPrices
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Trial

MOST_JOBS = 8
MOST_TASKS = 400_000
"""Kept jobs together have at most so many tasks, each of about 1 kB."""
_Key = tuple[str, ...]


class RecordedJobs:
    """The jobs asked about last, at most `MOST_JOBS` with `MOST_TASKS` tasks."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[_Key, RecordedJob] = OrderedDict()
        self._lock = Lock()
        self.loaded = 0

    def of(
        self,
        repository: TrialRepository,
        trial: Trial,
        ran_on: InstanceType | None,
        prices: JobPrices | None = None,
    ) -> RecordedJob:
        """The job of `trial`, with its machines and prices as they are known now."""
        key = (trial.id, trial.state.value, *(each.sha256 for each in trial.artifacts))
        with self._lock:
            job = self._jobs.get(key)
            if job is None:
                job = RecordedJob(repository, trial, ran_on)
                self.loaded += 1
                self._jobs[key] = job
            self._jobs.move_to_end(key)
            while len(self._jobs) > 1 and self._too_many():
                self._jobs.popitem(last=False)
        return job.again(repository, ran_on, prices)

    def _too_many(self) -> bool:
        tasks = sum(int(each.demand.starts[-1]) for each in self._jobs.values())
        return len(self._jobs) > MOST_JOBS or tasks > MOST_TASKS


_KNOWN: WeakKeyDictionary[TrialRepository, RecordedJobs] = WeakKeyDictionary()


def recorded_jobs(repository: TrialRepository) -> RecordedJobs:
    """The jobs that this process keeps of a repository."""
    return _KNOWN.setdefault(repository, RecordedJobs())
