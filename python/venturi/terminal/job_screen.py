"""The first screen of a job: how it ended, the advised fixes, and where its time went."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from venturi.core.units import about_cost, format_cost, format_duration
from venturi.core.wording import count_of
from venturi.jobs.diagnosis.find import OF_THE_LOG, Diagnosis, Finding
from venturi.jobs.failures.meanings import FailureMeaning
from venturi.jobs.failures.messages import headline as cause_line
from venturi.jobs.logs.trial import LOST
from venturi.jobs.stages.causes import TO_COMPUTE
from venturi.jobs.stages.elapsed import ON_DRIVER
from venturi.jobs.stages.losses import FAILURES, explained, failure_meaning, lost_executors_sentence
from venturi.jobs.stages.queries import canceled_jobs, ending, failed_queries
from venturi.jobs.stages.stage import Analysis, NarrowestPoint, WastedTime
from venturi.jobs.stages.verdict import in_words
from venturi.machines.cost.job_prices import JobCost
from venturi.record.dropped_tables import tables_dropped
from venturi.record.job_account import JobAccount
from venturi.record.prediction import prediction_check
from venturi.record.trial import State, Trial
from venturi.terminal.findings import as_options, saving_text
from venturi.terminal.predictions import check_text
from venturi.terminal.table import SCREEN_WIDTH, Paragraph, at_least, shorten_to

if TYPE_CHECKING:
    from venturi.jobs.fleet.kept import KeptSummary

_PARTS_MAX = 6  # with all the others as one
_BAR = 20
_LEAST_SHARE = 0.005
_WAITS = 0.2  # of the time: from here on its possible causes are listed
_OFF_CPU = "too few cores, other programs on the host, or memory pressure"
_NAME = 26
_SAYS_LINES = 3
_MUCH = 7  # lines about a failure: the finding below gets fewer
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def job_screen(
    trial: Trial,
    account: JobAccount,
    analysis: Analysis,
    found: Diagnosis,
    cost: JobCost,
) -> list[Paragraph]:
    """Return lines of 80 columns: headline, cost, failure, findings, largest parts of the time.

    The fewer lines are left, the fewer parts are shown, but never less than two.
    """
    top, failure = _top(trial, account, analysis, found, cost)
    return _screen(trial.state, top, failure, found, analysis.verdict, lines_max=22)


def job_summary(
    trial: Trial, account: JobAccount, analysis: Analysis, found: Diagnosis, cost: JobCost
) -> list[Paragraph]:
    """Return the first lines of that screen: headline, cost, failure, and the first finding."""
    top, failure = _top(trial, account, analysis, found, cost)
    return [*top, *failure, *_answer(trial.state, found)]


def _top(
    trial: Trial, account: JobAccount, analysis: Analysis, found: Diagnosis, cost: JobCost
) -> tuple[list[Paragraph], list[Paragraph]]:
    """Return the headline with the cost, and the failure with the missing parts of the log."""
    failed = failed_queries(account)
    failure = [*_failure(trial, account, analysis, failed), *_incomplete(trial, analysis.lacking)]
    top = [Paragraph(headline(trial, account, analysis), "bold"), *cost_line(cost, trial, found)]
    top += prediction_line(trial)
    lost = lost_executors_sentence(analysis.lost_executors)
    if lost is not None and trial.state is not State.FAILED:  # a failed one says it already
        failure += _block(lost[0].upper() + lost[1:], "  ", 3)
    return top, failure


def kept_screen(trial: Trial, kept: KeptSummary, cost: JobCost) -> list[Paragraph]:
    """Return the first screen of a job by its kept summary, and why there is no more."""
    failure: list[Paragraph] = []
    if kept.meaning is not None:
        failure += _block(f"Meaning: {kept.meaning}", "  ", 3)
    if trial.failure is not None:
        failure += _block(trial.failure.message, "  ", 2)
    failure += _incomplete(trial, kept.lacking)
    named = Paragraph(_named(trial, format_duration(kept.elapsed_s), kept.ending), "bold")
    why = kept.row.finding_reason
    found = kept.diagnosis or Diagnosis(_sentence(why or "no findings"), (), why, ())
    top = [named, *cost_line(cost, trial, found), *prediction_line(trial)]
    lines = _screen(trial.state, top, failure, found, kept.narrowest, lines_max=18)
    stages, tasks = (f"{kept.counts.get(each, 0):,}" for each in ("stages", "task_attempts"))
    why = f"Stages ({stages}) and tasks ({tasks}) can't be shown: {tables_dropped(trial)}."
    return [*lines, Paragraph(""), *_block(why, "  ", 3, "yellow")]


def _screen(
    state: State,
    top: Sequence[Paragraph],
    failure: Sequence[Paragraph],
    found: Diagnosis,
    narrowest: NarrowestPoint | None,
    *,
    lines_max: int,
) -> list[Paragraph]:
    lines = [*top, *failure, *_answer(state, found), Paragraph("")]
    findings = [*_findings(found, state, len(failure))]
    if findings:
        lines += [*findings, Paragraph("")]
    if narrowest is None:
        return lines[:-1]
    parts_max = max(2, min(_PARTS_MAX, lines_max - len(lines) - 1))
    return [*lines, *_time(narrowest, parts_max)]


def _answer(state: State, found: Diagnosis) -> Iterator[Paragraph]:
    """Yield the first finding; nothing for a failed job without one."""
    if found.findings or state is not State.FAILED:
        yield from _block(found.sentence, "", 2, "bold")


def cost_line(cost: JobCost, trial: Trial, found: Diagnosis) -> Iterator[Paragraph]:
    """Yield the cost with its basis, and that of the time that the first fix saves; if known."""
    if cost.usd is None:
        return
    first = None if trial.state is State.FAILED else next(iter(found.findings), None)
    saved = None if first is None else cost.of_saving(first.saving_s)
    text = f"Cost: {format_cost(cost.usd)} ({cost.basis})"
    worth = f"; fix 1 saves {about_cost(saved)}" if saved else ""
    fits = len(text) + len(worth) <= SCREEN_WIDTH
    yield Paragraph(shorten_to(text, SCREEN_WIDTH) + (worth if fits else ""))


def prediction_line(trial: Trial) -> list[Paragraph]:
    """Return the stored prediction next to the trial's time, if there is one.

    That time includes the start of the engine, which the headline's doesn't.
    """
    if (check := prediction_check(trial)) is None:
        return []
    return [*_block(f"Whole run: {check_text(check)}", "", 2)]


def headline(trial: Trial, account: JobAccount, analysis: Analysis) -> str:
    """Return the job's name, engine, time and state: "etl · Spark 4.3.0 · 39.2 s · succeeded"."""
    dropped = account.reading.dropped
    cut = account.application.started_ms is None or bool(dropped.get("application end"))
    time = at_least(format_duration(analysis.elapsed_s), cut)
    return _named(trial, time, ending(trial.state, account))


def _named(trial: Trial, time: str, ending: str) -> str:
    engine = f"{trial.engine.name} {trial.engine.version}".removesuffix(" unknown")
    tail = f" · {engine} · {time} · {ending}"
    return shorten_to(trial.workload.name, SCREEN_WIDTH - len(tail)) + tail


def _failure(
    trial: Trial, account: JobAccount, analysis: Analysis, failed: Sequence[str]
) -> Iterator[Paragraph]:
    """Yield the failure of the application or of its first query, its place and its meaning."""
    said = []
    if trial.state not in {State.SUCCEEDED, State.RUNNING}:
        first = trial.failure or next(iter(trial.warnings), None)
        said += [first.message] if first is not None else []
    query = cause_line(failed[0]) if failed else None
    # A query fails with its job's message, unless Spark stopped the job for the query.
    if query is not None and not any(query in each for each in said):
        said.append(f"Query failed: {query}")
    if not said:
        if canceled := canceled_jobs(account):
            yield from _block(f"Canceled: {canceled}", "  ", 3)
        return
    meaning = failure_meaning(account, analysis)
    if meaning is not None:
        yield from _block(f"Meaning: {meaning.text}", "  ", 3)
    for text in said:
        yield from _block(text, "  ", 3 if len(said) == 1 else 2)
    attempts = [each for each in analysis.losses if each.what in FAILURES]
    disks = next((each.disks for each in attempts if each.disks), None)
    where = attempts[0].where if attempts else None
    if where is not None:
        n = attempts[0].n
        counted = f"{n:,} failed attempts" if n > 1 else "1 failed attempt"
        yield from _block(f"Where: {counted}, {where}", "  ", 2)
    if disks is not None:
        yield from _block(f"{disks[0].upper()}{disks[1:]}", "  ", 2)
    if other := _other_failure(said, meaning, attempts, failed):
        yield from _block(f"Also: {other}", "  ", 2)


def _other_failure(
    said: Sequence[str],
    meaning: FailureMeaning | None,
    attempts: Sequence[WastedTime],
    queries: Sequence[str],
) -> str | None:
    """The first failure with another message and meaning than those shown, None without any."""
    every = [
        (each.said, each.meaning, f"{count_of(each.n, 'attempt')} failed") for each in attempts
    ]
    every += [(cause_line(each), explained(each, "spark"), "a query failed") for each in queries]
    shown = None if meaning is None else meaning.text
    for message, means, what in every:
        known = message is None or any(message in text for text in said)
        if not known and (means is None or means != shown):
            why = f", because {means.partition(':')[0]}" if means else ""
            return f"{what}{why}: {message}"
    return None


def _incomplete(trial: Trial, lacking: str | None) -> Iterator[Paragraph]:
    """Yield what the log lacks or could not be read, unless that is the failure."""
    failure = "" if trial.failure is None else trial.failure.message
    lost = [each.message for each in trial.warnings if each.code == LOST]
    others = [each for each in lost if " missing" not in each.partition(":")[0]]
    others = [each for each in others if each.partition(": ")[2] not in failure or not failure]
    causes = (each.partition(" missing: ")[2] for each in lost)
    if lacking and (cause := next(filter(None, causes), None)):
        lacking += f": {cause}"
    if said := [each for each in (lacking, *others) if each]:
        yield from _block(f"Incomplete: {'; '.join(said)}", "  ", 3)


def _findings(found: Diagnosis, state: State, above: int) -> Iterator[Paragraph]:
    """Yield the first findings, the first one with its evidence and its fix.

    `above` is the number of lines about the failure: with these, failed attempts are explained.
    """
    if not found.findings and state is State.SUCCEEDED:
        unseen = [f"not checked: {each}" for each in found.unseen if OF_THE_LOG not in each][:1]
        for text in filter(None, (found.silence, *unseen)):
            yield from _block(_sentence(text), "  ", 2)
    for number, finding in enumerate(found.findings[:3], 1):
        if number == 1 and not (above and finding.rule == "failed-attempts"):
            yield from _first(finding, _SAYS_LINES if above < _MUCH else _SAYS_LINES - 1)
        else:
            yield Paragraph(_title(number, finding))
    more = len(found.findings) - 3
    if more > 0:
        yield Paragraph(f"     and {more} more")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}".removesuffix(".") + "."


def _title(number: int, finding: Finding) -> str:
    # A line of its own states the confidence in the first one.
    saving = saving_text(finding) if number > 1 else finding.saving
    title = shorten_to(finding.title[0].upper() + finding.title[1:], SCREEN_WIDTH - 8 - len(saving))
    return f"  {number}. {title}: {saving}"


def _first(finding: Finding, lines_max: int) -> Iterator[Paragraph]:
    yield Paragraph(_title(1, finding), "bold")
    yield from _block(_sentence(finding.says), "     ", lines_max)
    yield from _block(f"Fix: {finding.do}", "     ", lines_max)
    options = as_options(finding).split(" --conf ")
    for option in filter(None, (each.removeprefix("--conf ") for each in options)):
        yield Paragraph(f"       --conf {option}")
    yield Paragraph(f"     Confidence: {finding.confidence}")


def _time(narrowest: NarrowestPoint, parts_max: int) -> Iterator[Paragraph]:
    """The largest parts of the elapsed time, the driver's as one."""
    of_s = narrowest.of_s
    if of_s is None:
        return
    parts: dict[str, float] = {}
    for part, share in narrowest.shares.items():
        name = "driver" if part in ON_DRIVER else in_words(part)
        parts[name] = parts.get(name, 0.0) + share
    longest = sorted(parts.items(), key=lambda each: -each[1])
    waits = parts.get(in_words(TO_COMPUTE), 0.0) >= _WAITS and parts_max > 3
    shown = [each for each in longest[: parts_max - 1 - waits] if each[1] >= _LEAST_SHARE]
    rest = 1 - sum(share for _, share in shown)
    if rest >= _LEAST_SHARE:
        shown.append(("other", rest))
    yield Paragraph(f"  Where {format_duration(of_s)} of elapsed time went", "bold")
    for name, share in shown:
        time = format_duration(share * of_s)
        label = f"{shorten_to(name, _NAME):{_NAME}}"
        yield Paragraph(f"    {label}  {_bar(share):{_BAR}}  {time:>10}  {share:>4.0%}")
    if waits:
        yield Paragraph(f"    off-CPU: {_OFF_CPU}", "dim")


def _bar(share: float) -> str:
    whole, eighths = divmod(round(share * _BAR * 8), 8)
    return _EIGHTHS[8] * whole + _EIGHTHS[eighths].strip()


def _block(text: str, indent: str, lines_max: int, style: str = "") -> Iterator[Paragraph]:
    """Yield `text` wrapped, at most `lines_max` lines of it."""
    for line in textwrap.wrap(
        text,
        SCREEN_WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        max_lines=lines_max,
        placeholder=" …",
    ):
        yield Paragraph(line, style)
