"""`venturi probe`: measures this machine."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import click

from venturi.cli.measure.clusters import cluster_option
from venturi.cli.measure.measuring import (
    NO_RECORD_HELP,
    MeasuringOptions,
    measuring_session,
    record_of,
    say_longest,
    this_host,
)
from venturi.cli.measure.watch import (
    BRIEF_ITERATIONS,
    BRIEF_MAX_S,
    BRIEF_MODES,
    EXPERIMENT,
    WatchSchedule,
    is_default,
    watch,
    watch_of,
    watch_options,
)
from venturi.cli.options import (
    BYTES,
    DURATION,
    InputPath,
    json_option,
    label_option,
    print_json,
    quiet_option,
    wait_option,
)
from venturi.cli.screen import details_option, next_step, show
from venturi.core.errors import ExitCode
from venturi.measure.clusters.cluster_spec import ClusterSpec
from venturi.measure.trial.folders import require_writable
from venturi.record.trial import State, Trial

if TYPE_CHECKING:
    from venturi.measure.trial.runner import Session

DISK_MODES = ("read", "write", "read_write", "random_read", "shuffle_read")
NET_PATTERNS = ("pairwise", "all_to_all")


class ListType(click.ParamType[tuple[Any, ...]]):
    """Values separated by commas, each of another type."""

    def __init__(self, of: click.ParamType[Any]) -> None:
        self.of = of
        self.name = f"{of.name},..."

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Any, ...]:
        if isinstance(value, tuple):
            return value
        return tuple(self.of.convert(part, param, ctx) for part in re.split(r",\s*", value))


SIZES = ListType(BYTES)
NUMBERS = ListType(click.IntRange(1))
record_option = click.option("--no-record", is_flag=True, help=NO_RECORD_HELP)
verbose_option = click.option(
    "--verbose",
    is_flag=True,
    help="List every warning instead of one line per kind.",
)
iterations_option = click.option(
    "--iterations",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    help="Repetitions of each measurement.",
)
experiment_option = click.option(
    "--experiment", metavar="NAME", help="Record the trial under this experiment."
)


@click.group()
def command() -> None:
    """Measure a machine or cluster: host facts, disks, network."""


@command.command()
@record_option
@experiment_option
@label_option
@details_option
@json_option
def host(experiment: str | None, *, no_record: bool, as_json: bool) -> None:
    """Show facts about this host, and measure the speed of its cores in about 3 s.

    With --label instance_type=TYPE, `whatif` uses the speed for machines of this type.
    """
    from venturi.measure.probes.probes import probe_host

    with measuring_session(show_progress=False, record=not no_record) as session:
        trial = probe_host(session, experiment)
    _show(trial, as_json=as_json)


@command.command()
@click.option(
    "--dir",
    "dirs",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Directory to measure; repeat it for each disk (default: the current directory).",
)
@click.option(
    "--mode",
    "modes",
    type=ListType(click.Choice(DISK_MODES)),
    default=",".join(DISK_MODES),
    show_default=True,
    help="Measurements to run.",
)
@click.option("--bytes", "size_bytes", type=BYTES, help="Size of the test data in each directory.")
@click.option("--block-bytes", type=BYTES, help="Size of a request (default 4MiB).")
@click.option("--queue-depth", type=click.IntRange(1), help="Requests in flight (default 4).")
@click.option("--random-block-bytes", type=SIZES, default=(), help="Sizes of random reads.")
@click.option(
    "--random-queue-depth", type=NUMBERS, default=(), help="Queue depths of random reads."
)
@iterations_option
@click.option("--max-time", type=DURATION, help="Longest time of one measurement.")
@click.option("--random-time", type=DURATION, help="Time of one measurement of random reads.")
@click.option(
    "--slow-factor",
    type=click.FloatRange(0, 1),
    help="Report a disk as slow below this share of the median (default 0.8).",
)
@cluster_option
@click.option(
    "--alone/--no-alone",
    default=None,
    help="With --cluster: also measure each host alone (default: up to 8 hosts).",
)
@watch_options
@record_option
@experiment_option
@label_option
@verbose_option
@wait_option
@quiet_option
@details_option
@json_option
def disk(
    dirs: tuple[Path, ...],
    size_bytes: int | None,
    max_time: float | None,
    *,
    watch_s: float | None,
    every_s: float | None,
    random_time: float | None,
    cluster: ClusterSpec | None,
    alone: bool | None,
    experiment: str | None,
    no_record: bool,
    verbose: bool,
    wait: bool,
    quiet: bool,
    as_json: bool,
    **chosen: Any,
) -> None:
    """Measure disks: read, write, both, random read, shuffle read (DiskBench).

    The answer starts with a verdict: is each disk as fast as its class? Test data is random and
    read and written with direct I/O where possible. Times include the flush to disk. Test files are
    removed at the end.

    With --watch, each probe is brief: by default one read and one write of at most 5 s. Each is a
    trial of the experiment `watch`. The answer shows variation, trend, slow hours, and a comparison
    with other hosts of the same type. Run it again to continue.

    With --cluster, all hosts are measured concurrently, and then each alone, in the folders of
    their disks (or in each --dir). The answer shows disks that are slower than their peers, and
    hosts that share a disk or the path to it. Default --mode: read and write.
    """
    from venturi.measure.probes.probes import DiskOptions, probe_disk

    show_progress = not quiet and not as_json
    if cluster is not None:
        _refuse_with_cluster(watch=watch_s)
        from venturi.cli.measure import cluster_probe

        if is_default("modes"):
            chosen["modes"] = BRIEF_MODES
        chosen |= {
            "bytes": size_bytes,
            "random_seconds": random_time,
            "alone": alone,
            "max_seconds": max_time or BRIEF_MAX_S,
        }
        how = cluster_probe.ClusterProbeOptions(show_progress, not no_record, wait, experiment)
        trial = cluster_probe.probe_disk(cluster, dirs, how, chosen)
        _show(trial, as_json=as_json, verbose=verbose)
        return

    watching = watch_of(watch_s, every_s)
    if watching is not None:
        max_time = max_time or BRIEF_MAX_S
        brief = {"modes": BRIEF_MODES, "iterations": BRIEF_ITERATIONS}
        chosen |= {name: value for name, value in brief.items() if is_default(name)}
    options = DiskOptions(
        # Resolved, because the disk behind a link is measured.
        dirs=tuple(folder.resolve() for folder in dirs) or (Path.cwd(),),
        bytes=size_bytes,
        max_seconds=max_time,
        random_seconds=random_time,
        **chosen,
    )
    require_writable(this_host().files, options.dirs, there=True)
    if show_progress and watching is None:
        say_longest(options.longest_s)
    _probe_this_host(
        lambda session, named: probe_disk(session, options, named),
        experiment,
        watching,
        as_json=as_json,
        verbose=verbose,
        show_progress=show_progress,
        record=not no_record,
        alone_as="probe disk",
        wait=wait,
    )


@command.command()
@click.option(
    "--peer", "peers", multiple=True, metavar="HOST:PORT", help="Address of a listening agent."
)
@click.option(
    "--loopback",
    type=click.IntRange(2),
    help="Start this many peers on this machine. This measures memory copies, not a network.",
)
@click.option("--bytes", "size_bytes", type=BYTES, help="Bytes each peer sends.")
@click.option("--max-time", type=DURATION, help="Longest time of one measurement.")
@click.option(
    "--token-file",
    type=InputPath(dir_okay=False),
    help="File with the listening peers' secret in its first line.",
)
@click.option(
    "--sockets-per-peer", type=click.IntRange(1), help="Connections per pair (default 1)."
)
@click.option(
    "--scale", type=NUMBERS, default=(), help="Numbers of peers to measure with, such as 2,4,8."
)
@iterations_option
@click.option(
    "--pattern",
    "patterns",
    type=ListType(click.Choice(NET_PATTERNS)),
    default=",".join(NET_PATTERNS),
    show_default=True,
    help="Communication pattern.",
)
@cluster_option
@click.option(
    "--pairs",
    type=click.Choice(("alone", "at-once")),
    help="With --cluster: measure each pair of hosts alone, or disjoint pairs concurrently "
    "(default: alone up to 4 hosts).",
)
@click.option(
    "--slow-factor",
    type=click.FloatRange(0, 1),
    help="With --cluster: report a host as slow below this share of the median (default 0.8).",
)
@click.option(
    "--no-cull",
    is_flag=True,
    help="With --cluster: skip the measurements without the slowest hosts.",
)
@watch_options
@record_option
@experiment_option
@label_option
@wait_option
@quiet_option
@details_option
@json_option
def net(
    *,
    watch_s: float | None,
    every_s: float | None,
    peers: tuple[str, ...],
    loopback: int | None,
    size_bytes: int | None,
    max_time: float | None,
    cluster: ClusterSpec | None,
    pairs: str | None,
    slow_factor: float | None,
    no_cull: bool,
    experiment: str | None,
    no_record: bool,
    wait: bool,
    quiet: bool,
    as_json: bool,
    **chosen: Any,
) -> None:
    """Measure the network, pairwise and all-to-all (NetBench).

    The answer starts with a verdict: is the network as fast as the link speed allows? The result is
    the rate of the slowest peer.

    Peers are agents that listen elsewhere (`venturi-agent net --listen ADDR:PORT`), or --loopback
    peers here; without either, two peers over loopback.

    With --watch, each probe is brief (by default one of at most 5 s) and a trial of the experiment
    `watch`. The answer shows how the network varies. Run it again to continue.

    With --cluster, an agent on each host sends to the others over their data addresses. It measures
    every pair, then all-to-all among 2, 4, 8, ... and all hosts, with random targets, and without
    the slowest hosts. The answer names slow hosts and the gain without them.
    """
    show_progress = not quiet and not as_json
    if cluster is not None:
        _refuse_with_cluster(
            watch=watch_s,
            peer=peers,
            loopback=loopback,
            bytes=size_bytes,
            token_file=chosen["token_file"],
            pattern=None if is_default("patterns") else chosen["patterns"],
        )
        from venturi.cli.measure import cluster_probe

        chosen |= {"slow_factor": slow_factor, "cull": not no_cull}
        how = cluster_probe.ClusterProbeOptions(show_progress, not no_record, wait, experiment)
        _show(cluster_probe.probe_net(cluster, how, pairs, max_time, chosen), as_json=as_json)
        return
    if peers and loopback is not None:
        raise click.UsageError("give either --peer or --loopback")
    from venturi.measure.probes.probes import NetOptions, probe_net

    watching = watch_of(watch_s, every_s)
    if watching is not None:
        max_time = max_time or BRIEF_MAX_S
        if is_default("iterations"):
            chosen["iterations"] = BRIEF_ITERATIONS
    options = NetOptions(
        peers=peers,
        loopback=None if peers else loopback or 2,
        bytes=size_bytes,
        max_seconds=max_time,
        **chosen,
    )
    _probe_this_host(
        lambda session, named: probe_net(session, options, named),
        experiment,
        watching,
        as_json=as_json,
        show_progress=show_progress,
        record=not no_record,
        alone_as="probe net",
        wait=wait,
    )


def _probe_this_host(
    probe: Callable[[Session, str | None], Trial],
    experiment: str | None,
    watching: WatchSchedule | None,
    *,
    as_json: bool,
    verbose: bool = False,
    **how: Unpack[MeasuringOptions],
) -> None:
    """Probe once and show the trial, or repeatedly if `watching` is given."""
    with measuring_session(**how) as session:
        if watching is not None:
            named = experiment or EXPERIMENT
            watch(session, lambda: probe(session, named), watching, named, as_json=as_json)
            return
        trial = probe(session, experiment)
    _show(trial, as_json=as_json, verbose=verbose)


def _refuse_with_cluster(**given: object) -> None:
    """A usage error if an option is given that has no meaning for a cluster."""
    for name, value in given.items():
        if value not in (None, (), False):
            option = "--" + name.replace("_", "-")
            raise click.UsageError(f"{option} cannot be given with --cluster")


def _show(trial: Trial, *, as_json: bool, verbose: bool = False) -> None:
    from venturi.machines.health.verdict import verdicts
    from venturi.terminal import several_hosts

    if as_json:
        print_json(
            {
                **record_of(trial),
                **several_hosts.data(trial),
                "verdicts": verdicts(trial),
            },
            tuple(warning.message for warning in trial.warnings),
        )
    else:
        for verdict in verdicts(trial):
            show(f"{verdict.subject}: {verdict.text}")
        _print(trial, verbose=verbose)
    if trial.state is State.INVALID:
        sys.exit(ExitCode.INVALID)


def _print(trial: Trial, *, verbose: bool) -> None:
    from venturi.terminal import measurements as terminal
    from venturi.terminal import several_hosts

    if trial.workload.name == "hostfacts":
        show(terminal.host_facts(trial.cluster.hosts[0].facts, trial.samples))
    elif several_hosts.data(trial):
        show(*several_hosts.parts(trial))
    else:
        names = {"diskbench": terminal.DISK_NAMES, "netbench": terminal.NET_NAMES}
        if trial.cluster.network is not None:
            show(trial.cluster.network)
        show(terminal.rates(trial, names[trial.workload.name]))
    told = [warning.message for warning in trial.warnings]
    for message in told if verbose else terminal.folded(trial.warnings):
        show(f"warning: {message}")
    show(f"trial {trial.id} ({terminal.outcome(trial)})")
    if trial.workload.name == "diskbench":
        next_step("venturi run terasort --scale small; another disk: --dir")
