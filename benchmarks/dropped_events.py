"""`python -m benchmarks.dropped_events`: answers about Spark logs that lack events, checked.

Spark's listener queue drops events when it is full. From real logs, events are dropped at random,
by kind and rate, with a seed. Each damaged log is read, and everything that `venturi show` says of
it is compared with the same cell of the whole log. A figure contradicts if it differs beyond
rounding, or lies on the wrong side of the bound that it has (`≥`, `≤`). So does a row, a finding or
a state that the whole log doesn't have. An unknown figure doesn't. The bar is 0 contradictions in
1,000 damaged logs.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import click

from venturi.jobs.diagnosis.find import MOST_PLACES, Diagnosis, diagnose
from venturi.jobs.logs.spark import accounts
from venturi.jobs.logs.trial import trial_of
from venturi.jobs.stages.analysis import analyse
from venturi.jobs.stages.causes import NOT_IN_LOG, UNATTRIBUTED
from venturi.jobs.stages.host_use import HostUseByStage
from venturi.jobs.stages.stage import Analysis
from venturi.jobs.stages.timeline import Timeline, timeline
from venturi.jobs.whatif.ideal import ideals
from venturi.jobs.whatif.outlook import outlooks
from venturi.record.importing.formats import Log
from venturi.record.importing.streams import LogText
from venturi.record.trial import Trial
from venturi.terminal import job, job_stages
from venturi.terminal.job_screen import headline
from venturi.terminal.table import UNKNOWN, Paragraph, Table, TableCell

LOGS = Path(__file__).parents[1] / "tests/data/spark"
KINDS = (
    *("TaskStart", "TaskEnd", "StageSubmitted", "StageCompleted", "JobStart", "JobEnd"),
    *("ExecutorAdded", "SQLExecutionStart", "SQLExecutionEnd"),
)
RATES = (0.001, 0.01, 0.1)
_EVENT = re.compile(rb'\{"Event": ?"[a-z.]*SparkListener(' + "|".join(KINDS).encode() + rb')"')
# Tolerances: half a unit of the last digit, and the time that Spark takes to record an end.
_RELATIVE, _TIME_S, _SHARE = 0.02, 0.1, 0.02
_UNITS_S = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_UNITS_B = {"B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40}
_FIGURE = re.compile(r"(-?\d[\d,]*(?:\.\d+)?) ?(ms|s|min|h|B|KiB|MiB|GiB|TiB|%)?(?= |$)")
# These tables describe the log, not the application.
_OF_THE_LOG = ("Event log", "Tasks without a recorded end")
_NO_FIGURES = ("name", "operator", "timer", "unattributed")
_ROW_KEYS = {
    "Stragglers": 2,
    "Skew: largest task / median task": 2,
    "Wasted task time": 1,
    "Speculative copies": 0,
}
_ALL = 1_000_000
_ABOUT = 0.5  # of a finding that says that its figures are only of the recorded tasks
_UNSURE = (NOT_IN_LOG, UNATTRIBUTED)
_AT_LEAST, _AT_MOST, _MAYBE_MORE = "≥ ", "≤ ", ", maybe more"


@dataclass(frozen=True, slots=True)
class LogAnswers:
    """The answers about one log."""

    trial: Trial
    headline: str
    analysis: Analysis
    diagnosis: Diagnosis
    ends_s: Mapping[str, float]
    """How long each attempt lasted, by its ID."""
    tables: Mapping[str, Table]


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A statement of a damaged log, with its place, and that of the whole log."""

    place: str
    damaged: str
    whole: str


def answers(path: Path) -> LogAnswers:
    """Return the answers of `venturi show` about the event log `path`."""
    account = accounts(Log(path, (path,)))[0]
    trial = trial_of(account)
    line = timeline(account)
    analysis = analyse(account, None, line)
    tables: dict[str, Table] = {}
    title = ""
    with (
        patch.object(job_stages, "SHOWN_STAGES", _ALL),
        patch.object(job, "SHOWN_TIMED", _ALL),
        patch.object(job, "SHOWN_QUERIES", _ALL),
    ):
        shown = list(_shown(line, analysis))
    for part in shown:
        if isinstance(part, Table):
            tables[title] = part
        else:
            title = part.text.strip()
    lasted = zip(line.tasks.rows["task_id"], line.tasks.times.elapsed_s.tolist(), strict=True)
    return LogAnswers(
        trial,
        headline(trial, account, analysis),
        analysis,
        diagnose(line, analysis),
        dict(lasted),
        tables,
    )


def _shown(line: Timeline, analysis: Analysis) -> Iterator[Paragraph | Table]:
    yield from job.parts(line, analysis, HostUseByStage({}, "not recorded", watched=False))
    yield from job.operators(line, analysis)
    yield Paragraph("What if")
    yield from job.outlook(outlooks(line))
    yield Paragraph("Each job")
    yield from job.ideal(ideals(line))


def damaged(lines: Sequence[bytes], rate: float, seed: int) -> tuple[list[bytes], Counter[str]]:
    """`lines` without events dropped at random, and how many of each kind were; at least one.

    The last one stays: without it the log would only end earlier.
    """
    draw = random.Random(seed)
    kept = lines[:-1]
    places = {place: match for place, each in enumerate(kept) if (match := _EVENT.match(each))}
    gone = {place for place in places if draw.random() < rate} or {draw.choice(list(places))}
    counts = Counter(places[place][1].decode() for place in gone)
    return [each for place, each in enumerate(lines) if place not in gone], counts


def contradictions(found: LogAnswers, whole: LogAnswers) -> Iterator[Contradiction]:
    """Every statement of `found` that `whole` contradicts."""
    unsure = "unknown" in found.headline or "at least" in found.headline
    if not unsure and found.headline != whole.headline:
        yield Contradiction("headline", found.headline, whole.headline)
    yield from _verdict(found.analysis, whole.analysis)
    yield from _findings(found.diagnosis, whole.diagnosis)
    yield from _samples(found.trial, whole.trial)
    yield from _unfinished(found, whole)
    for title, table in found.tables.items():
        if title not in _OF_THE_LOG:
            yield from _table(title, table, whole.tables.get(title))


def _verdict(found: Analysis, whole: Analysis) -> Iterator[Contradiction]:
    was, now = whole.verdict, found.verdict
    if now.narrowest is not None and now.narrowest != was.narrowest:
        yield Contradiction("verdict", now.sentence, was.sentence)
    stages = {stage.key: stage for stage in whole.stages}
    for stage in found.stages:
        said, true = stage.verdict, stages[stage.key].verdict
        if said.narrowest is not None and said.narrowest != true.narrowest:
            yield Contradiction("verdict of a stage", said.sentence, true.sentence)
        late = _TIME_S / max(stage.elapsed_s or 0.0, _TIME_S)
        yield from _shares("share of a stage", said.shares, true.shares, max(_SHARE, late))
    yield from _shares("share", now.shares, was.shares)


def _shares(
    place: str, found: Mapping[str, float], whole: Mapping[str, float], allowed: float = _SHARE
) -> Iterator[Contradiction]:
    missing = sum(map(found.get, _UNSURE, (0.0, 0.0)))
    for part, share in found.items():
        true = whole.get(part, 0.0)
        if part not in _UNSURE and not share - allowed <= true <= share + missing + allowed:
            yield Contradiction(f"{place}: {part}", f"{share:.1%} + {missing:.1%}", f"{true:.1%}")


def _findings(found: Diagnosis, whole: Diagnosis) -> Iterator[Contradiction]:
    known = {each.rule: each for each in whole.findings}
    for each in found.findings:
        true = known.get(each.rule)
        if true is None:
            yield Contradiction(f"finding {each.rule}", each.says, "no such finding")
            continue
        if each.partial:
            near = each.saving_s <= max(true.saving_s + 1.0, (1 + _ABOUT) * true.saving_s)
        else:
            near = _close(each.saving_s, true.saving_s, _TIME_S) and each.says == true.says
        if not near:
            said = (f"{one.says} (saves {one.saving_s:.2f} s)" for one in (each, true))
            yield Contradiction(f"finding {each.rule}", *said)
        places = {place.stage for place in true.where}
        if len(true.where) >= MOST_PLACES:
            continue  # a finding lists only its first places, and these differ
        if wrong := {place.stage for place in each.where} - places:
            yield Contradiction(f"finding {each.rule}: stages", str(wrong), str(places))
    if not found.findings and whole.findings and not found.unseen:
        yield Contradiction("no finding", str(found.silence), whole.findings[0].title)


def _samples(found: Trial, whole: Trial) -> Iterator[Contradiction]:
    true = {(each.metric, str(each.labels)): each.value for each in whole.samples}
    for each in found.samples:
        value = true.get((each.metric, str(each.labels)))
        if each.value is not None and not _close(each.value, value or 0.0, 0.0):
            yield Contradiction(f"sample {each.metric}", f"{each.value:g}", f"{value}")


def _unfinished(found: LogAnswers, whole: LogAnswers) -> Iterator[Contradiction]:
    """Check that no task without an end lasted longer than its bound."""
    hanging = {
        each.task_id for stage in whole.analysis.stages for each in stage.unfinished if each.hanging
    }
    for stage in found.analysis.stages:
        for each in stage.unfinished:
            true_s = whole.ends_s.get(each.task_id)
            if each.hanging and each.task_id not in hanging:
                yield Contradiction("hanging task", f"{each}", f"{true_s} s")
            if true_s is not None and true_s > each.age_s + _TIME_S:
                yield Contradiction("bound of a task", f"{each.age_s:.2f} s", f"{true_s:.2f} s")


def _table(title: str, found: Table, whole: Table | None) -> Iterator[Contradiction]:
    if title in {"Where the time went", "Bottleneck of each stage"}:
        return  # their shares are compared
    n_keys = _ROW_KEYS.get(title, 1)
    headings = () if whole is None else whole.headings
    rows = [] if whole is None else whole.rows
    true = {key: dict(zip(headings, row, strict=True)) for key, row in _keyed(rows, n_keys)}
    for key, row in _keyed(found.rows, n_keys):
        if (same := true.get(key)) is None:
            figures = any(_figures(str(cell)) for cell in row[n_keys:]) or not found.header
            if figures and "cannot tell" not in str(row):
                yield Contradiction(f"{title}: row", str(row), "no such row")
            continue
        for name, cell in zip(found.headings, row, strict=True):
            other = same.get(name, "0.0%")
            if name in _NO_FIGURES or title == "Failures":
                continue
            if not _agrees(str(cell), str(other)):
                yield Contradiction(f"{title}: {name or row[0]}", str(cell), str(other))


def _keyed(
    rows: Sequence[tuple[TableCell, ...]], n_keys: int
) -> Iterator[tuple[object, tuple[TableCell, ...]]]:
    """Each row with its first cells, and which row with these it is."""
    seen: Counter[tuple[TableCell, ...]] = Counter()
    for row in rows:
        seen[row[:n_keys]] += 1
        yield (row[:n_keys], seen[row[:n_keys]]), row


def _agrees(found: str, whole: str) -> bool:
    """Whether a cell says nothing that another contradicts."""
    if found in {whole, UNKNOWN, "", "unknown"} or "cannot tell" in found:
        return True
    if found.endswith(_MAYBE_MORE):
        listed = re.split(", | and ", found.removesuffix(_MAYBE_MORE))
        return set(listed) <= set(re.split(", | and ", whole))
    bound = found[:2] if found.startswith((_AT_LEAST, _AT_MOST)) else ""
    ours, theirs = _figures(found.removeprefix(bound)), _figures(whole.removeprefix(bound))
    if ours is None or theirs is None:
        return False
    if bound == _AT_LEAST:
        return ours[0] <= theirs[0] * (1 + _RELATIVE) + theirs[1]
    if bound == _AT_MOST:
        return ours[0] >= theirs[0] * (1 - _RELATIVE) - theirs[1]
    return _close(ours[0], theirs[0], ours[1])


def _close(found: float, whole: float, allowed: float) -> bool:
    return abs(found - whole) <= _RELATIVE * abs(whole) + allowed


def _figures(text: str) -> tuple[float, float] | None:
    """The first figure of a cell, and by how much it may differ; None if it has none."""
    total, allowed, end = 0.0, 0.0, 0
    for match in _FIGURE.finditer(text):
        if end and match.start() != end + 1:
            break
        value, unit = float(match[1].replace(",", "")), match[2]
        if unit in _UNITS_S:
            total, allowed = total + value * _UNITS_S[unit], _TIME_S
        elif unit == "%":
            total, allowed = value / 100, _SHARE
        else:
            total, allowed = value * _UNITS_B.get(unit, 1.0), 0.051 if "." in match[1] else 0.0
        end = match.end()
        if unit not in _UNITS_S:
            break
    return (total, allowed) if end else None


def logs(folder: Path) -> list[Path]:
    """The event logs below `folder` that lie in one file."""
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".md" and "eventlog_v2" not in str(path)
    )


@click.command()
@click.option("--logs", "folder", type=click.Path(path_type=Path, exists=True), default=LOGS)
@click.option("--count", default=1_000, show_default=True, help="Damaged logs.")
@click.option("--seed", default=0, show_default=True)
@click.option("--examples", default=2, show_default=True, help="Shown of each kind.")
def main(folder: Path, count: int, seed: int, examples: int) -> None:
    """Damages the logs in turn, and prints which statements contradict; status 1 if any does."""
    found, wrong = check(logs(folder), count, seed)
    kinds = Counter(each.place for _, each in found)
    for kind, n in kinds.most_common():
        click.echo(f"{n:6,}  {kind}")
        for name, each in [pair for pair in found if pair[1].place == kind][:examples]:
            click.echo(
                f"          {name}\n"
                f"            says  {each.damaged}\n"
                f"            true  {each.whole}"
            )
    click.echo(f"{len(found):,} contradictions in {wrong:,} of {count:,} damaged logs")
    sys.exit(bool(found))


def check(
    paths: Sequence[Path], count: int, seed: int
) -> tuple[list[tuple[str, Contradiction]], int]:
    """The contradictions of `count` damaged logs, each with its log, and how many logs have any."""
    texts = [list(LogText([path]).lines()) for path in paths]
    found, wrong = [], 0
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "log")
        known: dict[int, LogAnswers] = {}
        for n in range(count):
            log, rate = n % len(paths), RATES[n // len(paths) % len(RATES)]
            if log not in known:
                place.write_bytes(b"\n".join(texts[log]) + b"\n")
                known[log] = answers(place)
            kept, gone = damaged(texts[log], rate, seed + n)
            place.write_bytes(b"\n".join(kept) + b"\n")
            own = list(contradictions(answers(place), known[log]))
            wrong += bool(own)
            name = f"{n}: {paths[log].parent.name}/{paths[log].name} {rate:.1%} {dict(gone)}"
            found += [(name, each) for each in own]
    return found, wrong


if __name__ == "__main__":
    main()
