"""A repository for the tests of the pages: published tables, imports of others, a lab, Spark."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import cluster_samples
import job_samples
import own_samples
import report_samples
import tiers_samples
from venturi.core.settings import Settings
from venturi.record.importing.importer import import_file
from venturi.record.prediction import StoredPrediction
from venturi.record.starter import import_starter
from venturi.record.store.repository import TrialRepository
from venturi.record.store.series import SeriesWriter
from venturi.record.trial import Cluster, Failure, Host, Provenance, ProvenanceKind, State, Trial

RESULTS = Path(__file__).parents[1] / "data" / "results"
IMPORTED = {"aloja": "aloja-minerva/trials.csv", "c3o": "c3o/sort.tsv", "scout": "scout/runs.csv"}
LAB = "the lab"
WATCHED = f"01JZTHREP0RT{900:014d}"
FAILED = f"01JZTHREP0RT{901:014d}"
FORTY_NUMBER, SIXTEEN_NUMBER = 940, 916
FORTY, SIXTEEN = (f"01JZTHREP0RT{number:014d}" for number in (FORTY_NUMBER, SIXTEEN_NUMBER))
"""Trials on so many hosts."""
REPETITIONS = 8


def filled(home: Path) -> None:
    """Makes the repository in `home`."""
    with TrialRepository.open(Settings(home, None, None, allow_debug=False)) as repository:
        import_starter(repository)
        for name, path in IMPORTED.items():
            import_file(repository, name, RESULTS / path)
        repository.add_many([*lab_trials(), failed()])
        repository.add(watched(repository, home))
        own_samples.own_trial(repository)
        job_samples.planned(repository, home)
        tiers_samples.recorded(repository, home)
        cluster_samples.recorded(repository)
        for number, hosts in ((FORTY_NUMBER, 40), (SIXTEEN_NUMBER, 16)):
            cluster_samples.many(repository, home, hosts, number)


def lab_trials() -> list[Trial]:
    """Sorts on 2, 4 and 8 hosts: SSDs are faster for certain, what the network brings is noise."""
    noise = random.Random(5)
    trials: list[Trial] = []
    for hosts in (2, 4, 8):
        for disk, disk_s in (("HDD", 800.0), ("SSD", 500.0)):
            for net in ("ETH", "IB"):
                for repetition in range(REPETITIONS + 1):
                    elapsed_s = disk_s * (2 / hosts) ** 0.9 * noise.uniform(0.94, 1.06)
                    first = repetition == 0
                    like_s = disk_s * (2 / hosts) ** 0.9
                    stored = StoredPrediction(
                        like_s, like_s * 0.95, like_s * 1.05, "same settings", distance=1.0
                    )
                    trials.append(
                        replace(
                            report_samples.trial(100 + len(trials), "terasort", "native"),
                            cluster=Cluster(tuple(Host(f"n{n}", {}) for n in range(hosts)), {}),
                            configuration={"disk": disk, "net": net},
                            provenance=Provenance(ProvenanceKind.MEASURED, LAB),
                            repetition=repetition,
                            warm_up=first,
                            samples=stored.samples(),
                            elapsed_s=elapsed_s * (1.5 if first else 1),
                        )
                    )
    return trials


def watched(repository: TrialRepository, home: Path) -> Trial:
    """A sort with phases, stages, a host series and a log; a sibling of it was a warm-up."""
    sort = report_samples.sort_trial(
        900,
        2 * 10**9,
        10**9,
        {"generate": 2.0, "sample": 1.0, "map+shuffle": 12.0, "sort+reduce": 9.0, "validate": 3.0},
    )
    before = replace(sort, id=f"01JZTHREP0RT{902:014d}", warm_up=True, elapsed_s=30.0, phases=())
    repository.add(replace(before, samples=()))
    path = home / "host.parquet"
    with SeriesWriter(path) as writer:
        for row in report_samples.series_of(sort).iter_rows():
            writer.append(*row)
    sort = repository.attach(sort, "series", "host.parquet", path)
    return repository.attach(sort, "log", "agent.log", b"sorted\n")


def failed() -> Trial:
    """A trial that failed, with text that is meant to be harmful."""
    trial = report_samples.trial(901, "terasort", "native")
    return replace(
        trial,
        configuration={"disk": "HDD", "note": report_samples.STORABLE},
        provenance=Provenance(ProvenanceKind.MEASURED, LAB),
        started_at=report_samples.AT + timedelta(days=1),
        state=State.FAILED,
        failure=Failure("space", "VEN-MEASURE-SPACE", f"no space left {report_samples.STORABLE}"),
        elapsed_s=None,
    )
