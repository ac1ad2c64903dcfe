"""The interface's answers: plain frozen values, from which the OpenAPI document is made.

Every quantity has its unit in its name; null means unknown, with a reason in another field. `Key`
is the values of the grouping keys, in their order; null is a missing value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from venturi.core.statistics.stats import Interval
from venturi.machines.scaling.between_hosts import BetweenHosts
from venturi.machines.scaling.disks_of_hosts import DisksOfHosts
from venturi.record.access.authors import Author
from venturi.record.access.exclusions import Exclusion
from venturi.record.access.views import View
from venturi.record.cost import Cost
from venturi.record.query.clusters import NamedCluster
from venturi.record.query.faceting import Facet
from venturi.record.query.known_keys import KeyInfo
from venturi.record.query.paging import TrialRow
from venturi.web.cluster_page import ClusterCard, ProbeSeen

Scalar = str | int | float | bool | None
Key = tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """An error (RFC 9457): `code` is Venturi's own, `where` names field and value, `hint` helps."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    where: Mapping[str, Scalar]
    hint: str


@dataclass(frozen=True, slots=True)
class Status:
    """The server's state: `role` is the client's, `token` the name of its token."""

    version: str
    trials: int
    trials_excluded: int
    role: Literal["read", "write"]
    token: str | None
    uploads: bool
    starter_present: bool


@dataclass(frozen=True, slots=True)
class SessionData:
    """The role of the logged-in user and the name of their token."""

    role: Literal["read", "write"]
    token: str


# ---- trials ----


@dataclass(frozen=True, slots=True)
class TrialPage:
    """`total` trials meet the conditions, besides `excluded` ones that an exclusion leaves out."""

    rows: tuple[TrialRow, ...]
    next_cursor: str | None
    total: int
    excluded: int


@dataclass(frozen=True, slots=True)
class Facets:
    facets: tuple[Facet, ...]


@dataclass(frozen=True, slots=True)
class Keys:
    keys: tuple[KeyInfo, ...]


@dataclass(frozen=True, slots=True)
class TrialDetail:
    """A whole trial: `trial` is the record (schema/trial.schema.json).

    `siblings` are the other trials of its repeat group. `narrowest` has one sentence per phase,
    `bottleneck` one for the longest phase.
    `added_by` is the uploader, null for measured or imported trials. `between_hosts` and
    `disks_of_hosts` are of probes of several hosts. `prediction` compares the time with the one
    that `venturi run --predict` stored, if it did.
    """

    trial: Mapping[str, Any]
    group: str
    siblings: tuple[TrialRow, ...]
    exclusions: tuple[Exclusion, ...]
    narrowest: tuple[str, ...]
    bottleneck: str | None
    has_series: bool
    has_job: bool
    has_io: bool
    cost: Cost | None
    added_by: Author | None
    between_hosts: BetweenHosts | None
    disks_of_hosts: DisksOfHosts | None
    prediction: str | None


@dataclass(frozen=True, slots=True)
class ClusterPage:
    """The clusters with trials, and the chosen one: by default the first, or null without any.
    `trials` are its newest trials. A probe is null if there is no trial of it.
    """

    clusters: tuple[NamedCluster, ...]
    chosen: ClusterCard | None
    trials: tuple[TrialRow, ...]
    net: ProbeSeen | None
    disk: ProbeSeen | None


@dataclass(frozen=True, slots=True)
class SeriesLine:
    """One metric of one device over time; null if the sampler recorded nothing.

    In a thinned series, each value is the mean of its neighbors, and `lowest` and `highest` are
    their extremes, so that no peak is lost. Otherwise these two are empty.
    """

    metric: str
    device: str | None
    unit: str
    values: tuple[float | None, ...]
    lowest: tuple[float | None, ...]
    highest: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class SeriesData:
    """One `host` of the watched `hosts`; null without any.

    All lines share `t_s`, seconds since the trial began. `thinned`: each value is a mean of
    several.
    """

    hosts: tuple[str, ...]
    host: str | None
    t_s: tuple[float, ...]
    lines: tuple[SeriesLine, ...]
    thinned: bool
    missing_reason: str | None


# ---- groups and their statistics ----


@dataclass(frozen=True, slots=True)
class SpreadData:
    """`n` values: quantiles and the median's interval; `reason` says why one is null."""

    n: int
    median: float | None
    interval: Interval | None
    minimum: float | None
    p25: float | None
    p75: float | None
    p90: float | None
    maximum: float | None
    mean: float | None
    variation: float | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """`n` trials in all, `by_state` by their state; `elapsed_s` of the succeeded, no warm-ups."""

    key: Key
    n: int
    by_state: Mapping[str, int]
    elapsed_s: SpreadData


@dataclass(frozen=True, slots=True)
class Groups:
    by: tuple[str, ...]
    groups: tuple[GroupSummary, ...]


@dataclass(frozen=True, slots=True)
class PricesData:
    """The price per hour and its origin; `plus` adds for values of keys. `usd_per_hour` is null if
    the costs recorded with the trials are used; `source` says so.
    """

    usd_per_hour: float | None
    plus: tuple[tuple[str, str, float], ...]
    per: Literal["cluster", "node"]
    as_of: str | None
    source: str | None


@dataclass(frozen=True, slots=True)
class RankedGroup:
    """A group's place; null if it is not ranked, with a `reason`.

    `standing` is "best", "tied", "worse" or "cannot tell". `best_*` are
    those of its fastest trial. `on_frontier`: by medians no group is as fast and as cheap.
    `frontier` is "yes", "no" if one other group is better in both time and cost, else "cannot
    tell"; null without a cost. In matched settings, `ratio` compares it with the group `against`
    (the best of its set, or one that ties). `settings` are those shared with the group that shares
    settings with all of the set. Groups of another `set` share no setting with them. `meanings`
    has each value of `key` in words; null if the value needs or has none.
    """

    key: Key
    rank: int | None
    standing: str
    reason: str | None
    n: int
    elapsed_s: SpreadData
    cost_usd: SpreadData | None
    cost_time: SpreadData | None
    usd_per_hour: float | None
    best_elapsed_s: float | None
    best_cost_usd: float | None
    on_frontier: bool
    p_value: float | None
    frontier: Literal["yes", "cannot tell", "no"] | None = None
    name: str = ""
    meanings: tuple[str | None, ...] = ()
    set: int | None = None
    against: Key | None = None
    settings: int | None = None
    ratio: float | None = None
    ratio_interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class RankingData:
    """Groups by `objective`; `verdict` names the best and those that tie with it.

    `basis`: "pooled" medians of trials that match in all else; "matched" over matched settings
    (medians are then confounded); "crude" on request; or "refused".
    """

    by: tuple[str, ...]
    objective: str
    alpha: float
    prices: PricesData | None
    groups: tuple[RankedGroup, ...]
    verdict: str
    workloads: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    basis: Literal["pooled", "matched", "crude", "refused"] = "pooled"
    caption: str = ""
    explained: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ComparedGroup:
    """One of the compared groups; comparisons with the first are null for the first itself.

    `ratio` is the median of all ratios of its times to the first's, below 1 if it takes less time.
    `chance_lower` is the share of all pairs in which its time is lower. `values_s` are all counted
    times (at most 2,000, evenly sampled) without `warm_ups_s`. If trials differ in more than the
    groups, ratio and verdict are over matched settings, and `crude` is the confounded result over
    all trials.
    """

    key: Key
    n: int
    by_state: Mapping[str, int]
    elapsed_s: SpreadData
    values_s: tuple[float, ...]
    warm_ups_s: tuple[float, ...]
    outliers_s: tuple[float, ...]
    outcome: Literal["lower", "higher", "cannot tell"] | None
    ratio: float | None
    ratio_interval: Interval | None
    p_value: float | None
    chance_lower: float | None
    verdict: str
    name: str
    crude: str | None = None


@dataclass(frozen=True, slots=True)
class ComparisonData:
    """`caption` has the settings of all groups, `explained` the meaning of codes in names."""

    by: tuple[str, ...]
    groups: tuple[ComparedGroup, ...]
    warnings: tuple[str, ...]
    outlier_rule: str
    caption: str
    explained: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CatalogInfo:
    """A shipped catalog of machines and prices, for the parameter `catalog` of the advice."""

    name: str
    types: int
    newest_price: str | None


@dataclass(frozen=True, slots=True)
class Catalogs:
    """`default` is the catalog that you get if you name none."""

    catalogs: tuple[CatalogInfo, ...]
    default: str


# ---- what people add ----


@dataclass(frozen=True, slots=True)
class Exclusions:
    exclusions: tuple[Exclusion, ...]


@dataclass(frozen=True, slots=True)
class Views:
    views: tuple[View, ...]
    presets: tuple[View, ...]


@dataclass(frozen=True, slots=True)
class RefusedTrial:
    line: int
    trial: str | None
    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class UploadReport:
    """The result for each trial of an upload; the counted ones are stored for good."""

    added: tuple[str, ...]
    already_present: tuple[str, ...]
    refused: tuple[RefusedTrial, ...]


@dataclass(frozen=True, slots=True)
class StarterReport:
    added: int
    already_present: int
    sources: tuple[str, ...]
