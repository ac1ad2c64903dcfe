"""The repository's content: trials, their facets, groups and series, exclusions and views."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Annotated, Literal

from pydantic import Field

from venturi.machines.scaling.between_hosts import between_hosts
from venturi.machines.scaling.disks_of_hosts import disks_of_hosts
from venturi.record import starter
from venturi.record.access import exclusions, views
from venturi.record.access.actions import added_by
from venturi.record.access.authors import Author
from venturi.record.account_tables import has_account
from venturi.record.cost import recorded_cost
from venturi.record.io_trace import has_trace
from venturi.record.prediction import prediction_check
from venturi.record.query import counting, faceting, grouping, known_keys, paging
from venturi.record.query.checks import require_keys
from venturi.record.query.conditions import Condition, Op
from venturi.record.query.faceting import FACET_KEYS_MAX
from venturi.record.query.grouping import GROUP_KEYS_MAX
from venturi.record.query.selection import PAGE_ROWS_MAX, Query
from venturi.record.trial import Trial
from venturi.record.trial_json import ADAPTER
from venturi.results.bottleneck import narrowest_points
from venturi.results.hosts.use import HostsOverTime
from venturi.terminal.predictions import check_text
from venturi.web.api import shapes
from venturi.web.api.context import Id, Requester, SelectionDep, Services, trial_of
from venturi.web.api.jobs.fleet import priced
from venturi.web.api.jobs.job_shapes import JobData
from venturi.web.api.request_arguments import NAME_LENGTH_MAX, Parameter
from venturi.web.api.results.cells import scalar
from venturi.web.api.results.presets import presets
from venturi.web.api.results.series import series_of
from venturi.web.api.results.spreads import spread_of
from venturi.web.io.page import IoHeat, IoPage
from venturi.web.legacy_addresses import current_address
from venturi.web.report import words

SIBLINGS_MAX = 200
FACET_COLUMNS = (
    "workload",
    "engine",
    "state",
    "scale",
    "provenance",
    "source",
    "instance_type",
    "network",
    "hosts",
)
FACET_SETTINGS, FACET_DISTINCT_MAX = 6, 100
KEY_LENGTH_MAX = 300

KeyName = Annotated[str, Field(max_length=KEY_LENGTH_MAX)]  # a trial may have the key ""


def status(services: Services, requester: Requester) -> shapes.Status:
    """The server's version, its number of trials, and your role."""
    everything = Query()
    return shapes.Status(
        version=version("venturi"),
        trials=counting.count(services.repository, everything),
        trials_excluded=counting.excluded_count(services.repository, everything),
        role=requester.role if services.changes is not None else "read",
        uploads=requester.uploads,
        token=requester.token,
        starter_present=starter.starter_present(services.repository),
    )


def keys(services: Services) -> shapes.Keys:
    """Everything that can be filtered, sorted and grouped by."""
    return shapes.Keys(known_keys.keys(services.repository))


def trials(
    *,
    services: Services,
    selection: SelectionDep,
    sort: Annotated[
        str,
        Parameter(
            description="A column or configuration key.",
            min_length=1,
            max_length=KEY_LENGTH_MAX,
            examples=["elapsed_s"],
        ),
    ] = "started_at",
    desc: Annotated[bool, Parameter(description="Highest first; missing values last.")] = True,
    limit: Annotated[int, Parameter(ge=1, le=PAGE_ROWS_MAX)] = 50,
    cursor: Annotated[
        str | None, Parameter(description="`next_cursor` of the previous page.", max_length=10_000)
    ] = None,
) -> shapes.TrialPage:
    """One page of the trials that meet the conditions."""
    (sort,) = require_keys(services.repository, (sort,))
    asked = selection.query(sort=sort, descending=desc, limit=limit, cursor=cursor)
    page = paging.rows(services.repository, asked)
    excluded = 0
    if not selection.with_excluded:
        excluded = counting.excluded_count(services.repository, asked)
    return shapes.TrialPage(
        rows=page.rows,
        next_cursor=page.next_cursor,
        total=counting.count(services.repository, asked),
        excluded=excluded,
    )


def facets(
    services: Services,
    selection: SelectionDep,
    key: Annotated[
        list[KeyName] | None,
        Parameter(
            description="Keys to count by; by default those that distinguish most trials.",
            max_length=FACET_KEYS_MAX,
            examples=[["workload", "disk"]],
        ),
    ] = None,
) -> shapes.Facets:
    """How many trials have which value of each key, under the conditions on all other keys."""
    chosen = require_keys(services.repository, key) if key else _usual_keys(services)
    return shapes.Facets(faceting.facets(services.repository, selection.query(), chosen))


def trial(services: Services, id: Id) -> shapes.TrialDetail:
    """One whole trial, its repeat group, its exclusions and its bottlenecks."""
    found = trial_of(services, id)
    same = (Condition("group", Op.ONE_OF, (found.group_key,)),)
    limit = SIBLINGS_MAX + 1
    cost = recorded_cost(found)
    if cost is None or cost.text is None:
        cost = priced(services, found) or cost
    group = paging.rows(services.repository, Query(same, limit=limit, with_excluded=True)).rows
    return shapes.TrialDetail(
        trial=ADAPTER.dump_python(found, mode="json"),
        group=found.group_key,
        siblings=tuple(row for row in group if row.id != id)[:SIBLINGS_MAX],
        exclusions=_exclusions_of(services, found),
        narrowest=tuple(_narrowest(found)),
        bottleneck=words.bottleneck(found),
        has_series=any(artifact.kind == "series" for artifact in found.artifacts),
        has_job=has_account(found),
        has_io=has_trace(found),
        cost=cost,
        added_by=_added_by(services, id),
        between_hosts=between_hosts(found),
        disks_of_hosts=disks_of_hosts(found),
        prediction=None if (check := prediction_check(found)) is None else check_text(check),
    )


def series(
    services: Services,
    id: Id,
    points: Annotated[
        int, Parameter(description="Maximum number of times; more are averaged.", ge=2, le=2_000)
    ] = 500,
    host: Annotated[
        str | None,
        Parameter(
            description="A host's name; default: the first monitored host.",
            min_length=1,
            max_length=NAME_LENGTH_MAX,
        ),
    ] = None,
) -> shapes.SeriesData:
    """Metrics over time of one of the trial's hosts."""
    return series_of(services.repository, trial_of(services, id), points, host)


def hosts(services: Services, id: Id) -> HostsOverTime:
    """The use of each of the trial's hosts over time, for comparison. The bottleneck is marked."""
    from venturi.web.hosts_over_time import hosts_over_time  # noqa: PLC0415 - the server starts sooner

    return hosts_over_time(services.repository, trial_of(services, id))


def job(services: Services, id: Id) -> JobData:
    """Where the job's time went, stage by stage, from its engine's own account."""
    from venturi.web.api.jobs.jobs import job_of  # noqa: PLC0415 - the server starts sooner

    return job_of(services.repository, trial_of(services, id))


def io(services: Services, id: Id) -> IoPage:
    """The trial's block I/O: its requests by the files that they belong to."""
    from venturi.web.io.charts import io_of  # noqa: PLC0415 - the server starts sooner

    return io_of(services.repository, trial_of(services, id))


def io_heat(
    services: Services,
    id: Id,
    *,
    pattern: Annotated[
        str,
        Parameter(
            description="Pattern of requests, as named by /io.", min_length=1, max_length=200
        ),
    ],
    device: Annotated[
        str, Parameter(description="Disk, as named by /io.", pattern=r"^\d{1,4},\d{1,7}$")
    ],
    chart: Annotated[Literal["places", "times"], Parameter(description="Places, or times.")],
    from_s: Annotated[
        float, Parameter(description="Start, in seconds since the trace started.", ge=0, le=1e9)
    ],
    until_s: Annotated[
        float, Parameter(description="End, in seconds since the trace started.", ge=0, le=1e9)
    ],
) -> IoHeat:
    """A part of a chart over time at the finest resolution of the trace, in at most about 512
    columns.
    """
    from venturi.web.io.heat import HeatWindow, heat_part  # noqa: PLC0415 - the server starts sooner

    asked = HeatWindow(device, pattern, chart, from_s, max(from_s, until_s))
    return heat_part(services.repository, trial_of(services, id), asked)


def groups(
    services: Services,
    selection: SelectionDep,
    by: Annotated[
        list[KeyName],
        Parameter(
            description="Columns and configuration keys.",
            min_length=1,
            max_length=GROUP_KEYS_MAX,
            examples=[["workload", "disk"]],
        ),
    ],
) -> shapes.Groups:
    """The trials grouped by any keys, with quantiles and the interval of the median."""
    keys = require_keys(services.repository, by)
    found = grouping.group_by(services.repository, selection.query(), keys)
    return shapes.Groups(
        keys,
        tuple(
            shapes.GroupSummary(
                tuple(map(scalar, group.values)),
                group.n,
                group.by_state,
                spread_of(group.elapsed_s),
            )
            for group in found
        ),
    )


def all_exclusions(services: Services) -> shapes.Exclusions:
    """All rules that leave trials out, those that were revoked too."""
    return shapes.Exclusions(exclusions.find(services.repository))


def all_views(services: Services) -> shapes.Views:
    """Your saved pages, and the shipped ones with trials in this repository."""
    found = views.find(services.repository)
    own = tuple(replace(view, url=current_address(view.url)) for view in found)
    return shapes.Views(own, presets(services.repository))


def _added_by(services: Services, id_: str) -> Author | None:
    with services.repository.reading() as connection:
        return added_by(connection, id_)


def _usual_keys(services: Services) -> Sequence[str]:
    """The columns that users often search, and the settings that most trials have."""
    settings = [
        info
        for info in known_keys.keys(services.repository)
        if info.kind == "configuration" and 1 < info.distinct <= FACET_DISTINCT_MAX
    ]
    settings.sort(key=lambda info: (-info.n, info.key))
    return (*FACET_COLUMNS, *(info.key for info in settings[:FACET_SETTINGS]))


def _exclusions_of(services: Services, trial: Trial) -> tuple[exclusions.Exclusion, ...]:
    """Return the exclusions in force that leave `trial` out."""
    covering = exclusions.covering(services.repository, [trial.id]).get(trial.id, ())
    return exclusions.find(services.repository, covering) if covering else ()


def _narrowest(trial: Trial) -> Iterator[str]:
    """A sentence for each phase, as in `venturi show`."""
    for finding in narrowest_points(trial):
        if finding.reason:
            yield f"{finding.phase}: cannot tell: {finding.reason}"
            continue
        yield f"{finding.phase}: {'; '.join((finding.sentence, *finding.evidence))}"
