"""`--timeout` on the native engine: the agent is ended and cleans up, the trial says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from this_host import FILES, HOST
from venturi.core.errors import FailureClass, VenturiError
from venturi.measure.engines.native.engine import Native
from venturi.measure.engines.protocol import TrialSpec
from venturi.measure.studies.study import failure_class
from venturi.measure.trial.folders import DataFolders, parse_roles
from venturi.measure.trial.runner import Session, run_trial
from venturi.measure.workloads.inputs import inputs_of
from venturi.measure.workloads.registry import size_of, workload
from venturi.record.query.paging import whole_trials
from venturi.record.trial import State


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "hangs"),
    [
        ("terasort", "hang-in-sort"),
        ("wordcount", "hang-in-sort"),
        ("pi", "hang"),
        ("teragen", "hang"),
        ("dfsio-write", "hang"),
    ],
)
def test_what_takes_too_long_is_ended(
    session: Session,
    tmp_path: Path,
    fault: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    hangs: str,
) -> None:
    marker, disk = tmp_path / "temporary", tmp_path / "disk"
    disk.mkdir()
    monkeypatch.setenv("FAKE_MARKER", str(marker))
    fault(hangs)
    definition = workload(name)
    size = size_of(definition, "tiny")
    with DataFolders(FILES, parse_roles((), disk)) as folders:
        inputs = inputs_of(folders, definition, size)
        spec = TrialSpec(
            definition, size, inputs, folders, "1", "tiny", timeout_s=0.5, series=False
        )
        with pytest.raises(VenturiError, match="did not finish within") as caught:
            run_trial(session, Native(HOST, environ={}).job(spec))
    assert caught.value.code == "VEN-ENGINE-TIMEOUT"
    (stored,) = whole_trials(session.repository)
    assert stored.state is State.FAILED
    assert failure_class(stored) is FailureClass.TIMEOUT
    assert not marker.exists()
    assert list(disk.iterdir()) == []


@pytest.mark.slow
def test_what_is_done_in_time_is_not_disturbed(session: Session, tmp_path: Path) -> None:
    definition = workload("terasort")
    size = size_of(definition, "tiny")
    with DataFolders(FILES, parse_roles((), tmp_path)) as folders:
        inputs = inputs_of(folders, definition, size)
        spec = TrialSpec(
            definition, size, inputs, folders, "1", "tiny", timeout_s=60.0, series=False
        )
        assert run_trial(session, Native(HOST, environ={}).job(spec)).state is State.SUCCEEDED
