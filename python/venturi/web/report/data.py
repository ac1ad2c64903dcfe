"""The report's data: plain frozen values, built by `report_data`, read by the page.

Every quantity has its unit in its name. A quantity that is not known is a `Missing` with its
reason, never 0: the page prints "—" and the reason.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from venturi.core.statistics.stats import Missing

Number = float | Missing
Text = str | Missing
Direction = Literal["read", "write", "network"]
LaneUnit = Literal["fraction", "B/s"]  # of all cores; of a device


def number(value: float | None, reason: str) -> Number:
    """`value` if it is a finite number, else `Missing` with `reason`."""
    if value is None:
        return Missing(reason)
    if not math.isfinite(value):
        return Missing(f"not a finite number ({value})")
    return float(value)


@dataclass(frozen=True, slots=True)
class ReportFigure:
    """One of the large numbers under the answer. `kind` names how the page prints `value`."""

    label: str
    value: Number
    kind: Literal["rate", "duration", "usd"]  # bytes/s, s, US$
    note: str


@dataclass(frozen=True, slots=True)
class ReportAnswer:
    """A reader's question and its answer, in plain words."""

    question: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReportFact:
    """One line of the host card or of the provenance."""

    label: str
    value: Text


@dataclass(frozen=True, slots=True)
class FactGroup:
    """Facts that belong together."""

    title: str
    facts: tuple[ReportFact, ...]


@dataclass(frozen=True, slots=True)
class DeviceRate:
    """The rate of a device or the network: mean, lowest and highest of the iterations."""

    label: str
    where: str
    direction: Direction
    setting: str
    mean_bytes_per_s: Number
    minimum_bytes_per_s: Number
    maximum_bytes_per_s: Number
    iterations: int


@dataclass(frozen=True, slots=True)
class PhaseUse:
    """Bytes that one phase of a sort moved per second, and the disk's limit at that mix."""

    sort: str
    phase: str
    read_bytes_per_s: Number
    write_bytes_per_s: Number
    limit_bytes_per_s: Number
    share_of_limit: Number
    limit_name: str


@dataclass(frozen=True, slots=True)
class ReportLatency:
    """Percentiles of the time of one request; `quantiles_s` pairs `p99` with seconds."""

    label: str
    quantiles_s: tuple[tuple[str, Number], ...]


@dataclass(frozen=True, slots=True)
class RandomRead:
    """Random reads of one request size at one queue depth."""

    label: str
    iops: Number
    bytes_per_s: Number


@dataclass(frozen=True, slots=True)
class PhaseSpan:
    """A phase on the time axis, in seconds since the start of its trial."""

    name: str
    started_s: float
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class LaneLine:
    """One line of a lane; None if the sampler recorded nothing. `role` picks its color."""

    name: str
    role: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Lane:
    """Lines over one time axis."""

    title: str
    unit: LaneUnit
    stacked: bool
    lines: tuple[LaneLine, ...]
    missing: Missing | None = None


@dataclass(frozen=True, slots=True)
class PhaseLoad:
    """Mean utilization of the host during one phase."""

    phase: str
    values: tuple[Number, ...]  # in the order of the lanes' lines


@dataclass(frozen=True, slots=True)
class ReportTimeline:
    """Phases and host utilization on one axis. `thinned` marks averaged samples."""

    spans: tuple[PhaseSpan, ...]
    t_s: tuple[float, ...]
    lanes: tuple[Lane, ...]
    loads: tuple[PhaseLoad, ...]
    thinned: str | None = None


@dataclass(frozen=True, slots=True)
class ReportStage:
    """One stage of one phase. Times are summed over its workers: wall time (`useful_s`, idle,
    waiting for memory, blocked), and the CPU time of its threads.
    """

    phase: str
    name: str
    device: str | None
    workers: Number
    bytes: Number
    useful_s: Number
    idle_s: Number
    waiting_for_memory_s: Number
    blocked_s: Number
    cpu_s: Number
    core_wait_s: Number
    page_faults: Number
    started_s: Number
    ended_s: Number
    narrowest: bool


@dataclass(frozen=True, slots=True)
class StageShare:
    """The share of a phase in which one stage was busy, 0 to 1."""

    name: str
    busy: float
    narrowest: bool


@dataclass(frozen=True, slots=True)
class PhaseBottleneck:
    """The narrowest point of one phase, or why it cannot be named; stages in flow order."""

    phase: str
    name: Text
    evidence: tuple[str, ...]
    stages: tuple[StageShare, ...]


@dataclass(frozen=True, slots=True)
class PredictedTime:
    """Predicted and measured time of one phase, or of the whole sort."""

    phase: str
    predicted_s: Number
    low_s: Number
    high_s: Number
    measured_s: Number
    measured_over_predicted: Number
    formula: str


@dataclass(frozen=True, slots=True)
class SortTrial:
    """One sort trial."""

    id: str
    anchor: str
    label: str
    state: str
    failure: str | None
    input_bytes: Number
    elapsed_s: Number
    spilled_bytes: Number
    cpu_s: Number
    peak_rss_bytes: Number
    memory_bytes: Number
    timeline: ReportTimeline
    stages: tuple[ReportStage, ...]
    narrowest: tuple[PhaseBottleneck, ...]
    comparisons: tuple[PredictedTime, ...]


@dataclass(frozen=True, slots=True)
class PriceRow:
    """One row of the price table. `lower_bound`: time and cost are lower bounds."""

    instance_type: str
    nodes: Number
    elapsed_s: Number
    elapsed_low_s: Number
    elapsed_high_s: Number
    cost_usd: Number
    cost_low_usd: Number
    cost_high_usd: Number
    lower_bound: bool
    bottleneck: Text
    storage_bytes_per_s: Number
    storage_kind: str
    storage_known: Text
    network_bytes_per_s: Number
    network_kind: str
    network_known: Text
    price_usd_per_hour: Number
    price_as_of: Text
    price_is_stale: bool
    price_source: Text
    known: bool


@dataclass(frozen=True, slots=True)
class ReportedTrial:
    """One recorded trial of the report."""

    id: str
    label: str
    state: str
    failure: str | None
    started_at: datetime | None
    elapsed_s: Number
    provenance: str


@dataclass(frozen=True, slots=True)
class Notice:
    """A warning of a trial."""

    code: str
    trial: str
    message: str


@dataclass(frozen=True, slots=True)
class SkippedMeasurement:
    """A skipped step, and the reason."""

    step: str
    reason: str


@dataclass(frozen=True, slots=True)
class ReportData:
    """All contents of the report. Numbers are SI: bytes, seconds, bytes per second, US dollars."""

    title: str
    generated_at: datetime
    headline: str
    answers: tuple[ReportAnswer, ...]
    figures: tuple[ReportFigure, ...]
    host: tuple[FactGroup, ...]
    rates: tuple[DeviceRate, ...] | Missing
    uses: tuple[PhaseUse, ...]
    latencies: tuple[ReportLatency, ...]
    random_reads: tuple[RandomRead, ...]
    network: tuple[DeviceRate, ...] | Missing
    network_label: str
    sorts: tuple[SortTrial, ...]
    job: str
    prices: tuple[PriceRow, ...] | Missing
    method: tuple[ReportFact, ...]
    software: tuple[ReportFact, ...]
    commands: tuple[str, ...]
    trials: tuple[ReportedTrial, ...]
    warned: tuple[str, ...]
    warnings: tuple[Notice, ...]
    skipped: tuple[SkippedMeasurement, ...]
