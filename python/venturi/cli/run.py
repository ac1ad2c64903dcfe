"""`venturi run`: a named workload on an engine, repeated, every repetition a recorded trial."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from venturi.cli.laboratory import laboratory, records, say
from venturi.cli.options import BYTES, json_option, print_json, quiet_option
from venturi.errors import ExitCode, VenturiError

if TYPE_CHECKING:
    from venturi.measure.engines.native import NativeJob, NativeOptions
    from venturi.measure.folders import DataFolders
    from venturi.measure.runner import Session
    from venturi.measure.workloads import Definition
    from venturi.record.trial import Trial


@click.command()
@click.argument("workload")
@click.option("--engine", default="native", show_default=True, help="Engine to run it on.")
@click.option(
    "--scale", metavar="NAME",
    help="tiny, small, large, huge, gigantic or bigdata (default: tiny).",
)  # fmt: skip
@click.option("--bytes", "size_bytes", type=BYTES, help="Size of the input instead of a scale.")
@click.option(
    "--memory", "memory_bytes", type=BYTES, help="Budget (default: 60 % of what is free)."
)
@click.option("--threads", type=click.IntRange(1), help="Threads (default: one a core).")
@click.option("--indy", "uniform", is_flag=True, help="Keys are uniform: do not sample them.")
@click.option("--verify", is_flag=True, help="Compare checksums inside the timed sort.")
@click.option("--seed", type=click.IntRange(0), default=0, help="Seed of generated text and pairs.")
@click.option(
    "--repeat", type=click.IntRange(1), default=6, show_default=True,
    help="Repetitions, the warm-up ones among them.",
)  # fmt: skip
@click.option(
    "--warm-up", type=click.IntRange(0), default=1, show_default=True,
    help="So many of the first repetitions do not count.",
)  # fmt: skip
@click.option("--experiment", metavar="NAME", help="What the trials belong to.")
@click.option(
    "--resume", is_flag=True,
    help="Leave out what already succeeded in this experiment.",
)  # fmt: skip
@click.option(
    "--dir", "dirs", multiple=True, metavar="[ROLE=]DIR",
    help="Folder for the data, of one role (input, scratch, output, replica) or of all; "
    "repeatable (default: the current directory).",
)  # fmt: skip
@click.option("--keep-data", is_flag=True, help="Do not remove the data at the end.")
@quiet_option
@json_option
def command(
    workload: str,
    *,
    engine: str,
    scale: str | None,
    size_bytes: int | None,
    memory_bytes: int | None,
    threads: int | None,
    seed: int,
    repeat: int,
    warm_up: int,
    experiment: str | None,
    dirs: tuple[str, ...],
    uniform: bool,
    verify: bool,
    resume: bool,
    keep_data: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Run WORKLOAD (terasort, terasort-skewed, wordcount, aggregate) and record every repetition.

    The protocol of the field: six repetitions, the first of which warms up and does not count. The
    input is generated once, before the first; only the workload itself is timed. Every result is
    validated; one that is not right is recorded as invalid, and the exit status is 3.
    """
    _check(engine)
    if scale is not None and size_bytes is not None:
        raise click.UsageError("give either --scale or --bytes")
    if warm_up >= repeat:
        raise click.UsageError(f"--warm-up {warm_up} leaves nothing of --repeat {repeat}")
    if resume and experiment is None:
        raise click.UsageError("--resume needs --experiment NAME: what is to be resumed")
    from venturi.measure.engines.native import NativeOptions
    from venturi.measure.folders import DataFolders, parse_roles
    from venturi.measure.workloads import scale as find_scale
    from venturi.measure.workloads import workload as find_workload
    from venturi.record.trial import State

    definition = find_workload(workload)
    profile = None if size_bytes is not None else find_scale(scale or "tiny")
    options = NativeOptions(
        touch_memory=True,
        memory_bytes=memory_bytes,
        threads=threads,
        uniform=uniform,
        verify=verify,
    )
    roles = parse_roles(dirs, Path.cwd())
    with (
        laboratory(show_progress=not quiet and not as_json) as session,
        DataFolders(roles, keep=keep_data) as folders,
    ):
        for swept in folders.swept:
            say(f"removed {swept}, left behind by a killed process")
        jobs = _jobs(
            definition,
            folders,
            options,
            input_bytes=profile.input_bytes if profile is not None else size_bytes or 0,
            scale=profile.name if profile is not None else None,
            seed=seed,
            repeat=repeat,
            warm_up=warm_up,
            experiment=experiment,
            engine_version=session.software.others["agent"],
        )
        trials = _run(session, jobs, resume=resume, talk=not quiet and not as_json)
        if keep_data:
            say(f"data kept in {', '.join(str(path) for path in folders.of('input'))} and beside")
    _show(trials, as_json=as_json)
    invalid = any(trial.state is State.INVALID for trial in trials)
    return ExitCode.INVALID if invalid else ExitCode.OK


def _check(engine: str) -> None:
    from venturi.measure.engines import ENGINES

    if engine not in ENGINES:
        raise VenturiError(
            "VEN-MEASURE-WORKLOAD",
            f"there is no engine {engine!r}",
            where={"value": engine},
            hint="one of: " + ", ".join(ENGINES),
            exit_code=ExitCode.USAGE,
        )


def _jobs(
    definition: Definition,
    folders: DataFolders,
    options: NativeOptions,
    *,
    input_bytes: int,
    scale: str | None,
    seed: int,
    repeat: int,
    warm_up: int,
    experiment: str | None,
    engine_version: str,
) -> list[NativeJob]:
    from venturi.measure.engines.inputs import GeneratedInputs
    from venturi.measure.engines.native import NativeJob

    inputs = GeneratedInputs(folders, definition, input_bytes, seed=seed)
    generated_here = definition.generator.startswith("zipf")
    return [
        NativeJob(
            definition=definition,
            inputs=inputs,
            folders=folders,
            options=options,
            engine_version=engine_version,
            scale=scale,
            experiment=experiment,
            repetition=repetition,
            warm_up=repetition < warm_up,
            seed=seed if generated_here else None,
        )
        for repetition in range(repeat)
    ]


def _run(session: Session, jobs: list[NativeJob], *, resume: bool, talk: bool) -> list[Trial]:
    from venturi.measure.runner import already_succeeded, run_trial
    from venturi.present.terminal import outcome
    from venturi.units import format_duration

    trials: list[Trial] = []
    for job in jobs:
        done = already_succeeded(session.repository, job.spec) if resume else None
        trial = done or run_trial(session, job)
        trials.append(trial)
        if talk and os.isatty(2):
            note = " (from before)" if done else ""
            time = format_duration(trial.elapsed_s)
            say(f"repetition {trial.repetition} of {len(jobs)}: {outcome(trial)}, {time}{note}")
    return trials


def _show(trials: list[Trial], *, as_json: bool) -> None:
    if as_json:
        print_json(records(trials), tuple(w.message for t in trials for w in t.warnings))
        return
    from rich.console import Console

    from venturi.present.terminal import narrowest_rows, pairs, repetitions

    console = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    console.print(repetitions(trials))
    last = trials[-1]
    if last.elapsed_s is not None:
        console.print(pairs(narrowest_rows(last)))
