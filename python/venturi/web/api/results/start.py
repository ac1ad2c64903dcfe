"""`/api/start`: the repository's content, answers to the most common questions, and items that need
attention. Each answer is that of the page that it links to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from threading import Lock
from urllib.parse import urlencode
from weakref import WeakKeyDictionary

import sqlalchemy as sa

from venturi.core.errors import VenturiError
from venturi.core.units import format_duration
from venturi.core.wording import count_of
from venturi.machines.health.verdict import verdicts
from venturi.record.account_tables import has_account
from venturi.record.measured_over import measured_over
from venturi.record.query import counting, grouping, known_keys, paging
from venturi.record.query.conditions import Condition, Op
from venturi.record.query.paging import TrialRow
from venturi.record.query.selection import Query
from venturi.record.store.repository import TrialRepository
from venturi.record.store.tables import CHANGES
from venturi.record.trial import Trial
from venturi.record.trial_json import MEND
from venturi.record.vocabulary import resolve
from venturi.results.bottleneck import narrowest_points
from venturi.results.compare.names import Names, name_groups
from venturi.results.effects.effect import Effect, EffectOutcome
from venturi.results.effects.effect_words import change, named
from venturi.results.ranking import rank_trials
from venturi.results.ranking.rank_words import sentences
from venturi.results.ranking.ranking import Objective
from venturi.web.api.context import Services
from venturi.web.api.jobs.jobs import job_of
from venturi.web.effects import Question, effects
from venturi.web.report import measurements, words

RECENT = 8
LOOKED_AT = 12  # recent trials that are searched for a narrowest point
LOOKED_BACK = 200  # trials, for the repeat groups that were measured last
TIMES_TOLD = 3
ASKED = ("disk", "network", "maps", "compression", "engine", "hosts", "memory_bytes", "threads")
QUESTIONS = {"engine": "Which engine is faster?", "hosts": "How much do more hosts help?"}
VALUES_MOST = 60  # of a key that is a setting, not a name
TRIALS_LEAST = 20  # fewer trials don't justify the answer "cannot tell"
WORKS_TOLD = 3
PRICED_BY = ("disk", "instance_type", "cluster", "provider")
PROBES = ("diskbench", "netbench")
_OWN = (Condition.equal("state", "succeeded"), Condition.equal("provenance", "measured"))
Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class StartFigure:
    """A large number of the first page, and where it leads."""

    label: str
    value: str
    note: str
    url: str


@dataclass(frozen=True, slots=True)
class StartAnswer:
    """A question and its answer, the first of `sentences`.

    `url` is the page with the whole answer, `trials_url` lists the trials behind it. `known`:
    whether it is answered. If not, the sentences explain why, and how to get an answer.
    """

    question: str
    sentences: tuple[str, ...]
    known: bool
    url: str
    trials_url: str | None


@dataclass(frozen=True, slots=True)
class StartFinding:
    """Something to look at: `n` trials of one kind."""

    text: str
    n: int
    url: str


@dataclass(frozen=True, slots=True)
class Start:
    """The first page: the number of trials, answers, findings, and the newest trials.

    `/api/fleet` has its jobs.
    """

    headline: str
    figures: tuple[StartFigure, ...]
    answers: tuple[StartAnswer, ...]
    findings: tuple[StartFinding, ...]
    recent: tuple[TrialRow, ...]


_ONE_AT_A_TIME = Lock()
_KNOWN: WeakKeyDictionary[TrialRepository, tuple[int, Start]] = WeakKeyDictionary()


def start(services: Services) -> Start:
    """The start page: answers and findings that you get without a query."""
    repository = services.repository
    with repository.reading() as connection:
        change = connection.execute(sa.select(CHANGES.c.made)).scalar_one()
    with _ONE_AT_A_TIME:
        known = _KNOWN.get(repository)
        if known is None or known[0] != change:
            known = (change, _start(services))
        _KNOWN[repository] = known
    return known[1]


def _start(services: Services) -> Start:
    repository = services.repository
    kinds = grouping.group_by(
        repository, Query(), ("workload", "engine", "state", "provenance", "scale", "input_bytes")
    )
    return Start(
        _headline(kinds),
        tuple(_figures(repository, kinds)),
        tuple(sorted(_answers(services, kinds), key=lambda answer: not answer.known)),
        tuple(_findings(repository, kinds)),
        paging.rows(repository, Query(limit=RECENT, with_excluded=True)).rows,
    )


def url(path: str, pairs: Pairs = ()) -> str:
    """A page's address."""
    return f"{path}?{urlencode(pairs)}" if pairs else path


def where(**values: object) -> list[tuple[str, str]]:
    """Conditions of an address; None is a missing value."""
    return [("where", f"{key}={'' if value is None else value}") for key, value in values.items()]


def _headline(kinds: Sequence[grouping.GroupRow]) -> str:
    n = sum(kind.n for kind in kinds)
    works = {kind.values[0] for kind in kinds}
    engines = sorted({str(kind.values[1]) for kind in kinds})
    on = f" on {engines[0]}" if len(engines) == 1 else f" on {len(engines)} engines"
    if not n:
        return "Nothing is recorded here yet"
    told = str(next(iter(works))) if len(works) == 1 else f"{len(works)} workloads"
    return f"{count_of(n, 'trial')} of {told}{on if engines != ['unknown'] else ''}"


def _figures(
    repository: TrialRepository, kinds: Sequence[grouping.GroupRow]
) -> Iterator[StartFigure]:
    total = sum(kind.n for kind in kinds)
    measured = sum(kind.n for kind in kinds if kind.values[3] == "measured")
    if not total:
        return
    yield StartFigure("Trials", f"{total:,}", f"{measured:,} of them measured here", "/trials")
    by_work = _counts(kinds, 0)
    most = max(by_work, key=lambda name: by_work[name])
    if by_work[most] > min(by_work.values()):
        note, leads_to = f"most trials: {most}, {by_work[most]:,}", where(workload=most)
    else:
        note, leads_to = f"{count_of(by_work[most], 'trial')} of each", []
    yield StartFigure("Workloads", f"{len(by_work):,}", note, url("/trials", leads_to))
    by_engine = _counts(kinds, 1)
    yield StartFigure("Engines", f"{len(by_engine):,}", ", ".join(sorted(by_engine)), "/trials")
    out = counting.excluded_count(repository, Query())
    yield StartFigure("Excluded", f"{out:,}", "by recorded rules", "/exclusions")


def _counts(kinds: Sequence[grouping.GroupRow], place: int) -> dict[str, int]:
    found: dict[str, int] = {}
    for kind in kinds:
        name = str(kind.values[place])
        found[name] = found.get(name, 0) + kind.n
    return found


# ---- what is to be looked at ----

_STATES: Mapping[str, str] = {
    "failed": "failed, without a time: no median counts them",
    "invalid": "finished with invalid output",
    "interrupted": "were interrupted",
}


def _findings(
    repository: TrialRepository, kinds: Sequence[grouping.GroupRow]
) -> Iterator[StartFinding]:
    if unreadable := counting.undated(repository):
        yield StartFinding(
            f"{count_of(len(unreadable), 'trial')} cannot be read: {', '.join(unreadable)}; {MEND}",
            len(unreadable),
            "/trials",
        )
    states = _counts(kinds, 2)
    for state, said in _STATES.items():
        if states.get(state):
            n = states[state]
            yield StartFinding(
                f"{count_of(n, 'trial')} {said}", n, url("/trials", where(state=state))
            )
    warned = counting.count(
        repository, Query((Condition("warnings", Op.ABOVE, (0,)),), with_excluded=True)
    )
    if warned:
        yield StartFinding(
            f"{count_of(warned, 'trial')} carry warnings"
            if warned > 1
            else "1 trial carries warnings",
            warned,
            url("/trials", [("where", "warnings>0")]),
        )


# ---- answers ----


def _answers(services: Services, kinds: Sequence[grouping.GroupRow]) -> Iterator[StartAnswer]:
    sources: Sequence[Callable[[], Iterator[StartAnswer]]] = (
        lambda: _times(services),
        lambda: _machine(services),
        lambda: _narrowest(services),
        lambda: _effects(services),
        lambda: _cheapest(services, kinds),
    )
    for source in sources:
        try:
            yield from source()
        except VenturiError as error:
            # One question that cannot be answered must not hide the others.
            yield StartAnswer(error.code, (error.message, error.hint), False, "/trials", None)


def _effects(services: Services) -> Iterator[StartAnswer]:
    """The effects of those common settings that vary here."""
    repository = services.repository
    varied = {key.key for key in known_keys.keys(repository) if 2 <= key.distinct <= VALUES_MOST}
    asked = dict.fromkeys(key for name in ASKED if (key := resolve(name, varied)))
    for key in asked:
        found = effects(repository, Query(), Question([key]))
        if found.main is None:
            continue
        one = found.effects[found.main]
        known = one.outcome not in (EffectOutcome.CANNOT_TELL, EffectOutcome.CONFOUNDED)
        if not known and found.trials < TRIALS_LEAST:
            continue  # too little for a question of it
        question = QUESTIONS.get(key, f"What is the effect of {named(found.keys, one.value)}?")
        yield StartAnswer(
            question,
            (
                f"{found.verdict}.",
                *_works(one),
                *((f"Next: {one.next.words}.",) * bool(one.next.words)),
            ),
            known,
            url("/effect", [("key", key)]),
            url("/trials", [("where", f"{key}={v[0]}") for v in (one.value, one.baseline)]),
        )


def _works(one: Effect) -> Iterator[str]:
    """The kinds of work with the most settings, where there are several."""
    if len(one.works) > 1:
        most = sorted(one.works, key=lambda part: -part.strata)[:WORKS_TOLD]
        yield "; ".join(f"{part.value}: {change(part.ratio)}" for part in most) + "."


def _cheapest(services: Services, kinds: Sequence[grouping.GroupRow]) -> Iterator[StartAnswer]:
    """A ranking by the costs recorded with the trials; without any, a hint."""
    repository = services.repository
    varied = {key.key for key in known_keys.keys(repository) if key.distinct > 1}
    by = next((key for name in PRICED_BY if (key := resolve(name, varied))), None)
    if by is None:
        return
    question = "Which is cheapest?"
    by_work = _counts(kinds, 0)
    most = max(by_work, key=lambda name: by_work[name])
    pairs = where(workload=most)
    asked = [*pairs, ("by", by), ("objective", "cost")]
    trials = rank_trials.counted(repository, Query((Condition.equal("workload", most),)), (by,))
    if not len(trials.logs):
        return
    if not rank_trials.has_recorded(repository, trials):
        told = f"Cannot tell: none of {count_of(len(trials.logs), 'trial')} of {most} has a price."
        hint = "Next: open the page and enter the hourly price of a node or of the whole cluster."
        page = url("/cost", [*pairs, ("by", by), ("per", "node")])
        yield StartAnswer(question, (told, hint), False, page, url("/trials", pairs))
        return
    prices = rank_trials.prices_recorded(repository, trials, asked=True)
    page = url("/cost", [*asked, ("prices", "recorded")])
    if refused := rank_trials.refusal(trials, (by,), prices):
        why = (f"Cannot tell: {refused.message}.", f"Next: {refused.hint}.")
        yield StartAnswer(question, why, False, page, url("/trials", pairs))
        return
    found = rank_trials.rank_trials(trials, (by,), Objective.COST, prices)
    said = tuple(f"{each[0].upper()}{each[1:]}." for each in (*sentences(found), *found.warnings))
    yield StartAnswer(question, said, found.best_known, page, url("/trials", pairs))


def _times(services: Services) -> Iterator[StartAnswer]:
    """How long the work took that was measured here last, by repeat group."""
    newest = paging.rows(services.repository, Query(_OWN, limit=LOOKED_BACK)).rows
    groups: dict[str, list[TrialRow]] = {}
    for row in newest:
        if row.workload not in PROBES and not row.warm_up and row.elapsed_s is not None:
            groups.setdefault(row.group, []).append(row)
    if not groups:
        return
    told = list(groups.values())[:TIMES_TOLD]
    first = told[0][0]
    names = _names(rows[0] for rows in told)
    if len(told) == 1:
        sentences: tuple[str, ...] = (_took(f"{first.workload} on {first.engine}", told[0]),)
    else:
        common = f"Same for all: {names.caption}."
        sentences = (*map(_took, names.names, told), common)
    pairs = where(workload=first.workload, provenance="measured")
    page = f"/trials/{first.id}" if len(groups) == 1 else url("/trials", pairs)
    yield StartAnswer(
        "How long do workloads take here?", sentences, True, page, url("/trials", pairs)
    )


def _took(name: str, rows: Sequence[TrialRow]) -> str:
    times = [row.elapsed_s for row in rows if row.elapsed_s is not None]
    told = format_duration(median(times))
    return f"{name}: {told}, " + (
        f"median of {count_of(len(times), 'trial')}." if len(times) > 1 else "one trial."
    )


def _names(rows: Iterable[TrialRow]) -> Names:
    """Names of the repeat groups, each given by one of its trials."""
    return name_groups(
        [
            {
                "workload": row.workload,
                "scale": row.scale,
                "input_bytes": row.input_bytes,
                "engine": row.engine,
                "hosts": row.hosts,
                **row.configuration,
            }
            for row in rows
        ]
    )


def _newest(services: Services, most: int, *conditions: Condition) -> Iterator[Trial]:
    """The newest trials that succeeded here, whole."""
    for row in paging.rows(services.repository, Query((*_OWN, *conditions), limit=most)).rows:
        yield services.repository.get(row.id)


def _machine(services: Services) -> Iterator[StartAnswer]:
    """The result of the newest probes of disk and network."""
    newest = {
        probe: list(_newest(services, 1, Condition.equal("workload", probe))) for probe in PROBES
    }
    disks, networks = newest["diskbench"], newest["netbench"]
    if not disks and not networks:
        return
    label = next(filter(None, map(measured_over, networks)), "network")
    told = words.machine(
        [
            found
            for trial in (*disks, *networks)
            for found in verdicts(trial)
            if found.device_class != "loopback"
        ],
        measurements.disk_rates(disks),
        measurements.network_rates(networks),
        label,
    )
    page = f"/trials/{(disks or networks)[0].id}"
    pairs = [*where(workload="diskbench"), *where(workload="netbench")]
    yield StartAnswer("What can this machine do?", told, True, page, url("/trials", pairs))


def _narrowest(services: Services) -> Iterator[StartAnswer]:
    """The narrowest point of the newest trial that has one."""
    repository = services.repository
    for trial in _newest(services, LOOKED_AT):
        points = [p for p in narrowest_points(trial) if not p.reason and len(p.stages) > 1]
        said = tuple(f"{point.phase}: {point.evidence[0]}" for point in points if point.evidence)
        if not said and has_account(trial):
            verdict = job_of(repository, trial).verdict
            said = (verdict,) if verdict else ()
        if said:
            name = f"{trial.workload.name} on {trial.engine.name}"
            page = f"/trials/{trial.id}"
            yield StartAnswer(
                f"Where is the narrowest point of the latest {name}?", said, True, page, page
            )
            return
