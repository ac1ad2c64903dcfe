"""`venturi lab`: an emulated cluster on this machine, made, looked at, entered, taken down."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from venturi.cli.options import F, InputPath, json_option, print_json, quiet_option
from venturi.cli.screen import show
from venturi.core import settings
from venturi.core.errors import ExitCode, Interrupted, VenturiError
from venturi.core.units import size_text
from venturi.terminal.table import UNKNOWN, Paragraph, Table, table

if TYPE_CHECKING:
    from venturi.measure.lab.lab import Lab
    from venturi.measure.lab.lab_spec import LabDisk, LabHost, LabSpec

_CLEAR = "\r\033[K"
_STATES = {
    "up": "up",
    "left": "up, but the plan that it was made for has ended",
    "half": "incomplete: partly created or partly taken down",
    "gone": "gone: the machine has rebooted",
}

lab_option: Callable[[F], F] = click.option(
    "--lab", "name", metavar="NAME", help="Name of the lab; needed only if there are several."
)


@click.group()
def command() -> None:
    """Emulate a cluster on this machine: hosts, networks, disks.

    You choose the speeds of hosts, networks and disks in FILE.toml (see docs/guide/measure/lab.md).
    It needs root.
    """


@command.command("up")
@click.argument("file", metavar="FILE.toml", type=InputPath(dir_okay=False))
@quiet_option
@json_option
def up_command(file: Path, *, quiet: bool, as_json: bool) -> int:
    """Create the lab that FILE.toml describes, completely or not at all."""
    from venturi.cli.measure.measuring import find_agent, this_host
    from venturi.core.text_file import read_text
    from venturi.measure.lab import lab
    from venturi.measure.lab.lab_file import lab_of

    spec = lab_of(read_text(file, "VEN-LAB-FILE", "docs/guide/measure/lab.md has an example"), file)
    turns = any(disk.model == "spindle" for host in spec.hosts for disk in host.disks)
    agent = Path(find_agent().path) if turns else None
    with _progress(quiet) as heard:
        home = settings.load().home
        made = lab.up(spec, home, cores=this_host().cores, agent=agent, heard=heard)
        heard("begun", "the machine's own rates")
        try:
            made = lab.weigh(home, made.name, find_agent())
        except Interrupted:
            lab.down(home, made.name, heard)
            raise
        except (VenturiError, OSError) as error:  # the lab is there all the same
            click.echo(f"the machine's own rates were not measured: {error}", err=True)
    if as_json:
        print_json(_as_data(made))
        return ExitCode.OK
    show(*_parts(made))
    which = "" if len(lab.labs(settings.load().home)) == 1 else f"--lab {made.name} "
    first = made.spec.hosts[0].name
    show(
        Paragraph(f"next: venturi lab exec {which}{first} -- CMD", "cyan"),
        Paragraph(f"      venturi cluster check lab:{made.name}", "cyan"),
        Paragraph(f"end:  venturi lab down {which}".rstrip(), "cyan"),
    )
    return ExitCode.OK


@command.command("status")
@lab_option
@json_option
def status_command(name: str | None, *, as_json: bool) -> int:
    """List labs with their hosts, addresses, disks and links.

    Exits with 1 if a lab is incomplete.
    """
    from venturi.measure.lab import lab

    home = settings.load().home
    found = [lab.look(home, each) for each in ([name] if name else lab.labs(home))]
    if as_json:
        print_json([_as_data(each) for each in found])
    elif not found:
        show("there is no lab; `venturi lab up FILE.toml` makes one")
    else:
        for each in found:
            show(*_parts(each))
            if each.state != "up":
                mend = f"type: venturi lab down --lab {each.name}"
                show(Paragraph(mend, "cyan", 2))
    return ExitCode.OK if all(each.state == "up" for each in found) else ExitCode.USER


@command.command("exec", context_settings={"ignore_unknown_options": True})
@lab_option
@click.argument("host", metavar="HOST")
@click.argument("words", metavar="-- CMD...", nargs=-1, required=True, type=click.UNPROCESSED)
def exec_command(name: str | None, host: str, words: tuple[str, ...]) -> None:
    """Run CMD on a HOST of the lab, in the current folder.

    Exits with the status of CMD.
    """
    from venturi.measure.lab import lab

    home = settings.load().home
    into = lab.enter(home, name or lab.only(home), host)
    # nsenter goes to the root of the host, which has the same folders.
    argv = (*into, "sh", "-c", 'cd "$0" && exec "$@"', str(Path.cwd()), *words)
    sys.stdout.flush()
    os.execvp(argv[0], argv)  # noqa: S606 - what the user typed


@command.command("down")
@lab_option
@quiet_option
@json_option
def down_command(name: str | None, *, quiet: bool, as_json: bool) -> int:
    """Take the lab down: end its processes and remove everything made for it.

    Works after a kill or a reboot, too; nothing of the lab is left. To take down a lab that a
    running plan made, or on which processes run, name it with --lab.
    """
    from venturi.measure.lab import lab

    home = settings.load().home
    if name is None:
        name = lab.only(home)
        lab.require_unused(home, name)
    with _progress(quiet) as heard:
        lab.down(home, name, heard)
    if as_json:
        print_json({"lab": name, "state": "down"})
    else:
        show(f"the lab {name} is down: nothing of it is left")
    return ExitCode.OK


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[str, str], None]]:
    """Show the active step on a terminal's stderr."""
    shown = not quiet and sys.stderr.isatty()

    def heard(instant: str, step: str) -> None:
        if shown:
            click.echo(f"{_CLEAR}{step}", err=True, nl=False)

    try:
        yield heard
    finally:
        if shown:
            click.echo(_CLEAR, err=True, nl=False)


def _parts(lab: Lab) -> Iterator[Table | Paragraph]:
    k = lab.spec.dilation
    slower = "" if k == 1 else f", k = {k:g}: rates divided by it, times multiplied"
    style = "bold" if lab.state == "up" else "bold yellow"
    state = _STATES.get(lab.state) or f"up, but {' and '.join(lab.ended)} ended"
    yield Paragraph(f"lab {lab.name}: {state} (since {lab.since}{slower})", style)
    rows = table(
        "host", "address", "link", "switch", "disks", "memory", "cpus", "processes", left=5
    )
    for host in lab.made.hosts:
        count = lab.processes[host.name]
        rows.add(
            host.name,
            host.address,
            _rate(host.link_bytes_per_s),
            host.switch,
            _disks(host),
            UNKNOWN if host.memory_bytes is None else size_text(host.memory_bytes),
            UNKNOWN if host.cpus is None else f"{host.cpus:.3g}",
            "gone" if count is None else str(count),
        )
    yield rows
    uplinks = _uplinks(lab.made)
    if uplinks.rows:
        yield uplinks
    classes = _classes(lab.made)
    if classes.rows:
        yield classes
    chosen = "" if lab.made.addresses_named else ", the first that were free"
    yield Paragraph(
        f"addresses: {lab.made.network}{chosen}; this machine is "
        f"{lab.made.machine_address} there; the cluster's file: {lab.cluster}"
    )
    for short in lab.shortfalls:
        yield Paragraph(
            f"faster than this machine: {short.what}: set to {short.said} when the lab was "
            "created. Under full concurrent load they are slower than configured. Use fewer "
            "or slower ones, or a dilation.",
            "bold yellow",
        )


def _uplinks(spec: LabSpec) -> Table:
    rows = table("switch", "within", "uplink", "ports", left=3)
    for switch in spec.switches:
        uplink = switch.uplink_bytes_per_s
        rows.add(switch.name, switch.within, _rate(uplink), str(switch.ports))
    return rows


def _classes(spec: LabSpec) -> Table:
    rows = table("disks", "model", "size", "read", "write", "IOPS", "seek", "turn", left=2)
    seen: dict[str, LabDisk] = {}
    for disk in (each for host in spec.hosts for each in host.disks):
        seen.setdefault(disk.disk_class, disk)
    for name, disk in seen.items():
        rows.add(
            name,
            disk.model,
            size_text(disk.size_bytes),
            _megabytes(disk.read_bytes_per_s),
            _megabytes(disk.write_bytes_per_s),
            _both(disk.read_iops, disk.write_iops),
            _milliseconds(disk.seek_s),
            _milliseconds(disk.rotation_s),
        )
    return rows


def _disks(host: LabHost) -> str:
    counts: dict[str, int] = {}
    for disk in host.disks:
        counts[disk.disk_class] = counts.get(disk.disk_class, 0) + 1
    said = [f"{count} {name}" for name, count in counts.items()]
    return ", ".join(said + [f"{each.name} ({' + '.join(each.disks)})" for each in host.pools])


def _rate(bytes_per_s: float | None) -> str:
    """The rate of a network, in bits."""
    if bytes_per_s is None:
        return "unlimited"
    megabits = bytes_per_s * 8 / 1e6
    return f"{megabits / 1000:g} Gbit/s" if megabits >= 1000 else f"{megabits:.4g} Mbit/s"


def _megabytes(bytes_per_s: float | None) -> str:
    return "unlimited" if bytes_per_s is None else f"{bytes_per_s / 1e6:.4g} MB/s"


def _both(reads: float | None, writes: float | None) -> str:
    texts = [_iops(each) for each in (reads, writes)]
    return texts[0] if texts[0] == texts[1] else " / ".join(texts)


def _iops(per_s: float | None) -> str:
    if per_s is None:
        return "unlimited"
    return f"{per_s:,.0f}" if per_s >= 10 else f"{per_s:.3g}"


def _milliseconds(seconds: float | None) -> str:
    return UNKNOWN if seconds is None else f"{seconds * 1000:.4g} ms"


def _as_data(lab: Lab) -> dict[str, Any]:
    return {**asdict(lab), "cluster": str(lab.cluster), "shortfalls": lab.shortfalls}
