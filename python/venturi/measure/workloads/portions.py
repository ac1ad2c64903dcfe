"""Validation of an output on several hosts, by their agents concurrently."""

from __future__ import annotations

from collections.abc import Sequence

from venturi.core.errors import VenturiError
from venturi.measure.hosts.agent import Agent, repeated
from venturi.measure.hosts.agent_results import ValidateResult
from venturi.measure.hosts.concurrent_commands import on_all
from venturi.measure.hosts.owned_folders import COPY_PREFIX, temporary
from venturi.measure.trial.job import StepContext
from venturi.measure.workloads.checking import Portion
from venturi.record.trial import TrialWarning

_SUMMARY = ".summary"


def validated(
    step: StepContext, portions: Sequence[Portion], framing: Sequence[object] = ()
) -> tuple[ValidateResult, tuple[TrialWarning, ...]]:
    """Run `validate` on all `portions`; return the result combined from the hosts' summaries, and
    the warnings. `framing`: its options for records other than TeraSort's.
    """
    seen = on_all(
        {each.name: Agent.of(each.host, step.agent) for each in portions},
        "validate",
        {
            # Just fetched from HDFS: read cached data from memory instead of from disk.
            each.name: (
                *repeated("--input", each.files),
                *framing,
                "--buffered",
                "--summary-out",
                each.folder / _SUMMARY,
            )
            for each in portions
        },
    )
    warnings: list[TrialWarning] = []
    for found in seen.values():
        if isinstance(found, VenturiError):
            raise found
        warnings += found.warnings
    files = step.host.files
    with temporary(files, COPY_PREFIX) as folder:
        summaries = [folder / f"{number}{_SUMMARY}" for number in range(len(portions))]
        for path, each in zip(summaries, portions, strict=True):
            files.write(path, each.host.files.read(each.folder / _SUMMARY))
        result = step.run("validate", "--summaries", *repeated("--input", summaries), *framing)
    return result.read(ValidateResult), (*warnings, *result.warnings)
