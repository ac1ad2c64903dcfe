"""`venturi doctor`, on stored facts and on this host."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from doctor_facts import changed, tuned
from venturi.cli.measure.doctor import command, words_of
from venturi.core.errors import VenturiError
from venturi.machines.health.doctor import load_rules


def doctor(*args: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(command, args, input=stdin, standalone_mode=False)


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    path = tmp_path / "facts.json"
    path.write_text(json.dumps(tuned()))
    return path


def test_a_tuned_host_passes(stored: Path) -> None:
    result = doctor("--facts", str(stored))
    assert result.return_value == 0
    first, *others = result.stdout.splitlines()
    assert first.startswith("host worker7: 0 problems, ")
    assert {line.split(":")[0] for line in others} == {"ok", "  found"}


def test_a_problem_fails_and_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    path.write_text(json.dumps(changed("limit_open_files_soft", 1024)))
    result = doctor("--facts", str(path))
    assert result.return_value == 1
    host, first, found, *_ = result.stdout.splitlines()
    assert host.startswith("host worker7: 1 problem, ")
    assert first == "problem: Open files", "the worst comes first"
    assert found == "  found:  soft limit of open files: 1,024"
    for part in ("effect:", "source: VMware", "nofile 16384"):
        assert part in result.stdout


def test_every_fact_has_a_name_and_bytes_one_form(tmp_path: Path) -> None:
    for rule in load_rules():
        facts = [
            rule.fact,
            rule.fact.split("[]")[0],
            *([rule.only_if.fact] if rule.only_if else []),
        ]
        for fact in facts:
            assert "_" not in words_of(fact.replace("[]", ".sda")) or fact.startswith("sysctls.")
    path = tmp_path / "facts.json"
    path.write_text(json.dumps(changed("network_interfaces/1/mtu_bytes", 1500)))
    said = doctor("--facts", str(path)).stdout
    assert "  found:  MTU of eth0: 1,500 B\n" in said
    assert "  found:  swap in use: 0 B\n" in said or "there is no swap space" in said


def test_a_virtual_machine_is_not_asked_for_settings_of_its_host(tmp_path: Path) -> None:
    facts = changed("cpu_governors", None)
    facts["virtualisation"] = "kvm"
    path = tmp_path / "facts.json"
    path.write_text(json.dumps(facts))
    said = doctor("--facts", str(path)).stdout
    assert "CPU governors: can't tell in a virtual machine: its host sets this\n" in said
    assert "wanted: every CPU's governor" not in said


def test_advice_and_unknown_facts_do_not_fail(tmp_path: Path) -> None:
    facts = changed("network_interfaces/1/mtu_bytes", 1500)
    facts["cpu_governors"] = None
    path = tmp_path / "facts.json"
    path.write_text(json.dumps(facts))
    result = doctor("--facts", str(path), "--json")
    assert result.return_value == 0
    envelope = json.loads(result.stdout)
    assert envelope["schema"] == 1
    data = envelope["data"]
    assert data["counts"] == {
        "problem": 0,
        "advice": 1,
        "unknown": 1,
        "ok": len(data["findings"]) - 2,
    }
    advice = next(finding for finding in data["findings"] if finding["severity"] == "advice")
    assert advice["fact"] == "network_interfaces.eth0.mtu_bytes"
    assert (advice["value"], advice["unit"]) == (1500, "B")
    assert "peer of eth0 accepts 9000 bytes" in advice["fix"]
    assert "cut off" in advice["risk"]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda facts: json.dumps({"schema": 1, "data": facts, "warnings": []}),
        lambda facts: json.dumps([{"cluster": {"hosts": [{"name": "a", "facts": facts}]}}]),
        lambda facts: (
            json.dumps({"event": "started"})
            + "\n"
            + json.dumps({"event": "result", "data": facts})
            + "\n"
        ),
    ],
    ids=["listing", "trial", "agent's events"],
)
def test_facts_are_found_however_they_are_wrapped(wrap: Any) -> None:
    result = doctor("--facts", "-", "--json", stdin=wrap(tuned()))
    assert result.return_value == 0
    assert json.loads(result.stdout)["data"]["hostname"] == "worker7"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no object"),
        ("not json", "Expecting value"),
        ('{"hostname": "x"}', "no object"),
        ('{"hostname": "x", "sysctls": {}, "schema_version": 2}', "version is 2"),
        (None, "No such file"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str | None, why: str) -> None:
    path = tmp_path / "facts.json"
    if text is not None:
        path.write_text(text)
    error = doctor("--facts", str(path)).exception
    assert isinstance(error, VenturiError)
    assert error.code == "VEN-DOCTOR-FACTS"
    assert why in error.message
    assert error.where == {"file": str(path)}


@pytest.mark.parametrize(("mode", "severity"), [(0o755, "advice"), (0o700, "ok"), (None, None)])
def test_a_repository_that_others_may_read_is_told(
    agent_binary: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    mode: int | None,
    severity: str | None,
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("VENTURI_AGENT", str(agent_binary))
    monkeypatch.setenv("VENTURI_HOME", str(home))
    if mode is not None:
        home.mkdir()
        home.chmod(mode)
    findings = json.loads(doctor("--json").stdout)["data"]["findings"]
    told = {each["rule"]: each for each in findings}.get("repository-open")
    assert (told and told["severity"]) == severity
    if severity == "advice":
        assert told is not None
        assert told["value"] == f"drwxr-xr-x {home}"
        assert told["fix"] == "venturi repository check --mend"
        assert "fix:    venturi repository check --mend" in doctor().stdout


def test_this_host(agent_binary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VENTURI_AGENT", str(agent_binary))
    result = doctor("--json")
    assert result.exception is None
    data = json.loads(result.stdout)["data"]
    assert data["hostname"]
    severities = {finding["rule"]: finding["severity"] for finding in data["findings"]}
    # These are known on every Linux.
    assert severities["open-files"] != "unknown"
    assert severities["dirty-ratio"] != "unknown"
    assert result.return_value == int("problem" in severities.values())
