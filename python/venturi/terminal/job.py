"""Tables of a job's analysis: stages, time by cause, skew, stragglers, bounds."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Any

from venturi.core.units import (
    SECONDS_PER_HOUR,
    format_bytes,
    format_bytes_decimal,
    format_duration,
    format_figure,
)
from venturi.core.wording import count_of
from venturi.jobs.failures.messages import headline as cause_line
from venturi.jobs.stages.caches import HOW_TO_RECORD, cache_uses
from venturi.jobs.stages.executors import executor_uses
from venturi.jobs.stages.host_use import HostUseByStage, sentence
from venturi.jobs.stages.losses import failure_meaning
from venturi.jobs.stages.queries import QueryWork, changes_of, works_of
from venturi.jobs.stages.stage import Analysis, Bound
from venturi.jobs.stages.streaming import stream_uses
from venturi.jobs.stages.timeline import Timeline
from venturi.jobs.stages.verdict import in_words
from venturi.jobs.tiers.recorded_tiers import tier_uses
from venturi.jobs.whatif.ideal import LONGER, Ideals
from venturi.jobs.whatif.outlook import Outlooks
from venturi.record.job_account import JobAccount
from venturi.terminal import job_stages
from venturi.terminal.table import (
    UNKNOWN,
    Paragraph,
    Table,
    at_least,
    format_count,
    format_share,
    pairs,
    shorten,
    table,
    table_of,
)

SHOWN_QUERIES = 20
SHOWN_OF_QUERY = 8  # of its jobs, and of its stages
SHOWN_JOBS = 10
SHOWN_LOSSES = SHOWN_EXECUTORS = SHOWN_CACHES = 20
SHOWN_MEANWHILE = SHOWN_TIMED = 5
LEAST_TIMED = 0.05
_LEAST_SHARE = 0.005


def parts(
    line: Timeline, analysis: Analysis, host: HostUseByStage, only: Container[str] | None = None
) -> Iterator[Paragraph | Table]:
    """Yield titles and tables in reading order, those of the sections `only`."""
    account = line.account
    stages, left_out = job_stages.longest_stages(analysis.stages)
    for section, title, content in (
        ("", "Failures", _failures(account, analysis)),
        ("", "Narrowest host", pairs([("", host.narrowest.sentence)] if host.narrowest else [])),
        ("", _watched_in(host), _host_use_table(analysis, host)),
        ("", "Where the time went", _shares(analysis)),
        ("executors", "Cores: offered, used, unused", _cores(analysis)),
        ("stages", "Tasks without a recorded end", job_stages.unfinished_tasks(stages)),
        ("", "Wasted task time" + _first(SHOWN_LOSSES, analysis.losses), _losses(analysis)),
        (
            "executors",
            "Lost executors" + _first(SHOWN_EXECUTORS, analysis.lost_executors),
            _lost_executors(analysis),
        ),
        ("executors", "Executors", _executors(line)),
        ("sql", "SQL queries", _queries(account)),
        ("sql", "Plan changes by adaptive execution", _adaptive(account)),
        ("sql", "Cached data", _caches(account)),
        ("sql", "Streaming queries", _streams(line)),
        ("stages", "Critical path", job_stages.critical_path(analysis)),
        ("stages", "Stages" + left_out, job_stages.stage_rows(stages)),
        ("stages", "Task time by cause, share of the stage's", job_stages.time_by_cause(stages)),
        ("stages", "Skew: largest task / median task", job_stages.skews(stages)),
        ("stages", "Stragglers", job_stages.stragglers(stages)),
        ("stages", "Bottleneck of each stage", job_stages.bottlenecks(stages)),
        ("", "Upper bounds on the saving", _bounds(analysis.bounds, analysis.elapsed_s)),
        ("stages", "Speculative copies", _speculation(analysis)),
        ("", "Local files by tier", _tiers(account)),
        ("", "Event log", _reading(account)),
    ):
        if content.rows and (only is None or section in only):
            yield Paragraph(f"\n{title}", "bold")
            yield content


def operators(line: Timeline, analysis: Analysis) -> Iterator[Paragraph | Table]:
    """The operators' own timers in the longest stages."""
    made = table(
        "stage", "operator", "timer", "time", "of its task time", left=3, prose=("operator",)
    )
    longest = sorted(analysis.stages, key=lambda each: -each.task_s)[:SHOWN_TIMED]
    # An operator's timers are recorded with the ends of its stages and their tasks.
    whole = line.gaps.plans_known
    for stage in (each for each in longest if whole and not each.partial):
        for each in line.plans.of_stage(stage.key):
            for timer, time_s in line.plans.timed_in(each, stage.key).items():
                # Timers of generated code run from start to end, including waits.
                if timer != "duration" and time_s >= LEAST_TIMED * stage.task_s > 0:
                    share = f"{time_s / stage.task_s:.0%}"
                    made.add(stage.label, shorten(each.text), timer, format_duration(time_s), share)
    if made.rows:
        yield Paragraph("\nOperator timers (nested: they do not add up)", "bold")
        yield made


def outlook(found: Outlooks) -> Iterator[Paragraph | Table]:
    """The application's time on other numbers of slots, and how far to trust it."""
    if found.reason is not None or found.replayed_s is None:
        yield pairs([("", f"cannot tell: {found.reason}")])
        return
    made = table("slots", "executors", "time", "at least (Amdahl)", "core-hours", "use", left=0)
    for each in found.found:
        made.add(
            f"{each.slots:,}",
            format_count(each.executors),
            format_duration(each.time_s),
            format_duration(each.bound_s),
            format_figure(each.core_hours),
            f"{each.use:.0%}",
        )
    yield made
    yield Paragraph(
        f"{found.assumes}; on the recorded slots the model gives "
        f"{format_duration(found.replayed_s)}"
    )


def ideal(found: Ideals) -> Iterator[Paragraph | Table]:
    """The slots that each of the longest jobs needs, and the conclusion."""
    if found.reason is not None:
        yield pairs([("", f"each job on its own: cannot tell: {found.reason}")])
        return
    made = table_of(
        (
            {
                "job": str(each.job_id),
                "name": shorten(each.name),
                "took": format_duration(each.elapsed_s),
                "can fill": f"{each.useful_slots:,}",
                "at best": format_duration(each.least_s),
                "enough": f"{each.slots:,}",
                "executors": format_count(each.executors),
                "takes then": format_duration(each.time_s),
            }
            for each in found.found[:SHOWN_JOBS]
        ),
        left=2,
        prose=("name",),
        spare=("executors", "at best"),
    )
    more = len(found.found) + found.left_out - len(made.rows)
    if more > 0:
        made.notes.append(("job", f"{more:,} shorter jobs are not shown"))
    yield made
    yield Paragraph(
        'each job on its own, by the same replay; "enough" is the fewest slots with which it takes '
        f"at most {LONGER:.0%} longer than with all the slots its tasks can fill"
    )


def _failures(account: JobAccount, analysis: Analysis) -> Table:
    """The messages, each once, then the meaning of the failure and the full disks."""
    application = account.application
    rows = []
    if application.outcome != "succeeded":
        how = "cannot tell how it ended" if account.outcome_unknown else application.outcome
        rows.append(("application", f"{how}: {application.reason or '—'}"))
    for stage in analysis.stages:
        if (said := cause_line(stage.reason)) is not None:
            known = any(said in text for _, text in rows)
            rows.append((f"stage {stage.label}", "the same message" if known else said))
    rows = rows[: job_stages.SHOWN_STAGES]
    failed = account.queries is not None and "failed" in account.queries["outcome"].to_list()
    if (rows or failed) and (meaning := failure_meaning(account, analysis)) is not None:
        rows.append(("meaning", meaning.text))
    rows += [("disks", each.disks) for each in analysis.losses if each.disks]
    return pairs(rows)


def _watched_in(host: HostUseByStage) -> str:
    of = "the narrowest host" if any(use.host for use in host.uses.values()) else "the host"
    return f"Load of {of} in the longest stages"


def _host_use_table(analysis: Analysis, host: HostUseByStage) -> Table:
    if host.reason is not None:
        return pairs([("", f"cannot tell: {host.reason}")] if host.watched else [])
    told = [stage for stage in analysis.stages if stage.key in host.uses]
    longest = sorted(told, key=lambda stage: -(stage.elapsed_s or 0.0))[:SHOWN_MEANWHILE]
    return pairs(
        (
            f"{stage.label} ({format_duration(stage.elapsed_s)})",
            sentence(stage, host.uses[stage.key]),
        )
        for stage in longest
    )


def _shares(analysis: Analysis) -> Table:
    made = table("part", "time", "share")
    of_s = analysis.verdict.of_s
    if of_s is None:
        return made
    rest = []
    for part, share in analysis.verdict.shares.items():
        if share >= _LEAST_SHARE:
            made.add(in_words(part), format_duration(share * of_s), f"{share:.0%}")
        elif share > 0:
            rest.append(share)
    if rest:
        name = f"{count_of(len(rest), 'part')} of less than {_LEAST_SHARE:.1%} each"
        made.add(name, format_duration(sum(rest) * of_s), f"{sum(rest):.0%}")
    return made


def _cores(analysis: Analysis) -> Table:
    """Core-hours; "used" and "unused" add up to those offered."""
    made = table("cores", "core-hours", "share")
    if (cores := analysis.cores) is None or cores.offered_s <= 0:
        return made

    def add(what: str, time_s: float) -> None:
        made.add(what, format_figure(time_s / SECONDS_PER_HOUR), f"{time_s / cores.offered_s:.1%}")

    add("offered", cores.offered_s)
    for kind, parts in (("used", cores.used), ("unused", cores.unused)):
        for each in parts:
            add(f"{kind}: {each.what}", each.time_s)
    return made


def _first(shown: int, rows: Sequence[object]) -> str:
    """The end of the title of a table that shows only the first rows."""
    return f" (the first {shown} of {len(rows):,})" if len(rows) > shown else ""


def _losses(analysis: Analysis) -> Table:
    rows = (
        {
            "what": each.what,
            "attempts": at_least(f"{each.n:,}", analysis.lacking is not None),
            "task time": at_least(format_duration(each.time_s), analysis.lacking is not None),
            "where": each.where or UNKNOWN,
            "said": each.said or UNKNOWN,
            "means": each.meaning or UNKNOWN,
        }
        for each in analysis.losses[:SHOWN_LOSSES]
    )
    return table_of(rows, prose=("what", "where", "said", "means"))


def _lost_executors(analysis: Analysis) -> Table:
    made = table(
        "executor", "host", "at", "reason", "means", left=2, prose=("host", "reason", "means")
    )
    for each in analysis.lost_executors[:SHOWN_EXECUTORS]:
        made.add(
            each.executor_id,
            each.host or UNKNOWN,
            format_duration(each.at_s),
            each.reason,
            each.meaning or UNKNOWN,
        )
    return made


def _executors(line: Timeline) -> Table:
    """The executors with the most task time, in the order of their arrival."""
    uses, lacks = executor_uses(line), line.gaps.lacks
    most = sorted(uses, key=lambda each: -each.task_s)[:SHOWN_EXECUTORS]
    made = table_of(
        (
            {
                "executor": each.executor_id,
                "host": each.host or UNKNOWN,
                "cores": format_count(each.cores),
                "added": format_duration(each.added_s),
                "removed": format_duration(each.removed_s),
                "reason": each.reason or UNKNOWN,
                "tasks": at_least(f"{each.tasks:,}", lacks),
                "failed": at_least(f"{each.failed:,}", lacks),
                "task time": at_least(format_duration(each.task_s), lacks),
                "busy": format_share(each.busy),
                "GC": format_share(each.collecting),
                "spilled": at_least(format_bytes(each.spilled_bytes), lacks),
                "peak heap": at_least(format_bytes(each.heap_bytes), lacks),
                "peak Python": at_least(format_bytes(each.python_bytes), lacks),
            }
            for each in uses
            if each in most
        ),
        left=2,
        prose=("host", "reason"),
        spare=("added", "removed", "peak Python", "GC", "reason", "spilled"),
    )
    if len(uses) > len(most):
        made.notes.append(("task time", f"the busiest {len(most)} of {len(uses):,} executors"))
    return made


def _streams(line: Timeline) -> Table:
    def per_s(rows: float | None) -> str:
        return UNKNOWN if rows is None else f"{rows:,.0f}"

    return table_of(
        (
            {
                "stream": each.name or each.stream,
                "batches": f"{each.batches:,}",
                "rows": f"{each.rows:,}",
                "rows/s in": per_s(each.input_rows_per_s),
                "rows/s processed": per_s(each.rows_per_s),
                "median batch": format_duration(each.median_s),
                "slowest": format_duration(each.slowest_s),
                "mostly": each.slowest_part,
                "busy": format_share(each.busy),
                "keeps up": "no" if each.behind else "yes",
                "backlog": format_count(each.left_rows),
                "state rows": format_count(each.state_rows),
                "state": format_bytes(each.state_bytes),
            }
            for each in stream_uses(line)
        ),
        prose=("stream", "mostly"),
        spare=("state", "state rows", "backlog", "busy"),
    )


def _queries(account: JobAccount) -> Table:
    """The longest queries, in their order, with the driver's work for them."""

    def time(time_ms: int | None) -> str:
        return UNKNOWN if time_ms is None else format_duration(time_ms / 1e3)

    works = works_of(account)
    rows = []
    for row, lasted_ms in _longest_queries(account):
        outcome = row["outcome"] or UNKNOWN
        if row["reason"]:
            outcome += f": {shorten(cause_line(row['reason']) or UNKNOWN)}"
        jobs, stages = (UNKNOWN, UNKNOWN) if works is None else _work(works[row["query_id"]])
        rows.append(
            {
                "query": str(row["query_id"]),
                "name": shorten(row["name"] or UNKNOWN),
                "outcome": outcome,
                "took": time(lasted_ms),
                "listing files": time(row["listing_ms"]),
                "broadcasts": time(row["broadcast_ms"]),
                "commit": time(row["commit_ms"]),
                "jobs": jobs,
                "stages": stages,
            }
        )
    spare = ("listing files", "broadcasts", "jobs", "stages")
    return table_of(rows, left=3, prose=("name", "jobs", "stages"), spare=spare)


def _longest_queries(account: JobAccount) -> Iterator[tuple[dict[str, Any], int | None]]:
    """Their rows and how many milliseconds they took, in their own order."""
    if account.queries is None:
        return
    took = (account.queries["ended_ms"] - account.queries["submitted_ms"]).to_list()
    rows = list(zip(account.queries.rows(named=True), took, strict=True))
    longest = sorted(range(len(rows)), key=lambda place: -(took[place] or 0))[:SHOWN_QUERIES]
    yield from (rows[place] for place in sorted(longest))


def _adaptive(account: JobAccount) -> Table:
    changes = changes_of(account)
    shown = (row["query_id"] for row, _ in _longest_queries(account))
    return pairs((f"query {id_}", changes[id_]) for id_ in shown if id_ in changes)


def _work(work: QueryWork) -> Iterator[str]:
    """The first jobs and stages of a query."""
    for all_, left_out, may_be_missing in (
        (work.jobs, work.jobs_left_out, False),
        (work.stages, work.stages_left_out, work.stages_may_be_missing),
    ):
        more = len(all_) + left_out - SHOWN_OF_QUERY
        said = ", ".join(map(str, all_[:SHOWN_OF_QUERY])) or (
            "unknown" if may_be_missing else "none"
        )
        more_than_shown = f" and {more:,} more" if more > 0 else ""
        yield said + more_than_shown + (", maybe more" if may_be_missing and all_ else "")


def _caches(account: JobAccount) -> Table:
    caches = cache_uses(account, SHOWN_CACHES)
    rows = (
        {
            "RDD": str(each.rdd),
            "name": shorten(each.name or UNKNOWN),
            "level": each.level or UNKNOWN,
            "partitions": format_count(each.partitions),
            "cached at most": format_count(each.cached),
            "in memory": format_bytes(each.memory_bytes),
            "on disk": format_bytes(each.disk_bytes),
        }
        for each in caches
    )
    made = table_of(rows, left=3, prose=("name", "level"))
    if any(each.cached is None for each in caches):
        made.notes.append(("cached at most", HOW_TO_RECORD))
    return made


def _tiers(account: JobAccount) -> Table:
    rows = []
    for use in tier_uses(account):
        first = use.first_overflow_s
        rows.append(
            {
                "tier": use.tier,
                "files of": use.kind.replace("_", " "),
                "rule": use.rule,
                "bytes": format_bytes_decimal(use.seen_bytes),
                "peak": format_bytes_decimal(use.peak_bytes),
                "places": f"{use.placements:,}",
                "overflowed": f"{use.overflows:,}",
                "first": UNKNOWN if first is None else f"after {format_duration(first)}",
            }
        )
    made = table_of(rows, left=2, prose=("rule",), spare=("places", "rule"))
    if made.rows:
        made.notes.append(("bytes", "bytes: of files that lived for about 50 ms or longer"))
        made.notes.append(("overflowed", "overflowed: an earlier tier had no room for them"))
    return made


def _bounds(bounds: Sequence[Bound], elapsed_s: float | None) -> Table:
    made = table("without", "recorded", "at most", "share of the job", prose=("without",))
    for bound in bounds:
        recorded = "not recorded" if bound.recorded_s is None else format_duration(bound.recorded_s)
        share = UNKNOWN if not elapsed_s else f"{bound.at_most_s / elapsed_s:.1%}"
        made.add(bound.without, recorded, format_duration(bound.at_most_s), share)
    return made


def _speculation(analysis: Analysis) -> Table:
    made = table("launched", "won", "task time wasted", "without a recorded end", left=0)
    seen = analysis.speculation
    if seen.launched:
        wasted = ("at least " if seen.unended else "") + format_duration(seen.wasted_s)
        figures = [str(seen.launched), str(seen.won), wasted, str(seen.unended)]
        if analysis.lacking is not None:
            figures[2] = format_duration(seen.wasted_s)
            figures = [*map(at_least, figures[:3]), UNKNOWN]
        made.add(*figures)
    return made


def _reading(account: JobAccount) -> Table:
    reading = account.reading
    rows = [
        ("files", ", ".join(reading.files[:5]) + (" ..." if len(reading.files) > 5 else "")),
        ("text", f"{format_bytes(reading.text_bytes)}, {reading.events:,} events"),
        ("compression", reading.compression or "none"),
        ("events ignored", f"{sum(reading.skipped.values()):,}"),
        ("events of unknown type", f"{sum(reading.unknown.values()):,}"),
    ]
    if account.applications > 1:
        rows.append(
            (
                "applications",
                f"{account.applications} ran concurrently; this is a failed or the longest one",
            )
        )
    if account.began_s is not None:
        rows.append(("began", f"{format_duration(account.began_s)} after the trial"))
    return pairs(rows)
