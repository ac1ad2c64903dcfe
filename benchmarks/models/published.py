"""Published figures, each predicted from another one of the same publication.

The figures are those of the starter set: Jaffe 2017 (tables 9 to 11, 16, 18, 20, 21) and the stages
of NWeight (Yu 2016). Predictions are the product's own:

- MapReduce (tables 9 to 11): the source's time x `job_time` of the target / that of the source, on
  machines described as a catalog does, with a bond behind the virtual ports of VMs.
- Spark (tables 16, 18, 20, and NWeight): `RecordedJob.predict` on an event log with the printed
  figures: executors, cores, partitions, bytes and times. It prints no CPU times.
- Table 21: `fit_memory_cliff` through the other five sizes.

Cases that no model expresses are in `NOT_MODELED` with the reason, and don't count.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from pathlib import Path
from statistics import median

from venturi.core.settings import Settings
from venturi.jobs.whatif.answer import RecordedJob
from venturi.jobs.whatif.changes import JobChanges
from venturi.jobs.whatif.setup import SetupChange
from venturi.machines.catalog import Catalog, parse
from venturi.machines.cost.choices import Durability
from venturi.machines.cost.dataflow import Bounds, job_time
from venturi.machines.cost.extensions import fit_memory_cliff, memory_cliff_s
from venturi.machines.cost.job import Job, sort_job
from venturi.machines.cost.node import node_of
from venturi.machines.cost.operation import operated
from venturi.record.importing.importer import import_file
from venturi.record.query.paging import whole_trials
from venturi.record.starter import import_starter
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Trial

TB, GIB = 1e12, 2**30
HOSTS = 10
SIZE, LAYOUT, CLIFF, DISK = "size of data", "VMs per host", "memory cliff", "disk"
NOT_MODELED: Mapping[str, str] = {
    "Table 21, from sizes in memory to sizes beyond, or back": (
        "one time doesn't say how often the program reads its cached data, nor how much of them "
        "a memory keeps; only the times of two sizes on each side do"
    ),
    "NWeight, RDDs on SSD and shuffle on HDD": (
        "all disks of a host have one rate in what-if; two classes of disks are a tier's question"
    ),
    "NWeight, other machines (11 SSDs, Xeon E5-2699 v3)": (
        "neither their number of executors nor the speed of their cores is printed"
    ),
}
_VCPUS = 64
_BUSIEST = "47.5 GB/s on ten hosts: the most that the study reports"
_HEADER = "instance_type,attribute,value,low,high,unit,kind,source,as_of,note\n"
_PORTS = {0: 2, 1: 1, 2: 2, 4: 4}  # behind the bond; bare metal balances by load over both
_BLOCK_BYTES = 187.28 * 512  # mean request while disks shuffled, in the talk's iostat
_EXECUTORS, _CORES, _HEAP = 32, 5, "18g"  # the talk's first configuration, on four hosts


@dataclass(frozen=True, slots=True)
class PublishedPair:
    """A figure and its prediction from another; `range_s` is None where the model has none.

    `simple_s` is the guess without a model: in proportion to the data, else unchanged.
    """

    table: str
    kind: str
    source: str
    target: str
    published_s: float
    predicted_s: float
    simple_s: float
    range_s: tuple[float, float] | None

    @property
    def group(self) -> str:
        """The program, and the kind of change."""
        words = self.table.replace(",", "").split()
        return f"{words[1] if words[0].isdecimal() else words[0]}, {self.kind}"

    @property
    def error(self) -> float:
        """(predicted - published) / published."""
        return self.predicted_s / self.published_s - 1

    @property
    def simple_error(self) -> float:
        """The error of the guess without a model."""
        return self.simple_s / self.published_s - 1

    @property
    def held(self) -> bool | None:
        """Whether the range has the published figure."""
        if self.range_s is None:
            return None
        return self.range_s[0] <= self.published_s <= self.range_s[1]


def published_pairs() -> Iterator[PublishedPair]:
    """All figures that a model predicts from another."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with TrialRepository.open(_settings(folder / "starter")) as repository:
            import_starter(repository)
            trials = whole_trials(repository)
        yield from _mapreduce([each for each in trials if _table(each) in {9, 10, 11}])
        for number in (16, 18, 20):
            yield from _spark([each for each in trials if _table(each) == number], folder)
        yield from _cliff([each for each in trials if _table(each) == 21])
        yield from _nweight(trials, folder)


def summary(pairs: Sequence[PublishedPair]) -> str:
    """Median errors with and without a model, and how many ranges hold."""
    found = [each.held for each in pairs if each.held is not None]
    ranges = f"{sum(found)} of {len(found)} ranges hold" if found else "no ranges"
    own, simple = (
        median(map(abs, errors))
        for errors in ([each.error for each in pairs], [each.simple_error for each in pairs])
    )
    return f"{len(pairs)} figures, median error {own:.0%} (without a model {simple:.0%}), {ranges}"


def _settings(folder: Path) -> Settings:
    return Settings(folder, None, None, allow_debug=False)


def _table(trial: Trial) -> int | None:
    source, _, place = trial.provenance.source.partition(", Table ")
    return int(place) if source == "Jaffe 2017" and place.isdecimal() else None


def _number(trial: Trial, name: str) -> float:
    value = trial.configuration[name]
    assert isinstance(value, int | float)
    return float(value)


def _elapsed_s(trial: Trial) -> float:
    assert trial.elapsed_s is not None
    return trial.elapsed_s


@cache
def _machines() -> Catalog:
    """The machines of both publications, in the catalog's terms."""
    rows = [
        fact
        for vms, ports in _PORTS.items()
        for fact in (
            f"dl380-{vms},vcpus,{_VCPUS},,,1,measured,Jaffe 2017 table 1,2017-08-01,",
            f"dl380-{vms},memory,512,,,GiB,measured,Jaffe 2017 table 1,2017-08-01,",
            f"dl380-{vms},storage_rate,4750,,,MB/s,measured,Jaffe 2017,2017-08-01,{_BUSIEST}",
            f"dl380-{vms},network_line_rate,10,,,Gbit/s,advertised,Jaffe 2017,2017-08-01,",
            f"dl380-{vms},network_members,2,,,1,measured,Jaffe 2017 table 1,2017-08-01,",
            f"dl380-{vms},network_ports,{ports},,,1,measured,Jaffe 2017 table 3,2017-08-01,",
        )
    ]
    for name, kind, disks, value, low, high in (
        ("intel-11hdd", "HDD", 11, 11 * 150, 11 * 100, 11 * 280),
        ("intel-nvme", "NVMe", 1, 2000, 1000, 7000),
    ):
        rows += [
            f"{name},vcpus,40,,,1,measured,Yu 2016,2016-04-23,",
            f"{name},memory,192,,,GiB,measured,Yu 2016,2016-04-23,",
            f"{name},disk_kind,{kind},,,,measured,Yu 2016,2016-04-23,",
            f"{name},disk_count,{disks},,,1,measured,Yu 2016,2016-04-23,",
            f"{name},local_read_rate,{value},{low},{high},MB/s,assumed,--disk,2016-04-23,",
            f"{name},network_line_rate,10,,,Gbit/s,advertised,Yu 2016,2016-04-23,",
        ]
    return parse(_HEADER + "\n".join(rows) + "\n", "published")


# --- MapReduce: tables 9 to 11 ------------------------------------------------------------------


def _suite_job(program: str, data_bytes: float) -> Job:
    """TeraGen writes three copies and reads nothing (one byte here); TeraValidate only reads."""
    if program == "teragen":
        return Job(program, 1.0, 0.0, data_bytes, Durability.REPLICATED, copies=2)
    if program == "teravalidate":
        return Job(program, data_bytes, 0.0, 0.0)
    return sort_job(data_bytes)


def _modeled_s(trial: Trial) -> Bounds:
    data_bytes = trial.workload.input_bytes
    assert data_bytes is not None
    node = node_of(_machines().types[f"dl380-{_number(trial, 'vms_per_host'):g}"])
    job = operated(_suite_job(trial.workload.name, float(data_bytes)), startup_s=0.0)
    return job_time(job, node, HOSTS).span()


def _mapreduce(trials: Sequence[Trial]) -> Iterator[PublishedPair]:
    for one, other in permutations(trials, 2):
        if (kind := _one_change(one, other)) is None:
            continue
        there, here = _modeled_s(other), _modeled_s(one)
        ratio = _elapsed_s(one) / here.value
        # On the same machines all rates are the same, so their ranges cancel out.
        bounds = None
        if kind == LAYOUT:
            source_s = _elapsed_s(one)
            bounds = source_s * there.low / here.high, source_s * there.high / here.low
        yield PublishedPair(
            f"{_table(other)} {other.workload.name}",
            kind,
            _label(one),
            _label(other),
            _elapsed_s(other),
            ratio * there.value,
            _simple_s(one, other),
            bounds,
        )


def _one_change(one: Trial, other: Trial) -> str | None:
    """The only thing that differs between two figures of a program, if there is just one."""
    if one.workload.name != other.workload.name:
        return None
    layout, size = (
        _number(one, name) != _number(other, name) for name in ("vms_per_host", "dataset_TB")
    )
    if layout == size:
        return None
    return LAYOUT if layout else SIZE


def _simple_s(one: Trial, other: Trial) -> float:
    return _elapsed_s(one) * _number(other, "dataset_TB") / _number(one, "dataset_TB")


def _label(trial: Trial) -> str:
    return f"{_number(trial, 'dataset_TB'):g} TB, {trial.configuration['platform']}"


# --- Spark: tables 16, 18 and 20 ----------------------------------------------------------------


def _spark(trials: Sequence[Trial], folder: Path) -> Iterator[PublishedPair]:
    jobs = {trial.id: _published_job(trial, folder) for trial in trials}
    for one, other in permutations(trials, 2):
        if (kind := _one_change(one, other)) is None:
            continue
        if kind == SIZE:
            size = _number(other, "dataset_TB") / _number(one, "dataset_TB")
            changes = JobChanges(data=size)
        else:
            there = _machines().types[f"dl380-{_number(other, 'vms_per_host'):g}"]
            executors = int(_number(other, "executors"))
            changes = JobChanges(SetupChange(there, HOSTS, executors))
        found = jobs[one.id].predict(changes, baselines=False).time_s
        yield PublishedPair(
            f"{_table(other)} {other.workload.name}",
            kind,
            _label(one),
            _label(other),
            _elapsed_s(other),
            found.value,
            _simple_s(one, other),
            (found.low, found.high),
        )


def _published_job(trial: Trial, folder: Path) -> RecordedJob:
    """The job with the figures of its table: all of its time is that of one stage."""
    stage = PublishedStage(trial.workload.name, _elapsed_s(trial), {})
    log = PublishedLog(
        trial.id,
        int(_number(trial, "executors")),
        int(_number(trial, "cores_per_executor")),
        HOSTS,
        f"{_number(trial, 'executor_memory_GiB'):g}g",
        "1.6.0",
    )
    here = f"dl380-{_number(trial, 'vms_per_host'):g}"
    return log.imported([stage], int(_number(trial, "partitions")), folder, here)


# --- Table 21 -----------------------------------------------------------------------------------


def _cliff(trials: Sequence[Trial]) -> Iterator[PublishedPair]:
    """Each size from the other five; 279 heaps of 11 GiB hold the data that fit."""
    heaps = _number(trials[0], "executors") * _number(trials[0], "executor_memory_GiB") * GIB
    for left_out in trials:
        others = [each for each in trials if each is not left_out]
        sizes = [_number(each, "dataset_TB") * TB for each in others]
        cliff = fit_memory_cliff(sizes, [_elapsed_s(each) for each in others], heaps)
        size = _number(left_out, "dataset_TB")
        predicted_s = memory_cliff_s(size * TB, cliff)
        nearest = min(others, key=lambda each: abs(_number(each, "dataset_TB") - size))
        yield PublishedPair(
            "21 logistic-regression",
            CLIFF,
            "the other sizes",
            _label(left_out),
            _elapsed_s(left_out),
            predicted_s,
            _simple_s(nearest, left_out),
            None,
        )


# --- The stages of NWeight ----------------------------------------------------------------------

# GB that a stage reads and writes besides its shuffle, as the talk prints them.
_READ_GB = {"23": 50.1, "17": 732.0, "16": 732.0, "11": 590.2, "10": 590.2, "6": 56.1, "5": 56.1}
_READ_GB |= {"0": 22.6}
_WRITTEN_GB = {"23": 27.6}


def _nweight(trials: Sequence[Trial], folder: Path) -> Iterator[PublishedPair]:
    rows = {}
    for trial in trials:
        disks = trial.configuration.get("rdd_disk"), trial.configuration.get("shuffle_disk")
        if trial.workload.name == "nweight" and disks in {("11 HDD",) * 2, ("PCIe SSD",) * 2}:
            rows["intel-11hdd" if disks[0] == "11 HDD" else "intel-nvme"] = trial
    for here, there in permutations(rows):
        stages = _stages_of(rows[here])
        times_s = {each.name: each.elapsed_s for each in _stages_of(rows[there])}
        most = max(each.moved.get(_FETCHED, 0.0) for each in stages)
        log = PublishedLog(here, _EXECUTORS, _CORES, 4, _HEAP, "1.4.1")
        job = log.imported(stages, round((most / _BLOCK_BYTES) ** 0.5), folder, here)
        target = SetupChange(_machines().types[there], 4, _EXECUTORS)
        found = job.predict(JobChanges(target), baselines=False)
        ways = here.removeprefix("intel-"), there.removeprefix("intel-")
        for stage, after in zip(stages, found.stages, strict=True):
            predicted_s = stage.elapsed_s * after.after_s / after.before_s
            there_s = times_s[stage.name], predicted_s, stage.elapsed_s
            yield PublishedPair(f"NWeight {stage.name}", DISK, *ways, *there_s, None)
        whole = found.time_s
        yield PublishedPair(
            "NWeight, all stages",
            DISK,
            *ways,
            _elapsed_s(rows[there]),
            whole.value,
            _elapsed_s(rows[here]),
            (whole.low, whole.high),
        )


def _stages_of(trial: Trial) -> list[PublishedStage]:
    """The stages in the order in which they ran."""
    found = []
    for sample in trial.samples:
        if sample.metric != "stage_elapsed_s" or sample.value is None:
            continue
        name = str(sample.labels["stage"])
        number = name.split(maxsplit=1)[0]
        moved = {
            _READ: _READ_GB.get(number, 0.0) * 1e9,
            _WRITTEN: _WRITTEN_GB.get(number, 0.0) * 1e9,
            _FETCHED: sum(trial.values("stage_shuffle_read_bytes", stage=name)),
            _SHUFFLED: sum(trial.values("stage_shuffle_write_bytes", stage=name)),
        }
        found.append(PublishedStage(name, sample.value, {k: v for k, v in moved.items() if v}))
    return sorted(found, key=lambda each: int(each.name.split(maxsplit=1)[0]))


# --- An event log with the printed figures -------------------------------------------------------

_READ, _WRITTEN, _FETCHED, _SHUFFLED = "read", "written", "fetched", "shuffled"


@dataclass(frozen=True, slots=True)
class PublishedStage:
    """A stage as printed: its time, and the bytes that it moved."""

    name: str
    elapsed_s: float
    moved: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class PublishedLog:
    """An application on equal executors; its stages run one after another, their tasks are equal.

    A log without CPU times: no publication prints them.
    """

    id: str
    executors: int
    cores: int
    hosts: int
    heap: str
    version: str

    def imported(
        self, stages: Sequence[PublishedStage], tasks: int, folder: Path, here: str
    ) -> RecordedJob:
        """The job with these stages of so many tasks, on hosts of type `here`."""
        path = folder / f"{self.id}-log"
        path.write_bytes(b"".join(self._lines(stages, tasks)))
        with TrialRepository.open(_settings(folder / f"{self.id}-home")) as repository:
            import_file(repository, "spark-eventlog", path)
            (trial,) = whole_trials(repository)
            return RecordedJob(repository, trial, _machines().types[here])

    def _lines(self, stages: Sequence[PublishedStage], tasks: int) -> Iterator[bytes]:
        yield _event("LogStart", **{"Spark Version": self.version})
        started = {"App Name": self.id, "App ID": self.id, "Timestamp": _ms(0)}
        yield _event("ApplicationStart", **started)
        settings = {"spark.executor.memory": self.heap, "spark.executor.cores": str(self.cores)}
        yield _event("EnvironmentUpdate", **{"Spark Properties": settings})
        for number in range(self.executors):
            info = {"Host": f"h{number % self.hosts}", "Total Cores": self.cores}
            added = {"Executor ID": str(number), "Executor Info": info, "Timestamp": _ms(0)}
            yield _event("ExecutorAdded", **added)
        at_s = 0.0
        for number, stage in enumerate(stages):
            yield from self._stage_lines(number, stage, tasks, at_s)
            at_s += stage.elapsed_s
        yield _event("ApplicationEnd", Timestamp=_ms(at_s))

    def _stage_lines(
        self, number: int, stage: PublishedStage, tasks: int, at_s: float
    ) -> Iterator[bytes]:
        slots = self.executors * self.cores
        begun, ended = _ms(at_s), _ms(at_s + stage.elapsed_s)
        info = {
            "Stage ID": number,
            "Stage Attempt ID": 0,
            "Stage Name": stage.name,
            "Number of Tasks": tasks,
            "Parent IDs": [number - 1] if number else [],
            "RDD Info": [],
            "Submission Time": begun,
        }
        job = {"Job ID": number, "Stage IDs": [number], "Stage Infos": [info]}
        yield _event("JobStart", **job, **{"Submission Time": begun})
        yield _event("StageSubmitted", **{"Stage Info": info})
        each_s = stage.elapsed_s / -(-tasks // slots)
        metrics = {"Executor Run Time": round(each_s * 1e3)} | self._metrics(stage, tasks)
        for task in range(tasks):
            launched_s = at_s + each_s * (task // slots)
            executor = task % slots % self.executors
            attempt = {
                "Task ID": number * tasks + task,
                "Index": task,
                "Attempt": 0,
                "Launch Time": _ms(launched_s),
                "Finish Time": _ms(launched_s + each_s),
                "Executor ID": str(executor),
                "Host": f"h{executor % self.hosts}",
                "Locality": "ANY",
                "Speculative": False,
            }
            of = {"Stage ID": number, "Stage Attempt ID": 0, "Task Info": attempt}
            yield _event("TaskStart", **of)
            reason = {"Task End Reason": {"Reason": "Success"}}
            yield _event("TaskEnd", **of, **reason, **{"Task Metrics": metrics})
        yield _event("StageCompleted", **{"Stage Info": info | {"Completion Time": ended}})
        result = {"Job Result": {"Result": "JobSucceeded"}, "Completion Time": ended}
        yield _event("JobEnd", **{"Job ID": number}, **result)

    def _metrics(self, stage: PublishedStage, tasks: int) -> dict[str, dict[str, object]]:
        """The bytes of a task; a host fetches its own part of a shuffle locally."""
        each = {name: moved / tasks for name, moved in stage.moved.items()}
        found: dict[str, dict[str, object]] = {}
        if _READ in each:
            found["Input Metrics"] = {"Bytes Read": round(each[_READ])}
        if _WRITTEN in each:
            found["Output Metrics"] = {"Bytes Written": round(each[_WRITTEN])}
        if _FETCHED in each:
            local = round(each[_FETCHED] / self.hosts)
            remote = round(each[_FETCHED]) - local
            found["Shuffle Read Metrics"] = {
                "Local Bytes Read": local,
                "Remote Bytes Read": remote,
            }
        if _SHUFFLED in each:
            found["Shuffle Write Metrics"] = {"Shuffle Bytes Written": round(each[_SHUFFLED])}
        return found


_ORIGIN_MS = 1_500_000_000_000


def _ms(seconds: float) -> int:
    """A time since the start, as logs have it."""
    return _ORIGIN_MS + round(seconds * 1e3)


def _event(name: str, **fields: object) -> bytes:
    return json.dumps({"Event": f"SparkListener{name}", **fields}).encode() + b"\n"
