"""Whether an output is right, read from disk: the same check whichever engine wrote it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path

from venturi.measure.hosts.agent import repeated
from venturi.measure.hosts.agent_results import ValidateResult
from venturi.measure.trial.job import StepContext
from venturi.measure.workloads.checking import CheckInput, CheckResult, Portion
from venturi.measure.workloads.definition import RecordFormat
from venturi.measure.workloads.inputs import InputData
from venturi.measure.workloads.portions import validated
from venturi.measure.workloads.registry import family


def check(checking: CheckInput) -> CheckResult:
    """Check an engine's output in a folder against the workload's definition."""
    definition = checking.definition
    if definition.job == "sort" and checking.portions is not None:
        return _sorted_there(
            checking.step,
            checking.given,
            checking.portions,
            ["--record-bytes", definition.record_bytes, "--key-bytes", definition.key_bytes],
        )
    if definition.job == "sort":
        return output(
            checking.step,
            "sort",
            checking.given,
            checking.parts(),
            record_bytes=definition.record_bytes,
            key_bytes=definition.key_bytes,
            format_=definition.format,
        )
    own = import_module(f"{family(definition)}.check")
    return _verdict(lambda: own.check(checking))


def output(
    step: StepContext,
    job: str,
    given: InputData,
    files: Sequence[Path],
    *,
    record_bytes: int,
    key_bytes: int,
    format_: RecordFormat,
) -> CheckResult:
    """Check the output `files` of `job`, in the order of the keys, against its input."""
    if job == "sort":
        framing = {"record_bytes": record_bytes, "key_bytes": key_bytes}
        return _sorted(step, given, files, format_=format_, **framing)
    if given.answer is None:
        return CheckResult(None)
    from venturi.measure.workloads.shared.zipf import check_totals  # noqa: PLC0415 - loads NumPy

    return _verdict(partial(check_totals, step.host.files, job, files, given.answer))


def _verdict(problem: Callable[[], str | None]) -> CheckResult:
    """Return the result of `problem`; a missing or unreadable output is a wrong one."""
    try:
        return CheckResult(problem())
    except OSError as error:
        file = f"{error.filename}: " if error.filename else ""
        return CheckResult(f"the output cannot be read: {file}{error.strerror or error}")


def _sorted(
    step: StepContext,
    given: InputData,
    files: Sequence[Path],
    *,
    record_bytes: int,
    key_bytes: int,
    format_: RecordFormat,
) -> CheckResult:
    if not files:
        return CheckResult("there is no output")
    # Lines of a generated workload have one length, line break included: records as any others.
    framing = "kv" if format_ == "kv" else "fixed"
    arguments = [*repeated("--input", files), "--format", framing]
    if framing == "fixed":
        arguments += ["--record-bytes", record_bytes, "--key-bytes", key_bytes]
    result = step.run("validate", *arguments)
    return CheckResult(_difference(given, result.read(ValidateResult)), result.warnings)


def _sorted_there(
    step: StepContext, given: InputData, portions: Sequence[Portion], framing: Sequence[object]
) -> CheckResult:
    if not portions:
        return CheckResult("there is no output")
    seen, warnings = validated(step, portions, framing)
    return CheckResult(_difference(given, seen), warnings)


def _difference(given: InputData, seen: ValidateResult) -> str | None:
    """Return the difference between the input and the records on disk, read again independently;
    None if they agree.
    """
    if not seen.ordered:
        return f"{seen.unordered_records} records are out of order, first {seen.first_unordered}"
    if given.records is not None and seen.records != given.records:
        return f"{seen.records} records are on disk, but the input has {given.records}"
    if given.checksum is not None and int(seen.checksum, 16) != int(given.checksum, 16):
        return f"checksum {seen.checksum} on disk, {given.checksum} in the input"
    return None
