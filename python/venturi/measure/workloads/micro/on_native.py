"""Words, lines and pi by the agent."""

from __future__ import annotations

from collections.abc import Sequence

from venturi.measure.hosts.agent import AgentResult
from venturi.measure.hosts.agent_results import PiResult
from venturi.measure.trial.usage import usage_samples
from venturi.measure.workloads.programs import AgentProgram, AgentSort, AgentTask, Findings
from venturi.record.trial import Sample


def _points(task: AgentTask) -> Sequence[object]:
    size = task.size
    return "--points", size.records, "--parts", size.parts or 1, *task.threads_option


def _inside(task: AgentTask, result: AgentResult) -> Findings:
    counted = result.read(PiResult)
    return Findings(
        {"inside": counted.inside},
        (
            Sample("points_per_s", counted.points / counted.elapsed_s, "1/s"),
            *usage_samples(counted.used.cpu, counted.used.peak_rss_bytes),
            Sample("threads", counted.threads, "1"),
        ),
    )


PROGRAMS = {
    # A tenth more covers short inputs in which every word occurs once, and its count comes on top.
    "wordcount": AgentSort(output_factor=1.1),
    "sort": AgentSort(),
    "pi": AgentProgram("pi", _points, _inside, outputs=0),
}
