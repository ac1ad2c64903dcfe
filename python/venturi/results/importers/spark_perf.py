"""spark-perf: the output of its Scala test runners, one trial per element of `results`.

The text is JSON: `{"testName", "options", "sparkConf", "sparkVersion", "systemProperties",
"results"}`, as one object, an array of them, or one a line, with or without the `results: ` that
stands before it in a test's log. Decisions:

- An element of `results` is one repetition, in seconds: `time`, or `trainingTime` of the machine
  learning tests. Their other figures are kept as samples.
- spark-perf leaves its first repetitions (two, by default) out of its own statistics, but the text
  does not say how many: no repetition is marked as a warm-up.
- Options and the Spark configuration are the trial's configuration, except for values that Spark
  generates for each application (its id, ports, folders, start): they would make each trial its own
  group, so they are among the software. Only those Java system properties that name versions are
  kept.
- It has neither a date nor the machines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, BinaryIO

from venturi.record.importing.formats import Format
from venturi.record.importing.items import (
    SOFTWARE,
    ImportedItem,
    ImportSource,
    admitted,
    imported_id,
)
from venturi.record.importing.json_text import (
    JsonLimits,
    UnusableError,
    check,
    number,
    parse,
    text,
)
from venturi.record.importing.text import Refusal, decoded
from venturi.record.trial import Cluster, Engine, Sample, Scalar, State, Trial, Workload

FORMAT = Format(
    "spark-perf",
    "spark-perf: a test's JSON results",
    pattern=r'(?s)\s*(?:results:\s*)?[\[{].{,4096}?"testName"\s*:',
)

_LIMITS = JsonLimits(file_bytes=16 << 20, text_characters=64 << 10)
_PREFIX = "results:"
_TIMES = ("time", "trainingTime")
_UNITS = {"time": "s", "trainingTime": "s", "testTime": "s"}
_PER_APPLICATION = re.compile(
    r"spark\.(app\.(id|startTime|submitTime|initial\..*)|driver\.(host|port)|executor\.id"
    r"|fileserver\.uri|repl\.class\.uri|jars|(tachyonStore|externalBlockStore)\.folderName)"
)
_VERSIONS = re.compile(
    r"java\.(version|vendor|vm\.name|vm\.version|runtime\.version)|os\.(name|arch)"
    r"|sparkperf\.commitSHA"
)


def read(file: BinaryIO, source: ImportSource) -> Iterator[ImportedItem]:
    """Yield the trials of the tests in `file`, and the refused ones."""
    raw = file.read(_LIMITS.file_bytes + 1)
    if len(raw) > _LIMITS.file_bytes:
        raise source.malformed(f"more than {_LIMITS.file_bytes} bytes")
    sound = False
    damaged: tuple[int, ValueError] | None = None
    for line, piece in _pieces(decoded(raw, source, 1), source):
        try:
            found = parse(piece)
        except UnusableError as error:
            if piece.startswith("["):  # one of its tests is to blame, and which is not known
                raise source.malformed(error.reason, line=line, field=error.field) from error
            yield error.refusal(line)
            sound = True
            continue
        except ValueError as error:  # a line that is damaged or truncated costs itself
            damaged = damaged or (line, error)
            yield Refusal(line, "", piece[:100], f"not JSON: {error}")
            continue
        sound = True
        if isinstance(found, list):
            for place, test in enumerate(found):
                yield from admitted(_items(test, line, f"[{place}]", source), line, source)
        else:
            yield from admitted(_items(found, line, "", source), line, source)
    if not sound and damaged:
        raise source.malformed(f"not JSON: {damaged[1]}", line=damaged[0]) from damaged[1]


def _pieces(content: str, source: ImportSource) -> list[tuple[int, str]]:
    """The texts to read, with their lines: each line, or the whole if the first is no JSON."""
    written = enumerate(content.split("\n"), start=1)
    pieces = [(line, _bare(each)) for line, each in written if each.strip()]
    if not pieces:
        raise source.malformed("the file is empty")
    try:
        parse(pieces[0][1])
    except UnusableError:
        pass
    except ValueError:
        return [(pieces[0][0], _bare(content))]
    return pieces


def _bare(text: str) -> str:
    return text.strip().removeprefix(_PREFIX).lstrip()


def _items(test: Any, line: int, place: str, source: ImportSource) -> Iterator[ImportedItem]:
    try:
        if not isinstance(test, dict):
            raise UnusableError("", test, "no object")
        results = test.get("results")
        if not isinstance(results, list) or not 0 < len(results) <= _LIMITS.entries:
            reason = f"no list of 1 to {_LIMITS.entries} results"
            raise UnusableError("results", results, reason)
        common = {key: value for key, value in test.items() if key != "results"}
        check(common, _LIMITS)
        trial = _without_results(common, source)
    except UnusableError as error:
        yield _refusal(error, line, place)
        return
    repetitions: list[Trial | Refusal] = []
    for number_, result in enumerate(results):
        try:
            elapsed_s, samples = _measured(result)
        except UnusableError as error:
            repetitions.append(_refusal(error, line, f"{place}results[{number_}]"))
            continue
        repetitions.append(
            replace(
                trial,
                state=State.SUCCEEDED,
                repetition=number_,
                elapsed_s=elapsed_s,
                samples=samples,
            )
        )
    # All times together distinguish two executions of one test; one of them alone might not.
    times = [None if isinstance(each, Refusal) else each.elapsed_s for each in repetitions]
    digest = json.dumps([common, times], sort_keys=True)
    for number_, each in enumerate(repetitions):
        if isinstance(each, Refusal):
            yield each
        else:
            yield replace(each, id=imported_id("spark-perf", digest, str(number_)))


def _without_results(test: dict[str, Any], source: ImportSource) -> Trial:
    """The common facts of the repetitions of a test, as a planned trial."""
    options, spark = _scalars(test, "options"), _scalars(test, "sparkConf")
    properties = _scalars(test, "systemProperties")
    others = {key: value for key, value in spark.items() if _PER_APPLICATION.fullmatch(key)}
    chosen = {key: value for key, value in spark.items() if key not in others}
    others |= {key: value for key, value in properties.items() if _VERSIONS.fullmatch(key)}
    return Trial(
        id=imported_id("spark-perf"),
        workload=Workload(text(test, "testName"), "spark-perf"),
        engine=Engine("spark", text(test, "sparkVersion") if "sparkVersion" in test else "unknown"),
        cluster=Cluster(()),
        configuration=chosen | options,
        software=replace(SOFTWARE, others={key: str(value) for key, value in others.items()}),
        provenance=source.provenance("spark-perf"),
        started_at=None,
        seed=_seed(options.get("random-seed")),
    )


def _scalars(test: dict[str, Any], key: str) -> dict[str, Scalar]:
    found = test.get(key, {})
    if not isinstance(found, dict):
        raise UnusableError(key, found, "no object")
    for name, value in found.items():
        if isinstance(value, dict | list):
            raise UnusableError(f"{key}.{name}", value, "no plain value")
    return found


def _seed(written: Scalar) -> int | None:
    seed = str(written)
    return int(seed) if re.fullmatch(r"-?[0-9]{1,18}", seed) else None


def _refusal(error: UnusableError, line: int, place: str) -> Refusal:
    """The refusal of the element at `place`; `field`, by which refusals are counted,
    leaves it out.
    """
    return Refusal(line, error.field, f"{place} {error.value}".strip(), error.reason)


def _measured(result: Any) -> tuple[float, tuple[Sample, ...]]:
    """The seconds of one repetition, and everything else that it reports."""
    if not isinstance(result, dict):
        raise UnusableError("results", result, "no object")
    check(dict.fromkeys(result), _LIMITS, field="results")
    timed = next((key for key in _TIMES if key in result), None)
    if timed is None:
        raise UnusableError("results", result, f"no run time: neither {' nor '.join(_TIMES)}")
    elapsed_s = number(result, timed)
    if elapsed_s <= 0:
        raise UnusableError(timed, elapsed_s, "not above 0")
    return elapsed_s, tuple(_sample(result, key) for key in result if key != timed)


def _sample(result: dict[str, Any], key: str) -> Sample:
    unit = _UNITS.get(key, "unknown")
    try:
        return Sample(key, number(result, key), unit)
    except UnusableError as error:  # a metric that is NaN costs the metric, not the repetition
        reason = f"spark-perf reports {error.value or 'nothing'}"
        return Sample(key, None, unit, missing_reason=reason)
