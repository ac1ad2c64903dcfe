"""Result files of benchmark tools: asv, ClickBench, conbench, pytest-benchmark.

- asv: `.asv/results/MACHINE/COMMIT-ENV.json`, versions 1 and 2. Times only (`time_...`): each
  sample is a trial, and so is the median of a benchmark without samples. Parameters are settings.
  Memory and other numbers are rejected and counted, and so are benchmarks without a result.
- ClickBench: a system's JSON, or the lines `query,try,time` that its scripts write. Each execution
  of a query is a trial: `query` is a setting, so that systems are compared over all queries. The
  first execution has `cache` cold, the others hot. By its rules `null` is a missing number: the
  query ran out of memory, crashed, isn't supported or wasn't run. Such executions are rejected and
  counted, as are negative numbers, which some systems write instead.
- conbench: the JSON of its API, `/api/benchmark-results`. Each value of `data` is a trial, if its
  unit is one of time. Tags but the name are settings.
- pytest-benchmark: JSON of `--benchmark-json` or `--benchmark-save-data`. Each round is a trial, or
  the median if the rounds aren't kept.

Values that aren't times are rejected and counted by reason.

The commit is the label `commit`. At most `RUNS_MOST` values of a benchmark are kept, evenly spread.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import product
from typing import Any, BinaryIO

from venturi.record.importing.formats import Format
from venturi.record.importing.items import (
    SOFTWARE,
    UNSTATED,
    ImportedItem,
    ImportSource,
    admitted,
    imported_id,
    since_1970,
    unnamed_hosts,
)
from venturi.record.importing.json_text import (
    JsonLimits,
    UnusableError,
    documents,
    is_number,
    number_in,
    object_in,
)
from venturi.record.importing.text import Refusal
from venturi.record.trial import (
    Cluster,
    Engine,
    Scalar,
    State,
    Trial,
    TrialWarning,
    Workload,
)

FORMAT = Format(
    "bench-tools",
    "asv, ClickBench, conbench and pytest-benchmark: result files",
    pattern=(
        r"(?s)\s*+(?:\{\s*\"(?:machine_info\"\s*:\s*\{"
        r"|commit_hash\"\s*:\s*\"[0-9a-f]*\"\s*,\s*\"(?:env_name|date)\"\s*:"
        r"|system\"\s*:\s*\"[^\"]*\"\s*,.{0,4000}?\"result\"\s*:\s*\[\s*\[)"
        r"|(?:\{\s*\"data\"\s*:\s*)?\[?\s*\{.{0,20000}?\"batch_id\"\s*:.{0,20000}?\"stats\"\s*:\s*\{"
        r"|(?:\d{1,2},[1-3],(?:-?\d+(?:\.\d+)?|null)?\r?\n){2,}"
        r"|(?:\[(?:-?\d+(?:\.\d+)?|null)(?:, ?(?:-?\d+(?:\.\d+)?|null)){2}\],\r?\n){2,})"
    ),
)

RUNS_MOST = 100
_LIMITS = JsonLimits(file_bytes=256 << 20, records=100_000)
_LINE = re.compile(r"(\d{1,2}),([1-3]),(\S*)")
_TIMES = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}
_TEXT_CHARACTERS = 200
_VERSION_CHARACTERS = 12  # of a digest
# Source: ClickBench's README, "Incomplete Results" and "Results Usage And Scoreboards".
_MISSING = "no result: ClickBench's mark for a query that failed, isn't supported or wasn't run"
_NO_TIME = "not a time above 0"


@dataclass(frozen=True, slots=True)
class _Runs:
    """The runs of one benchmark with one configuration: `times_s` are None for values that aren't
    times, with the reason in `no_time` and the text in `values`.

    `summary` says which statistic a single time is; None for the times of runs.
    """

    tool: str
    workload: str
    times_s: Sequence[float | None]
    configuration: Mapping[str, Scalar] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    version: str = ""
    engine: str = "unknown"
    engine_version: str = "unknown"
    machine: str | None = None
    nodes: int = 0
    started_at: datetime | None = None
    summary: str | None = None
    values: Sequence[object] = ()
    no_time: str = _NO_TIME


def read(file: BinaryIO, source: ImportSource) -> Iterator[ImportedItem]:
    """Yield the trials of the runs in `file`, with those that were rejected."""
    start = file.read(64).lstrip()
    file.seek(0)
    if start[:1].isdigit() or re.match(rb"\[[-\dn]", start):
        runs = _clickbench_of(_lines(file.read(), source), {})
        yield from admitted(_trials(runs, source, 1), 1, source)
        return
    for document in documents(file, source, _LIMITS):
        if document.problem:
            yield Refusal(document.line, "", document.text[:100], document.problem)
            continue
        try:
            found = _trials(_runs(document.value, source), source, document.line)
            yield from admitted(found, document.line, source)
        except UnusableError as error:
            yield error.refusal(document.line)


def _runs(value: Mapping[str, Any], source: ImportSource) -> Iterator[_Runs | UnusableError]:
    if isinstance(value.get("benchmarks"), list):
        return _pytest_benchmark(value)
    if isinstance(value.get("results"), dict):
        return _asv(value)
    if isinstance(value.get("result"), list):
        return iter(_clickbench_of(value["result"], value))
    listed = value.get("data")
    found = listed if isinstance(listed, list) else [value]
    if all(isinstance(each, dict) and isinstance(each.get("stats"), dict) for each in found):
        return _conbench(found)
    raise source.malformed("neither of asv, ClickBench, conbench nor pytest-benchmark")


def _trials(
    runs: Iterable[_Runs | UnusableError], source: ImportSource, line: int
) -> Iterator[ImportedItem]:
    for each in runs:
        if isinstance(each, UnusableError):
            yield each.refusal(line)
            continue
        values = each.values or each.times_s
        for time_s, value in zip(each.times_s, values, strict=False):
            if time_s is None:
                why = _NO_TIME if value == 0 else each.no_time
                yield UnusableError("time", value, why).refusal(line)
        timed = replace(each, times_s=[time for time in each.times_s if time is not None])
        step = max(1.0, len(timed.times_s) / RUNS_MOST)
        places = [int(step * place) for place in range(min(len(timed.times_s), RUNS_MOST))]
        for place in places:
            yield _trial(timed, place, source)


def _trial(runs: _Runs, place: int, source: ImportSource) -> Trial:
    time_s = runs.times_s[place]
    warnings = []
    if runs.summary is not None:
        message = f"its time is the {runs.summary} of several runs; the file lacks their times"
        warnings.append(TrialWarning(UNSTATED, message))
    if len(runs.times_s) > RUNS_MOST:
        message = f"{RUNS_MOST} of its benchmark's {len(runs.times_s):,} runs are kept"
        warnings.append(TrialWarning(UNSTATED, message))
    return Trial(
        id=imported_id(
            *("bench-tools", runs.workload, str(runs.configuration), str(runs.labels)),
            *(runs.engine, runs.engine_version, str(runs.machine), str(runs.started_at)),
            *(str(runs.times_s), str(place)),
        ),
        workload=Workload(runs.workload[:_TEXT_CHARACTERS] or "unknown", runs.version or runs.tool),
        engine=Engine(runs.engine, runs.engine_version),
        cluster=Cluster(
            unnamed_hosts(f"{runs.tool}-{runs.machine or 'unknown'}", runs.nodes, {}),
            instance_type=runs.machine,
        ),
        configuration=runs.configuration,
        software=SOFTWARE,
        provenance=source.provenance(runs.tool),
        started_at=runs.started_at,
        state=State.SUCCEEDED,
        repetition=place,
        elapsed_s=time_s,
        warnings=tuple(warnings),
        labels=runs.labels,
    )


def _pytest_benchmark(value: Mapping[str, Any]) -> Iterator[_Runs | UnusableError]:
    commit = object_in(value, "commit_info")
    labels = _texts({"commit": commit.get("id"), "branch": commit.get("branch")})
    machine = object_in(value, "machine_info")
    started_at = _time(value.get("datetime"))
    for place, each in enumerate(value["benchmarks"]):
        stats = object_in(each, "stats") if isinstance(each, dict) else {}
        name = stats and (each.get("fullname") or each.get("name"))
        values = stats.get("data")
        values = values if isinstance(values, list) else []
        times = _times(values)
        median = number_in(stats, "median") or number_in(stats, "mean")
        if not isinstance(name, str) or not (any(times) or median):
            yield UnusableError("benchmarks", f"benchmarks[{place}]", "no name, or no time")
            continue
        params = object_in(each, "params")
        yield _Runs(
            "pytest-benchmark",
            # The name of the function: its parameters are the configuration.
            name.partition("[")[0] if params else name,
            times if any(times) else [*times, median],
            _scalars(params),
            labels,
            engine=str(machine.get("python_implementation") or "unknown"),
            engine_version=str(machine.get("python_version") or "unknown"),
            started_at=started_at,
            summary=None if any(times) else "median",
            values=values,
        )


def _asv(value: Mapping[str, Any]) -> Iterator[_Runs | UnusableError]:
    columns = value.get("result_columns")
    labels = _texts({"commit": value.get("commit_hash")})
    machine = object_in(value, "params")
    of_machine = {"num_cpu", "ram", "arch", "cpu", "machine", "os", "python"}
    # Versions of dependencies: those of the environment.
    chosen = {key: each for key, each in _scalars(machine).items() if key not in of_machine}
    for name, result in value["results"].items():
        if not (kind := name.rpartition(".")[2]).startswith("time"):
            kind = kind.partition("_")[0]
            yield UnusableError(f"{kind} benchmark", name, "not a time")
            continue
        if isinstance(columns, list) and isinstance(result, list):
            found = dict(zip(map(str, columns), result, strict=False))
        else:  # version 1: a number, or an object with parameters
            found = dict(result) if isinstance(result, dict) else {"result": [result]}
        medians, samples = found.get("result"), found.get("samples")
        if not isinstance(medians, list):
            yield UnusableError("time benchmark", name, "no result: it failed in this commit")
            continue
        params = found.get("params") or []
        started = number_in(found, "started_at") or number_in(value, "date") or 0
        for place, values in enumerate(product(*params)):
            kept = _times(_at(samples, place))
            median = _at(medians, place)
            if not any(kept) and not (is_number(median) and median > 0):
                where = f"{name}({', '.join(map(str, values))})"
                yield UnusableError("time benchmark", where, "no result: it was skipped or failed")
                continue
            yield _Runs(
                "asv",
                name,
                kept if any(kept) else [*kept, median],
                chosen | {f"param{n}": str(each) for n, each in enumerate(values, 1)},
                labels,
                version=str(found.get("version") or "")[:_VERSION_CHARACTERS],
                engine="Python",
                engine_version=str(value.get("python") or "unknown"),
                machine=_text(machine.get("machine")),
                started_at=since_1970(started / 1000),
                summary=None if any(kept) else "median",
            )


def _clickbench_of(queries: Iterable[object], value: Mapping[str, Any]) -> list[_Runs]:
    chosen = {key: value[key] for key in ("tuned", "hardware") if isinstance(value.get(key), str)}
    nodes = number_in(value, "cluster_size")
    found = []
    for number, query in enumerate(queries):
        tries = query if isinstance(query, list) else []
        for cache, of_cache in (("cold", tries[:1]), ("hot", tries[1:])):
            found.append(
                _Runs(
                    "ClickBench",
                    "ClickBench",
                    _times(of_cache),
                    {**chosen, "query": number, "cache": cache},
                    _texts({"date": value.get("date")}),
                    engine=_text(value.get("system")) or "unknown",
                    machine=_text(value.get("machine")),
                    nodes=int(nodes) if nodes and 0 < nodes <= 10_000 else 0,
                    values=of_cache,
                    no_time=_MISSING,
                )
            )
    return found


def _lines(data: bytes, source: ImportSource) -> list[list[object]]:
    """The times of each query in lines `query,try,time` or `[time, time, time],`."""
    found: dict[int, list[object]] = {}
    for number, line in enumerate(data.decode("utf-8", "replace").split(), 1):
        if line.startswith("["):
            found[number] = [_number(each) for each in line.strip("[],").split(",")]
        elif match := _LINE.fullmatch(line):
            found.setdefault(int(match[1]), []).append(_number(match[3]))
        else:
            raise source.malformed("not a line of ClickBench's results", line=number)
    return [found[number] for number in sorted(found)]


def _conbench(results: Sequence[Mapping[str, Any]]) -> Iterator[_Runs | UnusableError]:
    for place, each in enumerate(results):
        stats, tags = object_in(each, "stats"), object_in(each, "tags")
        factor = _TIMES.get(str(stats.get("unit")))
        if factor is None:
            yield UnusableError("stats.unit", stats.get("unit"), "not a unit of time")
            continue
        values = stats.get("data")
        values = values if isinstance(values, list) else []
        times, mean = _times([_number(v) for v in values]), number_in(stats, "mean")
        if not any(times) and not (mean and mean > 0):
            yield UnusableError("stats.data", f"data[{place}]", "no result: the benchmark failed")
            continue
        n_times = len(times) - times.count(None)
        times = times if n_times else [*times, mean]
        commit, hardware = object_in(each, "commit"), object_in(each, "hardware")
        labels = {"commit": commit.get("sha") or commit.get("hash"), "run_id": each.get("run_id")}
        yield _Runs(
            "conbench",
            _text(tags.get("name")) or "unknown",
            [None if time is None else factor * time for time in times],
            _scalars({key: tag for key, tag in tags.items() if key not in {"name", "id"}}),
            _texts(labels),
            machine=_text(hardware.get("name")),
            started_at=_time(each.get("timestamp")),
            summary=None if n_times > 1 else "mean",
            values=values,
        )


def _at(values: object, place: int) -> Any:
    return values[place] if isinstance(values, list) and place < len(values) else None


def _times(values: object) -> list[float | None]:
    """The numbers above 0 among `values`, None for others."""
    if not isinstance(values, list):
        return []
    return [float(each) if is_number(each) and each > 0 else None for each in values]


def _number(value: object) -> float | None:
    """A number, also as a text."""
    try:
        found = float(value) if isinstance(value, str | int | float) else None
    except ValueError:
        return None
    return found if is_number(found) else None


def _text(value: object) -> str | None:
    return value[:_TEXT_CHARACTERS] if isinstance(value, str) and value else None


def _texts(values: Mapping[str, object]) -> dict[str, str]:
    return {key: text for key, value in values.items() if (text := _text(value)) is not None}


def _scalars(values: Mapping[str, object]) -> dict[str, Scalar]:
    return {
        key: value
        for key, value in values.items()
        if isinstance(value, str | bool) or is_number(value)
    }


def _time(value: object) -> datetime | None:
    """The time in a text of ISO 8601; None without a time zone."""
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return found if found is not None and found.tzinfo is not None else None
