"""`venturi quickstart`: the main job, from host facts to a priced report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from venturi.cli.html import PageFile, command_line, html_options
from venturi.cli.measure.measuring import Predictor, measuring_session, records, say, this_host
from venturi.cli.options import DURATION, json_option, print_json, quiet_option, wait_option
from venturi.cli.progress import step
from venturi.cli.screen import details_option, is_first_screen, next_step, show
from venturi.core import settings
from venturi.core.errors import ExitCode, Interrupted, VenturiError
from venturi.core.units import format_bytes, format_bytes_decimal, format_duration
from venturi.core.wording import count_of
from venturi.measure.studies import sizes as plan
from venturi.measure.studies.sizes import DataSize, MeasuredRates, SkippedStep, require_time
from venturi.measure.trial import space
from venturi.measure.trial.folders import DataFolders, parse_roles, require_writable
from venturi.measure.workloads.registry import size_of_bytes, workload
from venturi.record.store.series import read_series
from venturi.record.trial import State, Trial
from venturi.terminal.table import Paragraph, pairs

if TYPE_CHECKING:
    from venturi.machines.advice.hardware import Advice
    from venturi.machines.catalog import Catalog
    from venturi.machines.cost.predict import Prediction
    from venturi.measure.trial.runner import Session
    from venturi.measure.workloads.inputs import GeneratedInputs
    from venturi.web.report.data import ReportData

PRICED_BYTES = 100 * 10**12
PRICED_JOB = "a 100 TB sort"
SAMPLE_INTERVAL_MS = 250  # phases last seconds here: at 1 Hz there would be little to see
NET_PEERS = (2, 4)
RANDOM_BLOCK_BYTES = (4096,)
RANDOM_QUEUE_DEPTHS = (1, 32)
_FIRST_SENTENCES = 2  # of each answer
T = TypeVar("T")


@dataclass
class MainJob:
    """The main job's results so far."""

    session: Session
    folder: Path
    deadline_s: float  # monotonic clock
    time_budget_s: float
    talk: bool
    trials: list[Trial] = field(default_factory=list)
    predictions: dict[str, Prediction] = field(default_factory=dict)
    skipped: list[SkippedStep] = field(default_factory=list)
    failed: bool = False
    data: DataSize | None = None

    def tell(self, text: str) -> None:
        """Print the current step."""
        if self.talk:
            step(text)

    def left_s(self) -> float:
        """Seconds of the time budget that are left."""
        return self.deadline_s - time.monotonic()

    def attempt(self, step: str, work: Callable[[], T]) -> T | None:
        """Return the result of `work`; if it fails, keep the reason, and the main job continues."""
        try:
            return work()
        except Interrupted:
            raise
        except VenturiError as error:
            self.failed = True
            self.skipped.append(SkippedStep(step, f"failed with {error.code}: {error.message}"))
            say(f"{step} failed: error[{error.code}]: {error.message}")
            if error.hint:
                say(f"  hint: {error.hint}")
            return None


@click.command()
@click.option(
    "--time-budget",
    type=DURATION,
    default="3min",
    show_default=True,
    help="Time to spend; data sizes follow from it.",
)
@click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder on the disk to measure (default: the current directory).",
)
@html_options(
    "--report",
    default="report.html",
    help="File for the report.  [default: report.html, replaced if it exists]",
)
@click.option("--keep-data", is_flag=True, help="Keep the sorted data.")
@wait_option
@quiet_option
@details_option
@json_option
def command(
    *,
    time_budget: float,
    folder: Path | None,
    html: PageFile,
    keep_data: bool,
    wait: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Start here: measure, sort, price a job, write a report.

    It reads the host's facts, measures the disk and the loopback network, and sorts the same data
    in memory and in two passes. It compares the times with predictions, names the narrowest point,
    prices a 100 TB sort and writes a report. It doesn't need root, and uses at most half of the
    free disk space.
    """
    started_s = time.monotonic()
    require_time(time_budget)
    base = (folder or Path.cwd()).absolute()
    require_writable(this_host().files, [base], there=True)
    talk = not quiet and not as_json
    with (
        measuring_session(
            show_progress=talk,
            sample_interval_ms=SAMPLE_INTERVAL_MS,
            alone_as="quickstart",
            wait=wait,
        ) as session,
        DataFolders(session.agent.host.files, parse_roles((), base), keep=keep_data) as folders,
    ):
        job = MainJob(session, base, started_s + time_budget, time_budget, talk)
        for swept in folders.swept:
            say(f"removed {swept}, left behind by a killed process")
        disk = _disk(job)
        _net(job)
        _sorts(job, folders, disk)
        advice, catalogs = _prices()
        findings = job.attempt("doctor", lambda: _doctor(job))
        data = _write_report(job, html, advice, catalogs)
    elapsed_s = time.monotonic() - started_s
    if as_json:
        _print_json(job, advice, findings, html.path, elapsed_s)
    elif is_first_screen():
        show(*_first_screen(data), f"{html.path} written, {format_duration(elapsed_s)} in all")
        next_step(*_next(job, data))
    else:
        _print(job, advice, findings, html.path, elapsed_s)
    return _status(job)


def _disk(job: MainJob) -> Trial | None:
    from venturi.measure.probes.probes import DiskOptions, probe_disk

    size = plan.disk_probe_size(
        space.usable_bytes(job.session.agent.host.files, job.folder), job.time_budget_s
    )
    if isinstance(size, plan.SkippedStep):
        job.skipped.append(size)
        return None
    job.tell(f"measuring the disk behind {job.folder}")
    options = DiskOptions(
        dirs=(job.folder,),
        modes=("read", "write", "read_write", "random_read"),
        bytes=size.bytes_per_dir,
        random_block_bytes=RANDOM_BLOCK_BYTES,
        random_queue_depth=RANDOM_QUEUE_DEPTHS,
        iterations=size.iterations,
        min_seconds=min(1.0, size.max_seconds),
        max_seconds=size.max_seconds,
        random_seconds=min(1.0, size.max_seconds),
    )
    return _keep(job, job.attempt("probe disk", lambda: probe_disk(job.session, options)))


def _net(job: MainJob) -> None:
    from venturi.measure.probes.probes import NetOptions, probe_net

    seconds = plan.net_probe_seconds(job.time_budget_s)
    if isinstance(seconds, plan.SkippedStep):
        job.skipped.append(seconds)
        return
    job.tell("measuring loopback (memory copying, not a network)")
    options = NetOptions(loopback=max(NET_PEERS), scale=NET_PEERS, max_seconds=seconds)
    _keep(job, job.attempt("probe net", lambda: probe_net(job.session, options)))


def _keep(job: MainJob, trial: Trial | None) -> Trial | None:
    """Add `trial` to the job; return it only if it counts."""
    if trial is None:
        return None
    job.trials.append(trial)
    if trial.state is not State.SUCCEEDED:
        return None
    return trial


def _sorts(job: MainJob, folders: DataFolders, disk: Trial | None) -> None:
    from venturi.measure.workloads.inputs import GeneratedInputs

    rates = _rates(disk)
    memory_bytes = plan.available_memory_bytes(job.session.host.facts)
    size: DataSize | SkippedStep
    if isinstance(rates, str):
        size = plan.SkippedStep("sort", rates)
    elif memory_bytes is None:
        size = plan.SkippedStep("sort", "the host does not say how much memory is available")
    else:
        left_s = job.left_s() - plan.REPORT_SHARE * job.time_budget_s
        size = plan.data_size(
            space.usable_bytes(job.session.agent.host.files, job.folder),
            memory_bytes,
            left_s,
            rates,
        )
    if isinstance(size, plan.SkippedStep):
        job.skipped.append(size)
        return
    assert disk is not None
    job.data = size
    terasort = workload("terasort")
    inputs = GeneratedInputs(folders, terasort, size_of_bytes(terasort, size.input_bytes))
    in_memory = plan.in_memory_bytes(size.input_bytes)
    minimum_bytes = _sort(job, folders, inputs, disk, step="sort in memory", memory_bytes=in_memory)
    if minimum_bytes is None:
        job.skipped.append(plan.SkippedStep("sort in two passes", "the sort in memory failed"))
        return
    two_pass = plan.two_pass_bytes(size.input_bytes, minimum_bytes)
    if isinstance(two_pass, plan.SkippedStep):
        job.skipped.append(two_pass)
        return
    _sort(job, folders, inputs, disk, step="sort in two passes", memory_bytes=two_pass)


def _rates(disk: Trial | None) -> Any:
    """The disk's rates, or why they are missing."""
    from venturi.machines.cost.predict import disk_rates_from_trial

    if disk is None:
        return "the disk was not measured, so no size can be chosen"
    found = disk_rates_from_trial(disk)
    if found.read is None or found.write is None or found.mixed_total is None:
        return "; ".join(found.missing.values())
    return MeasuredRates(
        found.read.bytes_per_s, found.write.bytes_per_s, found.mixed_total.bytes_per_s
    )


def _sort(
    job: MainJob,
    folders: DataFolders,
    inputs: GeneratedInputs,
    disk: Trial,
    *,
    step: str,
    memory_bytes: int,
) -> int | None:
    """One recorded sort; the engine's minimum of memory for this input, None if it failed."""
    from venturi.measure.engines.native.engine import NativeJob, NativeOptions
    from venturi.measure.trial.runner import run_trial

    job.tell(
        f"{step}: {format_bytes_decimal(inputs.planned_bytes)} with {format_bytes(memory_bytes)}"
    )
    predictor = Predictor(disk)
    native = NativeJob(
        definition=workload("terasort"),
        inputs=inputs,
        folders=folders,
        options=NativeOptions(
            memory_bytes=memory_bytes,
            touch_memory=True,
            rehearse=True,
            stall_s=settings.load().stall_s,
        ),
        engine_version=job.session.software.others["agent"],
        predict=predictor,
    )
    trial = job.attempt(step, lambda: run_trial(job.session, native))
    if trial is None:
        return None
    job.trials.append(trial)
    if predictor.last is not None:
        job.predictions[trial.id] = predictor.last
    return None if native.last_plan is None else native.last_plan.minimum_memory_bytes


def _prices() -> tuple[Advice, list[Catalog]]:
    """Time and cost of the job on the machines that can be rented today."""
    from venturi.machines.advice.hardware import advise
    from venturi.machines.advice.question import HardwareRequest
    from venturi.machines.advice.volumes import equipped
    from venturi.machines.catalog import DEFAULT, load_shipped
    from venturi.machines.cost.job import sort_job
    from venturi.machines.cost.operation import operated

    catalogs = [equipped(load_shipped(DEFAULT))]
    today = datetime.now(UTC).date()
    request = HardwareRequest(operated(sort_job(PRICED_BYTES)), today=today, shown=8)
    return advise(request, catalogs), catalogs


def _doctor(job: MainJob) -> str:
    """The checks of `venturi doctor` in one line."""
    from venturi.machines.health.doctor import counts_of, examine, load_rules

    counts = counts_of(examine(job.session.host.facts, load_rules()))
    told = ", ".join(f"{count} {severity.value}" for severity, count in counts.items() if count)
    return f"doctor: {told or 'nothing to check'} (`venturi doctor` has the details)"


def _write_report(
    job: MainJob, html: PageFile, advice: Advice, catalogs: list[Catalog]
) -> ReportData:
    from venturi.web.report.build import report_data
    from venturi.web.report.data import SkippedMeasurement
    from venturi.web.report.prices import price_rows

    repository = job.session.repository
    series = {
        trial.id: read_series(repository.artifact_path(artifact))
        for trial in job.trials
        for artifact in trial.artifacts
        if artifact.kind == "series"
    }
    data = report_data(
        job.trials,
        series=series,
        predictions=job.predictions,
        prices=price_rows(advice, catalogs),
        generated_at=datetime.now(UTC),
        job=PRICED_JOB,
        skipped=[SkippedMeasurement(each.step, each.reason) for each in job.skipped],
        commands=(command_line(),),
    )
    html.write("/report", data)
    return data


def _status(job: MainJob) -> int:
    if any(trial.state is State.INVALID for trial in job.trials):
        return ExitCode.INVALID
    return ExitCode.USER if job.failed else ExitCode.OK


def _print_json(
    job: MainJob, advice: Advice, findings: str | None, report: Path, elapsed_s: float
) -> None:
    from venturi.machines.health.verdict import verdicts
    from venturi.terminal.advice import advice_data

    data = {
        "trials": records(job.trials),
        "verdicts": [each for trial in job.trials for each in verdicts(trial)],
        "skipped": job.skipped,
        "data": job.data,
        "doctor": findings,
        "prices": advice_data(advice)["classes"][0],
        "priced_bytes": PRICED_BYTES,
        "report": str(report),
        "elapsed_s": elapsed_s,
    }
    print_json(data, tuple(w.message for trial in job.trials for w in trial.warnings))


def _next(job: MainJob, data: ReportData) -> tuple[str, str]:
    """Return the step that follows from the main sort's limit, and its command."""
    from venturi.web.report.words import limits_of, main_sort

    if any(trial.disturbed for trial in job.trials):
        return "stop other programs (`top` lists them), then repeat", command_line()
    main = main_sort(data.sorts)
    limits = [] if main is None else limits_of(main)
    if "disk" in limits:
        return "see if another disk sorts faster", "venturi quickstart --dir FOLDER_ON_IT"
    if limits:
        return "check the settings that slow down a CPU", "venturi doctor"
    return "open the report in a browser; it shows each phase over time", ""


def _first_screen(data: ReportData) -> Iterator[Paragraph]:
    """Yield the headline, and the answers of the report, the main sort's first."""
    yield Paragraph(data.headline, "bold")
    for answer in data.answers:
        sentences = answer.sentences[:_FIRST_SENTENCES]
        text = " ".join(f"{sentence.removesuffix('.')}." for sentence in sentences)
        yield Paragraph(f"{answer.question} {text}", indent=2)
    if data.warnings:
        count = count_of(len(data.warnings), "warning")
        yield Paragraph(f"{count}: {'; '.join(data.warned)}.", "yellow", 2)


def _print(
    job: MainJob,
    advice: Advice,
    findings: str | None,
    report: Path,
    elapsed_s: float,
) -> None:
    from venturi.machines.health.verdict import verdicts
    from venturi.terminal import measurements as terminal
    from venturi.terminal.advice import prediction_table, ranking

    def heading(text: str) -> None:
        show(Paragraph(f"\n{text}", "bold"))

    heading("This machine")
    show(terminal.host_facts(job.session.host.facts))
    if findings is not None:
        show(findings)
    names = {
        "diskbench": ("Disk (DiskBench)", terminal.DISK_NAMES),
        "netbench": ("Network (NetBench)", terminal.NET_NAMES),
    }
    for trial in job.trials:
        if trial.workload.name in names:
            title, metrics = names[trial.workload.name]
            heading(f"{title}: {trial.cluster.network}" if trial.cluster.network else title)
            for verdict in verdicts(trial):
                show(f"{verdict.subject}: {verdict.text}")
            show(terminal.rates(trial, metrics))
        else:
            heading(f"Sort {terminal.regime(trial)}")
            show(terminal.sort_summary(trial))
    heading(f"Predicted time and cost of {PRICED_JOB}, at the catalog's rates")
    show(ranking(advice, advice.classes[0]))
    if advice.classes[0].at_least:
        show(prediction_table(advice.classes[0].at_least))
        show(Paragraph("≥ at least: only the network's line rate is known", "dim"))
    if job.skipped:
        heading("Not done")
        show(pairs((each.step, each.reason) for each in job.skipped))
    show(f"\n{report} written, {format_duration(elapsed_s)} in all")
