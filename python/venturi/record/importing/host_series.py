"""Host series from other tools: each host becomes a trial with a series and no job.

Readers yield `HostSeries` in the metrics of Venturi's own sampler. Such a trial has the workload
`host-series`, the tool as its engine, and the file `series.parquet`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from venturi.core.errors import VenturiError
from venturi.record.importing.items import CLOCK, SOFTWARE, UNSTATED, ImportSource, imported_id
from venturi.record.importing.tally import ArrivalKind, ImportReport, Tally
from venturi.record.importing.text import Refusal
from venturi.record.store.repository import TrialRepository
from venturi.record.store.series import SeriesWriter, series_name
from venturi.record.trial import Cluster, Engine, Host, State, Trial, TrialWarning, Workload
from venturi.record.upkeep.locks import import_lock

WORKLOAD = "host-series"
ROWS_MAX = 5_000_000
SeriesRow = tuple[float, str, str | None, float, str]
"""Seconds since the beginning, metric, device, value and unit."""


@dataclass(slots=True)
class HostSeries:
    """A tool's series of one host. A value is the mean of the interval that ends at its time.

    `began` is the text of the beginning where the source doesn't state a time zone.
    """

    host: str
    tool: str
    version: str
    kernel: str | None = None
    started_at: datetime | None = None
    began: str = ""
    rows: list[SeriesRow] = field(default_factory=list)
    warnings: list[TrialWarning] = field(default_factory=list)

    def add(
        self, t_s: float, metric: str, device: str | None, value: float | None, unit: str
    ) -> None:
        """Add a value; None adds nothing."""
        if value is not None:
            self.rows.append((t_s, metric, device, value, unit))

    def warn(self, message: str) -> None:
        """Add a warning about something that the source doesn't state."""
        self.warnings.append(TrialWarning(UNSTATED, message))

    @property
    def elapsed_s(self) -> float:
        """Seconds from the beginning to the last value."""
        return max((row[0] for row in self.rows), default=0.0)

    def trial(self, source: ImportSource) -> Trial:
        """Return the trial without its file."""
        digest = hashlib.sha256(repr(self.rows).encode()).hexdigest()
        warnings = list(self.warnings)
        if self.started_at is None and self.began:
            message = f"it began at {self.began}, in a time zone that the source doesn't state"
            warnings.append(TrialWarning(CLOCK, message))
        times = sorted({row[0] for row in self.rows})
        return Trial(
            id=imported_id(self.tool, self.host, str(self.started_at), self.began, digest),
            workload=Workload(WORKLOAD, self.tool),
            engine=Engine(self.tool, self.version),
            cluster=Cluster((Host(self.host),)),
            configuration={"samples": len(times)},
            software=replace(SOFTWARE, kernel=self.kernel),
            provenance=source.provenance(self.tool),
            started_at=self.started_at,
            state=State.SUCCEEDED,
            elapsed_s=self.elapsed_s,
            warnings=tuple(warnings),
        )


def take_series(
    repository: TrialRepository, items: Iterable[HostSeries | Refusal], source: ImportSource
) -> ImportReport:
    """Store the series among `items`, each as a trial with its file, and count the refused ones."""
    tally = Tally()
    for item in items:
        if isinstance(item, Refusal):
            tally.refuse(item)
            continue
        trial = item.trial(source)
        try:
            trial = repository.get(trial.id)
        except VenturiError as error:
            if error.code != "VEN-RECORD-UNKNOWN":
                raise
            repository.require_admitted(trial.id)
            with import_lock(repository.artifacts_dir.parent):
                trial = _attached(repository, trial, item.rows)
                added = repository.add_many([trial]).added == 1
                tally.arrive(trial, ArrivalKind.ADDED if added else ArrivalKind.PRESENT)
        else:
            tally.arrive(trial, ArrivalKind.PRESENT)
    return tally.done()


def _attached(repository: TrialRepository, trial: Trial, rows: Sequence[SeriesRow]) -> Trial:
    with TemporaryDirectory(prefix="venturi-series-") as folder:
        path = Path(folder) / series_name(None)
        with SeriesWriter(path, repository.limits) as writer:
            for row in rows:
                writer.append(*row)
        return repository.attach(trial, "series", path.name, path)


def bounded(
    items: Iterable[HostSeries | Refusal], source: ImportSource
) -> Iterator[HostSeries | Refusal]:
    """Yield refusals, and the series that have values.

    VEN-SERIES-FORMAT if no series has values, or one has too many.
    """
    found = False
    for each in items:
        if isinstance(each, HostSeries):
            if len(each.rows) > ROWS_MAX:
                raise source.malformed(f"more than {ROWS_MAX:,} values of one host")
            if not each.rows:
                continue
            found = True
        yield each
    if not found:
        raise source.malformed("no values of a CPU, disk, network or memory")
