"""Draws of distributions, their text form, and a catalog's spread of a type."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.core.errors import ExitCode, VenturiError
from venturi.core.units import parse_rate
from venturi.machines.catalog import load_shipped
from venturi.machines.cost.choices import NetworkChoice
from venturi.machines.simulate.distribution import (
    Constant,
    Distribution,
    Empirical,
    LogNormal,
    Mixture,
    Normal,
    RateDistribution,
    SlowestOf,
    Uniform,
    bimodal,
    distributions_of,
    parse_distribution,
    parse_rates,
)

TYPES = load_shipped("ec2-2014").types


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


# a distribution, its mean and its standard deviation
MOMENTS: list[tuple[Distribution, float, float]] = [
    (Constant(900e6), 900e6, 0),
    (Uniform(10, 16), 13, 6 / math.sqrt(12)),
    (Normal(1000, 50), 1000, 50),
    (LogNormal(1000, 0.4), 1000, 400),
    (Empirical((1.0, 3.0)), 2, 1),
    (bimodal(220, 20, 0.25), 170, 200 * math.sqrt(0.25 * 0.75)),
    (Mixture(((0.5, Normal(100, 3)), (0.5, Normal(200, 3)))), 150, math.hypot(50, 3)),
]


@pytest.mark.parametrize(("drawn", "mean", "sd"), MOMENTS, ids=lambda value: str(value)[:30])
def test_draws_have_the_stated_mean_and_spread(drawn: Distribution, mean: float, sd: float) -> None:
    values = drawn.draw(rng(), 200, 500)
    assert values.shape == (200, 500)
    assert values.mean() == pytest.approx(mean, abs=max(5 * sd / math.sqrt(1e5), 1e-9 * mean))
    assert values.std() == pytest.approx(sd, rel=0.02, abs=1e-6 * mean)


@given(st.floats(1e-3, 1e10), st.floats(0, 5), st.integers(0, 1000))
def test_rates_are_above_zero(mean: float, cv: float, seed: int) -> None:
    for drawn in (Normal(mean, cv * mean), LogNormal(mean, cv), bimodal(mean, mean / 3, 0.1)):
        assert drawn.draw(rng(seed), 3, 50).min() > 0


def test_the_parameters_of_the_slowest_of_many_are_uncertain() -> None:
    """Among as many nodes the minimum is as likely above as below the one that was observed."""
    published = SlowestOf(1738e6, 1515e6, 178)
    minima = published.draw(rng(), 4000, 178).min(axis=1)
    assert np.mean(minima < 1515e6) == pytest.approx(0.5, abs=0.025)
    # With the standard deviation for which 1515 MB/s is the expected minimum.
    certain = Normal(1738e6, 82.3e6).draw(rng(), 4000, 178).min(axis=1)
    assert minima.std() > 1.3 * certain.std()


def test_the_minimum_that_is_predicted_is_calibrated() -> None:
    """Whatever the truth, the next minimum lies below the predicted 10 % quantile in 10 %."""
    random, nodes, below = rng(7), 60, 0
    for _ in range(400):
        observed, following = random.normal(1000, 30, (2, nodes)).min(axis=1)
        predicted = SlowestOf(1000, float(observed), nodes).draw(random, 300, nodes).min(axis=1)
        below += int(following < np.quantile(predicted, 0.1))
    assert below / 400 == pytest.approx(0.1, abs=0.045)


def test_a_node_is_as_slow_as_its_slowest_device() -> None:
    each = 1 - 0.95**0.25
    rate = RateDistribution(4 * 55e6, node=bimodal(55e6, 55e6 / 3, each), devices=4)
    speeds = rate.speeds(rng(), 500, 200)
    assert set(np.round(speeds.ravel(), 9)) == {1.0, round(1 / 3, 9)}
    assert np.mean(speeds < 0.5) == pytest.approx(0.05, abs=0.004)


def test_the_whole_cluster_may_share_a_draw() -> None:
    both = RateDistribution(100.0, node=Normal(100, 5), cluster=Uniform(0.5, 1))
    speeds = both.speeds(rng(), 300, 400)
    assert speeds.mean(axis=1).std() == pytest.approx(0.5 / math.sqrt(12), rel=0.1)
    assert parse_rates("shared:uniform(1MB/s,2MB/s)").speeds(rng(), 5, 70).shape == (5, 1)


@pytest.mark.parametrize(
    "text",
    [
        "900MB/s",
        "normal(1738MB/s,5%)",
        "lognormal(900MB/s,10%)",
        "uniform(879MB/s,1090MB/s)",
        "slowest(1738MB/s,1515MB/s,178)",
        "bimodal(54.8MB/s,18.3MB/s,1.27%)",
    ],
)
def test_text_goes_both_ways(text: str) -> None:
    assert str(parse_distribution(text)) == text


def test_text_in_full() -> None:
    assert parse_distribution(" bimodal( 220MB/s, 73MB/s, 1.25% )") == bimodal(220e6, 73e6, 0.0125)
    assert parse_distribution("normal(100MB/s,5MB/s)") == Normal(100e6, 5e6)
    assert parse_distribution("samples(1MB/s,2MB/s)") == Empirical((1e6, 2e6))
    assert parse_rates("4:55MB/s") == RateDistribution(220e6, node=Constant(55e6), devices=4)
    assert parse_rate("10Gbit/s") == 1.25e9
    assert parse_rate("1MiB/s") == 2**20


@pytest.mark.parametrize(
    "text",
    [
        "",
        "900MB",
        "900",
        "normal(1MB/s)",
        "normal(1MB/s,2,3)",
        "gauss(1MB/s,5%)",
        "normal(1MB/s",
        "slowest(2MB/s,1MB/s,many)",
        "normal(1MB/s,x%)",
        "k:1MB/s",
        "-5MB/s",
        "10Gbit",
    ],
)
def test_text_that_says_nothing_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(VenturiError) as caught:
        parse_rates(text)
    assert caught.value.code == "VEN-UNIT-SYNTAX"
    assert caught.value.exit_code == ExitCode.USAGE
    assert caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "0MB/s",
        "normal(0MB/s,5%)",
        "lognormal(1MB/s,-5%)",
        "uniform(2MB/s,1MB/s)",
        "0:1MB/s",
        "slowest(1MB/s,2MB/s,178)",
        "slowest(2MB/s,1MB/s,5)",
        "bimodal(2MB/s,1MB/s,130%)",
    ],
)
def test_values_outside_the_domain_are_refused(text: str) -> None:
    with pytest.raises(VenturiError) as caught:
        parse_rates(text)
    assert caught.value.code == "VEN-MODEL-INPUT"


def test_a_catalogue_gives_the_distributions() -> None:
    rates = distributions_of(TYPES["i2.8xlarge"])
    assert rates["storage"] == RateDistribution(1738e6, node=SlowestOf(1738e6, 1515e6, 178))
    assert rates["network"] == RateDistribution(879e6, cluster=Uniform(879e6, 1090e6))
    assert "volumes" not in rates
    alone = distributions_of(TYPES["i2.8xlarge"], NetworkChoice.UNLIMITED)
    assert alone.keys() == {"storage"}


def test_what_a_catalogue_does_not_know_has_no_distribution() -> None:
    assert distributions_of(TYPES["r3.4xlarge"]).keys() == {"volumes"}


@pytest.mark.parametrize("text", ["10Gb/s", "900mb/s", "1 Kb/s"])
def test_a_small_b_may_be_bits_or_bytes_and_is_asked_about(text: str) -> None:
    with pytest.raises(VenturiError, match="bits or bytes") as caught:
        parse_rate(text)
    assert "Gbit/s" in caught.value.hint


def test_equally_fast_nodes_and_a_path_that_caps_them_have_no_spread() -> None:
    like = TYPES["i2.8xlarge"]
    slowest, path = like.facts["storage_rate_slowest"], like.facts["storage_rate"]
    equal = replace(
        like, facts={**like.facts, "storage_rate_slowest": replace(slowest, value=1738.0)}
    )
    capped = replace(like, facts={**like.facts, "disk_path_rate": replace(path, value=2000.0)})
    for kind in (equal, capped):
        assert not isinstance(distributions_of(kind)["storage"].node, SlowestOf)
    assert isinstance(distributions_of(like)["storage"].node, SlowestOf)
