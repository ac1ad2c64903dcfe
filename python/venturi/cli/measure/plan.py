"""`venturi plan`: combinations of factors, measured as a file says; resumed after a stop."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from venturi.cli.measure.clusters import catalog_price
from venturi.cli.measure.designs import design_of
from venturi.cli.measure.measuring import measuring_now, say, this_host
from venturi.cli.measure.sites import look, require_engines, require_lab, site_of
from venturi.cli.open_repository import open_repository
from venturi.cli.options import (
    F,
    InputPath,
    json_option,
    label_option,
    predict_option,
    print_json,
    quiet_option,
    wait_option,
)
from venturi.cli.progress import step
from venturi.core import settings
from venturi.core.errors import ExitCode, FailureClass, Interrupted, VenturiError
from venturi.core.text_file import read_text
from venturi.core.units import binary_size, decimal_size, format_bytes_decimal, format_duration
from venturi.core.wording import count_of
from venturi.machines.cost.predict import (
    NativeSortPlan,
    disk_rates_from_trial,
    predict_native_sort,
)
from venturi.measure.clusters.cluster_spec import WORKER
from venturi.measure.engines.ignored_settings import without_effect
from venturi.measure.engines.registry import ENGINES, split_spec
from venturi.measure.hosts.owned_folders import sweep
from venturi.measure.lab import lab
from venturi.measure.studies import sizes
from venturi.measure.studies.plan_file import EngineWords, plan_of
from venturi.measure.studies.study import (
    LOCAL,
    Combination,
    Plan,
    PlannedTrialState,
    matches_plan,
    peak_bytes,
    standings,
    unsteady,
    wall_s,
)
from venturi.measure.trial.folders import require_writable
from venturi.measure.workloads.registry import workloads_with
from venturi.record.trial import State

if TYPE_CHECKING:
    from venturi.record.store.repository import TrialRepository
    from venturi.results.effects.design import Design

MATRIX_ROWS = 40

file_argument: Callable[[F], F] = click.argument(
    "file", metavar="FILE.toml", type=InputPath(dir_okay=False)
)


@click.group()
def command() -> None:
    """Run an experiment plan: every combination of its factors.

    A plan is a TOML file. Its progress is kept in the repository: after a kill, a reboot or a full
    disk, `resume` runs the missing trials.
    """


@command.command()
@file_argument
@json_option
def check(file: Path, *, as_json: bool) -> None:
    """Check a plan: errors by line, number of trials, time and disk space."""
    plan = _read(file)
    with open_repository() as repository:
        rows = [(each, *_estimate(repository, plan, each)) for each in plan.combinations]
        designs = _designs(repository, plan)
    peaks = _peaks(plan)
    space_bytes = max(peaks.values())
    known = [seconds * plan.repeats for _, seconds, _ in rows if seconds is not None]
    unknown = len(rows) - len(known)
    looked = look(plan)
    warnings = [*looked.warnings, *_ignored(plan)]
    if plan.space_budget_bytes is not None and space_bytes > plan.space_budget_bytes:
        warnings.append(
            f"about {format_bytes_decimal(space_bytes)} of disk are needed at the peak, the budget "
            f"is {format_bytes_decimal(plan.space_budget_bytes)}: start will refuse"
        )
    for place, room_bytes in looked.room_bytes.items():
        if peaks[place] > room_bytes:
            on = "" if place == LOCAL else f" on {place}"
            warnings.append(
                f"about {format_bytes_decimal(peaks[place])} of disk space is needed at the "
                f"peak{on}, but only {format_bytes_decimal(room_bytes)} of the free space "
                "may be used: trials will fail"
            )
    if plan.time_budget_s is not None and sum(known) > plan.time_budget_s:
        warnings.append("the time budget is too short for all trials: some will be left")
    if as_json:
        data = {
            "plan": plan.id,
            "trials": len(plan.places()),
            "repeats": plan.repeats,
            "timeout_s": plan.timeout_s,
            "time_budget_s": plan.time_budget_s,
            "space_budget_bytes": plan.space_budget_bytes,
            "combinations": [
                {"values": c.values(), "trial_s": seconds, "estimated_from": source}
                for c, seconds, source in rows
            ],
            "time_s": None if unknown else sum(known),
            "known_time_s": sum(known) if known else None,
            "combinations_without_estimate": unknown,
            "space_bytes": space_bytes,
            "space_bytes_by_cluster": peaks,
            "designs": [_design_data(*kind, design) for kind, design in designs.items()],
        }
        print_json(data, tuple(warnings))
        return
    click.echo(f"{plan.id}  {plan.name}".rstrip())
    click.echo(
        f"{count_of(len(plan.places()), 'trial')}: {count_of(len(rows), 'combination')}, each "
        f"{count_of(plan.repeats, 'time')} ({plan.warm_ups} to warm up), order {plan.order}"
    )
    if limits := _limits(plan):
        click.echo(limits)
    for combination, seconds, source in rows[:MATRIX_ROWS]:
        time = f"{format_duration(seconds)} a trial" if seconds is not None else "cannot tell"
        click.echo(f"  {_words(combination)}: {time} ({source})")
    if len(rows) > MATRIX_ROWS:
        click.echo(f"  and {len(rows) - MATRIX_ROWS} more; --json has all")
    total = f"about {format_duration(sum(known))}" if known else "cannot tell"
    if known and unknown:
        rest = count_of(unknown, "combination")
        total = f"at least {format_duration(sum(known))}; cannot tell for {rest}"
    click.echo(f"time: {total}")
    for place, need_bytes in peaks.items():
        on = "" if place == LOCAL else f" on {place}"
        click.echo(f"disk at the peak{on}: about {format_bytes_decimal(need_bytes)}")
    for line in _in_words(designs):
        click.echo(line)
    for warning in warnings:
        say(f"warning: {warning}")


@command.command()
@file_argument
@label_option
@predict_option
@wait_option
@quiet_option
@json_option
def start(file: Path, *, quiet: bool, as_json: bool, **how: bool) -> int:
    """Start a plan. To continue a started plan, use `resume`."""
    return _take(file, begun=False, again=False, quiet=quiet, as_json=as_json, **how)


@command.command()
@file_argument
@click.option("--failed", is_flag=True, help="Also retry trials without retries left.")
@label_option
@predict_option
@wait_option
@quiet_option
@json_option
def resume(file: Path, *, failed: bool, quiet: bool, as_json: bool, **how: bool) -> int:
    """Continue a plan: run missing trials, repeat interrupted ones."""
    return _take(file, begun=True, again=failed, quiet=quiet, as_json=as_json, **how)


@command.command()
@file_argument
@json_option
def status(file: Path, *, as_json: bool) -> None:
    """Show a plan's progress by factor, and the time left."""
    plan = _read(file)
    with open_repository() as repository:
        found = standings(plan, repository.trials_of(plan.id))
    _show(plan, found, as_json=as_json, by_factor=True)


def _take(
    file: Path,
    *,
    begun: bool,
    again: bool,
    wait: bool,
    predict: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    from venturi.measure.studies.run import take

    plan = _read(file)
    talk = not quiet and not as_json
    with measuring_now(show_progress=talk, alone_as=f"plan {file}", wait=wait) as alone:
        measuring = replace(alone, predict=predict)
        if not begun and measuring.keeper.trials_of(plan.id):
            raise VenturiError(
                "VEN-PLAN-BEGUN",
                f"{plan.id} was started before",
                where={"file": str(file)},
                hint=f"`venturi plan resume {file}` runs the missing trials",
            )
        _require_space(plan)
        _require_folders(plan)
        _require_labs(plan, file)
        require_engines(plan)
        if talk and (limits := _limits(plan)):
            step(limits)
        if talk and not begun:
            with open_repository() as repository:
                designs = _designs(repository, plan)
            for line in _in_words(designs):
                step(line)
        try:
            site = partial(site_of, plan, measuring, step if talk else lambda told: None)
            on_trial = _print_planned_trial if talk else None
            found = take(plan, measuring.keeper, site, again=again, on_trial=on_trial)
        except (Interrupted, KeyboardInterrupt):
            say(f"stopped; `venturi plan resume {file}` runs the missing trials")
            raise Interrupted from None
    _show(plan, found, as_json=as_json, by_factor=False)
    return _exit_code(found)


def _limits(plan: Plan) -> str:
    """The limits in the file, as parsed; "" without any."""
    limits = []
    if plan.timeout_s is not None:
        limits.append(f"{format_duration(plan.timeout_s)} a trial (timeout)")
    if plan.time_budget_s is not None:
        limits.append(f"{format_duration(plan.time_budget_s)} in one sitting (budget.time)")
    if plan.space_budget_bytes is not None:
        limits.append(f"{format_bytes_decimal(plan.space_budget_bytes)} of disk (budget.space)")
    return f"at most {', '.join(limits)}" if limits else ""


def _exit_code(found: Iterable[PlannedTrialState]) -> ExitCode:
    missing = [each for each in found if each.status != "done"]
    if any(each.failure is FailureClass.WRONG for each in missing):
        return ExitCode.INVALID
    return ExitCode.USER if missing else ExitCode.OK


def _peaks(plan: Plan) -> dict[str, int]:
    """Disk needed at the peak, by the place where it is."""
    from venturi.measure.studies.run import size_for

    return peak_bytes(plan, {c: size_for(c)[1].bytes or 0 for c in plan.combinations})


def _require_folders(plan: Plan) -> None:
    """Remove leftovers of killed commands from the plan's local folders, even if no trial is left
    to run.

    VEN-MEASURE-DIR if a folder can't be written.
    """
    files = this_host().files
    folders = dict.fromkeys(
        folder
        for each in plan.combinations
        if each.place == LOCAL
        for dirs in plan.folders(each).values()
        for folder in dirs
    )
    require_writable(files, folders)
    for folder in folders:
        sweep(files, folder)


def _require_labs(plan: Plan, file: Path) -> None:
    """Take down labs that a killed plan left; VEN-LAB-... for a lab that can't be made."""
    for cluster in plan.clusters.values():
        if cluster.lab is None:
            continue
        try:
            if lab.sweep(settings.load().home, cluster.lab.name):
                say(f"took down the lab {cluster.lab.name}, left behind by a killed plan")
            require_lab(cluster)
        except VenturiError as error:
            error.where = {"file": str(file), "line": cluster.line, **error.where}
            raise


def _require_space(plan: Plan) -> None:
    need_bytes = max(_peaks(plan).values())
    budget_bytes = plan.space_budget_bytes
    if budget_bytes is not None and need_bytes > budget_bytes:
        raise VenturiError(
            "VEN-MEASURE-SPACE",
            f"about {format_bytes_decimal(need_bytes)} are needed at the peak, the plan's budget "
            f"is {format_bytes_decimal(budget_bytes)}",
            where={"needed_bytes": need_bytes, "budget_bytes": budget_bytes},
            hint="raise budget.space in the plan, or choose smaller scales",
        )


def _read(file: Path) -> Plan:
    words = {
        name: EngineWords(workloads_with(kind.programs), kind.prefixes, kind.deployments, kind.urls)
        for name, kind in ENGINES.items()
    }
    return plan_of(_text(file), file, words, Path.cwd(), _text, price_of=catalog_price)


def _text(file: Path) -> str:
    return read_text(file, "VEN-PLAN-FILE")


def _ignored(plan: Plan) -> list[str]:
    """The settings of the plan that an engine accepts and ignores, each once."""
    told: dict[str, None] = {}
    for each in plan.combinations:
        name, deployment = split_spec(each.engine)
        place = deployment or next(iter(ENGINES[name].deployments), None)
        told |= dict.fromkeys(without_effect(name, place, each.settings, _scratch(plan, each)))
    return list(told)


def _scratch(plan: Plan, combination: Combination) -> tuple[Path, ...]:
    """The folders for local files of a combination, of a cluster those of all its workers."""
    spec = plan.cluster(combination)
    if spec is None:
        return plan.folders(combination)["scratch"]
    workers = (host for host in spec.hosts if WORKER in host.roles)
    return tuple(path for host in workers for path in host.folders["scratch"])


_Kind = tuple[str, str, str]
"""A workload, an engine, and where it is run."""


def _designs(repository: TrialRepository, plan: Plan) -> dict[_Kind, Design]:
    """The power of the plan's repeats for each workload on each engine in each place.

    A combination is compared with all others of its workload.
    """
    counted = plan.repeats - plan.warm_ups
    groups: dict[str, int] = {}
    for each in plan.combinations:
        groups[each.workload] = groups.get(each.workload, 0) + 1
    kinds = dict.fromkeys(
        (each.workload, split_spec(each.engine)[0], each.place) for each in plan.combinations
    )
    return {
        (workload, name, place): design_of(
            repository,
            workload,
            name,
            _hosts(plan, place),
            counted=counted,
            groups=max(2, groups[workload]),
        )
        for workload, name, place in kinds
    }


def _hosts(plan: Plan, place: str) -> list[str]:
    if place == LOCAL:
        return [this_host().name]
    return [host.name for host in plan.clusters[place].spec.taking_part]


def _in_words(designs: Mapping[_Kind, Design]) -> list[str]:
    return [
        f"{workload} on {name}{'' if place == LOCAL else f' of {place}'}: {each.sentence}"
        for (workload, name, place), each in designs.items()
    ]


def _design_data(workload: str, engine_name: str, place: str, design: Design) -> dict[str, object]:
    return {
        "workload": workload,
        "engine": engine_name,
        "cluster": place,
        "counted_repeats": design.n,
        "groups": design.groups,
        "spread_sd": design.sd,
        "spread_from": design.spread,
        "least_ratio": design.least_ratio,
        "repeats_to_rank": design.to_rank,
        "in_words": design.sentence,
    }


def _estimate(
    repository: TrialRepository, plan: Plan, combination: Combination
) -> tuple[float | None, str]:
    """Seconds of one trial of `combination` and where that comes from."""
    from venturi.measure.studies.run import size_for
    from venturi.record.query.conditions import Condition
    from venturi.record.query.paging import whole_trials

    definition, size = size_for(combination)
    succeeded = whole_trials(
        repository,
        Condition.equal("workload", combination.workload),
        Condition.equal("engine", split_spec(combination.engine)[0]),
        Condition.equal("state", State.SUCCEEDED),
        most=500,
    )
    walls = [
        wall
        for trial in succeeded
        if matches_plan(trial, combination, size.bytes, plan)
        and (wall := wall_s(trial)) is not None
    ]
    if walls:
        return statistics.median(walls), f"median of {count_of(len(walls), 'earlier trial')}"
    if definition.job in ENGINES[split_spec(combination.engine)[0]].modelled:
        return _predicted(repository, combination)
    return None, "no earlier trial"


def _predicted(repository: TrialRepository, combination: Combination) -> tuple[float | None, str]:
    """The prediction of the native sort's model; it has no other jobs."""
    from venturi.measure.studies.run import size_for
    from venturi.record.query.conditions import Condition
    from venturi.record.query.paging import whole_trials

    probes = whole_trials(
        repository,
        Condition.equal("engine", "diskbench"),
        Condition.equal("state", State.SUCCEEDED),
        most=1,
    )
    if not probes:
        return None, "no earlier trial, and no `venturi probe disk` to predict from"
    input_bytes = size_for(combination)[1].bytes or 0
    memory_bytes = combination.memory or sizes.in_memory_bytes(input_bytes)
    spills = sizes.in_memory_bytes(input_bytes) > memory_bytes
    spilled_bytes = max(0, input_bytes - memory_bytes) if spills else 0
    try:
        prediction = predict_native_sort(
            NativeSortPlan(
                input_bytes=input_bytes,
                spilled_bytes=spilled_bytes,
                memory_bytes=memory_bytes,
            ),
            disk_rates_from_trial(probes[0]),
        )
    except VenturiError as error:
        return None, error.message
    if prediction.elapsed_s is None:
        return None, prediction.missing_reason or "no prediction"
    return prediction.elapsed_s, f"predicted from disk probe {probes[0].id}, without validation"


def _words(combination: Combination) -> str:
    return ", ".join(_factor(name, value) for name, value in combination.values().items())


def _factor(name: str, value: object) -> str:
    """A factor and its value for people: `memory 1 GiB`, `bytes 2 GB`."""
    if name in {"memory", "bytes"} and str(value).isdecimal():
        size = int(str(value))
        return f"{name} {decimal_size(size) if size % 1000 == 0 else binary_size(size)}"
    return f"{name} {value}"


def _print_planned_trial(standing: PlannedTrialState) -> None:
    from venturi.measure.studies.run import describe

    trial, place = standing.trial, standing.place
    assert trial is not None
    name = f"{_words(place.combination)}, repetition {place.repetition}"
    if standing.failure is None:
        step(f"{name}: {format_duration(trial.elapsed_s)}")
    else:
        note = ", to be repeated" if standing.status == "left" else ""
        step(f"{name}: {standing.failure}{note}: {describe(trial)}")


def _show(
    plan: Plan, found: Sequence[PlannedTrialState], *, as_json: bool, by_factor: bool
) -> None:
    from venturi.measure.studies.run import describe, summary_of

    counts = summary_of(found)
    factors = _by_factor(found)
    eta_s = _eta_s(found)
    failed = [each for each in found if each.status == "failed"]
    shaky = unsteady(found)
    if as_json:
        data = {
            "plan": plan.id,
            "counts": counts,
            "eta_s": eta_s,
            "by_factor": factors,
            "failed": [
                {
                    "trial": each.trial and each.trial.id,
                    "class": each.failure,
                    "reason": describe(each.trial),
                    "values": each.place.combination.values(),
                    "repetition": each.place.repetition,
                }
                for each in failed
            ],
            "unsteady": [
                {"values": u.combination.values(), "trials": u.trials, "variation": u.variation}
                for u in shaky
            ],
        }
        print_json(data)
        return
    click.echo(f"{plan.id}  {plan.name}".rstrip())
    click.echo(", ".join(f"{count} {name}" for name, count in counts.items()))
    if counts["left"]:
        click.echo(f"time left: {'cannot tell' if eta_s is None else format_duration(eta_s)}")
    if by_factor:
        for name, values in factors.items():
            for value, per in values.items():
                text = ", ".join(f"{count} {word}" for word, count in per.items() if count)
                click.echo(f"  {_factor(name, value)}: {text}")
    for each in failed:
        click.echo(
            f"failed: {_words(each.place.combination)}, repetition {each.place.repetition}: "
            f"{each.failure}: {describe(each.trial)}"
            + (f" [trial {each.trial.id}]" if each.trial else "")
        )
    for u in shaky:
        click.echo(
            f"unsteady: {_words(u.combination)}: {count_of(u.trials, 'trial')} vary by "
            f"{u.variation:.0%}"
        )
    if counts["left"] and not by_factor:
        click.echo("not started for lack of time; `venturi plan resume` goes on with them")


def _by_factor(found: Iterable[PlannedTrialState]) -> Mapping[str, Mapping[str, Mapping[str, int]]]:
    """How many places are in which status, by value of every factor that varies."""
    from venturi.measure.studies.run import summary_of

    by: dict[str, dict[str, list[PlannedTrialState]]] = {}
    for each in found:
        for name, value in each.place.combination.values().items():
            by.setdefault(name, {}).setdefault(str(value), []).append(each)
    return {
        name: {value: dict(summary_of(members)) for value, members in values.items()}
        for name, values in by.items()
        if len(values) > 1
    }


def _eta_s(found: Sequence[PlannedTrialState]) -> float | None:
    """The remaining time, by the median of each combination's own trials; None if unknown."""
    walls: dict[int, list[float]] = {}
    for each in found:
        if each.status == "done" and each.trial is not None:
            wall = wall_s(each.trial)
            if wall is not None:
                walls.setdefault(each.place.number - each.place.repetition, []).append(wall)
    total_s = 0.0
    for each in found:
        if each.status in {"left", "running"}:
            known = walls.get(each.place.number - each.place.repetition)
            if known is None:
                return None
            total_s += statistics.median(known)
    return total_s
