"""`venturi cluster`: the hosts of a cluster, looked at before anything is measured on them."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from venturi.cli.measure.clusters import CLUSTER, agent_for, cluster_hosts, open_host
from venturi.cli.options import F, json_option, print_json, quiet_option
from venturi.cli.progress import progress_bars
from venturi.cli.screen import details_option, show
from venturi.core import settings
from venturi.core.errors import ExitCode
from venturi.core.units import format_bytes, format_bytes_decimal, format_offset
from venturi.core.wording import count_of
from venturi.measure.clusters.cluster_record import price_of
from venturi.measure.clusters.connect import connected
from venturi.measure.clusters.names import names_of
from venturi.measure.clusters.traits import memory_bytes, threads
from venturi.record.trial import PriceQuote
from venturi.terminal.table import UNKNOWN, Paragraph, Table, table

if TYPE_CHECKING:
    from venturi.machines.health.doctor import HostFinding
    from venturi.measure.clusters.check import ClusterCheck, Remark
    from venturi.measure.clusters.cluster_spec import ClusterSpec, HostSpec
    from venturi.measure.clusters.connect import HostResults
    from venturi.measure.clusters.survey import HostSurvey
    from venturi.measure.hosts.host import LiveHost

PUSH_S = 360.0
"""Over a thin line the agent may take five minutes."""
OnStep = Callable[[str, int, int], None]
_STYLES = {"problem": "bold red", "advice": "yellow"}

cluster_argument: Callable[[F], F] = click.argument(
    "cluster", metavar="CLUSTER.toml|lab:NAME", type=CLUSTER
)


@click.group()
def command() -> None:
    """Check the hosts of a cluster; install the agent on them.

    CLUSTER.toml lists the hosts and how each is reached: by OpenSSH, with your own configuration
    and keys. docs/guide/measure/clusters.md has an example.
    """


@command.command()
@cluster_argument
@quiet_option
@details_option
@json_option
def check(cluster: ClusterSpec, *, quiet: bool, as_json: bool) -> int:
    """Check a cluster: unreachable hosts, problems, and hosts that differ.

    Reads facts, settings, clocks, folders and network addresses of all hosts concurrently. It
    changes nothing, except that it briefly writes a small file to each folder. Hosts with the same
    roles should be equal; a host differs if it deviates from the majority.

    Exits with 0 if all hosts can be used (differences and advice don't count), 1 if not.
    """
    from venturi.measure.clusters.check import judge
    from venturi.measure.clusters.survey import survey

    with (
        _steps(shown=not quiet) as on_step,
        cluster_hosts(cluster, on_done=_hosts_of(on_step, cluster)) as reached,
    ):
        asked = survey(cluster, reached.results, settings.load(), on_step=on_step)
    findings = _findings(asked)
    failures = {**reached.failures, **asked.failures}
    problems = tuple(_settings(findings, "problem"))
    checked = judge(cluster, asked.results, failures, problems)
    if as_json:
        print_json(_as_data(cluster, asked, checked, findings))
    else:
        show(Paragraph(checked.verdict, "bold"), _listing(cluster, asked, findings))
        remarks = (*checked.remarks, *_settings(findings, "advice"))
        show(*(line for each in remarks for line in _lines(each)))
        show(*_price(cluster))
    return ExitCode.USER if checked.wrong else ExitCode.OK


@command.command()
@cluster_argument
@quiet_option
@json_option
def push(cluster: ClusterSpec, *, quiet: bool, as_json: bool) -> int:
    """Install the agent on hosts without it, or with a different one.

    It is stored under its digest in ~/.cache/venturi/agents on the host, and verified before it
    runs. Every command that needs the agent does this; this one does nothing else.

    Exits with 0 if the agent runs on all hosts, 1 if not.
    """
    sent: dict[str, int] = {}

    def open_one(spec: HostSpec) -> AbstractContextManager[LiveHost]:
        return open_host(spec, lambda size_bytes: sent.__setitem__(spec.name, size_bytes))

    with (
        _steps(shown=not quiet) as on_step,
        connected(
            cluster, open_one, timeout_s=PUSH_S, on_done=_hosts_of(on_step, cluster)
        ) as reached,
    ):
        pass
    rows = [_pushed(host, sent.get(host.name), reached) for host in cluster.hosts]
    if as_json:
        print_json(rows)
    else:
        failed = len(reached.failures)
        count = f"{count_of(len(rows), 'host')}: {len(sent) - len(sent.keys() & reached.failures)}"
        show(Paragraph(f"{count} got the agent, {failed} failed", "bold"))
        made = table("host", "reached by", "agent", "sha256", left=4, prose=("agent",))
        for row in rows:
            made.add(row["name"], row["reached_by"], row["state"], row["agent_sha256"][:16])
        show(made)
        for error in reached.failures.values():
            show(Paragraph(f"do: {error.where['host']}: {error.hint}", "cyan"))
    return ExitCode.USER if reached.failures else ExitCode.OK


def _pushed(
    host: HostSpec, sent_bytes: int | None, reached: HostResults[LiveHost]
) -> dict[str, Any]:
    error = reached.failures.get(host.name)
    if error is not None:
        state = error.message
    elif sent_bytes is not None:
        state = f"sent, {format_bytes_decimal(sent_bytes)}"
    else:
        state = "already installed" if host.reached.takes_agent else "this machine's own"
    return {
        "name": host.name,
        "reached_by": str(host.reached),
        "state": state,
        "sent_bytes": sent_bytes,
        "agent_sha256": _digest(agent_for(host)),
        "error": None if error is None else error.as_dict(),
    }


def _digest(agent: Path) -> str:
    try:
        return hashlib.sha256(agent.read_bytes()).hexdigest()
    except OSError:  # reported elsewhere
        return ""


@contextmanager
def _steps(*, shown: bool) -> Iterator[OnStep]:
    """Show how many hosts have answered."""
    from venturi.measure.hosts.agent import AgentProgress

    with progress_bars(enabled=shown) as on_progress:
        began_s = time.monotonic()

        def report_step(step: str, done: int, of: int) -> None:
            if on_progress is not None:
                on_progress(AgentProgress(step, done, of, "hosts", time.monotonic() - began_s))

        yield report_step
        if on_progress is not None:
            on_progress(None)


def _hosts_of(on_step: OnStep, cluster: ClusterSpec) -> Callable[[int], None]:
    return lambda done: on_step("connecting", done, len(cluster.hosts))


def _findings(asked: HostResults[HostSurvey]) -> Mapping[str, Sequence[HostFinding]]:
    """The findings of `venturi doctor` about each host."""
    from venturi.machines.health.doctor import examine, load_rules

    rules = load_rules()
    return {name: examine(said.facts, rules) for name, said in asked.results.items()}


def _settings(
    findings: Mapping[str, Sequence[HostFinding]], severity: Literal["problem", "advice"]
) -> Iterator[Remark]:
    """The settings that are known to slow down that much, each with the hosts that have it."""
    from venturi.measure.clusters.check import Remark

    found: dict[tuple[str, str], tuple[HostFinding, list[str]]] = {}
    for host, each in findings.items():
        for finding in each:
            if finding.severity.value == severity:
                key = (finding.fact, str(finding.value))
                found.setdefault(key, (finding, []))[1].append(host)
    for finding, hosts in found.values():
        yield Remark(
            severity,
            "VEN-CLUSTER-SETTINGS",
            tuple(hosts),
            f"{names_of(hosts)}: {finding.fact} is {finding.value}, but {finding.checks}",
            finding.fix or "",
        )


def _listing(
    cluster: ClusterSpec,
    asked: HostResults[HostSurvey],
    findings: Mapping[str, Sequence[HostFinding]],
) -> Table:
    made = table(
        "host",
        "roles",
        "reached by",
        "agent",
        "threads",
        "memory",
        "clock",
        "free",
        "settings",
        left=4,
        spare=("agent", "roles"),
    )
    for host in cluster.hosts:
        said = asked.results.get(host.name)
        if said is None:
            made.add(
                (host.name, "bold red"), ", ".join(host.roles), str(host.reached), *[UNKNOWN] * 6
            )
            continue
        free = [each.free_bytes for each in said.folders if each.free_bytes is not None]
        made.add(
            host.name,
            ", ".join(host.roles),
            str(host.reached),
            said.agent.version,
            UNKNOWN if (count := threads(said.facts)) is None else f"{count:g}",
            format_bytes(memory_bytes(said.facts)),
            format_offset(said.clock.offset_s, said.clock.error_s),
            format_bytes_decimal(min(free, default=None)),
            _counts(findings[host.name]),
        )
    made.notes += [
        ("memory", "threads, memory: available to its processes, within limits of control groups"),
        ("clock", "clock: how far it is ahead of this machine's"),
        ("free", "free: of the fullest of its folders"),
        ("settings", "settings: the findings of `venturi doctor` there"),
    ]
    return made


def _counts(findings: Sequence[HostFinding]) -> str:
    from venturi.machines.health.doctor import Severity, counts_of

    counts = counts_of(findings)
    told = [
        f"{counts[each]} {each.value}"
        for each in (Severity.PROBLEM, Severity.ADVICE)
        if counts[each]
    ]
    return ", ".join(told) or "ok"


def _lines(remark: Remark) -> Iterator[Paragraph]:
    yield Paragraph(f"{remark.severity}: {remark.text}", _STYLES[remark.severity])
    if remark.fix:
        yield Paragraph(f"do: {remark.fix}", "cyan", 2)


def _price(cluster: ClusterSpec) -> Iterator[Paragraph]:
    """The price of an hour of it, where the file has a price or a type of any host."""
    if any(host.price is not None or host.instance_type for host in cluster.hosts):
        found = price_of(cluster.hosts)
        yield Paragraph(f"price: {f'not known, {found}' if isinstance(found, str) else found}")


def _as_data(
    cluster: ClusterSpec,
    asked: HostResults[HostSurvey],
    checked: ClusterCheck,
    findings: Mapping[str, Sequence[HostFinding]],
) -> dict[str, Any]:
    hosts = [_host(each, asked, findings) for each in cluster.hosts]
    price = price_of(cluster.hosts)
    return {
        "cluster": cluster.name,
        "verdict": checked.verdict,
        "usable": not checked.wrong,
        "price": price if isinstance(price, PriceQuote) else None,
        "price_missing_reason": price if isinstance(price, str) else None,
        "hosts": hosts,
        "remarks": checked.remarks,
        "differences": [{"roles": roles, **asdict(each)} for roles, each in checked.differences],
        "clocks": checked.spread,
    }


def _host(
    host: HostSpec, asked: HostResults[HostSurvey], findings: Mapping[str, Sequence[HostFinding]]
) -> dict[str, Any]:
    said = asked.results.get(host.name)
    return {
        "name": host.name,
        "memory_bytes": None if said is None else memory_bytes(said.facts),
        "threads": None if said is None else threads(said.facts),
        "roles": host.roles,
        "reached_by": str(host.reached),
        "agent_sha256": _digest(agent_for(host)),
        "said": said,
        "findings": findings.get(host.name, ()),
    }
