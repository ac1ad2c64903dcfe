"""`venturi compare`: repeat groups side by side, with intervals and a verdict."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from venturi.cli.html import PageFile, html_options
from venturi.cli.open_repository import open_repository
from venturi.cli.options import (
    EXCESS,
    ignore_option,
    json_option,
    keep_option,
    print_json,
    where_option,
)
from venturi.cli.results.gate import GateOptions, gate_options, run_gate
from venturi.cli.screen import details_option, is_first_screen, next_step, show, warn
from venturi.core.errors import ExitCode
from venturi.core.wording import count_of
from venturi.terminal.table import Paragraph, Table, table_of

if TYPE_CHECKING:
    from venturi.core.statistics.stats import Interval
    from venturi.core.statistics.two_groups import Verdict
    from venturi.record.query.conditions import Condition
    from venturi.record.repeat_group import RepeatGroup
    from venturi.record.store.repository import TrialRepository
    from venturi.results.compare.repeat_groups import Comparison


@click.command()
@click.argument("groups", nargs=-1, metavar="[GROUP_OR_ID]...")
@gate_options
@click.option(
    "--metric",
    default="elapsed_s",
    show_default=True,
    help="Metric to compare: elapsed_s, or the name of a sample.",
)
@where_option(
    "Restrict each group to trials with this value of a column or configuration key, such as "
    "experiment=plan-...."
)
@ignore_option("Ignore differences in this setting: groups that differ in it alone are one.")
@keep_option
@click.option(
    "--fail-if-slower",
    "limit",
    metavar="LIMIT",
    type=EXCESS,
    help="Exit with status 4 if another group is slower than the first by more than LIMIT, such "
    "as 5% or 1.05x. The whole interval must exceed LIMIT.",
)
@click.option(
    "--fail-if-unsure",
    is_flag=True,
    help="With --fail-if-slower: exit with status 3 if the result is undecided.",
)
@click.option(
    "--why",
    is_flag=True,
    help="Explain why one job took longer than another: settings, plans, data, time.",
)
@details_option
@json_option
@html_options()
def command(
    *,
    groups: tuple[str, ...],
    metric: str,
    where: tuple[str, ...],
    ignored: tuple[str, ...],
    keep: tuple[str, ...],
    limit: float | None,
    fail_if_unsure: bool,
    why: bool,
    as_json: bool,
    html: PageFile | None,
    **chosen: Any,
) -> ExitCode:
    """Compare repeat groups: which is better, and by how much.

    Give two or more group keys, or IDs of trials, which stand for their groups (`last` is the trial
    that you measured or imported last, `last~1` the one before). The first is the reference. A
    verdict can be undecided, with the reason.

    With --fail-if-slower, the exit status is the verdict, for continuous integration. It is 4 if a
    group is slower by more than LIMIT. It is 0 if none is, or if the result is undecided.

    With --baseline, trials with equal settings and other labels are compared, for all benchmarks
    together: the chance of any false alarm stays below 5 %. With --candidate, both may name values
    of a setting: --baseline disk=HDD --candidate disk=SSD. The exit status is also 3 if a benchmark
    of the baseline has no result.

    \b
    venturi run terasort --scale small --repeat 7 --label commit=$GIT_SHA
    venturi compare --baseline commit=main --fail-if-slower 5%

    With --why, give two trials of Spark or MapReduce. If one of them failed or was interrupted, the
    answer says so and doesn't compare times.
    """
    from venturi.results.compare.regression import Slowdown, decide

    if chosen["baseline"]:
        if limit is None or groups or why or html is not None:
            raise click.UsageError(
                "--baseline needs --fail-if-slower LIMIT, and no groups, --why or --html"
            )
        options = GateOptions(
            where=where, ignored=ignored, keep=keep, limit=limit, metric=metric, **chosen
        )
        return run_gate(options, as_json=as_json, fail_if_unsure=fail_if_unsure)
    if not groups or any(chosen.values()):
        raise click.UsageError("name two groups or trials, or a --baseline to compare with")
    if why:
        if limit is not None or where or ignored or len(groups) != 2:
            raise click.UsageError(
                "--why needs two trials, and no --fail-if-slower, --where or --ignore"
            )
        _print_job_difference(groups, html, as_json=as_json)
        return ExitCode.OK
    if html is not None:
        raise click.UsageError("--html needs --why")
    if fail_if_unsure and limit is None:
        raise click.UsageError("--fail-if-unsure needs --fail-if-slower")

    comparison = _compared(groups, metric, where, ignored, keep)
    decisions = decide(comparison, limit) if limit is not None else ()
    if as_json:
        data = as_data(comparison)
        if limit is not None:
            data["slower"] = {"limit": limit, "decisions": decisions}
        print_json(data, comparison.warnings)
    else:
        _print(comparison)
        show(*(each.sentence for each in decisions))
        warn(comparison.warnings)
    outcomes = {each.outcome for each in decisions}
    if Slowdown.SLOWER in outcomes:
        return ExitCode.REGRESSION
    return ExitCode.INVALID if fail_if_unsure and Slowdown.CANNOT_TELL in outcomes else ExitCode.OK


def _compared(
    groups: Sequence[str],
    metric: str,
    where: Sequence[str],
    ignored: Sequence[str],
    keep: Sequence[str],
) -> Comparison:
    """The comparison of the groups that `groups` name."""
    from venturi.record.query.checks import conditions_for, require_keys
    from venturi.record.query.identifying_keys import note_of
    from venturi.results.compare.repeat_groups import compare_groups

    with open_repository() as repository:
        only = conditions_for(repository, where)
        ignored = require_keys(repository, ignored)
        keep = require_keys(repository, keep)
        found = [group_of(repository, name, *only, ignored=ignored, keep=keep) for name in groups]
    comparison = compare_groups([each.trials for each in found], metric)
    if identifying := {key for each in found for key in each.identifying}:
        warning = note_of(identifying)
        comparison = replace(comparison, warnings=(*comparison.warnings, warning))
    return comparison


def _print(comparison: Comparison) -> None:
    if is_first_screen():
        from venturi.core.statistics.two_groups import ComparisonOutcome
        from venturi.terminal.comparison import comparison_screen

        show(*comparison_screen(comparison))
        verdicts = [each.against_first for each in comparison.groups[1:]]
        if all(each and each.outcome is ComparisonOutcome.CANNOT_TELL for each in verdicts):
            next_step("run each more often (at least 5 trials), then compare again")
        elif len(comparison.differ_in) == 1:
            workload = comparison.groups[0].label.split()[0]
            (key,) = comparison.differ_in
            next_step(
                f"see if {key} matters with other settings, too",
                f"venturi effect {shlex.quote(key)} --where workload={shlex.quote(workload)}",
            )
    else:
        show(*render_comparison(comparison))


def _print_job_difference(names: Sequence[str], html: PageFile | None, *, as_json: bool) -> None:
    """Print the differences between two jobs."""
    from venturi.jobs.diagnosis.difference import difference
    from venturi.jobs.diagnosis.find import diagnose_trial
    from venturi.jobs.whatif.validation import OWN_SETTINGS
    from venturi.record.query.counting import short_id
    from venturi.terminal.two_jobs import parts, two_jobs_screen
    from venturi.web.api.jobs.jobs import analysed

    with open_repository() as repository:
        trials = [repository.get(name) for name in names]
        one, other = (analysed(repository, trial) for trial in trials)
        diagnoses = (
            diagnose_trial(repository, trials[0], *one),
            diagnose_trial(repository, trials[1], *other),
        )
        short = [short_id(repository, trial.id) for trial in trials] if is_first_screen() else []
        if html is not None:
            html.write_answers(f"/jobs?before={trials[0].id}&after={trials[1].id}", repository)
    found = difference(
        one,
        other,
        [trial.state for trial in trials],
        (diagnoses[0].findings, diagnoses[1].findings),
    )
    if as_json:
        print_json(found)
        return
    if is_first_screen():
        show(*two_jobs_screen(found))
        chosen = [each for each in found.settings if not each.key.startswith(OWN_SETTINGS)]
        step = "change one setting back and run again; all details" if chosen else "details"
        if found.start_up:
            step = "repeat both runs (is it always the driver's start?); all details"
        elif found.promise_held:
            step = "run each three times and compare again; all details"
        next_step(step, f"venturi compare --why {' '.join(short)} --all")
        return
    show(*parts(found, diagnoses))


def group_of(
    repository: TrialRepository,
    name: str,
    *where: Condition,
    ignored: Collection[str] = (),
    keep: Collection[str] = (),
) -> RepeatGroup:
    """The trials to compare: those of the group `name`, else of the group of the trial `name`, that
    meet all of `where` and that no exclusion leaves out. Groups are one if they differ only in
    settings that are `ignored`, or that are unique per trial and not in `keep`.
    """
    from venturi.record.repeat_group import repeat_group

    found = repeat_group(repository, name, *where, ignored=ignored, keep=keep)
    if found.left_out:
        click.echo(f"{name}: left out by exclusions: {count_of(found.left_out, 'trial')}", err=True)
    return found


def as_data(comparison: Comparison) -> dict[str, Any]:
    """The comparison as `--json` prints it."""
    data = asdict(comparison)
    for group, result in zip(data["groups"], comparison.groups, strict=True):
        group["verdict"] = comparison.in_words(result)
        group["sentence"] = comparison.sentence(result)
    del data["warnings"]  # the envelope has them
    return data


def render_comparison(comparison: Comparison) -> list[Table | Paragraph | str]:
    """The verdicts, then their evidence."""
    rows = []
    reasons: dict[str, list[str]] = {}  # each is said once, with the groups that it is about
    for result in comparison.groups:
        summary, verdict = result.summary, result.against_first
        if summary.interval is None:
            reasons.setdefault(summary.reasons["interval"], []).append(result.name)
        spread = summary.coefficient_of_variation
        rows.append(
            {
                "group": result.name,
                "n": str(summary.n),
                "median": "—" if summary.median is None else f"{summary.median:.4g}",
                "interval": "—" if summary.interval is None else _interval(summary.interval),
                "CV": "—" if spread is None else f"{spread:.1%}",
                "ratio": _ratio(verdict),
                "verdict": comparison.outcome(result),
                "key": result.group_key,
            }
        )
    made = table_of(
        rows,
        left=1,
        prose=("group", "interval", "ratio", "verdict", "key"),
        spare=("CV", "key", "interval"),
    )
    said: list[Table | Paragraph | str] = [
        *(Paragraph(comparison.sentence(each), "bold") for each in comparison.groups[1:]),
        comparison.metric
        + ("" if comparison.unit == "1" else f" [{comparison.unit}]")
        + (comparison.caption and f" of {comparison.caption}"),
        made,
    ]
    for reason, names in reasons.items():
        about = "" if len(names) == len(comparison.groups) else f"{'; '.join(names)}: "
        said.append(f"{about}{reason}")
    for result in comparison.groups:
        if result.left_out:
            counts = ", ".join(f"{count} {why}" for why, count in sorted(result.left_out.items()))
            said.append(f"{result.name}: not counted: {counts}")
    return said + [f"{code}: {meaning}" for code, meaning in comparison.explained.items()]


def _ratio(verdict: Verdict | None) -> str:
    if verdict is None or verdict.ratio is None:
        return "—"
    told = f"{verdict.ratio:.4g}"
    return f"{told}, {_interval(verdict.interval)}" if verdict.interval else told


def _interval(interval: Interval) -> str:
    return f"{interval.low:.4g} to {interval.high:.4g} ({interval.percent})"
