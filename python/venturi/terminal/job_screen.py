"""The first screen of a job: how it ended, the advised fixes, and where its time went."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from venturi.core.units import about_cost, format_cost, format_duration
from venturi.core.wording import count_of
from venturi.jobs.diagnosis.find import OF_THE_LOG, Diagnosis, Finding
from venturi.jobs.failures.meanings import FailureMeaning
from venturi.jobs.failures.messages import headline as cause_line
from venturi.jobs.logs.trial import LOST
from venturi.jobs.stages.causes import TO_COMPUTE
from venturi.jobs.stages.elapsed import ON_DRIVER
from venturi.jobs.stages.losses import FAILURES, explained, failure_meaning
from venturi.jobs.stages.stage import Analysis, WastedTime
from venturi.jobs.stages.verdict import in_words
from venturi.machines.cost.job_prices import JobCost
from venturi.record.job_account import JobAccount
from venturi.record.trial import State, Trial
from venturi.terminal.findings import as_options
from venturi.terminal.table import SCREEN_WIDTH, Paragraph, at_least, shorten_to

_NO_REASON = "no reason is recorded"
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
    *,
    lines_max: int = 22,
) -> list[Paragraph]:
    """Return lines of 80 columns: headline, cost, failure, findings, largest parts of the time.

    The fewer lines are left, the fewer parts are shown, but never less than two.
    """
    failed = failed_queries(account)
    failure = [*_failure(trial, account, analysis, failed)]
    failure += _incomplete(trial, analysis)
    explained = found.findings or trial.state is not State.FAILED
    answer = [*_block(found.sentence, "", 2, "bold")] if explained else []
    lines = [
        Paragraph(headline(trial, account, analysis), "bold"),
        *cost_line(cost, trial, found),
        *failure,
        *answer,
        Paragraph(""),
    ]
    findings = [*_findings(found, trial.state, len(failure))]
    if findings:
        lines += [*findings, Paragraph("")]
    parts_max = max(2, min(_PARTS_MAX, lines_max - len(lines) - 1))
    return [*lines, *_time(analysis, parts_max)]


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


def failed_queries(account: JobAccount) -> list[str]:
    """Return the messages of SQL queries that failed, also if the application ended well."""
    if account.queries is None:
        return []
    rows = account.queries.select("outcome", "reason").rows()
    return [reason or _NO_REASON for outcome, reason in rows if outcome == "failed"]


def _queries_without_end(account: JobAccount) -> int:
    """The number of queries that may have ended in any way."""
    if account.queries is None:
        return 0
    without = account.queries["ended_ms"].is_null() & account.queries["outcome"].is_null()
    return int(without.sum())


def headline(trial: Trial, account: JobAccount, analysis: Analysis) -> str:
    """Return the job's name, engine, time and state: "etl · Spark 4.3.0 · 39.2 s · succeeded"."""
    failed = failed_queries(account)
    state = "outcome unknown" if trial.state is State.UNKNOWN else trial.state.value
    unknown = _queries_without_end(account)
    if (failed or unknown) and trial.state is State.SUCCEEDED:
        n = count_of(len(failed) or unknown, "query", "queries")
        least = "at least " if unknown else ""
        state = f"ended, {least}{n} failed" if failed else f"ended, outcome of {n} unknown"
    engine = f"{trial.engine.name} {trial.engine.version}".removesuffix(" unknown")
    dropped = account.reading.dropped
    cut = account.application.started_ms is None or bool(dropped.get("application end"))
    time = at_least(format_duration(analysis.elapsed_s), cut)
    tail = f" · {engine} · {time} · {state}"
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


def _incomplete(trial: Trial, analysis: Analysis) -> Iterator[Paragraph]:
    """Yield what the log lacks or could not be read, unless that is the failure."""
    failure = "" if trial.failure is None else trial.failure.message
    lost = [each.message for each in trial.warnings if each.code == LOST]
    others = [each for each in lost if " missing" not in each.partition(":")[0]]
    others = [each for each in others if each.partition(": ")[2] not in failure or not failure]
    lacking = analysis.lacking
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
    saving = finding.saving
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


def _time(analysis: Analysis, parts_max: int) -> Iterator[Paragraph]:
    """The largest parts of the elapsed time, the driver's as one."""
    of_s = analysis.verdict.of_s
    if of_s is None:
        return
    parts: dict[str, float] = {}
    for part, share in analysis.verdict.shares.items():
        name = "driver" if part in ON_DRIVER else in_words(part)
        parts[name] = parts.get(name, 0.0) + share
    longest = sorted(parts.items(), key=lambda each: -each[1])
    waits = parts.get(in_words(TO_COMPUTE), 0.0) >= _WAITS and parts_max > 3
    shown = [each for each in longest[: parts_max - 1 - waits] if each[1] >= _LEAST_SHARE]
    rest = 1 - sum(share for _, share in shown)
    if rest >= _LEAST_SHARE:
        shown.append(("other", rest))
    yield Paragraph(f"  Where {format_duration(of_s)} went", "bold")
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
