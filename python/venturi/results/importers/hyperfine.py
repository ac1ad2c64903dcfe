"""hyperfine: the JSON of `--export-json`; each timed run of a command is a trial.

- The command is the workload. Its parameters (`--parameter-scan`, `--parameter-list`) are the
  configuration. In the command, each is replaced by its name in braces, as the user wrote it, so
  that the runs with all values are of one workload.
- hyperfine's warm-up runs aren't in the file.
- A run with an exit code other than 0 is a failed trial. Where no codes are kept, all succeeded:
  hyperfine stops at the first failure without `--ignore-failure`.
- The CPU times are means over all runs, and are kept as such.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, BinaryIO

from venturi.record.importing.formats import Format
from venturi.record.importing.items import (
    FAILED,
    SOFTWARE,
    ImportedItem,
    ImportSource,
    admitted,
    imported_id,
)
from venturi.record.importing.json_text import JsonLimits, UnusableError, documents, is_number
from venturi.record.importing.text import Refusal
from venturi.record.trial import (
    Cluster,
    Engine,
    Failure,
    Sample,
    Scalar,
    State,
    Trial,
    Workload,
)

FORMAT = Format(
    "hyperfine",
    "hyperfine: JSON (--export-json)",
    pattern=r'\s*\{\s*"results"\s*:\s*\[\s*\{\s*"command"\s*:',
)

_LIMITS = JsonLimits(file_bytes=64 << 20, records=1_000)
_RUNS_MOST = 100_000
_NAME_CHARACTERS = 200
_MEANS = (("user", "cpu_user_mean_s"), ("system", "cpu_system_mean_s"))


def read(file: BinaryIO, source: ImportSource) -> Iterator[ImportedItem]:
    """Yield the trials of the runs in `file`, with those that were rejected."""
    for document in documents(file, source, _LIMITS):
        results = document.value.get("results")
        if document.problem or not isinstance(results, list):
            raise source.malformed(
                document.problem or "no list of results", line=document.line, field="results"
            )
        for place, result in enumerate(results[:_RUNS_MOST]):
            try:
                found = list(_trials(result, place, source))
            except UnusableError as error:
                yield error.refusal(document.line)
            else:
                yield from admitted(found, document.line, source)


def _trials(result: Any, place: int, source: ImportSource) -> Iterator[ImportedItem]:
    field = f"results[{place}]"
    if not isinstance(result, dict) or not isinstance(result.get("command"), str):
        raise UnusableError(field, "", "no command")
    times = result.get("times")
    if not isinstance(times, list) or not 0 < len(times) <= _RUNS_MOST:
        raise UnusableError(f"{field}.times", "", "no list of times")
    chosen = _parameters(result)
    command = template(result["command"], chosen)
    if len(command) > _NAME_CHARACTERS:
        chosen["command"] = command
    codes, memory = (result.get(key) for key in ("exit_codes", "memory_usage_byte"))
    means = tuple(
        Sample(metric, result[key], "s") for key, metric in _MEANS if is_number(result.get(key))
    )
    for run, elapsed_s in enumerate(times):
        if not is_number(elapsed_s) or elapsed_s <= 0:
            yield Refusal(place + 1, f"{field}.times", str(elapsed_s)[:100], "not a time above 0")
            continue
        if isinstance(codes, list) and run >= len(codes):
            why = "this run has no exit code, so its outcome is unknown"
            yield Refusal(place + 1, f"{field}.exit_codes", str(elapsed_s)[:100], why)
            continue
        code = _at(codes, run)
        # hyperfine writes null for a command that a signal ended.
        failed = isinstance(codes, list) and code != 0
        peak = _at(memory, run)
        yield Trial(
            id=imported_id(
                "hyperfine", result["command"], str(chosen), str(times), str(place), str(run)
            ),
            workload=Workload(command[:_NAME_CHARACTERS].strip() or "(empty)", "hyperfine"),
            engine=Engine("unknown", "unknown"),
            cluster=Cluster(()),
            configuration=chosen,
            software=SOFTWARE,
            provenance=source.provenance("hyperfine"),
            started_at=None,
            state=State.FAILED if failed else State.SUCCEEDED,
            repetition=run,
            elapsed_s=None if failed else elapsed_s,
            samples=(
                *means,
                *((Sample("memory_peak_bytes", peak, "B"),) if is_number(peak) else ()),
                *((Sample("time_to_failure_s", elapsed_s, "s"),) if failed else ()),
            ),
            failure=Failure("workload", FAILED, _exit(code)) if failed else None,
        )


def template(command: str, parameters: Mapping[str, Scalar]) -> str:
    """Return `command` with the names of `parameters` in place of their values: `sort -j {n}`."""
    for name, value in parameters.items():
        if value not in {None, ""}:
            # A function, because a name may have backslashes.
            command = re.sub(
                rf"(?<![\w.]){re.escape(str(value))}(?![\w.])", partial(_braced, name), command
            )
    return command


def _braced(name: str, found: re.Match[str]) -> str:
    return f"{{{name}}}"


def _exit(code: object) -> str:
    return "no exit code: a signal ended the command" if code is None else f"exit code {code}"


def _parameters(result: Mapping[str, Any]) -> dict[str, Scalar]:
    found = result.get("parameters")
    if not isinstance(found, dict):
        return {}
    return {
        str(key): value
        for key, value in found.items()
        if value is None or isinstance(value, str) or is_number(value)
    }


def _at(values: object, place: int) -> Any:
    return values[place] if isinstance(values, list) and place < len(values) else None
