"""The TeraSort suite by the agent."""

from __future__ import annotations

from collections.abc import Sequence

from venturi.measure.hosts.agent import AgentResult, repeated
from venturi.measure.hosts.agent_results import GenResult, ValidateResult
from venturi.measure.workloads.programs import AgentProgram, AgentSort, AgentTask, Findings
from venturi.record.trial import Sample, Scalar


def _records(task: AgentTask) -> Sequence[object]:
    path = task.outputs[0] / "part-00000"
    return "--count", task.size.records, "--checksum", "--output", path, *task.threads_option


def _made(task: AgentTask, result: AgentResult) -> Findings:
    made = result.read(GenResult)
    samples = (Sample("bytes_written", made.bytes, "B"), Sample("cpu_s", made.cpu_s, "s"))
    return Findings({"checksum": made.checksum}, samples)


def _inputs(task: AgentTask) -> Sequence[object]:
    return repeated("--input", task.given.files)


def _seen(task: AgentTask, result: AgentResult) -> Findings:
    seen = result.read(ValidateResult)
    answer: dict[str, Scalar] = {
        "records": seen.records,
        "unordered_records": seen.unordered_records,
        "checksum": seen.checksum,
    }
    return Findings(
        answer, (Sample("bytes_read", seen.bytes, "B"), Sample("cpu_s", seen.cpu_s, "s"))
    )


PROGRAMS = {
    "teragen": AgentProgram("gen", _records, _made, outputs=1),
    "terasort": AgentSort(),
    "terasort-skewed": AgentSort(),
    "teravalidate": AgentProgram("validate", _inputs, _seen, outputs=0),
}
