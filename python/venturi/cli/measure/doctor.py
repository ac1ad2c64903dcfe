"""`venturi doctor`: this host's settings against the field's recommendations."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from venturi.cli.options import InputPath, json_option, print_json
from venturi.cli.screen import details_option, is_first_screen, next_step, show, show_whole
from venturi.core import settings
from venturi.core.errors import ExitCode, VenturiError
from venturi.core.text_file import read_text_or_stdin
from venturi.core.units import format_bytes
from venturi.core.wording import count_of
from venturi.record.store.files import is_open_to_others
from venturi.terminal.table import Paragraph

if TYPE_CHECKING:
    from venturi.machines.health.doctor import HostFinding

_STYLES = {"problem": "bold red", "advice": "yellow", "unknown": "magenta", "ok": "green"}
_COUNTED = (("advice", "advised"), ("unknown", "unknown"), ("ok", "passed"))
_FACTS = {
    "swap_total_bytes": "swap space in bytes",
    "swap_used_bytes": "swap in use",
    "transparent_huge_pages": "transparent huge pages",
    "transparent_huge_pages_defrag": "compaction for huge pages",
    "limit_open_files_soft": "soft limit of open files",
    "limit_processes_soft": "soft limit of processes and threads",
    "network_interfaces": "network interfaces",
    "network_interfaces[].mtu_bytes": "MTU",
    "file_systems": "file systems",
    "file_systems[].kind": "kind of file system",
    "file_systems[].options": "mount options",
    "block_devices": "disks",
    "block_devices[].scheduler": "I/O scheduler",
    "block_devices[].read_ahead_bytes": "read-ahead",
    "dirty_percent": "share of memory",
    "dirty_background_percent": "share of memory",
    "cpu_governors": "CPU governors",
    "numa_nodes": "memory nodes",
}
_STORE = "store them with `venturi-agent facts > FILE` on the host in question"


@click.command()
@click.option(
    "--facts",
    "facts_file",
    metavar="FILE",
    type=InputPath(allow_dash=True),
    help="Check facts from FILE (- is stdin), for example of another host: the output of `venturi "
    "probe host --json` or `venturi-agent facts`.",
)
@details_option
@json_option
def command(facts_file: Path | None, *, as_json: bool) -> int:
    """Check this host's settings against recommendations.

    It reads settings and changes nothing. Each finding has its source and says how to fix it, with
    the risk if the fix can break something. A problem is a setting known to hurt. Advice may help;
    measure its effect.

    Exits with 1 if there is a problem, else 0. Advice and undecided checks don't count.
    """
    from venturi.machines.health.doctor import Severity, examine, load_rules

    facts = _stored_facts(facts_file) if facts_file is not None else _facts_here()
    findings = examine(facts, load_rules())
    if facts_file is None:
        findings += _of_repository(settings.load().home)
    if as_json:
        print_json(
            {
                "hostname": facts.get("hostname"),
                "findings": findings,
                "counts": _counts(findings),
            }
        )
    else:
        _print(findings, facts.get("hostname"))
    problem = any(finding.severity is Severity.PROBLEM for finding in findings)
    return ExitCode.USER if problem else ExitCode.OK


def _facts_here() -> Mapping[str, Any]:
    from venturi.cli.measure.measuring import find_agent

    return find_agent().run("facts").data


def _of_repository(home: Path) -> list[HostFinding]:
    """Whether other users may read the repository; nothing if it doesn't exist."""
    from venturi.machines.health.doctor import HostFinding, Severity

    if not home.is_dir():
        return []
    is_open = is_open_to_others(home)
    return [
        HostFinding(
            rule="repository-open",
            title="Repository closed to others",
            severity=Severity.ADVICE if is_open else Severity.OK,
            checks="no rights for users outside its group",
            fact="VENTURI_HOME",
            value=f"{stat.filemode(home.stat().st_mode)} {home}",
            unit="",
            reason=None,
            effect="every user of this machine can read the repository without a token",
            source="Venturi makes the folder of a new repository with mode 700",
            fix="venturi repository check --mend" if is_open else None,
            risk=None,
        )
    ]


def _stored_facts(path: Path) -> Mapping[str, Any]:
    from venturi.machines.health.doctor import FACTS_SCHEMA_VERSION

    try:
        facts = _find_facts(_parse(read_text_or_stdin(path, "VEN-DOCTOR-FACTS", _STORE)))
    except ValueError as error:
        raise _no_facts(path, str(error)) from error
    if facts is None:
        raise _no_facts(path, "no object in it is an agent's facts")
    if facts["schema_version"] != FACTS_SCHEMA_VERSION:
        raise _no_facts(
            path, f"their version is {facts['schema_version']!r}, not {FACTS_SCHEMA_VERSION}"
        )
    return facts


def _parse(text: str) -> Any:
    """One JSON value, or the agent's stream of them, one a line."""
    try:
        return json.loads(text)
    except ValueError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]


def _find_facts(value: Any) -> Mapping[str, Any] | None:
    """The facts in `value`, however they are wrapped: bare, an event, a listing, a trial."""
    if isinstance(value, dict) and {"schema_version", "hostname", "sysctls"} <= value.keys():
        return value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((facts for part in inner if (facts := _find_facts(part)) is not None), None)


def _no_facts(path: Path, why: str) -> VenturiError:
    return VenturiError(
        "VEN-DOCTOR-FACTS",
        f"{path} does not contain the facts of a host: {why}",
        where={"file": str(path)},
        hint=_STORE,
    )


def _counts(findings: Sequence[HostFinding]) -> dict[str, int]:
    from venturi.machines.health.doctor import counts_of

    return {severity.value: count for severity, count in counts_of(findings).items()}


def _value(finding: HostFinding) -> str:
    value = finding.value
    if isinstance(value, list):
        return ", ".join(str(word) for word in value)
    if not str(value).isdecimal():
        return f"{value} {finding.unit}".rstrip()
    number = int(value)
    if finding.unit == "B" and number % 1024 == 0:  # an MTU is rarely so
        return format_bytes(number)
    return f"{number:,} {finding.unit}".rstrip()


def words_of(fact: str) -> str:
    """The name of a fact as a reader calls it: `MTU of eth0`; sysctls have the kernel's names."""
    name, _, rest = fact.partition(".")
    if name == "sysctls":
        return rest
    element, _, field = rest.rpartition(".")
    words = _FACTS.get(f"{name}[].{field}" if rest else name, fact)
    return f"{words} of {element}" if rest else words


def _print(findings: Sequence[HostFinding], hostname: object) -> None:
    from venturi.machines.health.doctor import Severity

    counts = _counts(findings)
    problems = count_of(counts.pop("problem"), "problem")
    others = [f"{counts[key]} {word}" for key, word in _COUNTED if counts[key] or key == "ok"]
    show(
        Paragraph(f"host {hostname or 'without a name'}: {', '.join((problems, *others))}", "bold")
    )
    order = list(Severity)
    ordered = sorted(findings, key=lambda finding: order.index(finding.severity))
    if not is_first_screen():
        for finding in ordered:
            show(*_lines(finding))
        return
    words = "nothing to change; see all checks"
    if any(each.severity is Severity.PROBLEM for each in findings):
        words = "fix these before you measure; see all checks"
    elif any(each.severity is Severity.ADVICE for each in findings):
        words = "consider these; see all checks"
    next_step(words, "venturi doctor --all")
    for finding in ordered:
        if finding.severity is not Severity.OK:
            show_whole(*_lines(finding))


def _lines(finding: HostFinding) -> Iterator[Paragraph]:
    """The finding; if it is a problem, also the required state, the reason and the fix. The source
    isn't on a first screen.
    """
    from venturi.machines.health.doctor import IN_A_GUEST, Severity

    severity = finding.severity.value
    known = [] if finding.value is None else [_value(finding)]
    why = [] if finding.reason is None else [finding.reason]
    yield Paragraph(f"{severity}: {finding.title}", _STYLES[severity])
    yield Paragraph(f"found:  {words_of(finding.fact)}: {'; '.join(known + why)}", indent=2)
    if finding.severity is Severity.OK or finding.reason == IN_A_GUEST:
        return
    yield Paragraph(f"wanted: {finding.checks}", indent=2)
    if finding.fix is None:
        return
    yield Paragraph(f"effect: {finding.effect}", indent=2)
    if not is_first_screen():
        yield Paragraph(f"source: {finding.source}", indent=2)
    if finding.risk is not None:
        yield Paragraph(f"risk:   {finding.risk}", "bold red", 2)
    yield Paragraph(f"fix:    {finding.fix}", "cyan", 2)
