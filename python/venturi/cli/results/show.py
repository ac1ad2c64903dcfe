"""`venturi show`: one trial."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from venturi.cli.html import PageFile, html_options
from venturi.cli.jobs.job import AnalyzedJob, cost_of_job, job_of, own_prices
from venturi.cli.open_repository import open_repository
from venturi.cli.options import F, json_option, print_json
from venturi.cli.screen import details_option, is_first_screen, next_step, show, show_everything
from venturi.core import units
from venturi.jobs.stages.queries import failed_queries
from venturi.jobs.stages.stage import Analysis
from venturi.jobs.tiers.recorded_tiers import tier_uses
from venturi.record import io_trace
from venturi.record.cost import recorded_cost
from venturi.record.dilation import real_rate, real_time_s
from venturi.record.dropped_tables import REMEDY, require_tables, tables_dropped
from venturi.record.importing.items import CLOCK
from venturi.record.job_account import NOT_RECORDED
from venturi.record.prediction import prediction_check
from venturi.record.trial import Cluster, Link, Sample, State, Trial
from venturi.results.bottleneck import narrowest_points
from venturi.terminal import several_hosts
from venturi.terminal.measurements import figure
from venturi.terminal.predictions import check_text
from venturi.terminal.table import UNKNOWN, Paragraph, Table, pairs, table, table_of

if TYPE_CHECKING:
    from venturi.jobs.fleet.kept import KeptSummary
    from venturi.jobs.stages.host_use import HostUseByStage
    from venturi.record.access.authors import Author
    from venturi.record.store.repository import TrialRepository

_LONGEST_SETTING = 200  # characters
SECTIONS = {
    "stages": "Only the stages: tasks, time by cause, skew, stragglers.",
    "sql": "Only SQL and streaming queries, plan changes, caches, operators.",
    "executors": "Only the executors, and how their cores were used.",
    "slots": "Only the times with fewer or more slots.",
    "settings": "Only the configuration.",
    "samples": "Only the recorded samples.",
}
"""The named sections of `show`, and their help."""
_OF_TABLES = frozenset({"stages", "sql", "executors", "slots"})
# Columns of the stage table: metric, title.
_STAGE_COLUMNS = (
    ("stage_workers", "workers"),
    ("stage_bytes", "bytes"),
    ("stage_started_s", "started"),
    ("stage_ended_s", "ended"),
    ("stage_useful_s", "busy"),
    ("stage_cpu_s", "CPU"),
    ("stage_core_wait_s", "core wait"),
    ("stage_idle_s", "idle"),
    ("stage_waiting_for_memory_s", "memory wait"),
    ("stage_blocked_s", "blocked"),
    ("stage_page_faults", "page faults"),
)


def _section_options(command: F) -> F:
    for name, text in reversed(SECTIONS.items()):
        command = click.option(f"--{name}", is_flag=True, help=text)(command)
    return command


@click.command()
@click.argument("id_", metavar="ID")
@html_options()
@details_option
@_section_options
@json_option
def command(*, id_: str, html: PageFile | None, as_json: bool, **sections: bool) -> None:
    """Show one trial: where its time went, and possible fixes.

    ID may be any unique beginning or end of a trial's id. Venturi prints the end. Ids begin with a
    time or a format, which many trials share.

    `last` is the trial that you measured or imported last, and `last~1` the one before.
    """
    with open_repository() as repository:
        trial = repository.get(id_)
        if html is not None:
            html.write_answers(f"/trials/{trial.id}", repository)
        if as_json:
            from venturi.jobs.stages.executors import executor_uses
            from venturi.jobs.whatif.ideal import ideals
            from venturi.jobs.whatif.outlook import outlooks
            from venturi.record.trial_json import ADAPTER

            data = ADAPTER.dump_python(trial, mode="json")
            data |= several_hosts.data(trial)
            if (check := prediction_check(trial)) is not None:
                data["prediction"] = check
            if (kept := _kept(repository, trial)) is not None:
                data["job"] = {"dropped": tables_dropped(trial), "summary": kept}
            elif (job := job_of(repository, trial)) is not None:
                data["job"] = asdict(job.analysis) | {
                    "diagnosis": job.diagnosis,
                    "executors": executor_uses(job.line),
                    "outlook": outlooks(job.line),
                    "ideal_slots": ideals(job.line),
                    "began_s": job.account.began_s,
                    "host": _host(job.analysis, job.host),
                    "tiers": tier_uses(job.account),
                    "cost": cost_of_job(trial, job),
                }
            print_json(data)
            return
        only = frozenset(name for name, asked in sections.items() if asked) or None
        if only is not None:
            show_everything()
        elif is_first_screen():
            _first_screen(repository, trial)
            return
        from venturi.record.access.actions import added_by

        with repository.reading() as connection:
            by = added_by(connection, trial.id)
        if only is not None and only & _OF_TABLES:
            require_tables(trial)
        kept = _kept(repository, trial)
        if kept is not None and only is None:
            _show_kept(trial, kept)
            show("")
        job = None if kept is not None else job_of(repository, trial)
        show(*_parts(trial, by, job, only))
        if only is None:
            if figures := _series(repository, trial):
                show(Paragraph("\nHost series", "bold"), pairs(figures))
            show(*_io(repository, trial))


def _first_screen(repository: TrialRepository, trial: Trial) -> None:
    from venturi.record.query.counting import short_id
    from venturi.terminal.trial_screen import trial_screen

    id_ = short_id(repository, trial.id)
    if (kept := _kept(repository, trial)) is not None:
        _show_kept(trial, kept)
        next_step("import its log again for stages and tasks", REMEDY)
        return
    job = job_of(repository, trial)
    if job is not None:
        from venturi.terminal.job_screen import job_screen

        cost = cost_of_job(trial, job)
        show(*job_screen(trial, job.account, job.analysis, job.diagnosis, cost))
        if trial.state is State.RUNNING:
            next_step("import its log again for its progress", "venturi import LOG")
        elif trial.state is State.INTERRUPTED:
            next_step("if the job has ended since, import its log again", "venturi import LOG")
        elif job.diagnosis.findings or trial.state is State.FAILED:
            next_step("fix it, run again, import, then", f"venturi compare --why {id_} NEW_ID")
        else:
            next_step(*_next_without_finding(job, id_))
    else:
        show(*trial_screen(trial, _series(repository, trial)))
        words = "stop other programs and measure again" if trial.disturbed else "all details"
        next_step(words, "" if trial.disturbed else f"venturi show {id_} --all")


def _series(repository: TrialRepository, trial: Trial) -> list[tuple[str, str]]:
    """The figures of an imported host series; none of other trials."""
    from venturi.record.importing.host_series import WORKLOAD

    if trial.workload.name != WORKLOAD:
        return []
    from venturi.record.store.series import read_series
    from venturi.results.hosts.series_figures import series_figures

    began = [w.message.removeprefix("it began at ") for w in trial.warnings if w.code == CLOCK]
    figures = [("began", text) for text in began]
    for each in trial.artifacts:
        if each.kind == "series":
            figures += series_figures(read_series(repository.artifact_path(each)))
    return figures


def _kept(repository: TrialRepository, trial: Trial) -> KeptSummary | None:
    """The summary of a job without task tables; None if it has them."""
    if tables_dropped(trial) is None:
        return None
    from venturi.jobs.fleet.kept import kept_summary

    return kept_summary(repository, trial)


def _show_kept(trial: Trial, kept: KeptSummary) -> None:
    from venturi.machines.cost.job_prices import job_cost
    from venturi.terminal.job_screen import kept_screen

    cost = job_cost(kept.row.use, own_prices())
    show(*kept_screen(trial, kept, cost))


def _next_without_finding(job: AnalyzedJob, id_: str) -> tuple[str, str]:
    """Return what to do next, and its command or "", for a job without a finding."""
    from venturi.jobs.diagnosis.sentences import DRIVER, largest_on_driver, largest_part
    from venturi.jobs.stages.elapsed import BEFORE

    top, _ = largest_part(job.analysis.verdict.shares)
    if top == DRIVER and largest_on_driver(job.analysis.verdict.shares) == BEFORE:
        return "profile your program up to its first query (cProfile, py-spy, JFR)", ""
    if top == DRIVER:
        has_queries = job.account.queries is not None and len(job.account.queries)
        return "see the driver's work", f"venturi show {id_} {'--sql' if has_queries else '--all'}"
    if top == "cpu" and job.account.kind.can("plans"):
        return "see what more cores would take", f"venturi whatif {id_} --on current"
    return "see if more or fewer cores would help", f"venturi show {id_} --slots"


def _io(repository: TrialRepository, trial: Trial) -> Iterator[Paragraph | Table]:
    """The requests to the disks by owner, if they were traced."""
    if not io_trace.has_trace(trial):
        return
    from venturi.terminal.io_shares import share_tables
    from venturi.terminal.io_trace import flush_lines, read

    trace = read(io_trace.load(repository, trial))
    yield Paragraph("\nBlock I/O", "bold")
    yield from share_tables(trace, "class")
    yield from map(Paragraph, flush_lines(trace))
    yield Paragraph(f"more: venturi trace show {trial.id}")


def _host(analysis: Analysis, host: HostUseByStage) -> dict[str, Any]:
    """The host's use, by the labels of stages."""
    uses = {each.label: host.uses[each.key] for each in analysis.stages if each.key in host.uses}
    return {"stages": uses, "narrowest": host.narrowest, "missing_reason": host.reason}


def _parts(
    trial: Trial, by: Author | None, job: AnalyzedJob | None, only: frozenset[str] | None
) -> Iterator[Paragraph | Table]:
    """Yield everything that is recorded of a trial, or the sections `only`."""
    if only is None:
        yield from _opening(trial, by, job)
    if job is not None:
        from venturi.terminal.job import operators, parts

        yield from parts(job.line, job.analysis, job.host, only)
        if only is None or "sql" in only:
            yield from operators(job.line, job.analysis)
        if only is None or "slots" in only:
            yield from _slots(job)
    for section, title, body in (
        ("", "Hosts", _hosts(trial.cluster)),
        ("", "Racks", _racks(trial.cluster)),
        (
            "settings",
            "Configuration",
            pairs((key, _setting(value)) for key, value in trial.configuration.items()),
        ),
        ("", "Phases", _phases(trial)),
        ("", "Narrowest point", _narrowest(trial)),
        ("stages", "Stages (times summed over workers)", _stages(trial)),
        ("samples", "Samples", _samples(trial)),
        ("", "Warnings", pairs((w.code, w.message) for w in trial.warnings)),
        ("", "Artifacts", _artifacts(trial)),
    ):
        if body.rows and (only is None or section in only):
            yield Paragraph(f"\n{title}", "bold")
            yield body


def _opening(
    trial: Trial, by: Author | None, job: AnalyzedJob | None
) -> Iterator[Paragraph | Table]:
    from venturi.machines.health.verdict import verdicts

    if job is not None and (trial.state is State.FAILED or failed_queries(job.account)):
        from venturi.terminal.findings import opening
        from venturi.terminal.job_screen import job_screen

        cost = cost_of_job(trial, job)
        yield from job_screen(trial, job.account, job.analysis, job.diagnosis, cost)
        # Without the sentence, which advises how to make a job faster that doesn't work.
        yield from islice(opening(job.analysis, job.diagnosis), 1, None)
        yield Paragraph("")
    elif job is not None:
        from venturi.terminal.findings import opening
        from venturi.terminal.job_screen import cost_line, headline

        first = headline(trial, job.account, job.analysis)
        yield Paragraph(f"{first}\n", "bold")
        for line in cost_line(cost_of_job(trial, job), trial, job.diagnosis):
            yield Paragraph(f"{line.text}\n")
        yield from opening(job.analysis, job.diagnosis)
        if job.account.began_s is not None:
            yield Paragraph(f"\n{_of_the_trial(trial, job)}")
        yield Paragraph("")
    for verdict in verdicts(trial):
        yield Paragraph(f"{verdict.subject}: {verdict.text}")
    yield _facts(trial, by)
    yield from several_hosts.parts(trial)


def _slots(job: AnalyzedJob) -> Iterator[Paragraph | Table]:
    from venturi.jobs.whatif.ideal import ideals
    from venturi.jobs.whatif.outlook import outlooks
    from venturi.terminal.job import ideal, outlook

    yield Paragraph("\nWhat if: fewer or more slots", "bold")
    yield from outlook(outlooks(job.line))
    yield from ideal(ideals(job.line))


def _of_the_trial(trial: Trial, job: AnalyzedJob) -> str:
    """A note that the shares are of the application's time, not of the trial's."""
    whole, own = map(units.format_duration, (trial.elapsed_s, job.analysis.elapsed_s))
    began = units.format_duration(job.account.began_s)
    return (
        f"these shares are of the application's own {own}, which began {began} after the trial; "
        f"the trial's time is {whole}"
    )


def _facts(trial: Trial, by: Author | None) -> Table:
    workload, software = trial.workload, trial.software
    rows: list[tuple[str, str | None]] = [
        ("trial", trial.id),
        ("state", " ".join((trial.state.value, *(f"({each})" for each in trial.remarks)))),
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
        ("prediction", None if (check := prediction_check(trial)) is None else check_text(check)),
        (
            several_hosts.REAL,
            None if (real_s := real_time_s(trial)) is None else _on_real(trial.cluster, real_s),
        ),
        ("started", f"{trial.started_at:%Y-%m-%d %H:%M:%S} UTC" if trial.started_at else None),
        ("cluster", _cluster(trial.cluster)),
        ("hosts", ", ".join(host.name for host in trial.cluster.hosts)),
        ("instance type", trial.cluster.instance_type),
        ("price", None if trial.cluster.price is None else str(trial.cluster.price)),
        ("cost", _cost(trial)),
        ("network", trial.cluster.network),
        ("experiment", trial.experiment),
        *((f"label {key}", text) for key, text in trial.labels.items()),
        ("repeat group", f"{trial.group_key}, repetition {trial.repetition}"),
        ("seed", None if trial.seed is None else str(trial.seed)),
        (
            "software",
            f"venturi {software.venturi_version}, {software.git_sha or 'unknown commit'}, "
            f"{software.build_profile or 'unknown'} build, kernel {software.kernel or 'unknown'}",
        ),
        ("provenance", f"{trial.provenance.kind.value} by {trial.provenance.source}"),
        ("uploaded by", None if by is None else by.text),
    ]
    rows += [
        (f"disks: {role}", ", ".join(dirs)) for role, dirs in trial.cluster.disks_by_role.items()
    ]

    return pairs((name, value) for name, value in rows if value)


def _cluster(cluster: Cluster) -> str | None:
    """The cluster's name; for an emulated one also its slowdown against the real cluster."""
    if cluster.dilation is None:
        return cluster.name
    said = f"{cluster.name or 'emulated'}, rates divided by {cluster.dilation:g}"
    return said + {True: ", CPUs too", False: ", CPUs not", None: ""}[cluster.dilate_cpu]


def _on_real(cluster: Cluster, real_s: float) -> str:
    """The time as on real machines, and how far it holds."""
    time, modeled = units.format_duration(real_s), f"the time divided by k = {cluster.dilation:g}"
    if cluster.dilate_cpu is None:
        return f"{time} (modeled: {modeled}, if CPUs were slowed, too)"
    if cluster.dilate_cpu:
        return f"{time} (modeled: {modeled})"
    return f"at least {time} (modeled: {modeled}; CPUs were not slowed)"


def _cost(trial: Trial) -> str | None:
    """The cost of the whole trial, or why it is unknown; None if none was recorded."""
    cost = recorded_cost(trial)
    return None if cost is None else cost.text or f"not known: {cost.missing_reason}"


def _hosts(cluster: Cluster) -> Table:
    """The role of each host; empty where no roles were chosen."""
    rows = []
    for host in cluster.hosts if any(host.roles for host in cluster.hosts) else ():
        links = (_link(name, link) for name, link in host.links.items())
        disks = (f"{name}: {' '.join(folders)}" for name, folders in host.disks.items())
        clock = host.clock
        rows.append(
            {
                "host": host.name,
                "roles": ", ".join(host.roles),
                "rack": host.rack or UNKNOWN,
                "links": ", ".join(links),
                "disks": ", ".join(disks),
                "clock": UNKNOWN
                if clock is None
                else units.format_offset(clock.offset_s, clock.error_s),
            }
        )
    made = table_of(rows, left=6, prose=("links", "disks"), spare=("rack", "clock"))
    made.notes.append(("clock", "clock: how far it was ahead of the machine Venturi ran on"))
    return made


def _link(network: str, link: Link) -> str:
    said = [
        text
        for rate, text in (
            (link.bytes_per_s, units.format_line_rate(link.bytes_per_s)),
            (link.flow_bytes_per_s, f"one flow {units.format_line_rate(link.flow_bytes_per_s)}"),
        )
        if rate is not None
    ]
    rates = f" ({', '.join(said)})" if said else ""
    return f"{network}: {link.address}{rates}"


def _racks(cluster: Cluster) -> Table:
    made = table("rack", "within", "link out of it", left=3)
    for rack in cluster.racks:
        rate = rack.uplink_bytes_per_s
        made.add(rack.name, rack.within or UNKNOWN, units.format_line_rate(rate))
    return made


def _phases(trial: Trial) -> Table:
    made = table("phase", "started", "took")
    for phase in trial.phases:
        made.add(
            phase.name,
            units.format_duration(phase.started_s),
            units.format_duration(phase.elapsed_s),
        )
    return made


def _narrowest(trial: Trial) -> Table:
    made = table("phase", "narrowest point", prose=("narrowest point",))
    for finding in narrowest_points(trial):
        made.add(finding.phase, finding.sentence)
        for line in finding.evidence:
            made.add("", f"  {line}")
    return made


def _stages(trial: Trial) -> Table:
    """The figures of each stage: those of our own engines, or those that an import has."""
    metrics = [s.metric for s in trial.samples if s.metric.startswith("stage_")]
    columns: tuple[tuple[str, str], ...] = _STAGE_COLUMNS
    if not {metric for metric, _ in columns} & set(metrics):
        columns = tuple((each, _stage_title(each)) for each in dict.fromkeys(metrics))
    titles = [title for _, title in columns]
    made = table(
        "phase",
        "stage",
        "device",
        *titles,
        left=3,
        spare=("workers", "started", "ended", "page faults", "device", "bytes"),
    )
    rows: dict[tuple[str, str, str], dict[str, Sample]] = {}
    for sample in trial.samples:
        if sample.metric.startswith("stage_"):
            stage, device = (_scalar(sample.labels.get(key)) for key in ("stage", "device"))
            row = rows.setdefault((sample.phase or "—", stage, device), {})
            row[sample.metric] = sample
    for place, row in rows.items():
        cells = (row.get(metric) for metric, _ in columns)
        made.add(*place, *("—" if sample is None else _value(sample) for sample in cells))
    return made


def _stage_title(metric: str) -> str:
    """`elapsed` for `stage_elapsed_s`, `shuffle read` for `stage_shuffle_read_bytes`."""
    plain = metric.removeprefix("stage_").removesuffix("_s").removesuffix("_bytes")
    return plain.replace("_", " ")


def _samples(trial: Trial) -> Table:
    """Samples that differ only in their iteration share a line."""
    real = (several_hosts.REAL,) if trial.cluster.dilation is not None else ()
    made = table(
        "metric",
        "phase",
        "labels",
        "n",
        "value",
        *real,
        left=3,
        prose=("labels", "value"),
        spare=("n", "phase"),
    )
    groups: dict[tuple[str, str, str], list[Sample]] = {}
    nobody: list[str] = []
    for sample in trial.samples:
        if sample.metric.startswith("stage_"):
            continue
        if sample.value is None and sample.missing_reason == NOT_RECORDED:
            nobody.append(sample.metric)
            continue
        labels = ", ".join(
            f"{key}={_scalar(value)}" for key, value in sample.labels.items() if key != "iteration"
        )
        groups.setdefault((sample.metric, sample.phase or "—", labels), []).append(sample)
    for (metric, phase, labels), samples in groups.items():
        texts = [_span(samples)] if any(each.value is not None for each in samples) else []
        texts += dict.fromkeys(_value(sample) for sample in samples if sample.value is None)
        on_real = [
            replace(each, value=value)
            for each in samples
            if (value := real_rate(trial, each.value, each.unit)) is not None
        ]
        modeled = [_span(on_real) if on_real else UNKNOWN for _ in real]
        made.add(metric, phase, labels, str(len(samples)), ", ".join(texts), *modeled)
    if nobody:
        made.notes.append(("metric", f"{NOT_RECORDED}: {', '.join(nobody)}"))
    return made


def _span(samples: Iterable[Sample]) -> str:
    """The least and the greatest of their values."""
    present = sorted((each.value, _value(each)) for each in samples if each.value is not None)
    return " to ".join(dict.fromkeys((present[0][1], present[-1][1])))


def _artifacts(trial: Trial) -> Table:
    made = Table(
        ("artifact", "kind", "size", "sha256"),
        (False, False, True, False),
        frozenset({"artifact"}),
        ("sha256",),
    )
    for artifact in trial.artifacts:
        size = units.format_bytes(artifact.size_bytes)
        made.add(artifact.path, artifact.kind, size, artifact.sha256[:16])
    return made


def _value(sample: Sample) -> str:
    """A sample's value for people, by its unit."""
    if sample.value is None:
        return f"— ({sample.missing_reason})"
    return figure(sample.value, sample.unit)


def _setting(value: object) -> str:
    """A setting's value, of a very long one the beginning: Spark's own options fill a screen."""
    text = _scalar(value)
    if len(text) <= _LONGEST_SETTING:
        return text
    return f"{text[:_LONGEST_SETTING]}… ({len(text):,} characters)"


def _scalar(value: object) -> str:
    return "—" if value is None else str(value)
