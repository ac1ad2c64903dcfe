"""`venturi probe ... --watch`: repeats one probe, and screens the machine by the results."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

import click

from venturi.cli.measure.measuring import say
from venturi.cli.open_repository import open_repository
from venturi.cli.options import DURATION, F, print_json
from venturi.cli.progress import step
from venturi.cli.screen import show
from venturi.core.errors import Interrupted, VenturiError
from venturi.core.units import format_duration, format_rate
from venturi.core.wording import count_of
from venturi.record.trial import State, Trial, now
from venturi.results.effects.screening import Screening, in_words, screen
from venturi.terminal.table import Table, table_of

if TYPE_CHECKING:
    from venturi.measure.trial.runner import Session


EXPERIMENT = "watch"
EVERY_S = 300.0
# Defaults for one probe of many: seconds, not minutes.
BRIEF_MODES, BRIEF_ITERATIONS, BRIEF_MAX_S = ("read", "write"), 1, 5.0
MOST_TRIALS = 1_000

Rate = tuple[str, str]
"""A metric, and the labels that distinguish its rates."""


@dataclass(frozen=True, slots=True)
class WatchSchedule:
    """The duration of the watch, and the interval between the starts of probes."""

    lasts_s: float
    every_s: float


def watch_options(function: F) -> F:
    """`--watch` and `--every`."""
    every = click.option(
        "--every",
        "every_s",
        type=DURATION,
        metavar="TIME",
        help="With --watch: interval between probe starts (default: 5min).",
    )
    watch = click.option(
        "--watch",
        "watch_s",
        type=DURATION,
        metavar="TIME",
        help="Repeat brief probes for this long and report how the machine varies.",
    )
    return watch(every(function))


def watch_of(watch_s: float | None, every_s: float | None) -> WatchSchedule | None:
    """The requested schedule; None for a single probe."""
    if watch_s is None:
        if every_s is not None:
            raise click.UsageError("--every is how often to probe with --watch: add --watch TIME")
        return None
    return WatchSchedule(watch_s, EVERY_S if every_s is None else every_s)


def is_default(name: str) -> bool:
    """Whether the user left out the current command's option `name`."""
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.DEFAULT


def watch(
    session: Session,
    probe: Callable[[], Trial],
    chosen: WatchSchedule,
    experiment: str,
    *,
    as_json: bool,
) -> None:
    """Probe until the time is over or Ctrl-C, then print the findings.

    To resume, probes of the same kind count that the last command of the same experiment made
    within `lasts_s`.
    """
    trials: list[Trial] = []
    stopped = False
    try:
        _probe_on(session, probe, chosen, experiment, trials)
    except (Interrupted, KeyboardInterrupt):
        if not trials:
            raise Interrupted from None
        stopped = True
    _answer(trials, as_json=as_json)
    if stopped:
        raise Interrupted("stopped before the time was over", "the same command goes on")


def _probe_on(
    session: Session,
    probe: Callable[[], Trial],
    chosen: WatchSchedule,
    experiment: str,
    trials: list[Trial],
) -> None:
    """Add earlier trials to `trials`, then new ones until the time is over."""
    begun_s = time.monotonic()
    ends_s = begun_s + chosen.lasts_s
    turn = 0
    while True:
        try:
            trial = probe()
        except Interrupted:
            raise
        except VenturiError as error:
            if not trials:
                raise
            say(f"warning: a probe failed: {error.message}")
        else:
            if not trials:
                trials += _before(session, trial, chosen, experiment)
                if trials and trials[0].started_at is not None:
                    done_s = (now() - trials[0].started_at).total_seconds()
                    ends_s = begun_s + chosen.lasts_s - done_s
                    say(f"goes on with {count_of(len(trials), 'probe')} of before")
            trials.append(trial)
            step(f"probe {len(trials)}: {_rate_summary(trial)}")
        turn += 1
        next_s = begun_s + turn * chosen.every_s
        if next_s >= ends_s:
            return
        time.sleep(max(0.0, next_s - time.monotonic()))


def _before(session: Session, trial: Trial, chosen: WatchSchedule, experiment: str) -> list[Trial]:
    """The probes like `trial` of the time before it, the oldest first."""
    since = now() - timedelta(seconds=chosen.lasts_s)
    found = [
        each
        for each in session.repository.trials_of(experiment)
        if each.id != trial.id
        and each.state is State.SUCCEEDED
        and each.group_key == trial.group_key
        and each.started_at is not None
        and each.started_at >= since
    ]
    return sorted(found, key=lambda each: each.id)


def _rate_summary(trial: Trial) -> str:
    parts = [f"{' '.join(rate).strip()} {format_rate(value)}" for rate, value in _rates(trial)]
    return ", ".join(parts) + (" (disturbed)" if trial.disturbed else "")


def _rates(trial: Trial) -> list[tuple[Rate, float]]:
    """The rates of a probe in bytes per second, each the mean of its iterations."""
    from venturi.terminal.measurements import DISK_NAMES, NET_NAMES

    names = {**DISK_NAMES, **NET_NAMES}
    values: dict[Rate, list[float]] = {}
    dirs = {sample.labels.get("dir") for sample in trial.samples if sample.metric in DISK_NAMES}
    for sample in trial.samples:
        labels = sample.labels
        if sample.metric not in names or sample.unit != "B/s" or sample.value is None:
            continue
        if labels.get("slowest") or (len(dirs) == 2 and labels.get("dir") is not None):
            continue  # of two, one is all of them together
        place = labels.get("dir")
        told = "all directories" if place is None and len(dirs) > 2 else str(place or "")
        if (count := labels.get("peers")) is not None:
            told = f"({count} peers)"
        values.setdefault((names[sample.metric], told), []).append(sample.value)
    return [(rate, fmean(found)) for rate, found in values.items()]


def _answer(trials: Sequence[Trial], *, as_json: bool) -> None:
    others = _others(trials[-1])
    found = {
        rate: screening
        for rate in dict(_rates(trials[-1]))
        if (screening := screen(_series(trials, rate), others.get(rate, ()))) is not None
    }
    disturbed = sum(trial.disturbed is True for trial in trials)
    if as_json:
        print_json(
            {
                "trials": [trial.id for trial in trials],
                "disturbed": disturbed,
                "rates": [
                    {
                        "what": what,
                        "of": of,
                        "unit": "B/s",
                        **asdict(screening),
                        "in_words": in_words(screening),
                    }
                    for (what, of), screening in found.items()
                ],
            }
        )
        return
    for (what, of), screening in found.items():
        for line in in_words(screening):
            show(f"{f'{what} {of}'.strip()}: {line}")
        if not screening.peers:
            show(f"{f'{what} {of}'.strip()}: no other host of this type is in the repository")
    show(_table(found))
    if disturbed:
        show(
            f"{disturbed} of {count_of(len(trials), 'probe')} were disturbed by others: "
            f"`venturi ls --where experiment={trials[-1].experiment} --where disturbed=true`"
        )


def _series(trials: Sequence[Trial], rate: Rate) -> list[tuple[Any, float]]:
    return [
        (trial.started_at, value)
        for trial in trials
        for each, value in _rates(trial)
        if each == rate and trial.started_at is not None
    ]


def _table(found: Mapping[Rate, Screening]) -> Table:
    return table_of(
        (
            {
                "what": what,
                "of": of or "—",
                "probes": str(each.n),
                "over": format_duration(each.lasted_s),
                "median": format_rate(each.median),
                "least": format_rate(each.least),
                "most": format_rate(each.most),
                "variation": "—" if each.variation is None else f"{each.variation:.1%}",
            }
            for (what, of), each in found.items()
        ),
        left=2,
        spare=("over", "of"),
    )


def _others(trial: Trial) -> dict[Rate, list[float]]:
    """The median rates of other hosts of the type of `trial`'s, one a host, by rate.

    Rates of single directories are not compared: another host has its own.
    """
    from venturi.record.query.conditions import Condition
    from venturi.record.query.paging import whole_trials

    kind = _type_of(trial)
    by_host: dict[str, dict[Rate, list[float]]] = {}
    if kind is None:
        return {}
    with open_repository() as repository:
        probes = whole_trials(
            repository,
            Condition.equal("engine", trial.engine.name),
            Condition.equal("state", State.SUCCEEDED.value),
            most=MOST_TRIALS,
        )
    own = {host.name for host in trial.cluster.hosts}
    for each in probes:
        (name, *more) = (host.name for host in each.cluster.hosts)
        if more or name in own or _type_of(each) != kind:
            continue
        for rate, value in _rates(each):
            by_host.setdefault(name, {}).setdefault(rate, []).append(value)
    found: dict[Rate, list[float]] = {}
    for rates in by_host.values():
        for rate, values in rates.items():
            found.setdefault(rate, []).append(median(values))
    return found


def _type_of(trial: Trial) -> tuple[object, ...] | None:
    """The features that equal machines share: a cloud's type, else processor, threads and disks."""
    if trial.cluster.instance_type is not None:
        return (trial.cluster.instance_type,)
    facts = trial.cluster.hosts[0].facts
    disks = facts.get("block_devices")
    if facts.get("cpu_model") is None or not isinstance(disks, list):
        return None
    real = [disk for disk in disks if disk.get("transport") not in {"loop", "zram"}]
    own = (str((d.get("transport"), d.get("rotational"), d.get("size_bytes"))) for d in real)
    return (facts["cpu_model"], facts.get("cpu_threads"), *sorted(own))
