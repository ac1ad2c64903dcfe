"""`venturi sort`: sort files with the native engine and record the trial."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from venturi.cli.measure.measuring import (
    NO_RECORD_HELP,
    find_agent,
    measuring_session,
    records,
    this_host,
)
from venturi.cli.options import (
    BYTES,
    InputPath,
    json_option,
    key_bytes_option,
    label_option,
    print_json,
    quiet_option,
    record_bytes_option,
)
from venturi.cli.outputs import ready_folders
from venturi.cli.screen import show
from venturi.core import settings
from venturi.core.errors import ExitCode, VenturiError
from venturi.core.units import format_bytes
from venturi.measure.workloads.definition import Definition
from venturi.record.trial import State, Trial

if TYPE_CHECKING:
    from venturi.measure.engines.native.engine import NativeJob

FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command()
@click.argument("inputs", nargs=-1, required=True, type=InputPath())
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    required=True,
    type=FOLDER,
    help="Directory for the output; repeat it for each disk.",
)
@click.option(
    "--scratch",
    multiple=True,
    type=FOLDER,
    help="Directory for spilled data (default: the output directories).",
)
@click.option(
    "--replica",
    "replicas",
    multiple=True,
    type=FOLDER,
    help="Directory for a second copy of the output.",
)
@click.option(
    "--memory", "memory_bytes", type=BYTES, help="Memory budget (default: 60 % of free memory)."
)
@click.option(
    "--threads", type=click.IntRange(1), help="Number of threads (default: one per core)."
)
@click.option(
    "--job",
    type=click.Choice(("sort", "wordcount", "aggregate")),
    default="sort",
    show_default=True,
    help="Operation on the records.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(("fixed", "kv", "lines")),
    help="Records of fixed length, length-prefixed pairs, or lines (default: the job's format).",
)
@record_bytes_option
@key_bytes_option
@click.option("--indy", "uniform", is_flag=True, help="Skip sampling: the keys are uniform.")
@click.option("--verify", is_flag=True, help="Compare checksums of input and output.")
@click.option("--validate", "read_again", is_flag=True, help="Read the output again and check it.")
@click.option("--overwrite", is_flag=True, help="Replace existing output.")
@click.option("--plan-only", is_flag=True, help="Print the sort's plan and exit.")
@click.option("--no-record", is_flag=True, help=NO_RECORD_HELP)
@click.option("--experiment", metavar="NAME", help="Record the trial under this experiment.")
@label_option
@quiet_option
@json_option
def command(
    inputs: tuple[Path, ...],
    experiment: str | None,
    *,
    plan_only: bool,
    no_record: bool,
    quiet: bool,
    as_json: bool,
    **chosen: Any,
) -> int:
    """Sort files with the native two-pass engine.

    INPUTS are files, or folders of files. They are never modified. The output gets its final name
    when it is complete, with a manifest; the trial is recorded.
    """
    from venturi.measure.trial.runner import run_trial

    job = _job(inputs, experiment, chosen)
    if plan_only:
        _plan(job, as_json=as_json)
        return ExitCode.OK
    folders = (*job.options.outputs, *job.options.scratch, *job.options.replicas)
    for folder in folders:
        if inside := [path for path in folder.glob("part-*") if path.is_dir()]:
            raise VenturiError(
                "VEN-OUTPUT-EXISTS",
                f"{inside[0]} is a folder where a file of the output would be",
                where={"dir": str(inside[0])},
                hint="name another folder for the output, or move that one away",
            )
    show_progress = not quiet and not as_json
    with (
        ready_folders(folders),
        measuring_session(show_progress=show_progress, record=not no_record) as session,
    ):
        job.engine_version = session.software.others["agent"]
        trial = run_trial(session, job)
    _show(trial, as_json=as_json)
    return ExitCode.INVALID if trial.state is State.INVALID else ExitCode.OK


def _job(inputs: tuple[Path, ...], experiment: str | None, chosen: dict[str, Any]) -> NativeJob:
    from venturi.measure.engines.native.engine import NativeJob, NativeOptions
    from venturi.measure.trial.folders import DataFolders
    from venturi.measure.workloads.inputs import GivenInputs

    job: Literal["sort", "wordcount", "aggregate"] = chosen["job"]
    usual: dict[str, Literal["fixed", "kv", "lines"]] = {
        "sort": "fixed",
        "wordcount": "lines",
        "aggregate": "kv",
    }
    format_ = chosen["format_"] or usual[job]
    if chosen["read_again"] and (format_ == "lines" or job != "sort"):
        raise click.UsageError("--validate checks sorted records of --format fixed or kv only")
    definition = Definition.of_user_files(
        job,
        format_,
        record_bytes=chosen["record_bytes"],
        key_bytes=chosen["key_bytes"],
    )
    outputs = tuple(path.absolute() for path in chosen["outputs"])
    files = this_host().files
    return NativeJob(
        definition=definition,
        inputs=GivenInputs(files, [path.absolute() for path in inputs]),
        folders=DataFolders(files, {}),
        options=NativeOptions(
            memory_bytes=chosen["memory_bytes"],
            threads=chosen["threads"],
            uniform=chosen["uniform"],
            verify=chosen["verify"],
            overwrite=chosen["overwrite"],
            read_output_again=chosen["read_again"],
            stall_s=settings.load().stall_s,
            outputs=outputs,
            scratch=tuple(path.absolute() for path in chosen["scratch"]),
            replicas=tuple(path.absolute() for path in chosen["replicas"]),
        ),
        engine_version="",
        experiment=experiment,
    )


def _plan(job: NativeJob, *, as_json: bool) -> None:
    from venturi.measure.trial.job import StepContext

    job.prepare(StepContext(find_agent(), 0.0, None))
    plan = job.last_plan
    assert plan is not None
    if as_json:
        print_json(plan)
        return
    for name, value in asdict(plan).items():
        shown = format_bytes(value) if name.endswith("_bytes") or "bytes_" in name else value
        click.echo(f"{name.replace('_', ' '):<26}{shown}")


def _show(trial: Trial, *, as_json: bool) -> None:
    if as_json:
        print_json(records([trial])[0], tuple(warning.message for warning in trial.warnings))
        return
    from venturi.terminal.measurements import sort_summary

    show(sort_summary(trial))
