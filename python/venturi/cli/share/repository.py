"""`venturi repository`: checks and repairs it, shrinks it, lists removed and quarantined trials."""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from venturi.cli.login import login
from venturi.cli.open_repository import counting, open_repository
from venturi.cli.options import json_option, json_text, print_change, print_json
from venturi.cli.outputs import ready_file, writing
from venturi.cli.screen import show, show_list
from venturi.cli.share.keep import keep
from venturi.core.errors import ExitCode
from venturi.core.units import format_bytes_decimal
from venturi.core.wording import count_of
from venturi.record.store.files import replacing
from venturi.record.upkeep.findings import MENDED_BY, CheckReport, FindingKind, RepositoryFinding
from venturi.terminal.table import Paragraph

if TYPE_CHECKING:
    from venturi.record.upkeep.quarantine import QuarantinedRecord
    from venturi.record.upkeep.removal import Removal

_STDOUT = Path("-")


@click.group()
def command() -> None:
    """Check and repair the repository; drop details of old jobs.

    `venturi backup` copies the repository; `venturi remove` deletes trials for good.
    """


command.add_command(keep)


@command.command("check")
@click.option(
    "--mend",
    is_flag=True,
    help="Quarantine unreadable records, remove leftovers of killed commands, rebuild derived "
    "rows, and close the folder to other users. Nothing else is changed.",
)
@click.option(
    "--dir",
    "dirs",
    multiple=True,
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Also search DIR for data folders left by killed runs (default: here).",
)
@json_option
def check(*, mend: bool, dirs: tuple[Path, ...], as_json: bool) -> ExitCode:
    """Find unreadable, damaged, missing and leftover data.

    Reads every record as pages and lists do, and compares every artifact with its digest. Only
    --mend changes anything; it moves unreadable records into quarantine unchanged (`venturi
    repository quarantined`).

    Exits with 1 if problems remain, else 0.
    """
    from venturi.record.upkeep.check import check as check_repository

    with open_repository() as repository, counting("check") as progress:
        report = check_repository(repository, mend=mend, progress=progress)
    scratch = _scratch(dirs or (Path.cwd(),), mend=mend)
    report = replace(report, findings=(*report.findings, *scratch))
    if as_json:
        print_json({**asdict(report), "whole": report.whole})
    else:
        _print(report, mended=mend)
    return ExitCode.OK if report.whole else ExitCode.USER


def _scratch(dirs: tuple[Path, ...], *, mend: bool) -> list[RepositoryFinding]:
    """Venturi's own folders in `dirs` that a process left behind."""
    from venturi.measure.hosts.local import HERE
    from venturi.measure.hosts.owned_folders import PREFIXES, left_behind, sweep

    found = []
    for parent in dict.fromkeys(each.absolute() for each in dirs):
        for prefix in PREFIXES:
            left = list(left_behind(HERE, parent, prefix=prefix))
            if mend and left:
                sweep(HERE, parent, prefix=prefix)
            found += [
                RepositoryFinding(
                    FindingKind.LEFTOVER,
                    str(folder),
                    "data of a command that was killed",
                    mended=mend and not folder.exists(),
                )
                for folder in left
            ]
    return found


def _print(report: CheckReport, *, mended: bool) -> None:
    for each in report.findings:
        done = f" ({MENDED_BY[each.kind]})" if each.mended else ""
        show(
            Paragraph(f"{each.kind}: {each.subject}{done}", "green" if each.mended else "red"),
            Paragraph(each.message, indent=2),
        )
    click.echo(
        f"{count_of(report.trials, 'trial')}, {count_of(report.artifacts, 'artifact')} "
        f"({format_bytes_decimal(report.artifact_bytes)} read): "
        f"{count_of(sum(not each.mended for each in report.findings), 'thing')} wrong",
        err=True,
    )
    if report.elsewhere:
        click.echo(
            f"the files of {count_of(report.elsewhere, 'trial')} are not here; they are "
            "where the trials were recorded",
            err=True,
        )
    if report.quarantined:
        click.echo(
            f"{report.quarantined:,} quarantined: `venturi repository quarantined` lists them",
            err=True,
        )
    open_ = [each for each in report.findings if not each.mended]
    if not mended and any(each.kind in MENDED_BY for each in open_):
        click.echo("run `venturi repository check --mend` to repair what is repairable", err=True)
    if any(each.kind not in MENDED_BY for each in open_):
        click.echo(
            "artifacts and databases are not repaired: restore their files with `venturi "
            "restore` of a backup, or `venturi import` of an archive",
            err=True,
        )


@command.command("quarantined")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path, allow_dash=True),
    metavar="FILE|-",
    help="Write the quarantined records as stored, one JSON object per line.",
)
@click.option("--overwrite", is_flag=True, help="Replace FILE if it exists.")
@json_option
def quarantined(*, output: Path | None, overwrite: bool, as_json: bool) -> None:
    """List quarantined records with reason and date."""
    from venturi.record.upkeep import quarantine

    if output is not None and output != _STDOUT:
        ready_file(output, overwrite=overwrite)
    with open_repository() as repository:
        found = quarantine.find(repository)
    if output is not None:
        lines = [f"{json_text(each)}\n".encode() for each in found]
        if output == _STDOUT:
            sys.stdout.buffer.writelines(lines)
        else:
            with writing(output), replacing(output) as file:
                file.writelines(lines)
        return
    none, spare = "no quarantined records", ("since (UTC)", "size")
    show_list(found, as_json, none, _quarantined, left=2, prose=("reason",), spare=spare)


def _quarantined(each: QuarantinedRecord) -> dict[str, str]:
    return {
        "what": f"{each.kind} {each.subject}",
        "since (UTC)": f"{each.quarantined_at:%Y-%m-%d %H:%M}",
        "size": format_bytes_decimal(len(each.content.encode())),
        "reason": each.reason,
    }


@command.command("removals")
@json_option
def removals(*, as_json: bool) -> None:
    """List removals: time, author, reason and conditions."""
    from venturi.record.upkeep import removal

    with open_repository() as repository:
        found = removal.find(repository)
    none, prose, spare = "nothing was removed", ("conditions", "reason"), ("on (UTC)", "by")
    show_list(found, as_json, none, _removed, left=3, prose=prose, spare=spare)


def _removed(each: Removal) -> dict[str, str]:
    back = each.readmitted_at
    return {
        "id": each.id,
        "on (UTC)": f"{each.removed_at:%Y-%m-%d %H:%M}",
        "by": each.author.text,
        "trials": f"{len(each.trials):,}",
        "conditions": ", ".join(each.conditions),
        "reason": (f"readmitted {back:%Y-%m-%d}: " if back else "") + each.reason,
    }


@command.command("readmit")
@click.argument("id")
@json_option
def readmit(*, id: str, as_json: bool) -> None:
    """Allow the trials of a removal to be imported again.

    It doesn't restore the trials, and the removal stays on record.
    """
    from venturi.record.upkeep import removal

    with open_repository() as repository:
        found = removal.readmit(repository, id, login())
    print_change(found, as_json, f"{found.id}: its trials may be imported again")
