"""Rules about repeated work: failed attempts, output lost with executors, small queries."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from venturi.core.units import format_bytes, format_duration
from venturi.jobs.diagnosis.case import SHOWN, Case, Confidence, FindingScope, Hit, Places
from venturi.jobs.diagnosis.registry import rule
from venturi.jobs.diagnosis.rules.resources import shuffle_lost
from venturi.jobs.failures.meanings import FailureMeaning, meaning_of
from venturi.jobs.failures.messages import headline
from venturi.jobs.stages import losses
from venturi.jobs.stages.causes import total
from venturi.jobs.stages.stage import LostExecutor, WastedTime

_OF_EXECUTORS = (losses.EXECUTOR, losses.OUTPUT, losses.FETCH, losses.AGAIN)
_ERRORS = 2  # different ones that a finding describes
_MESSAGE = 160  # characters of each
# A job of a reader without a query of its own. Writers have queries, and write.
_INFERS = re.compile(r"(?:csv|json|xml|load) at ")
_Alike = tuple[str, tuple[str, ...]]


@rule("failed-attempts")
def failed_attempts(case: Case) -> Iterator[Hit]:
    """Attempts that failed, those of lost executors or output only if no other rule has them."""
    elsewhere = case.analysis.lost_executors or any(True for _ in shuffle_lost(case))
    elsewhere = elsewhere or losses.planned_endings(case.line.account, case.line.tasks)
    kinds = (losses.ERROR,) if elsewhere else losses.FAILURES
    found = [loss for loss in case.analysis.losses if loss.what in kinds]
    if not _matter(case, "failed-attempts", found):
        return
    tasks = case.line.tasks
    attempts = [each for kind in kinds for each in losses.reasons(tasks, kind)]
    places = np.array([place for place, _ in attempts], dtype=np.intp)
    time_s, n = sum(each.time_s for each in found), sum(each.n for each in found)
    whole = {headline(text): text for _, text in reversed(attempts) if text}
    engine = case.line.account.application.engine
    meanings = [meaning_of(whole.get(each.said, each.said), engine) for each in found[:_ERRORS]]
    clear = list(dict.fromkeys(each for each in meanings if each is not None))
    where = losses.in_common(tasks, places)
    explained = list(zip(found, meanings, strict=False))
    causes = Counter[str]()
    for loss, known in explained:
        why = f"because {known.meaning}" if known else f"with: {_shortened(loss.said)}"
        causes[why] += loss.n
    messages = "; ".join(_shortened(loss.said) for loss, known in explained if known)
    causes["with others"] = sum(each.n for each in found[_ERRORS:])
    how = "; ".join(f"{n_same:,} {why}" for why, n_same in causes.items() if n_same)
    disks = next((f"; {each.disks}" for each in found if each.disks), "")
    confidence = Confidence(clear[0].confidence) if clear else Confidence.LOW
    yield Hit(
        f"{_attempts(n)} failed after {format_duration(time_s)} in total"
        f"{f', {where}' if where else ''}; {how}{disks}"
        f"{f' ({messages})' if messages else ''}",
        case.longest(places),
        # The map stage that runs again, and the waiting for a fetch, are not in these attempts.
        case.without_s(places) if kinds == (losses.ERROR,) else _least_s(case, places, time_s),
        Confidence.HIGH if _done_again(case, places) else confidence,
        "known" if clear else "any",
        {"said": str(found[0].said), "remedy": "; ".join(each.remedy for each in clear)},
    )


def _shortened(said: str | None) -> str:
    """The beginning of a message, which says more than the rest."""
    text = str(said)
    return text if len(text) <= _MESSAGE else f"{text[:_MESSAGE].rstrip()} ..."


def _done_again(case: Case, places: Places) -> bool:
    """Whether of each task with an attempt at `places` another attempt succeeded."""
    tasks = case.line.tasks
    stage_ids, index = tasks.rows["stage_id"].to_numpy(), tasks.index
    # Filter arrays first: making objects of a million tasks is slow.
    rivals = tasks.succeeded & np.isin(stage_ids, stage_ids[places]) & np.isin(index, index[places])
    done = set(zip(stage_ids[rivals], index[rivals], strict=True))
    return {*zip(stage_ids[places], index[places], strict=True)} <= done


@rule("executor-lost")
def executor_lost(case: Case) -> Iterator[Hit]:
    """Work lost with executors that were removed unexpectedly."""
    gone = case.analysis.lost_executors
    found = [loss for loss in case.analysis.losses if loss.what in _OF_EXECUTORS]
    if not gone or not _matter(case, "executor-lost", found):
        return
    hit, first, known = _gone(case, gone, found, "was lost")
    reason, remedy = first.reason, known.remedy if known else ""
    yield replace(hit, variant=_advice(case, known), values={"reason": reason, "remedy": remedy})


def _gone(
    case: Case, gone: Sequence[LostExecutor], found: Sequence[WastedTime], how: str
) -> tuple[Hit, LostExecutor, FailureMeaning | None]:
    """Describe executors that ended: of several, the one with which the most work was lost."""
    tasks = case.line.tasks
    places = losses.wasted_attempts(tasks, _OF_EXECUTORS)
    elapsed_s = np.nan_to_num(tasks.times.elapsed_s[places])
    ran_on = tasks.rows["executor_id"][places].to_numpy()
    first = max(gone, key=lambda each: float(elapsed_s[ran_on == each.executor_id].sum()))
    time_s, n = sum(each.time_s for each in found), sum(each.n for each in found)
    known = meaning_of(first.reason, case.line.account.application.engine)
    what, them = "executor", "it"
    if len(gone) > 1:
        what, them = f"{len(gone):,} executors, the costliest one", "them"
    return (
        Hit(
            f"{what} {first.executor_id} on {first.host} {how} after "
            f"{format_duration(first.at_s)} ({known.meaning if known else first.reason}), and "
            f"with {them} {_attempts(n)} of {format_duration(time_s)}",
            (
                *(FindingScope(host=each.host, executor=each.executor_id) for each in gone[:SHOWN]),
                *case.longest(places),
            ),
            _least_s(case, places, time_s),
            Confidence(known.confidence) if known else Confidence.MEDIUM,
        ),
        first,
        known,
    )


def _least_s(case: Case, places: Places, time_s: float) -> float:
    """The time saved without the attempts at `places`, of `time_s` in total.

    They took at least their share of the most slots of a stage on the critical path: a replay knows
    only the slots that were left after an executor had gone.
    """
    slots = max((stage.slots for stage in case.analysis.stages), default=1) or 1
    return max(case.without_s(places), time_s / slots)


def _advice(case: Case, known: FailureMeaning | None) -> str:
    """Return which advice fits an executor that ended so.

    Only YARN and Kubernetes have containers: elsewhere one that was killed lacked memory of its
    host.
    """
    if known is None:
        return "other"
    in_container = (case.setting("spark.master") or "yarn").startswith(("yarn", "k8s://"))
    return "host" if known.id == "exit-killed" and not in_container else "known"


def _attempts(n: int) -> str:
    return "1 attempt" if n == 1 else f"{n:,} attempts"


def _matter(case: Case, rule: str, found: Iterable[WastedTime]) -> bool:
    task_s = sum(stage.task_s for stage in case.analysis.stages)
    lost_s = sum(each.time_s for each in found)
    return lost_s > 0 and lost_s >= case.limit(rule, "share") * task_s


@rule("planned-ending")
def planned_ending(case: Case) -> Iterator[Hit]:
    """Work that was lost with executors that were decommissioned or preempted."""
    gone = losses.planned_endings(case.line.account, case.line.tasks)
    found = [loss for loss in case.analysis.losses if loss.what in _OF_EXECUTORS]
    if not gone or case.analysis.lost_executors or not _matter(case, "planned-ending", found):
        return
    hit, _, known = _gone(case, gone, found, "left")
    remedy = known.remedy if known else "let executors finish their tasks before they leave"
    yield replace(hit, values={"remedy": remedy})


@rule("driver-loop")
def driver_loop(case: Case) -> Iterator[Hit]:
    """Many small queries from one line in a row, and the program's time between them."""
    found: dict[_Alike, _Loop] = {}
    last_s, last = 0.0, None
    for alike, from_s, to_s in _queries(case):
        loop = found.setdefault(alike, _Loop())
        loop.lasted_s.append(to_s - from_s)
        loop.busy_s += max(to_s - max(from_s, last_s), 0.0)
        if last == alike and 0 < from_s - last_s <= case.limit("driver-loop", "gap_s"):
            loop.between_s += from_s - last_s
        last_s, last = max(last_s, to_s), alike
    for (name, _), loop in found.items():
        n = len(loop.lasted_s)
        if n < case.limit("driver-loop", "queries"):
            continue
        if float(np.median(loop.lasted_s)) > case.limit("driver-loop", "query_s"):
            continue
        yield Hit(
            f"{n:,} times {name}, which took {format_duration(loop.busy_s)}, and the program "
            f"between them {format_duration(loop.between_s)}",
            (FindingScope(operator=name),),
            loop.busy_s * (1 - 1 / n) + loop.between_s,
            Confidence.MEDIUM,
            values={"n": f"{n:,}"},
        )


@dataclass(slots=True)
class _Loop:
    """Similar queries: the time of each, their total, and the time between them."""

    lasted_s: list[float] = field(default_factory=list)
    busy_s: float = 0.0
    between_s: float = 0.0


def _queries(case: Case) -> list[tuple[_Alike, float, float]]:
    """The queries that ended, or jobs if there are no queries: group, begin and end.

    A group has the same line of the program and the same operators; a shell runs all queries from
    one line.
    """
    account, origin_ms = case.line.account, case.line.tasks.origin_ms
    shapes: dict[int, list[str]] = {}
    for operator in case.plans.operators.values():
        shapes.setdefault(operator.query_id, []).append(operator.name)
    table = account.jobs.rename({"job_id": "id"})
    if account.queries is not None:
        table = account.queries.rename({"query_id": "id"})
    rows = table.select("id", "name", "submitted_ms", "ended_ms").drop_nulls().rows()
    spans = [
        ((name, tuple(shapes.get(id_, ()))), (start - origin_ms) / 1e3, (end - origin_ms) / 1e3)
        for id_, name, start, end in rows
    ]
    return sorted(spans, key=lambda each: each[1])


@rule("schema-inferred")
def schema_inferred(case: Case) -> Iterator[Hit]:
    """Find stages that read input to infer its columns and their types, before the query does."""
    jobs = case.line.account.jobs.select("name", "query_id", "stage_ids").rows()
    inferring = [ids for name, query, ids in jobs if query is None and _INFERS.match(name or "")]
    for stage in case.stages:
        if not any(stage.key[0] in (ids or ()) for ids in inferring):
            continue
        places, _ = case.ran(stage.key)
        read = total(case.line.tasks.bytes_read[places])
        written = case.line.tasks.kind.output_bytes
        if not read or (written is not None and total(case.column(written)[places])):
            continue
        yield Hit(
            f"{stage.title} read {format_bytes(int(read))} to infer the schema, which took "
            f"{format_duration(stage.task_s)} of task time",
            (FindingScope(stage=stage.label),),
            case.at_most_s(stage.key, stage.elapsed_s or 0.0),
            Confidence.HIGH,
        )
