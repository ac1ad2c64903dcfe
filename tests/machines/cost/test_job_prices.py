"""The price that decides the cost of a job's run, and its words; the file of prices."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.core.errors import VenturiError
from venturi.machines.cost.job_prices import MOST_USD, JobPrices, JobUse, job_cost
from venturi.machines.cost.prices_file import own_job_prices, write_job_prices

ALL = JobPrices(0.05, {"i4i.2xlarge": 0.686}, {"etl": 12.0})
USE = JobUse(
    elapsed_s=1_800.0,
    cluster="etl",
    instance_type="i4i.2xlarge",
    nodes=4,
    core_s=24 * 1_800.0,
    cores=24,
    recorded_usd=7.5,
    recorded_basis="recorded cost",
)


def use(**changes: object) -> JobUse:
    return JobUse(**{**{name: getattr(USE, name) for name in JobUse.__slots__}, **changes})


def test_a_recorded_price_precedes_cluster_node_and_core_hour() -> None:
    found = job_cost(USE, ALL)
    assert (found.usd, found.basis, found.price) == (7.5, "recorded cost", "recorded")
    unrecorded = use(recorded_usd=None)
    found = job_cost(unrecorded, ALL)
    assert (found.usd, found.basis, found.price) == (6.0, "price of cluster etl", "cluster etl")
    found = job_cost(unrecorded, ALL.changed("cluster", "etl", None))
    assert found.usd == pytest.approx(4 * 0.686 / 2)
    assert (found.basis, found.price) == ("node price, 4 × i4i.2xlarge", "node i4i.2xlarge")
    found = job_cost(unrecorded, JobPrices(0.05))
    assert found.usd == pytest.approx(0.6)
    assert (found.basis, found.price) == ("core-hour price, 24 cores", "core-hour")
    assert found.reason is None


def test_cores_that_come_and_go_are_called_up_to() -> None:
    found = job_cost(use(recorded_usd=None, core_s=3_600.0), JobPrices(0.05))
    assert found.usd == pytest.approx(0.05)
    assert found.basis == "core-hour price, up to 24 cores, 1 core-hours"


def test_a_saving_has_its_share_of_the_cost() -> None:
    found = job_cost(USE, ALL)
    assert found.of_saving(600.0) == pytest.approx(2.5)
    assert found.of_saving(None) is None
    assert job_cost(JobUse(), ALL).of_saving(600.0) is None


@pytest.mark.parametrize(
    ("changes", "prices", "reason"),
    [
        ({}, JobPrices(), "no price is recorded with this run, and none is set"),
        ({"recorded_reason": "the price is in EUR"}, JobPrices(), "the price is in EUR"),
        (
            {},
            JobPrices(clusters={"other": 1.0}),
            "no price is set for its cluster etl or node type i4i.2xlarge, or for a core-hour",
        ),
        (
            {"cluster": None, "instance_type": None},
            JobPrices(clusters={"etl": 1.0}),
            "no price is set for its unrecorded cluster or unrecorded node type, or for a "
            "core-hour",
        ),
        (
            {"core_s": None, "cores_reason": "no cores"},
            JobPrices(0.05),
            "no cores; no price is set for its cluster etl or node type i4i.2xlarge",
        ),
        ({"elapsed_s": None}, JobPrices(clusters={"etl": 1.0}), "its time is unknown"),
        ({"emulated": True, "recorded_reason": "emulated"}, ALL, "emulated"),
    ],
)
def test_without_a_price_there_is_a_reason(
    changes: dict[str, object], prices: JobPrices, reason: str
) -> None:
    found = job_cost(use(recorded_usd=None, recorded_basis=None, **changes), prices)
    assert (found.usd, found.basis, found.price) == (None, None, None)
    assert found.reason == reason


USD = st.floats(0, MOST_USD, exclude_min=True)
NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


@given(st.none() | USD, st.dictionaries(NAMES, USD), st.dictionaries(NAMES, USD))
def test_the_file_keeps_all_names_and_prices(
    tmp_path_factory: pytest.TempPathFactory,
    core_hour: float | None,
    nodes: dict[str, float],
    clusters: dict[str, float],
) -> None:
    file = tmp_path_factory.mktemp("prices") / "prices.toml"
    prices = JobPrices(core_hour, nodes, clusters)
    write_job_prices(file, prices)
    assert own_job_prices(file) == prices


def test_every_mistake_of_the_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(
        "usd_per_core_hours = 1\nusd_per_core_hour = 0\n[usd_per_node_hour]\na = nan\nb = true\n"
        '"" = 1.0\n[usd_per_cluster_hour]\na = -1\nb = "12"\n'
    )
    with pytest.raises(VenturiError) as caught:
        own_job_prices(file)
    assert caught.value.code == "VEN-PRICE-FORMAT"
    lines = {"line 1", "line 2", "line 4", "line 5", "line 6", "line 8", "line 9"}
    assert set(caught.value.where) == {"file", *lines}
    assert "venturi prices set" in caught.value.hint


def test_an_existing_file_keeps_its_mode_and_its_link(tmp_path: Path) -> None:
    real, link = tmp_path / "shared.toml", tmp_path / "prices.toml"
    real.write_text("usd_per_core_hour = 1\n")
    real.chmod(0o644)
    link.symlink_to(real)
    write_job_prices(link, own_job_prices(link).changed("core-hour", "", 2.0))
    assert own_job_prices(real) == JobPrices(2.0)
    assert real.stat().st_mode & 0o777 == 0o644
    assert link.is_symlink()
