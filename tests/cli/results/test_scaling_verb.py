"""`venturi scaling`: from a foreign file to the gain of twice the nodes, between matched trials."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from command_line import printed
from venturi.core.errors import VenturiError

HEADER = "instance_count\tmachine_type\tslots\tmemory\tdata_size_MB\titerations\tk\tgross_runtime"
TYPES = {"m4.2xlarge": (8, 32_000, 1.0), "r4.2xlarge": (8, 61_000, 0.8)}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Tables in C3O's format, with several machine types, sizes and parameters."""
    monkeypatch.setenv("VENTURI_HOME", str(tmp_path / "home"))
    lines = [HEADER]
    for machine, (threads, memory, factor) in TYPES.items():
        for nodes in (2, 4, 6, 8, 10, 12):
            for size, k in ((1000, 3), (1000, 9), (8000, 3)):
                seconds = factor * (20 + size * k / 30 * 4 / nodes) * (1 + 0.01 * (nodes % 3))
                lines.append(
                    f"{nodes}\t{machine}\t{nodes * threads}\t{nodes * memory}\t{size}\t"
                    f"10\t{k}\t{seconds:.2f}"
                )
    file = tmp_path / "kmeans.tsv"
    file.write_text("\n".join(lines) + "\n")
    printed("import", "c3o", str(file))
    return tmp_path


def asked(*arguments: str) -> dict[str, Any]:
    data = json.loads(printed("scaling", *arguments, "--json"))["data"]
    assert isinstance(data, dict)
    return data


ONE = ("--where", "instance_type=m4.2xlarge", "--where", "k=3", "--where", "data_size_MB=8000")


@pytest.mark.usefixtures("home")
def test_the_first_line_is_the_verdict_of_one_context() -> None:
    text = printed("scaling", "hosts", *ONE, "--to", "12")
    first, *rest = text.splitlines()
    found = re.fullmatch(
        r"twice the hosts \(6 to 12\) take (0\.5\d) of the time \[(0\.\d\d), (0\.\d\d)\]; "
        r"predicted at 12: (.+) \(90%: (.+) to (.+)\)",
        first,
    )
    assert found is not None, first
    assert float(found[2]) <= float(found[1]) <= float(found[3])
    assert max(map(len, rest[:8])) <= 80
    assert [line.split()[0] for line in rest[2:8]] == ["2", "4", "6", "8", "10", "12"]


@pytest.mark.usefixtures("home")
def test_nothing_is_pooled_and_those_that_differ_in_the_key_come_first() -> None:
    data = asked("hosts", "--by", "k")
    assert data["total"] == 2 * 3
    first, second = data["groups"][:2]
    differing = [
        key for key, a, b in zip(data["by"], first["key"], second["key"], strict=True) if a != b
    ]
    assert differing == ["k"]
    assert all(point["n"] == 1 for group in data["groups"] for point in group["points"])
    by_size = asked("data_size_MB", "--where", "k=3")
    assert by_size["meaning"] == "amount"
    assert by_size["total"] == 12
    assert not any("/ x" in (group["formula"] or "") for group in by_size["groups"])


@pytest.mark.usefixtures("home")
def test_beyond_what_was_measured_no_interval_and_past_twice_a_refusal() -> None:
    assert "beyond the measurements: about" in printed("scaling", "hosts", *ONE, "--to", "24")
    with pytest.raises(VenturiError) as caught:
        printed("scaling", "hosts", *ONE, "--to", "25")
    assert caught.value.code == "VEN-MODEL-RANGE"
    with pytest.raises(VenturiError) as caught:
        printed("scaling", "hots")
    assert "hosts" in caught.value.hint


def test_the_page_says_what_the_terminal_says(home: Path) -> None:
    said = printed("scaling", "hosts", *ONE, "--html", str(home / "page.html")).splitlines()[0]
    page = (home / "page.html").read_text(encoding="utf-8")
    assert json.dumps(said, ensure_ascii=False)[1:-1] in page


@pytest.mark.usefixtures("home")
def test_what_to_leave_out_can_be_typed(tmp_path: Path) -> None:
    file = tmp_path / "one.tsv"
    rows = ("2\tm4.2xlarge\t16\t8\t10\t10\t3\t40", "4\tr4.2xlarge\t32\t8\t10\t10\t3\t20")
    file.write_text("\n".join([HEADER, *rows]) + "\n")
    printed("import", "c3o", str(file))
    words = ("hosts", "--where", "data_size_MB=10")
    verdict, following = printed("scaling", *words).splitlines()
    assert "instance_type" in verdict
    assert "--" not in verdict
    options = following.removeprefix("Next: ").split()
    assert options == ["--ignore", "instance_type"]
    assert "20.0 s" in printed("scaling", *words, *options)


def test_without_an_interval_the_measured_medians_are_told_not_a_curve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VENTURI_HOME", str(tmp_path / "home"))
    file = tmp_path / "grep.tsv"
    times = {2: 100.0, 4: 70.0, 8: 63.0}
    rows = (f"{n}\tm4.2xlarge\t{8 * n}\t8\t10\t10\t3\t{time}" for n, time in times.items())
    file.write_text("\n".join([HEADER, *rows]) + "\n")
    printed("import", "c3o", str(file))
    first, *_ = printed("scaling", "hosts").splitlines()
    assert first == "twice the hosts (4 to 8) took 0.90 of the time (medians, without an interval)"
    effect = asked("hosts")["groups"][0]["effect"]
    assert effect == {"x_low": 4, "x_high": 8, "ratio": 0.9, "interval": None, "measured": True}
