"""`venturi show`: one trial, for reading."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from venturi import units
from venturi.cli.html import free_for_page, html_options, page_of, write_html
from venturi.cli.options import json_option, print_json
from venturi.cli.repository import open_repository

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from venturi.model.stage import Analysis
    from venturi.present.meanwhile import Meanwhile
    from venturi.record.job_account import JobAccount
    from venturi.record.repository import Repository
    from venturi.record.trial import Sample, Trial

# As record.job_account.ACCOUNT_NAME, which other trials need not load; a test holds them together.
ACCOUNT = "job-account.json"
# Columns of the stage table: metric, title.
_STAGE_COLUMNS = (
    ("stage_workers", "workers"),
    ("stage_bytes", "bytes"),
    ("stage_started_s", "started"),
    ("stage_ended_s", "ended"),
    ("stage_useful_s", "useful"),
    ("stage_idle_s", "idle"),
    ("stage_waiting_for_memory_s", "memory wait"),
    ("stage_blocked_s", "blocked"),
)


@click.command()
@click.argument("id_", metavar="ID")
@html_options
@json_option
def command(*, id_: str, html: Path | None, overwrite: bool, as_json: bool) -> None:
    """Show one trial: what ran where, how it ended, phases, narrowest point, samples.

    ID may be shortened as long as only one trial begins with it.
    """
    free_for_page(html, overwrite=overwrite)
    with open_repository() as repository:
        trial = repository.get(id_)
        if html is not None:
            write_html(html, page_of(repository, f"/trials/{trial.id}"), overwrite=overwrite)
        if as_json:
            from venturi.record.trial import ADAPTER

            data = ADAPTER.dump_python(trial, mode="json")
            if (job := _job(repository, trial)) is not None:
                account, analysis, host = job
                data["job"] = asdict(analysis)
                data["job"]["began_s"] = account.began_s
                data["job"]["host"] = _host(analysis, host)
            print_json(data)
            return
        from rich.console import Console

        width = None if sys.stdout.isatty() else 160
        console = Console(width=width, highlight=False)
        for part in _parts(trial, _job(repository, trial)):
            console.print(part)


def _job(repository: Repository, trial: Trial) -> tuple[JobAccount, Analysis, Meanwhile] | None:
    """The engine's own account of `trial`, if it has one, and what can be told from it."""
    if all(artifact.name != ACCOUNT for artifact in trial.artifacts):
        return None
    from venturi.model.stage import analyse
    from venturi.present.meanwhile import meanwhile
    from venturi.record.job_account import load

    account = load(repository, trial)
    analysis = analyse(account)
    return account, analysis, meanwhile(repository, trial, account, analysis)


def _host(analysis: Analysis, host: Meanwhile) -> dict[str, Any]:
    """What the host did, by the labels of stages."""
    uses = {
        each.label: asdict(host.uses[each.key]) for each in analysis.stages if each.key in host.uses
    }
    return {"stages": uses, "missing_reason": host.reason}


def _parts(
    trial: Trial, job: tuple[JobAccount, Analysis, Meanwhile] | None
) -> Iterator[RenderableType]:
    from rich.text import Text

    yield _facts(trial)
    if job is not None:
        from venturi.present.jobs import parts

        yield from parts(*job)
    for title, table in (
        ("Configuration", _pairs((key, _scalar(v)) for key, v in trial.configuration.items())),
        ("Phases", _phases(trial)),
        ("Narrowest point", _narrowest(trial)),
        ("Stages (times summed over workers)", _stages(trial)),
        ("Samples", _samples(trial)),
        ("Warnings", _pairs((w.code, w.message) for w in trial.warnings)),
        ("Artifacts", _artifacts(trial)),
    ):
        if table.row_count:
            yield Text(f"\n{title}", style="bold")
            yield table


def _facts(trial: Trial) -> Table:
    workload, software = trial.workload, trial.software
    rows: list[tuple[str, str | None]] = [
        ("trial", trial.id),
        ("state", trial.state.value + (" (warm-up)" if trial.warm_up else "")),
    ]
    if trial.failure is not None:
        failure = trial.failure
        rows.append(("failure", f"{failure.kind}: {failure.message} [{failure.code}]"))
    size = None
    if workload.input_bytes is not None:
        size = units.format_bytes_decimal(workload.input_bytes)
        if workload.input_records is not None:
            size += f", {workload.input_records:,} records"
    rows += [
        ("workload", " ".join(filter(None, (workload.name, workload.scale, workload.version)))),
        ("input", size),
        ("engine", f"{trial.engine.name} {trial.engine.version}"),
        ("time", None if trial.elapsed_s is None else units.format_duration(trial.elapsed_s)),
        ("started", f"{trial.started_at:%Y-%m-%d %H:%M:%S} UTC" if trial.started_at else None),
        ("hosts", ", ".join(host.name for host in trial.cluster.hosts)),
        ("instance type", trial.cluster.instance_type),
        ("network", trial.cluster.network),
        ("experiment", trial.experiment),
        ("repeat group", f"{trial.group_key}, repetition {trial.repetition}"),
        ("seed", None if trial.seed is None else str(trial.seed)),
        (
            "software",
            f"venturi {software.venturi_version}, {software.git_sha or 'unknown commit'}, "
            f"{software.build_profile or 'unknown'} build, kernel {software.kernel or 'unknown'}",
        ),
        ("provenance", f"{trial.provenance.kind.value} by {trial.provenance.source}"),
    ]
    rows += [
        (f"disks: {role}", ", ".join(dirs)) for role, dirs in trial.cluster.disks_by_role.items()
    ]
    return _pairs((name, value) for name, value in rows if value)


def _phases(trial: Trial) -> Table:
    table = _table("phase", "started", "took")
    for phase in trial.phases:
        _add(
            table,
            phase.name,
            units.format_duration(phase.started_s),
            units.format_duration(phase.elapsed_s),
        )
    return table


def _narrowest(trial: Trial) -> Table:
    from venturi.model.bottleneck import narrowest_points

    table = _table("phase", "narrowest point", right=())
    for finding in narrowest_points(trial):
        place = finding.stage or ""
        if finding.device:
            place += f" on {finding.device}"
        said = f"cannot tell: {finding.reason}" if finding.reason else place
        _add(table, finding.phase, said)
        for line in finding.evidence:
            _add(table, "", f"  {line}")
    return table


def _stages(trial: Trial) -> Table:
    table = _table("phase", "stage", "device", *(title for _, title in _STAGE_COLUMNS), left=3)
    rows: dict[tuple[str, str, str], dict[str, Sample]] = {}
    for sample in trial.samples:
        if sample.metric.startswith("stage_"):
            stage, device = (_scalar(sample.labels.get(key)) for key in ("stage", "device"))
            row = rows.setdefault((sample.phase or "—", stage, device), {})
            row[sample.metric] = sample
    for place, row in rows.items():
        cells = (row.get(metric) for metric, _ in _STAGE_COLUMNS)
        _add(table, *place, *("—" if sample is None else _value(sample) for sample in cells))
    return table


def _samples(trial: Trial) -> Table:
    """Samples that differ only in their iteration share a line."""
    table = _table("metric", "phase", "labels", "n", "value", left=3)
    groups: dict[tuple[str, str, str], list[Sample]] = {}
    for sample in trial.samples:
        if sample.metric.startswith("stage_"):
            continue
        labels = ", ".join(
            f"{key}={_scalar(value)}" for key, value in sample.labels.items() if key != "iteration"
        )
        groups.setdefault((sample.metric, sample.phase or "—", labels), []).append(sample)
    for (metric, phase, labels), samples in groups.items():
        present = sorted(
            (sample.value, _value(sample)) for sample in samples if sample.value is not None
        )
        texts = [" to ".join(dict.fromkeys((present[0][1], present[-1][1])))] if present else []
        texts += dict.fromkeys(_value(sample) for sample in samples if sample.value is None)
        _add(table, metric, phase, labels, str(len(samples)), ", ".join(texts))
    return table


def _artifacts(trial: Trial) -> Table:
    table = _table("artifact", "kind", "size", "sha256", right=(2,))
    for artifact in trial.artifacts:
        size = units.format_bytes(artifact.size_bytes)
        _add(table, artifact.path, artifact.kind, size, artifact.sha256[:16])
    return table


def _value(sample: Sample) -> str:
    """A sample's value for people, by its unit."""
    if sample.value is None:
        return f"— ({sample.missing_reason})"
    written = _WRITTEN.get(sample.unit)
    return written(sample.value) if written else f"{sample.value:,.6g} {sample.unit}"


def _duration(value_s: float) -> str:
    return units.format_duration(value_s) if value_s >= 0.001 else f"{value_s * 1e6:.0f} µs"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:,.6g}"


_WRITTEN: dict[str, Callable[[float], str]] = {
    "B": units.format_bytes,
    "B/s": units.format_rate,
    "s": _duration,
    "1": _number,
    "1/s": lambda value: f"{value:,.0f}/s",
}


def _scalar(value: object) -> str:
    return "—" if value is None else str(value)


def _table(*columns: str, left: int = 1, right: tuple[int, ...] | None = None) -> Table:
    """A table whose columns from `left` on, or those in `right`, hold numbers."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    for number, name in enumerate(columns):
        numeric = number >= left if right is None else number in right
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    return table


def _pairs(pairs: Iterable[tuple[str, str]]) -> Table:
    table = _table("", "", right=())
    table.show_header = False
    for pair in pairs:
        _add(table, *pair)
    return table


def _add(table: Table, *cells: str) -> None:
    from rich.text import Text

    # Text: what was recorded is never markup.
    table.add_row(*(Text(cell) for cell in cells))
