"""The agent's use of the machine, as samples with the names that every engine has."""

from __future__ import annotations

from venturi.measure.hosts.agent_results import CpuTime
from venturi.record.trial import Sample


def usage_samples(cpu: CpuTime | None, peak_rss_bytes: int | None) -> tuple[Sample, ...]:
    """Processor time and the most memory that was resident; None: not reported by the kernel."""
    return (
        _known("cpu_user_s", None if cpu is None else cpu.user_s, "s"),
        _known("cpu_system_s", None if cpu is None else cpu.system_s, "s"),
        _known("peak_rss_bytes", peak_rss_bytes, "B"),
    )


def _known(metric: str, value: float | None, unit: str) -> Sample:
    reason = "not reported by the kernel" if value is None else None
    return Sample(metric, value, unit, missing_reason=reason)
