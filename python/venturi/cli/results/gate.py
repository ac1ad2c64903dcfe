"""`venturi compare --baseline`: new trials against a baseline, for continuous integration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from venturi.cli.open_repository import open_repository
from venturi.cli.options import F, print_json
from venturi.cli.screen import is_first_screen, next_step, show
from venturi.core.errors import ExitCode

if TYPE_CHECKING:
    from venturi.record.query.conditions import Condition
    from venturi.record.store.repository import TrialRepository
    from venturi.record.trial import Trial
    from venturi.results.compare.gate import Gate

FORMATS = ("text", "markdown", "junit")


_OPTIONS = (
    click.option(
        "--baseline",
        multiple=True,
        metavar="KEY=VALUE",
        help="Compare new trials with those that meet this condition, such as commit=main, for "
        "each benchmark; repeatable, as --where. Needs --fail-if-slower.",
    ),
    click.option(
        "--candidate",
        multiple=True,
        metavar="KEY=VALUE",
        help="With --baseline: the new trials. Default: those with the newest other value of the "
        "baseline's label.",
    ),
    click.option(
        "--last",
        type=click.IntRange(1),
        metavar="N",
        help="With --baseline: use only the latest N trials of each benchmark's baseline.",
    ),
    click.option(
        "--history",
        is_flag=True,
        help="With --baseline: a benchmark is slower if its history with the new trials shows a "
        "change of level that the baseline's own history doesn't show.",
    ),
    click.option(
        "--format",
        "format_",
        type=click.Choice(FORMATS),
        help="With --baseline: print text, Markdown or JUnit XML.",
    ),
)


def gate_options(function: F) -> F:
    """Add the options that `GateOptions` holds."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


@dataclass(frozen=True, slots=True)
class GateOptions:
    """The conditions of both sides, `where` those of all trials, and the allowed factor `limit`.

    Settings that are `ignored` may differ between the trials of a benchmark, and so may those that
    are unique per trial and not in `keep`.
    """

    baseline: Sequence[str]
    candidate: Sequence[str]
    where: Sequence[str]
    ignored: Sequence[str]
    keep: Sequence[str]
    limit: float
    metric: str
    last: int | None
    history: bool
    format_: str | None


def run_gate(options: GateOptions, *, as_json: bool, fail_if_unsure: bool) -> ExitCode:
    """Print whether the candidate is slower than the baseline; return the exit status."""
    from venturi.record.query.checks import conditions_for, require_keys
    from venturi.results.compare.gate import gate
    from venturi.results.compare.regression import Slowdown

    with open_repository() as repository:
        common = conditions_for(repository, options.where)
        before = conditions_for(repository, options.baseline)
        old = _trials(repository, (*common, *before))
        keep = require_keys(repository, options.keep)
        ignored = set(require_keys(repository, options.ignored))
        if options.candidate:
            after = conditions_for(repository, options.candidate)
            # The setting that distinguishes the two sides is the one that is compared.
            ignored |= {each.key for each in before} & {each.key for each in after}
            new = _trials(repository, (*common, *after))
        else:
            new = _latest_others(repository, common, before)
    old, new = _apart(old, new)
    found = gate(
        old,
        new,
        options.limit,
        options.metric,
        last=options.last,
        history=options.history,
        ignored=ignored,
        keep=keep,
    )
    if as_json:
        print_json(_data(found))
    else:
        _print(found, options.format_)
    if found.outcome is Slowdown.SLOWER:
        return ExitCode.REGRESSION
    undecided = found.outcome is Slowdown.CANNOT_TELL and fail_if_unsure
    return ExitCode.INVALID if undecided or found.count(Slowdown.NO_RESULT) else ExitCode.OK


def _trials(repository: TrialRepository, conditions: Sequence[Condition]) -> list[Trial]:
    """The trials that meet all conditions, newest first, without excluded ones."""
    from venturi.record.query.paging import stored_trials
    from venturi.record.query.selection import Query

    return list(stored_trials(repository, Query(tuple(conditions))))


def _apart(old: list[Trial], new: list[Trial]) -> tuple[list[Trial], list[Trial]]:
    """Both sides without the trials that they share: these are new if no other trial is."""
    both = {trial.id for trial in old} & {trial.id for trial in new}
    others = [trial for trial in new if trial.id not in both]
    if others or not both:
        return old, others
    return [trial for trial in old if trial.id not in both], new


def _latest_others(
    repository: TrialRepository, common: Sequence[Condition], before: Sequence[Condition]
) -> list[Trial]:
    """The trials with the newest other value of the baseline's label, such as the last commit."""
    from venturi.record.query.conditions import Condition, Op, plain
    from venturi.record.trial import LABEL

    labels = [each for each in before if each.key.startswith(LABEL) and each.op is Op.ONE_OF]
    if len(labels) != 1:
        raise click.UsageError(
            "without a label in --baseline, the candidate is unknown: add --candidate KEY=VALUE"
        )
    (label,) = labels
    others = [
        replace(label, op=Op.NONE_OF),
        Condition(label.key, Op.PRESENT),
        *(each for each in before if each is not label),
    ]
    found = _trials(repository, (*common, *others))
    if not found:
        raise click.UsageError(
            f"no trial has another {plain(label.key)} than {', '.join(map(str, label.values))}: "
            "label the new trials (run --label KEY=VALUE), or add --candidate KEY=VALUE"
        )
    newest = found[0].searchable[label.key]
    click.echo(f"candidate: {plain(label.key)}={newest}", err=True)
    return [trial for trial in found if trial.searchable.get(label.key) == newest]


def _data(found: Gate) -> dict[str, object]:
    return {
        "metric": found.metric,
        "limit": found.limit,
        "outcome": found.outcome,
        "sentence": found.sentence,
        "benchmarks": found.benchmarks,
        "new": found.new,
        "ignored": found.identifying,
    }


def _print(found: Gate, format_: str | None) -> None:
    from venturi.terminal.gate import by_severity, gate_screen, junit, markdown

    if format_ is not None and format_ != "text":
        click.echo(junit(found) if format_ == "junit" else markdown(found), nl=False)
        return
    if not is_first_screen():
        show(*gate_screen(found, None))
        return
    show(*gate_screen(found))
    next_step(f"venturi show {by_severity(found)[0].group_key}")
