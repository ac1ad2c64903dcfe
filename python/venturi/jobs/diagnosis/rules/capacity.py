"""Slots that were missing after executors had gone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from venturi.core.units import format_duration
from venturi.jobs.diagnosis.case import SHOWN, Case, Confidence, FindingScope, Hit
from venturi.jobs.diagnosis.registry import rule
from venturi.jobs.failures.meanings import meaning_of
from venturi.jobs.stages import losses
from venturi.jobs.stages.causes import Floats, Seconds
from venturi.jobs.stages.slots import SlotOffer
from venturi.jobs.stages.stage import LostExecutor


@dataclass(frozen=True, slots=True)
class _MissingSlots:
    """The slots before the first executor went, and how many of them are missing at a time."""

    there: SlotOffer
    before: float
    gone_s: Seconds
    gone_slots: Floats

    def at(self, times_s: Seconds) -> Floats:
        """Slots that weren't replaced; not those of executors that weren't needed any more."""
        lost = np.concatenate([[0.0], np.cumsum(self.gone_slots)])
        most = lost[np.searchsorted(self.gone_s, times_s, side="right")]
        return np.clip(self.before - self.there.at(times_s), 0.0, most)

    def edges(self, from_s: float, to_s: float, *others: Seconds) -> Seconds:
        """The times between which nothing changes."""
        inner = np.concatenate([self.there.from_s, self.gone_s, *others])
        return np.unique(np.concatenate([[from_s, to_s], inner.clip(from_s, to_s)]))


@rule("capacity-lost")
def capacity_lost(case: Case) -> Iterator[Hit]:
    """Executors that went for good: their slots were missing in later stages."""
    account, tasks = case.line.account, case.line.tasks
    gone = [*case.analysis.lost_executors, *losses.planned_endings(account, tasks)]
    gone.sort(key=lambda each: each.at_s)
    missing = _missing(case, gone)
    if missing is None:
        return
    since_s, slot_s = gone[0].at_s, _slot_seconds(case, missing)
    whole_s = missing.there.between(0.0, case.line.elapsed_s or 0.0) + slot_s
    if slot_s < case.limit("capacity-lost", "share") * whole_s:
        return
    most = int(missing.at(missing.edges(since_s, case.line.elapsed_s or since_s)).max())
    known = meaning_of(gone[0].reason, account.application.engine)
    first = f"executor {gone[0].executor_id} on {gone[0].host}"
    who = first if len(gone) == 1 else f"{len(gone):,} executors, the first one {first},"
    saved_s = sum(_saved_s(case, missing))
    yield Hit(
        f"from {format_duration(since_s)} on up to {most:,} of {int(missing.before):,} slots were "
        f"missing, {format_duration(slot_s)} of slot time while stages ran; with them, the job had "
        f"ended at most {format_duration(saved_s)} sooner; {who} had gone "
        f"({known.meaning if known else gone[0].reason})",
        tuple(FindingScope(host=each.host, executor=each.executor_id) for each in gone[:SHOWN]),
        saved_s,
        Confidence.MEDIUM,
        "known" if known else "other",
        {"remedy": known.remedy if known else "", "reason": gone[0].reason},
    )


def _missing(case: Case, gone: Sequence[LostExecutor]) -> _MissingSlots | None:
    there = case.line.there
    if not gone or there is None or case.line.gaps.lacks or case.line.elapsed_s is None:
        return None
    rows = case.line.account.executors.select("executor_id", "cores").rows()
    cores = {executor: cores or 0 for executor, cores in rows}
    gone_s = np.array([each.at_s for each in gone])
    slots = [float(cores.get(each.executor_id, 0) // there.cpus) for each in gone]
    before = float(there.at(gone_s[:1] - 1e-3)[0])
    return _MissingSlots(there, before, gone_s, np.array(slots))


def _slot_seconds(case: Case, missing: _MissingSlots) -> float:
    """The missing slot time while a stage was active."""
    spans = case.line.spans.values()
    starts = np.sort([span.from_s for span in spans])
    ends = np.sort([span.to_s for span in spans])
    edges = missing.edges(float(missing.gone_s[0]), case.line.elapsed_s or 0.0, starts, ends)
    middles = (edges[:-1] + edges[1:]) / 2
    active = np.searchsorted(starts, middles) > np.searchsorted(ends, middles)
    return float((missing.at(middles) * np.diff(edges))[active].sum())


def _saved_s(case: Case, missing: _MissingSlots) -> Iterator[float]:
    """Upper bounds of the time that each stage lost: as if its work filled all slots evenly.

    More slots than tasks save nothing.
    """
    for stage in case.stages:
        span = case.line.spans.get(stage.key)
        if span is None or span.to_s <= missing.gone_s[0]:
            continue
        edges = missing.edges(span.from_s, span.to_s)
        middles = (edges[:-1] + edges[1:]) / 2
        slots, lacking = missing.there.at(middles), missing.at(middles)
        useful = np.minimum(lacking, np.maximum((stage.n_tasks or 0) - slots, 0.0))
        share = useful / np.maximum(slots + useful, 1.0)
        yield case.at_most_s(stage.key, float((share * np.diff(edges)).sum()))
