"""The interface's answer about a job on other machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from venturi.core.quantity import Quantity
from venturi.jobs.whatif.answer import WhatIfPrediction
from venturi.jobs.whatif.ranking import TypeRanking
from venturi.jobs.whatif.size_curve import SizeCurve
from venturi.jobs.whatif.spot import SpotPrediction


@dataclass(frozen=True, slots=True)
class WhatIfJob:
    """A recorded job that can be asked about."""

    id: str
    name: str
    engine: str
    started_at: datetime | None
    elapsed_s: float | None


@dataclass(frozen=True, slots=True)
class WhatIfCapacity:
    """A capacity of each host in `unit`; its kind and source say where it comes from."""

    name: str
    unit: str
    value: Quantity


@dataclass(frozen=True, slots=True)
class WhatIfSide:
    """The job on one setup: its prediction with the longest stages, and the setup's capacities.

    `limited_by` is the bottleneck in words, `rests_on` are sentences about the capacities that
    matter most.
    """

    prediction: WhatIfPrediction
    limited_by: str
    cores_per_executor: int
    heap_bytes: float
    capacities: tuple[WhatIfCapacity, ...]
    rests_on: tuple[str, ...]
    stages_left_out: int


@dataclass(frozen=True, slots=True)
class WhatIfData:
    """The job `today` and on each of the `targets`, of which `best` is the place of the fastest.

    `curve` is the fastest one by size. If nothing was `changed`, the only target is as recorded.
    `limit_words` has bottlenecks in words, where these differ from their names. `spot` has the
    targets on interruptible machines, if the question has their losses.
    """

    trial: str
    job: str
    sentence: str
    changed: bool
    today: WhatIfSide
    targets: tuple[WhatIfSide, ...]
    best: int
    curve: SizeCurve
    not_modeled: tuple[str, ...]
    replay: str
    limit_words: Mapping[str, str]
    spot: tuple[SpotPrediction, ...]


@dataclass(frozen=True, slots=True)
class WhatIfRanking:
    """All types of a `catalog` ranked for the job; `margin` is about the recommended option."""

    trial: str
    job: str
    catalog: str
    sentence: str
    margin: str
    today: WhatIfSide
    ranking: TypeRanking
    rests_on: tuple[str, ...]
    not_modeled: tuple[str, ...]
    limit_words: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class WhatIfPage:
    """The `answer` or `ranking`; without a trial the newest `jobs` to choose from."""

    answer: WhatIfData | None
    ranking: WhatIfRanking | None
    jobs: tuple[WhatIfJob, ...]
