"""Every reader of records: trials as JSON, foreign results, engines' logs.

Accepted ones are then checked against the limits and converted for storage, as on their way into a
repository.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from random import Random

from benchmarks.repository import synthetic_trials
from torture import worker
from torture.mutation import changed_bytes, changed_json, changed_lines
from torture.play import Play, Round
from torture.worker import ROOT, AttemptFunction
from venturi.core.errors import VenturiError
from venturi.core.settings import TrialLimits
from venturi.jobs.logs.trial import trial_of
from venturi.record import starter
from venturi.record.importing.formats import FORMATS, Log
from venturi.record.importing.items import ImportSource
from venturi.record.limits import check, fitted
from venturi.record.store.tables import configuration_rows, record_row, trial_row
from venturi.record.trial import Trial
from venturi.record.trial_json import decode, encode

DATA = ROOT / "tests/data"
RESULTS = {
    "aloja": (
        "results/aloja/set2.csv",
        "results/aloja/set3.csv",
        "results/aloja/set4.csv",
        "results/aloja-minerva/trials.csv",
    ),
    "c3o": ("results/c3o/sort.tsv", "results/c3o/kmeans.tsv"),
    "cherrypick": ("results/cherrypick/CP_sort.csv",),
    "hibench": ("results/hibench/hibench.report",),
    "ibm": ("results/ibm/trials.csv",),
    "pkb": ("results/pkb/results.json",),
    "scout": ("results/scout/runs.csv",),
    "spark-perf": ("results/spark-perf/core.json", "results/spark-perf/mllib.json"),
}
LOGS = {
    "spark-eventlog": ("spark/*/*.log", "spark/*/tiny*", "spark/*/aqe*"),
    "mapreduce-history": ("mapreduce/*/*.jhist",),
}
_LIMITS = TrialLimits()
_TRIAL_BYTES_MAX = 4_000  # of those that are changed: bigger ones are read more slowly, not better


def attempts(folder: Path) -> AttemptFunction:
    """Return a function that usually changes a trial, and otherwise foreign results."""
    results = {
        name: [(DATA / each).read_bytes() for each in files] for name, files in RESULTS.items()
    }
    results["published"] = [
        b"".join(table.read_bytes().splitlines(keepends=True)[:9]) for table in starter.TABLES
    ]
    logs = {
        name: [path for each in patterns for path in sorted(DATA.glob(each))]
        for name, patterns in LOGS.items()
    }
    log_bytes = {path: path.read_bytes() for those in logs.values() for path in those}
    trials = _trials(results, logs)
    lines = [encode(each).encode() for each in trials]
    values = [json.loads(line) for line in lines]

    def attempt(chance: Random) -> str:
        kind = chance.random()
        try:
            if kind < 0.5:
                return _trial(changed_json(chance, chance.choice(values)))
            if kind < 0.92:
                return _trial(changed_bytes(chance, chance.choice(lines)))
            if kind < 0.99:
                name = chance.choice(list(results))
                return _results(name, _changed(chance, chance.choice(results[name]), 8))
            name = chance.choice(list(logs))
            path = chance.choice(logs[name])
            made = folder / f"log{path.suffix}"
            made.write_bytes(_changed(chance, log_bytes[path], 40))
            return _log(name, made)
        except VenturiError as error:
            return f"refused {error.code}"

    return attempt


def _changed(chance: Random, data: bytes, lines_most: int) -> bytes:
    lines = data.splitlines()
    if len(lines) > 2 and b"\0" not in data and chance.random() < 0.7:
        return changed_lines(chance, lines, lines_most)
    return changed_bytes(chance, data)


def _trials(results: dict[str, list[bytes]], logs: dict[str, list[Path]]) -> Sequence[Trial]:
    """Trials of every origin."""
    found = list(synthetic_trials(20))
    for name, files in results.items():
        for data in files:
            found += islice((each for each in _items(name, data) if isinstance(each, Trial)), 3)
    for name, paths in logs.items():
        for path in paths:
            if path.suffix != ".lzf":
                found.append(trial_of(FORMATS[name].reader.read(Log(path, (path,)))))
    return [each for each in found if len(encode(each)) < _TRIAL_BYTES_MAX]


def _items(name: str, data: bytes) -> Iterable[object]:
    source = ImportSource("a file", hashlib.sha256(data).hexdigest())
    found: Iterable[object] = FORMATS[name].reader.read(io.BytesIO(data), source)
    return found


def _trial(line: bytes) -> str:
    trial = decode(line)
    check(trial, _LIMITS)
    _store(trial)
    return "trials imported"


def _results(name: str, data: bytes) -> str:
    trials = 0
    for item in _items(name, data):
        if isinstance(item, Trial):
            check(item, _LIMITS)
            _store(item)
            trials += 1
    return "results read" if trials else "results without a trial"


def _log(name: str, path: Path) -> str:
    """Check that a log's values are cut to the limits instead of rejected."""
    _store(fitted(trial_of(FORMATS[name].reader.read(Log(path, (path,)))), _LIMITS))
    return "logs read"


def _store(trial: Trial) -> None:
    """Check `trial` on its way into a repository and out."""
    text = encode(trial)
    again = decode(text)
    assert encode(again) == text, "what is written is not what was read"
    assert len(trial.group_key) == 16
    for row in (record_row(trial), trial_row(trial), *configuration_rows(1, trial)):
        for value in row.values():
            assert not isinstance(value, str) or "\0" not in value, "NUL in a row"
            assert not isinstance(value, int) or abs(value) < 1 << 63, "no database has this number"


def play(round_: Play) -> None:
    worker.play(round_, __name__)


ROUND = Round(
    name="fuzz-records",
    question="Trials, others' results and engines' logs are changed at random. Is each read, or "
    "rejected with a code, within 10 s and 1 GiB?",
    count=10_000_000,
    few=500,
    run=play,
)
