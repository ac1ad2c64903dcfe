"""The agent's client: what it makes of events, faults, deaths and Ctrl-C."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from venturi.core.errors import AgentError, ExitCode, Interrupted, VenturiError
from venturi.core.settings import Settings
from venturi.measure.hosts.agent import Agent, AgentProgress, AgentResult
from venturi.measure.hosts.agent_results import GenResult, ValidateResult
from venturi.measure.hosts.concurrent_commands import FollowedCommand, on_all


def test_a_result_comes_with_identity_progress_and_typed_data(
    fake_agent: Agent, tmp_path: Path
) -> None:
    heard: list[AgentProgress | None] = []
    result = fake_agent.run(
        "gen", "--count", 10, "--output", tmp_path / "x", on_progress=heard.append
    )
    assert result.read(GenResult) == GenResult(10, 1000, None, 0.5, 0.5)
    assert result.identity.build_profile == "release"
    assert result.exit_code == 0
    *told, end = heard
    assert [(p.phase, p.done, p.total, p.unit) for p in told if p] == [
        ("generate", 1000, 1000, "bytes")
    ]
    assert end is None


def test_status_3_is_a_result(fake_agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"b" * 100 + b"a" * 100)
    result = fake_agent.run("validate", "--input", tmp_path / "x")
    assert result.exit_code == ExitCode.INVALID
    assert not result.read(ValidateResult).ordered


@pytest.mark.parametrize(
    ("name", "code", "says"),
    [
        ("garbage", "VEN-AGENT-PROTOCOL", "line 2 is not JSON"),
        ("nan", "VEN-AGENT-PROTOCOL", "NaN"),
        ("not-an-event", "VEN-AGENT-PROTOCOL", "not an event"),
        ("bad-progress", "VEN-AGENT-PROTOCOL", "done"),
        ("unannounced", "VEN-AGENT-PROTOCOL", "started"),
        ("newer", "VEN-AGENT-PROTOCOL", "version 2"),
        ("long-line", "VEN-AGENT-PROTOCOL", "longer than"),
        ("debug", "VEN-AGENT-DEBUG", "debug build"),
        ("killed", "VEN-AGENT-DIED", "SIGKILL"),
        ("silent", "VEN-AGENT-DIED", "status 0"),
        ("usage", "VEN-AGENT-DIED", "status 2"),
    ],
)
def test_faults_have_codes(
    fake_agent: Agent, fault: Callable[[str], None], name: str, code: str, says: str
) -> None:
    fault(name)
    with pytest.raises(VenturiError) as caught:
        fake_agent.run("facts", on_progress=lambda _: None)
    assert caught.value.code == code
    assert says in caught.value.message


def test_a_death_shows_the_last_words_and_a_hint(
    fake_agent: Agent, fault: Callable[[str], None]
) -> None:
    fault("killed")
    with pytest.raises(VenturiError) as caught:
        fake_agent.run("facts")
    assert "about to die" in str(caught.value.where["stderr"])
    assert "memory" in caught.value.hint


def test_an_error_event_is_passed_on_unchanged(
    fake_agent: Agent, fault: Callable[[str], None]
) -> None:
    fault("error")
    with pytest.raises(AgentError) as caught:
        fake_agent.run("facts")
    error = caught.value
    assert (error.code, error.message) == ("VEN-EXTSORT-SPACE", "the disk is full")
    assert (error.where, error.hint) == ({"dir": "/data"}, "free some space")


def test_a_result_of_another_shape_names_the_field(
    fake_agent: Agent, fault: Callable[[str], None]
) -> None:
    fault("odd-result")
    with pytest.raises(VenturiError) as caught:
        fake_agent.run("facts").read(GenResult)
    assert caught.value.code == "VEN-AGENT-PROTOCOL"
    assert caught.value.where["field"] == "records"


def test_debug_builds_can_be_allowed(fake_settings: Settings, fault: Callable[[str], None]) -> None:
    fault("debug")
    agent = Agent.find(replace(fake_settings, allow_debug=True))
    assert agent.run("facts").identity.build_profile == "debug"


def test_ctrl_c_reaches_the_agent_which_cleans_up(
    fake_agent: Agent,
    fault: Callable[[str], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    marker = tmp_path / "temporary"
    monkeypatch.setenv("FAKE_MARKER", str(marker))
    fault("hang")

    def press_ctrl_c() -> None:
        while not marker.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    presser = threading.Thread(target=press_ctrl_c)
    presser.start()
    with pytest.raises(Interrupted):
        fake_agent.run("facts")
    presser.join()
    assert not marker.exists()


def test_what_goes_on_has_a_result_after_ctrl_c(fake_agent: Agent) -> None:
    samples = threading.Event()  # from then on the agent ends as it is told to
    following = FollowedCommand(
        fake_agent, "sample", "--interval-ms", 50, on_event=lambda _: samples.set()
    )
    assert samples.wait(60)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            following.wait()
    finally:
        signal.signal(signal.SIGALRM, before)
    following.end()
    assert isinstance(following.wait(), AgentResult)


def test_a_failing_callback_leaves_no_process(
    fake_agent: Agent,
    fault: Callable[[str], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    marker = tmp_path / "temporary"
    monkeypatch.setenv("FAKE_MARKER", str(marker))
    fault("hang")

    def fail(_: AgentProgress | None) -> None:
        raise RuntimeError("the terminal went away")

    with pytest.raises(RuntimeError, match="terminal"):
        fake_agent.run("facts", on_progress=fail)
    assert not marker.exists()  # it heard the interrupt and ended by itself


@pytest.mark.parametrize("kind", ["absent", "not executable"])
def test_a_missing_agent_says_how_to_install_it(
    settings: Settings, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "venturi-agent"
    if kind == "not executable":
        path.write_text("")
    with pytest.raises(VenturiError) as caught:
        Agent.find(replace(settings, agent=path)).run("facts")
    assert caught.value.code == "VEN-AGENT-MISSING"
    assert "install" in caught.value.hint


def test_the_agent_beside_python_comes_before_path(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("bin", "path"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "venturi-agent").touch(mode=0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    assert Agent.find(settings).path == str(tmp_path / "bin" / "venturi-agent")
    (tmp_path / "bin" / "venturi-agent").unlink()
    assert Agent.find(settings).path == str(tmp_path / "path" / "venturi-agent")
    (tmp_path / "path" / "venturi-agent").unlink()
    with pytest.raises(VenturiError, match="was not found"):
        Agent.find(settings)


def test_of_many_hosts_one_whose_events_are_nonsense_is_ended(
    fake_agent: Agent, fault: Callable[[str], None]
) -> None:
    fault("garbage")
    before = threading.active_count()
    outcome = on_all({"one": fake_agent}, "facts")["one"]
    assert isinstance(outcome, VenturiError)
    assert (outcome.code, outcome.where["host"]) == ("VEN-AGENT-PROTOCOL", "one")
    deadline = time.monotonic() + 30
    while threading.active_count() > before:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    gc.collect()  # a pipe of it that is still open would warn
