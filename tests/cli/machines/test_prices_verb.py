"""`venturi prices`: set once, used by `jobs` and `show`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command_line import into_pipe, on_terminal, venturi
from venturi.core.settings import Settings, load
from venturi.record.store.repository import TrialRepository
from venturi.web.api.context import Selection, Services
from venturi.web.api.results.cost import cost

DATA = Path(__file__).parents[2] / "data/spark/4.3.0"
SKEWED = DATA / "faults/skewed-join-faulty.zstd"
FAILED = DATA / "failedjob.log"


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A repository with a job with a saving, a failed one, and one on a named cluster."""
    settings = Settings(tmp_path_factory.mktemp("prices") / "home", None, None, allow_debug=False)
    for words in ((SKEWED, FAILED), (DATA / "join.log", "--label", "cluster=etl")):
        done = venturi("import", *words, home=settings.home)
        assert done.returncode == 0, done.stderr
    return settings


@pytest.fixture
def priced(imported: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The repository with a file of prices of its own."""
    monkeypatch.setenv("VENTURI_PRICES", str(tmp_path / "prices.toml"))
    assert prices(imported, "set", "core-hour", "0.5") == ""
    return imported


def prices(settings: Settings, *words: str) -> str:
    """Set or remove a price; returns the errors."""
    done = venturi("prices", *words, home=settings.home)
    assert done.returncode == (2 if done.stderr else 0)
    return done.stderr


def data(settings: Settings, *words: str) -> Any:
    done = venturi(*words, "--json", home=settings.home)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["data"]


def test_a_core_hour_prices_executors_by_their_cores_and_time(priced: Settings) -> None:
    jobs = data(priced, "jobs")["jobs"]
    for row in jobs:
        job = data(priced, "show", row["id"])["job"]
        core_s = sum(
            each["cores"] * ((each["removed_s"] or job["elapsed_s"]) - (each["added_s"] or 0.0))
            for each in job["executors"]
        )
        assert row["cost_usd"] == pytest.approx(0.5 * core_s / 3600)
        assert row["price"] == "core-hour"
        assert row["cost_basis"].startswith("core-hour price, ")
        assert row["cost_reason"] is None
        assert job["cost"]["usd"] == row["cost_usd"]


def test_the_saving_has_its_share_and_the_sentence_the_sum(priced: Settings) -> None:
    found = data(priced, "jobs")
    first = found["jobs"][0]
    share = first["saving_s"] / first["elapsed_s"]
    assert first["saving_usd"] == pytest.approx(first["cost_usd"] * share)
    assert found["saving_usd"] == pytest.approx(
        sum(job["saving_usd"] or 0.0 for job in found["jobs"])
    )
    assert found["cost_usd"] == pytest.approx(sum(job["cost_usd"] for job in found["jobs"]))
    assert ", about $0." in found["sentence"]
    shown = on_terminal(priced, "jobs")
    assert max(map(len, shown)) <= 80
    header = next(line for line in shown if line.split()[:2] == ["id", "job"])
    assert header.split() == ["id", "job", "time", "cost", "saves", "worth", "fix"]
    piped = into_pipe(priced, "jobs")
    assert "core-hour price, " in piped[2]


def test_show_has_the_cost_and_its_basis_in_one_line(priced: Settings) -> None:
    id_ = data(priced, "jobs", "--where", "state=failed")["jobs"][0]["id"]
    for words in ((), ("--all",)):
        (line,) = (each for each in on_terminal(priced, "show", id_, *words) if "Cost: $" in each)
        assert "core-hour price, " in line
        assert "fix 1 saves" not in line
    id_ = data(priced, "jobs")["jobs"][0]["id"]
    shown = on_terminal(priced, "show", id_)
    assert len(shown) <= 24
    assert shown[1].startswith("Cost: $")
    assert "; fix 1 saves about $0." in shown[1]


def test_the_price_of_a_named_cluster_precedes_that_of_a_core_hour(priced: Settings) -> None:
    prices(priced, "set", "cluster", "etl", "36")
    by_price = {job["price"]: job for job in data(priced, "jobs")["jobs"]}
    row = by_price["cluster etl"]
    assert row["cost_usd"] == pytest.approx(row["elapsed_s"] / 100)
    assert row["cost_basis"] == "price of cluster etl"
    assert len(by_price) == 2
    found = data(priced, "prices")
    assert [(each["kind"], each["name"], each["jobs"]) for each in found["prices"]] == [
        ("cluster", "etl", 1),
        ("core-hour", "", 2),
    ]
    shown = on_terminal(priced, "prices")
    assert any(line.split()[:4] == ["cluster", "etl", "36", "1"] for line in shown)
    prices(priced, "unset", "core-hour")
    found = data(priced, "jobs")
    assert found["cost_reason"] == "2 jobs without a price"
    assert {job["cost_reason"] for job in found["jobs"] if job["price"] is None} == {
        "no price is set for its unrecorded cluster or unrecorded node type, or for a core-hour"
    }
    assert "2 jobs without a price" in venturi("prices", home=priced.home).stderr


def test_without_prices_the_list_says_how_to_set_one(imported: Settings) -> None:
    done = venturi("prices", home=imported.home)
    assert (done.returncode, done.stdout) == (0, "")
    assert "venturi prices set core-hour 0.05" in done.stderr
    assert all(job["cost_reason"] for job in data(imported, "jobs")["jobs"])


def test_prices_are_stored_in_the_home_and_can_be_removed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for words in (("core-hour", "0.05"), ("node", "i4i.2xlarge", "0.686"), ("cluster", "a b", "1")):
        done = venturi("prices", "set", *words, home=home)
        assert done.returncode == 0
        assert str(home / "prices.toml") in done.stdout
    text = (home / "prices.toml").read_text()
    for line in ("usd_per_core_hour = 0.05", "[usd_per_node_hour]", '"i4i.2xlarge" = 0.686'):
        assert line in text
    assert home.stat().st_mode & 0o077 == 0
    assert venturi("prices", "unset", "cluster", "a b", home=home).returncode == 0
    assert "usd_per_cluster_hour" not in (home / "prices.toml").read_text()


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        (("set",), "VEN-PRICE-FORMAT", "kinds are: core-hour, node, cluster"),
        (("set", "core-hours", "1"), "VEN-PRICE-FORMAT", "did you mean core-hour?"),
        (("set", "core-hour"), "VEN-PRICE-FORMAT", "venturi prices set core-hour 0.05"),
        (("set", "core-hour", "-0.05"), "VEN-PRICE-FORMAT", "unset"),
        (("set", "core-hour", "0"), "VEN-PRICE-FORMAT", "unset"),
        (("set", "core-hour", "nan"), "VEN-PRICE-FORMAT", "unset"),
        (("set", "core-hour", "inf"), "VEN-PRICE-FORMAT", "unset"),
        (("set", "core-hour", "cheap"), "VEN-PRICE-FORMAT", "venturi prices set core-hour 0.05"),
        (("set", "core-hour", "a", "1"), "VEN-PRICE-FORMAT", "venturi prices set core-hour 0.05"),
        (("set", "node", "0.686"), "VEN-PRICE-FORMAT", "set node i4i.2xlarge 0.686"),
        (("set", "cluster", "", "1"), "VEN-PRICE-FORMAT", "printable"),
        (("unset", "node"), "VEN-PRICE-FORMAT", "venturi prices unset node i4i.2xlarge`"),
        (("unset", "cluster", "elt"), "VEN-PRICE-UNKNOWN", "did you mean cluster etl?"),
    ],
)
def test_bad_values_are_errors_with_a_code_and_a_hint(
    words: tuple[str, ...], code: str, hint: str, priced: Settings
) -> None:
    prices(priced, "set", "cluster", "etl", "36")
    said = prices(priced, *words)
    assert f"error[{code}]" in said
    assert hint in said


def test_a_named_file_that_is_missing_or_malformed_is_an_error(
    imported: Settings, tmp_path: Path
) -> None:
    file = tmp_path / "prices.toml"
    for text, code in ((None, 1), ("usd_per_core_hour = -1\n", 2)):
        if text is not None:
            file.write_text(text)
        for verb in ("jobs", "prices"):
            done = venturi(verb, home=imported.home, VENTURI_PRICES=str(file))
            assert done.returncode == code
            assert "error[VEN-PRICE-FORMAT]" in done.stderr


def test_rankings_by_cost_use_the_prices_of_node_types(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.delenv("VENTURI_PRICES", raising=False)
    rows = [f"sort,{100 + n},fast.large,4,{n}" for n in range(6)]
    rows += [f"sort,{150 + n},slow.large,4,{n}" for n in range(6)]
    file = tmp_path / "own.csv"
    file.write_text("\n".join(["workload,time (s),instance type,nodes,run", *rows]) + "\n")
    assert venturi("import", file, home=home).returncode == 0
    rank = ("rank", "--by", "instance_type", "--objective", "cost")
    done = venturi(*rank, home=home)
    assert (done.returncode, "venturi prices set node TYPE USD" in done.stderr) == (2, True)
    assert venturi("prices", "set", "node", "fast.large", "0.9", home=home).returncode == 0
    assert venturi(*rank, home=home).returncode == 2  # only one of them has a price
    assert venturi("prices", "set", "node", "slow.large", "0.3", home=home).returncode == 0
    done = venturi(*rank, home=home)
    assert done.returncode == 0, done.stderr
    assert "slow.large is cheapest" in done.stdout
    assert "your prices (venturi prices): node fast.large $0.9/h" in done.stdout + done.stderr
    monkeypatch.setenv("VENTURI_HOME", str(home))
    with TrialRepository.open(load()) as repository:
        page = cost(Services(repository), Selection(()), by=["instance_type"], objective="cost")
    assert page.verdict.startswith("slow.large is cheapest")
    assert page.groups[0].cost_usd is not None
    # Four nodes for 152.5 s.
    assert page.groups[0].cost_usd.median == pytest.approx(4 * 0.3 * 152.5 / 3600)


def test_rankings_by_cost_use_the_price_of_a_core_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.delenv("VENTURI_PRICES", raising=False)
    file = DATA.parents[1] / "results/aloja-minerva/trials.csv"
    assert venturi("import", file, home=home).returncode == 0
    where = ("--where", "workload=terasort", "--where", "cluster=lab-a")
    asked = ("rank", "--by", "disk", *where, "--objective", "cost")
    done = venturi(*asked, home=home)
    assert (done.returncode, "venturi prices set core-hour USD" in done.stderr) == (2, True)
    assert venturi("prices", "set", "core-hour", "0.05", home=home).returncode == 0
    ranked = data(load({"VENTURI_HOME": str(home)}), *asked)
    assert ranked["prices"] == (
        "your prices (venturi prices): each recorded core of the hosts $0.05/h"
    )
    assert ranked["groups"]
    for group in ranked["groups"]:
        medians = group["medians_not_like_with_like"]
        # Eight hosts of 12 cores.
        assert medians["cost_usd"] == pytest.approx(8 * 12 * 0.05 * medians["elapsed_s"] / 3600)
