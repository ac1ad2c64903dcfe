"""The native engine as a job: what it prepares, records, believes and removes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from this_host import FILES
from venturi.core.errors import VenturiError
from venturi.measure.engines.native.engine import NativeJob, NativeOptions, Prospect
from venturi.measure.hosts.local import LocalFiles
from venturi.measure.trial.folders import DataFolders, parse_roles
from venturi.measure.trial.runner import Session, run_trial
from venturi.measure.workloads.definition import Definition
from venturi.measure.workloads.inputs import GeneratedInputs, GivenInputs
from venturi.measure.workloads.registry import size_of_bytes, workload
from venturi.record.query.paging import whole_trials
from venturi.record.trial import Sample, State


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[DataFolders]:
    """Data folders below a disk of their own."""
    (tmp_path / "disk").mkdir()
    with DataFolders(FILES, parse_roles((), tmp_path / "disk")) as opened:
        yield opened


def job_of(folders: DataFolders, name: str = "terasort", **changes: Any) -> NativeJob:
    definition = workload(name)
    job = NativeJob(
        definition=definition,
        inputs=GeneratedInputs(folders, definition, size_of_bytes(definition, 50_000), seed=7),
        folders=folders,
        options=NativeOptions(memory_bytes=20_000),
        engine_version="1",
        series=False,
    )
    return replace(job, **changes)


@pytest.mark.slow
def test_a_sort_is_recorded_by_the_contracts_names(
    session: Session, folders: DataFolders, tmp_path: Path
) -> None:
    def predict(prospect: Prospect) -> list[Sample]:
        assert prospect.plan.expected_spilled_bytes == 30_000
        assert prospect.rehearsed == ()
        return [Sample("predicted_elapsed_s", 3.0, "s")]

    trial = run_trial(session, job_of(folders, predict=predict))
    assert trial.state is State.SUCCEEDED
    assert [phase.name for phase in trial.phases] == [
        "generate",
        "sample",
        "map+shuffle",
        "sort+reduce",
        "validate",
    ]
    starts_s = [phase.started_s for phase in trial.phases[:-1]]
    assert starts_s == sorted(starts_s)
    assert trial.elapsed_s == 2.1
    assert trial.configuration["regime_expected"] == "hybrid"
    assert trial.configuration["memory_bytes"] == 20_000
    assert trial.workload.input_bytes == 50_000
    assert trial.workload.input_records == 500
    assert trial.values("spilled_bytes") == [30_000]
    assert trial.values("predicted_elapsed_s") == [3.0]
    assert trial.values("stage_useful_s", "map+shuffle", stage="read") == [0.9]
    disk = str(tmp_path / "disk")
    assert trial.values("stage_bytes", device=disk) == [50_000]  # the user's folder, not ours
    assert trial.cluster.disks_by_role == dict.fromkeys(("input", "scratch", "output"), (disk,))


def test_a_rehearsal_sorts_a_part_before_and_leaves_nothing(
    session: Session, folders: DataFolders
) -> None:
    seen: list[Prospect] = []

    def predict(prospect: Prospect) -> list[Sample]:
        seen.append(prospect)
        return []

    options = NativeOptions(memory_bytes=20_000, rehearse=True)
    folders.keep = True
    trial = run_trial(session, job_of(folders, predict=predict, options=options))
    assert trial.state is State.SUCCEEDED
    assert [path.name for path in folders.of("output")[0].iterdir()] == ["part-00000"]
    folders.keep = False
    (prospect,) = seen
    assert [done.input.bytes for done in prospect.rehearsed] == [25_000, 25_000]
    assert [done.memory.budget_bytes for done in prospect.rehearsed] == [10_000, 10_000]
    assert trial.values("rehearsed_bytes") == [25_000, 25_000]
    assert trial.values("rehearsed_phase_s", "map+shuffle") == [1.0, 1.0]
    assert trial.workload.input_bytes == 50_000


def test_a_sort_that_cannot_be_rehearsed_says_why_and_is_done(
    session: Session, folders: DataFolders, fault: Callable[[str], None]
) -> None:
    fault("fail-in-rehearsal")
    seen: list[Prospect] = []

    def predict(prospect: Prospect) -> list[Sample]:
        seen.append(prospect)
        return []

    options = NativeOptions(rehearse=True)
    for name in ("terasort", "aggregate"):
        trial = run_trial(session, job_of(folders, name, predict=predict, options=options))
        assert trial.state is State.SUCCEEDED
    assert [prospect.rehearsed for prospect in seen] == [(), ()]
    reasons = [prospect.unrehearsed or "" for prospect in seen]
    assert "too little" in reasons[0]
    assert "fixed records" in reasons[1]


@pytest.mark.slow
def test_repetitions_share_the_input_and_a_group(session: Session, folders: DataFolders) -> None:
    first = job_of(folders, warm_up=True, options=NativeOptions())
    trials = [
        run_trial(session, replace(first, repetition=number, warm_up=number == 0))
        for number in range(3)
    ]
    assert [t.phases[0].name for t in trials] == ["generate", "sample", "sample"]
    assert len({t.group_key for t in trials}) == 1


@pytest.mark.parametrize("name", ["wordcount", "aggregate", "terasort-skewed"])
def test_the_other_workloads_succeed(session: Session, folders: DataFolders, name: str) -> None:
    trial = run_trial(session, job_of(folders, name))
    assert trial.state is State.SUCCEEDED, trial.failure
    assert trial.workload.version == workload(name).version


@pytest.mark.parametrize(
    ("fault_name", "name", "says"),
    [
        ("lost-record", "terasort", "499 records came out of 500"),
        ("unsorted", "terasort", "out of order"),
        ("swapped-payload", "terasort", "checksum"),
        ("miscount", "wordcount", "count"),
    ],
)
def test_a_wrong_result_is_invalid(
    session: Session,
    folders: DataFolders,
    fault: Callable[[str], None],
    fault_name: str,
    name: str,
    says: str,
) -> None:
    fault(fault_name)
    trial = run_trial(session, job_of(folders, name))
    assert trial.state is State.INVALID
    assert trial.failure is not None
    assert says in trial.failure.message
    assert trial.elapsed_s is not None  # it was measured, and is kept, but does not count


def test_a_failed_sort_leaves_no_data(
    session: Session, tmp_path: Path, fault: Callable[[str], None]
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    fault("fail-in-sort")
    with (
        pytest.raises(VenturiError, match="full"),
        DataFolders(FILES, parse_roles((), disk)) as folders,
    ):
        run_trial(session, job_of(folders))
    assert list(disk.iterdir()) == []
    (stored,) = whole_trials(session.repository)
    assert stored.state is State.FAILED


@pytest.mark.parametrize("keep", [False, True])
def test_data_is_kept_only_if_asked_for(session: Session, tmp_path: Path, keep: bool) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    with DataFolders(FILES, parse_roles((), disk), keep=keep) as folders:
        job = job_of(folders)
        run_trial(session, job)
        run_trial(session, replace(job, repetition=1))  # output of the first is no obstacle
    kept = sorted(path.name for path in disk.glob("*/*/part-*"))
    assert kept == (["part-00000", "part-00000"] if keep else [])
    assert bool(list(disk.iterdir())) == keep


def test_never_more_than_half_of_the_free_disk(
    session: Session, folders: DataFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Input, scratch and output of 50,000 bytes each are there at the peak.
    monkeypatch.setattr(LocalFiles, "free_bytes", lambda *_: 299_999)
    with pytest.raises(VenturiError) as caught:
        run_trial(session, job_of(folders))
    assert caught.value.code == "VEN-MEASURE-SPACE"
    assert caught.value.where["needed_bytes"] == 150_000
    assert caught.value.where["free_bytes"] == 299_999
    (stored,) = whole_trials(session.repository)
    assert stored.failure is not None
    assert stored.failure.kind == "capacity"
    monkeypatch.setattr(LocalFiles, "free_bytes", lambda *_: 300_000)
    assert run_trial(session, job_of(folders)).state is State.SUCCEEDED


def test_a_users_files_are_sorted_where_he_says_and_never_touched(
    session: Session, tmp_path: Path
) -> None:
    files = [tmp_path / "in" / name for name in ("b", "a")]
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    for number, path in enumerate(files):
        session.agent.run("gen", "--count", 50, "--start", number * 50, "--output", path)
    before = [path.read_bytes() for path in files]
    job = NativeJob(
        definition=Definition.of_user_files("sort", "fixed", 100, 10),
        inputs=GivenInputs(FILES, [tmp_path / "in"]),
        folders=DataFolders(FILES, {}),
        options=NativeOptions(outputs=(tmp_path / "out",), scratch=(tmp_path / "out",)),
        engine_version="1",
        series=False,
    )
    trial = run_trial(session, job)
    assert trial.state is State.SUCCEEDED
    assert trial.workload.name == "sort"
    assert [path.read_bytes() for path in files] == before
    assert (tmp_path / "out" / "part-00000").stat().st_size == 10_000


@pytest.mark.parametrize("kind", ["missing", "empty directory"])
def test_input_that_is_not_there(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x"
    if kind == "empty directory":
        path.mkdir()
    with pytest.raises(VenturiError) as caught:
        GivenInputs(FILES, [path])
    assert caught.value.code == "VEN-MEASURE-INPUT"
    assert str(path) in str(caught.value.where)


def test_less_than_a_record_is_refused(folders: DataFolders) -> None:
    terasort = workload("terasort")
    with pytest.raises(VenturiError) as caught:
        GeneratedInputs(folders, terasort, size_of_bytes(terasort, 99))
    assert caught.value.code == "VEN-MEASURE-BUDGET"


def test_input_is_spread_over_directories_and_still_one_sequence(
    session: Session, tmp_path: Path
) -> None:
    disks = [tmp_path / name for name in "abc"]
    for disk in disks:
        disk.mkdir()
    whole = tmp_path / "whole"
    session.agent.run("gen", "--count", 500, "--output", whole)
    with DataFolders(
        FILES, parse_roles([str(disk) for disk in disks], tmp_path), keep=True
    ) as folders:
        assert run_trial(session, job_of(folders)).state is State.SUCCEEDED
    parts = [next(disk.glob("*/input/part-*")).read_bytes() for disk in disks]
    assert b"".join(parts) == whole.read_bytes()
    assert {len(part) // 100 for part in parts} == {166, 167}
