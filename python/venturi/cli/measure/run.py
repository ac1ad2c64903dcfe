"""`venturi run`: a named workload on engines, repeated, every repetition a recorded trial."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from venturi.cli.measure.clusters import cluster_option
from venturi.cli.measure.designs import design_of
from venturi.cli.measure.measuring import predicting, records, say
from venturi.cli.measure.target import ExecutionTarget, execution_target
from venturi.cli.open_repository import open_repository
from venturi.cli.options import (
    BYTES,
    DURATION,
    json_option,
    label_option,
    predict_option,
    print_json,
    quiet_option,
    wait_option,
)
from venturi.cli.progress import step
from venturi.cli.results.compare import group_of, render_comparison
from venturi.cli.screen import show
from venturi.core import settings
from venturi.core.errors import ExitCode, Interrupted, UsageError, VenturiError
from venturi.core.units import format_bytes, format_bytes_decimal, format_duration
from venturi.core.wording import count_of, near
from venturi.measure.engines.ignored_settings import CODE as IGNORED
from venturi.measure.engines.ignored_settings import without_effect
from venturi.measure.engines.registry import DEFAULT, ENGINES, flags_of, full_spec
from venturi.measure.engines.registry import engine as engine_of
from venturi.measure.engines.spark import tiers as of_spark
from venturi.measure.trial.folders import DataFolders
from venturi.measure.workloads.definition import Definition, Size
from venturi.measure.workloads.registry import WORKLOADS, runs, size_of, size_of_bytes
from venturi.measure.workloads.registry import workload as find_workload
from venturi.record.job_account import TIERS_SETTING
from venturi.record.trial import State, Trial
from venturi.terminal.measurements import narrowest_rows, outcome, repetitions
from venturi.terminal.table import Paragraph, Table, pairs

if TYPE_CHECKING:
    from venturi.measure.clusters.cluster_spec import ClusterSpec
    from venturi.measure.engines.protocol import Resources, TrialSpec, WorkloadEngine
    from venturi.measure.trial.job import TrialJob
    from venturi.measure.trial.runner import Session
    from venturi.record.store.repository import TrialRepository


@click.command()
@click.argument("workload")
@click.option(
    "--engine",
    "engine_names",
    default=DEFAULT,
    show_default=True,
    metavar="NAME,...",
    help="Engines to run it on, in turn, on the same input: "
    f"{', '.join(kind.usage for kind in ENGINES.values())}.",
)
@click.option(
    "--scale",
    metavar="NAME",
    help="Size of the input: tiny, small, large, huge, gigantic or bigdata (default: tiny).",
)
@click.option("--bytes", "size_bytes", type=BYTES, help="Input size instead of --scale.")
@click.option(
    "--memory",
    "memory_bytes",
    type=BYTES,
    help="Memory. Default: native 60 % of free memory, other engines a heap of 4 GiB. On a "
    "cluster: per worker, at most half of its memory.",
)
@click.option("--threads", type=click.IntRange(1), help="Threads (default: one per core).")
@click.option(
    "--set",
    "chosen",
    multiple=True,
    metavar="KEY=VALUE",
    help="Set a Spark or Hadoop setting, such as spark.sql.shuffle.partitions=8; repeatable.",
)
@click.option(
    "--tiers",
    metavar="TIERS",
    help="Use tiered local storage (spark). Name fast folders of --dir by a part of their path, "
    "with the space to leave free ('nvme 50GB, ssd 80GB') or to use at most ('ssd max 2GB').",
)
@click.option(
    "--param",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set a parameter of the workload, such as k=20 for kmeans; repeatable.",
)
@click.option(
    "--instances",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Run this many copies of the workload concurrently, as one trial (spark only).",
)
@click.option(
    "--workers", type=click.IntRange(1), help="Worker daemons to start per host (default: 1)."
)
@click.option(
    "--hadoop-conf",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Use a running Hadoop cluster, configured in DIR, instead of starting one.",
)
@cluster_option
@click.option(
    "--timeout",
    "timeout_s",
    type=DURATION,
    help="Cancel a trial if its workload takes longer, including the engine's start. Generating "
    "input, starting a cluster and validating don't count.",
)
@click.option(
    "--series/--no-series",
    default=True,
    show_default=True,
    help="Record host metrics during each trial.",
)
@click.option(
    "--trace",
    "traced",
    is_flag=True,
    help="Record every request to the disks of the data while the workload runs; see `venturi "
    "trace show TRIAL`. Needs root.",
)
@click.option(
    "--indy", "uniform", is_flag=True, help="Skip sampling: the keys are uniform (native)."
)
@click.option("--verify", is_flag=True, help="Compare checksums inside the timed sort (native).")
@click.option("--seed", type=click.IntRange(0), default=0, help="Seed of generated text and pairs.")
@click.option(
    "--repeat",
    "--repeats",
    "repeat",
    type=click.IntRange(1),
    default=6,
    show_default=True,
    help="Repetitions on each engine, warm-ups included.",
)
@click.option(
    "--warm-up",
    type=click.IntRange(0),
    default=1,
    show_default=True,
    help="Number of warm-up repetitions, which don't count.",
)
@click.option("--experiment", metavar="NAME", help="Record the trials under this experiment.")
@label_option
@click.option(
    "--resume",
    is_flag=True,
    help="Skip repetitions that have already succeeded in this experiment.",
)
@click.option(
    "--dir",
    "dirs",
    multiple=True,
    metavar="[ROLE=]DIR",
    help="Folder for data of all roles or of one (input, scratch, output, replica); repeatable "
    "(default: the current directory).",
)
@click.option("--keep-data", is_flag=True, help="Keep the data.")
@click.option(
    "--keep-input",
    is_flag=True,
    help="Keep the generated input in DIR/venturi-inputs for later commands.",
)
@predict_option
@wait_option
@quiet_option
@json_option
def command(
    workload: str,
    *,
    engine_names: str,
    scale: str | None,
    size_bytes: int | None,
    seed: int,
    repeat: int,
    warm_up: int,
    experiment: str | None,
    dirs: tuple[str, ...],
    chosen: tuple[str, ...],
    tiers: str | None,
    parameters: tuple[str, ...],
    workers: int | None,
    hadoop_conf: Path | None,
    cluster: ClusterSpec | None,
    resume: bool,
    traced: bool,
    predict: bool,
    keep_data: bool,
    keep_input: bool,
    wait: bool,
    quiet: bool,
    as_json: bool,
    **limits: Any,
) -> int:
    """Run a workload on an engine and record every repetition.

    `venturi workloads` lists workloads and their engines. Default protocol: six repetitions, the
    first a discarded warm-up. The input is generated once, before the first repetition; only the
    workload itself is timed. Every result is validated. An incorrect one is recorded as invalid,
    and the exit status is 3.
    """
    if warm_up >= repeat:
        raise click.UsageError(f"--repeat {repeat} with --warm-up {warm_up}: no repetition counts")
    if resume and experiment is None:
        raise click.UsageError("--resume needs the experiment to continue: add --experiment NAME")
    if cluster is not None and hadoop_conf is not None:
        raise click.UsageError("give --cluster (starts daemons) or --hadoop-conf, not both")
    from venturi.measure.engines.protocol import Resources
    from venturi.measure.workloads.inputs import inputs_of

    definition = find_workload(workload)
    named, size = _size(definition, scale, size_bytes, parameters)
    talk = not quiet and not as_json
    with execution_target(cluster, dirs, workers) as where:
        limits = where.sized(limits)
        engines = _engines(engine_names, definition, where, hadoop_conf, limits)
        settings = _settings((*chosen, *_as_setting(tiers, chosen, engines)), engines)
        foretold = _warn_of_ignored(settings, engines, where, is_there=hadoop_conf is not None)
        resources = Resources(where.roles, limits["threads"], limits["memory_bytes"], workers)
        with (
            where.measuring(f"run {workload}", show_progress=talk, wait=wait) as session,
            DataFolders(session.agent.host.files, where.roles, keep=keep_data) as folders,
        ):
            for swept in folders.swept:
                say(f"removed {swept}, left behind by a killed process")
            same = {
                "definition": definition,
                "size": size,
                "inputs": inputs_of(folders, definition, size, seed=seed, keep=keep_input),
                "folders": folders,
                "agent_version": session.software.others["agent"],
                "scale": named,
                "experiment": experiment,
                "seed": seed,
                "workers": workers,
            }
            specs = _specs(engines, settings, {**same, **limits})
            whole = _traced(predicting(session) if predict else session, traced=traced)
            trials = _run(
                whole, specs, resources, repeat=repeat, warm_up=warm_up, resume=resume, talk=talk
            )
            if keep_data:
                say(f"data kept in {', '.join(map(str, folders.of('input')))} and next to it")
    _show(trials, foretold, as_json=as_json)
    invalid = any(trial.state is State.INVALID for trial in trials)
    return ExitCode.INVALID if invalid else ExitCode.OK


def _traced(session: Session, *, traced: bool) -> Session:
    """The session; its trials are `traced` if it only has this machine."""
    if traced and session.members:
        raise click.UsageError("--trace records the disks of this machine: leave out --cluster")
    return replace(session, traced=traced)


def _specs(
    engines: Sequence[WorkloadEngine],
    settings: Mapping[str, dict[str, str]],
    chosen: Mapping[str, Any],
) -> dict[WorkloadEngine, TrialSpec]:
    """The specification for each engine: the options in `chosen`, with its own settings."""
    from venturi.measure.engines.protocol import TrialSpec

    return {engine: TrialSpec(settings=settings[engine.name], **chosen) for engine in engines}


def _engines(
    names: str,
    definition: Definition,
    where: ExecutionTarget,
    hadoop_conf: Path | None,
    limits: Mapping[str, Any],
) -> list[WorkloadEngine]:
    """The engines named, each once; all must have a program for the workload, and take `limits`."""
    from venturi.measure.engines.process_job import require_instances

    home = settings.load().home
    given = [name.strip() for name in names.split(",")]
    wanted = dict.fromkeys(map(full_spec, given))
    for name, full in zip(given, map(full_spec, given), strict=True):
        if name != full:
            say(f"{name} stands for the engine {full}")
    found = [
        engine_of(
            name,
            where.host,
            home=home,
            environ=os.environ,
            hadoop_conf=hadoop_conf,
            nodes=where.nodes,
        )
        for name in wanted
    ]
    for each in found:
        require_instances(each, limits["instances"])
        if not runs(definition.name, each.kind.programs):
            raise UsageError(
                "VEN-MEASURE-WORKLOAD",
                f"the engine {each.name} cannot run {definition.name}",
                where={"engine": each.name, "workload": definition.name},
                hint=_engines_with(definition),
            )
        _require_flags(each, definition, indy=limits["uniform"], verify=limits["verify"])
    return found


def _engines_with(definition: Definition) -> str:
    """A hint: the engines that have a program for a workload."""
    able = [name for name, kind in ENGINES.items() if runs(definition.name, kind.programs)]
    return f"{' and '.join(able)} can: venturi run {definition.name} --engine {able[0]}"


def _setting_hint(key: str, known: Sequence[str], engines: Sequence[WorkloadEngine]) -> str:
    first, dot, rest = key.partition(".")
    close = near(f"{first}.", (prefix.rstrip("*") for prefix in known))
    if dot and close and f"{first}." not in close:
        return f"did you mean {' or '.join(prefix + rest for prefix in close)}?"
    if known:
        return f"write --set KEY=VALUE with a KEY that begins like {' or '.join(known)}"
    names = " and ".join(engine.name for engine in engines)
    return f"{names} has no settings of its own: leave --set out, and use --memory and --threads"


def _require_flags(engine: WorkloadEngine, definition: Definition, **given: bool) -> None:
    """VEN-MEASURE-WORKLOAD if a flag is given to an engine that would ignore it."""
    wanted = {name for name, chosen in given.items() if chosen}
    if not wanted <= flags_of(engine.kind, definition):
        flags = " and ".join(f"--{name}" for name in given if name in wanted)
        able = next(kind for kind in ENGINES.values() if wanted <= kind.flags)
        raise UsageError(
            "VEN-MEASURE-WORKLOAD",
            f"{flags} cannot be used with {definition.name} on {engine.name}",
            where={"engine": engine.name, "workload": definition.name},
            hint=f"leave it out; it works with --engine {able.name} and one of "
            + ", ".join(sorted(each.name for each in WORKLOADS if flags_of(able, each))),
        )


def _as_setting(
    tiers: str | None, chosen: Sequence[str], engines: Sequence[WorkloadEngine]
) -> Iterator[str]:
    """The setting that --tiers stands for; VEN-ENGINE-SETTING if it is invalid, if `chosen` also
    sets it, or if no engine has tiers.
    """
    if tiers is None:
        return
    of_spark.checked(tiers)
    if other := next((each for each in chosen if each.startswith(f"{TIERS_SETTING}=")), None):
        raise _wrong_setting(
            tiers, f"--tiers {tiers} and --set {other} say the same", "give one of them"
        )
    if not any(TIERS_SETTING.startswith(each.kind.prefixes) for each in engines):
        said = f"--tiers {tiers}: none of the chosen engines has tiers"
        raise _wrong_setting(tiers, said, "only Spark has them: add --engine spark")
    yield f"{TIERS_SETTING}={tiers}"


def _wrong_setting(value: str, message: str, hint: str) -> VenturiError:
    return UsageError("VEN-ENGINE-SETTING", message, where={"value": value}, hint=hint)


def _settings(
    chosen: Sequence[str], engines: Sequence[WorkloadEngine]
) -> Mapping[str, dict[str, str]]:
    """The settings of --set, by the engine with that prefix."""
    settings: dict[str, dict[str, str]] = {engine.name: {} for engine in engines}
    for text in chosen:
        key, equals, value = text.partition("=")
        takers = [engine for engine in engines if key.startswith(engine.kind.prefixes)]
        if not equals or not takers:
            known = [f"{prefix}*" for engine in engines for prefix in engine.kind.prefixes]
            said = "none of the chosen engines has this setting" if equals else "no value"
            raise _wrong_setting(text, f"--set {text}: {said}", _setting_hint(key, known, engines))
        for engine in takers:
            settings[engine.name][key] = value
    return settings


def _size(
    definition: Definition, scale: str | None, size_bytes: int | None, parameters: Sequence[str]
) -> tuple[str | None, Size]:
    """The chosen scale (None if bytes were chosen), and its size."""
    if scale is not None and size_bytes is not None:
        raise click.UsageError("give either --scale or --bytes")
    chosen = {}
    for text in parameters:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.UsageError(f"--param {text}: give NAME=VALUE")
        chosen[name] = value
    if size_bytes is not None:
        return None, size_of_bytes(definition, size_bytes, chosen)
    named = scale or "tiny"
    return named, size_of(definition, named, chosen)


def _groups(engines: Sequence[WorkloadEngine]) -> list[Sequence[WorkloadEngine]]:
    """The engines that run at the same time: all, but each alone if one of them is a cluster,
    because its daemons would disturb the others. VEN-ENGINE-MISSING before any is started.
    """
    from venturi.measure.engines.protocol import require

    if not any(engine.deployment in engine.kind.clusters for engine in engines):
        return [engines]
    for engine in engines:
        require(engine.available())
    return [[engine] for engine in engines]


def _understood(spec: TrialSpec, *, repeat: int, warm_up: int) -> str:
    """The chosen sizes and times, as parsed."""
    parts = [f"{count_of(repeat, 'repetition')} ({warm_up} to warm up)"]
    if spec.size.bytes:
        parts.insert(0, f"{format_bytes_decimal(spec.size.bytes)} of input")
    if spec.memory_bytes is not None:
        parts.append(f"memory {format_bytes(spec.memory_bytes)}")
    if spec.timeout_s is not None:
        parts.append(f"at most {format_duration(spec.timeout_s)} each")
    return f"{spec.definition.name}: {', '.join(parts)}"


@contextmanager
def _started(engines: Sequence[WorkloadEngine], resources: Resources) -> Iterator[None]:
    with ExitStack() as stack:
        for engine in engines:
            stack.callback(engine.stop)
            engine.start(resources)
        yield


def _jobs(
    specs: Mapping[WorkloadEngine, TrialSpec], *, repeat: int, warm_up: int
) -> Iterator[TrialJob]:
    """Repetition by repetition, each on every engine; another one begins each time."""
    engines = list(specs)
    for repetition in range(repeat):
        turn = repetition % len(engines)
        for engine in (*engines[turn:], *engines[:turn]):
            spec = replace(specs[engine], repetition=repetition, warm_up=repetition < warm_up)
            yield engine.job(spec)


def _run(
    session: Session,
    specs: Mapping[WorkloadEngine, TrialSpec],
    resources: Resources,
    *,
    repeat: int,
    warm_up: int,
    resume: bool,
    talk: bool,
) -> list[Trial]:
    trials: list[Trial] = []
    if talk:
        step(_understood(next(iter(specs.values())), repeat=repeat, warm_up=warm_up))
        step(_can_show(session, specs, counted=repeat - warm_up))
    try:
        for group in _groups(list(specs)):
            own = {engine: specs[engine] for engine in group}
            with _started(group, resources):
                for job in _jobs(own, repeat=repeat, warm_up=warm_up):
                    trials.append(_done(session, job, resume=resume, talk=talk))
    except (Interrupted, KeyboardInterrupt):
        named = all(spec.experiment for spec in specs.values())
        raise _interrupted(len(trials), repeat * len(specs), resumable=named) from None
    return trials


def _can_show(session: Session, specs: Mapping[WorkloadEngine, TrialSpec], *, counted: int) -> str:
    """The power of the repetitions, at the widest spread of the measured engines."""
    hosts = [each.host.name for each in session.hosts]
    with open_repository() as repository:
        designs = [
            design_of(
                repository,
                spec.definition.name,
                engine.name,
                hosts,
                counted=counted,
                groups=max(2, len(specs)),
            )
            for engine, spec in specs.items()
        ]
    return max(designs, key=lambda design: design.sd).sentence


def _warn_of_ignored(
    settings: Mapping[str, dict[str, str]],
    engines: Sequence[WorkloadEngine],
    where: ExecutionTarget,
    *,
    is_there: bool,
) -> set[str]:
    """Warn of settings without effect on their engine; return the warnings."""
    ours = where.roles["scratch"] if where.nodes is None else where.nodes.folders("scratch")
    told: set[str] = set()
    for engine in engines:
        place = engine.deployment
        scratch = () if is_there and place in engine.kind.on_hdfs else ours
        for said in without_effect(engine.name, place, settings[engine.name], scratch):
            say(f"warning: {said}")
            told.add(said)
    return told


def _interrupted(done: int, whole: int, *, resumable: bool) -> Interrupted:
    """The kept part of a run, and how to continue it; only runs of an experiment can be resumed."""
    if resumable:
        hint = "the same command with --resume goes on"
    else:
        hint = "with --experiment NAME, a run can be continued with --resume"
    kept = "is" if done == 1 else "are"
    return Interrupted(
        f"interrupted: {done} of {count_of(whole, 'repetition')} {kept} recorded", hint
    )


def _done(session: Session, job: TrialJob, *, resume: bool, talk: bool) -> Trial:
    """The trial of `job`: with `resume` that of an earlier command, if there is one."""
    from venturi.measure.trial.runner import already_succeeded, run_trial

    done = already_succeeded(session, job.chosen) if resume else None
    trial = done or run_trial(session, job)
    if talk:
        note = " (from before)" if done else ""
        time = format_duration(trial.elapsed_s)
        step(f"{_deployed(trial)}, repetition {trial.repetition}: {outcome(trial)}, {time}{note}")
    return trial


def _deployed(trial: Trial) -> str:
    """The engine of `trial`, and how it was deployed if there are several ways."""
    deployment = trial.configuration.get("deployment")
    return f"{trial.engine.name} {deployment or ''}".rstrip()


def _show(trials: list[Trial], warned: Collection[str], *, as_json: bool) -> None:
    """Print the trials; `warned` are the warnings that were printed before they ran."""
    if as_json:
        print_json(records(trials), tuple(w.message for t in trials for w in t.warnings))
        return
    for name in dict.fromkeys(map(_deployed, trials)):
        own = [trial for trial in trials if _deployed(trial) == name]
        if len(own) < len(trials):
            show(f"{name}, {own[-1].engine.version}")
        show(repetitions(own))
        kind = ENGINES[own[-1].engine.name]
        if kind.records_stages and own[-1].elapsed_s is not None:
            show(pairs(narrowest_rows(own[-1])))
    found = (each for trial in trials for each in trial.warnings if each.code == IGNORED)
    for said in dict.fromkeys(each.message for each in found):
        if said not in warned:
            say(f"warning: {said}")
    try:
        with open_repository() as repository:
            show(*compared(repository, trials))
    except VenturiError as error:  # such as an exclusion that leaves them out
        say(f"not compared: {error.message}")


def compared(repository: TrialRepository, trials: Sequence[Trial]) -> list[Table | Paragraph | str]:
    """Compare the groups with the first, as `venturi compare` does, and name the next command."""
    from venturi.record.repeat_group import newest_group_of_same_work

    keys = list(dict.fromkeys(each.group_key for each in trials))
    where = f"`venturi show {trials[-1].id}` shows where the time goes"
    if len(keys) > 1:
        from venturi.results.compare.repeat_groups import compare_groups

        comparison = compare_groups([group_of(repository, key).trials for key in keys])
        return [
            *render_comparison(comparison),
            f"next: {where}; `venturi compare {' '.join(keys)}` compares again",
        ]
    other = newest_group_of_same_work(repository, trials[-1])
    if other is None:
        return [f"group {keys[0]}: next, {where}; run it with other settings to compare them"]
    return [
        f"group {keys[0]}: next, `venturi compare {other} {keys[0]}` sets it against the "
        f"newest other group of this work; {where}"
    ]
