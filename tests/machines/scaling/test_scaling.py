"""B_network(N): the right curve, an honest range, and no figure where nothing supports one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from model_trials import MakeTrial
from venturi.core.errors import VenturiError
from venturi.core.quantity import ValueKind
from venturi.machines.scaling.network import (
    RIVAL,
    Curve,
    NetworkScaling,
    NetworkScalingPoint,
    check_range,
    network_scaling,
    network_scaling_from_trials,
)
from venturi.record.trial import (
    Cluster,
    Engine,
    Failure,
    Host,
    ProvenanceKind,
    Sample,
    State,
    Trial,
)

SIZES = (2, 4, 8, 16, 32, 64)
MB = 1e6


def through(rate: Callable[[int], float], sizes: tuple[int, ...] = SIZES) -> NetworkScaling:
    return network_scaling(
        [NetworkScalingPoint(n, rate(n)) for n in sizes], "test", date(2026, 1, 2)
    )


CURVES: dict[Curve, Callable[[int], float]] = {
    Curve.CONSTANT: lambda n: 1000 * MB,
    Curve.POWER: lambda n: 1100 * MB * n**-0.07,
    Curve.LINE: lambda n: (1100 - 60 * math.log2(n)) * MB,
    Curve.SHARED: lambda n: 1000 * MB / (1 + 0.004 * n),
}


@pytest.mark.parametrize("curve", CURVES)
def test_a_curve_without_noise_is_found_and_continued(curve: Curve) -> None:
    scaling = through(CURVES[curve])
    assert scaling.fits[0].curve is curve
    for nodes in (2, 50, 64, 512):
        found = scaling.at(nodes)
        assert found.value == pytest.approx(CURVES[curve](nodes), rel=1e-9)
        assert found.high / found.low == pytest.approx(1, abs=1e-6)
    assert found.kind is ValueKind.DERIVED
    assert curve.value in found.note
    assert "2 to 64 nodes" in found.note
    assert "prediction interval" in found.range_from
    assert (found.source, found.as_of) == ("test", date(2026, 1, 2))


def test_the_numbers_of_a_fit_can_be_read() -> None:
    assert through(CURVES[Curve.POWER]).fits[0].formula == "1,100 MB/s * N^-0.070"
    assert through(CURVES[Curve.LINE]).fits[0].formula == "1,100 MB/s - 60 MB/s * log2 N"
    assert through(CURVES[Curve.CONSTANT]).fits[0].formula == "1,000 MB/s"
    assert through(CURVES[Curve.SHARED]).fits[0].formula == "1,000 MB/s / (1 + 0.004 * N)"


@pytest.mark.parametrize("curve", CURVES)
def test_a_further_measurement_lies_in_the_range_as_often_as_promised(curve: Curve) -> None:
    """The truth is one of the curves with 3 % of noise; 4 times beyond, 90 % were promised."""
    random = np.random.default_rng(3)
    truth, rounds, inside = CURVES[curve], 150, 0
    for _ in range(rounds):
        noise = random.normal(0, 0.03, len(SIZES) + 1)
        scaling = network_scaling(
            [
                NetworkScalingPoint(n, truth(n) * math.exp(e))
                for n, e in zip(SIZES, noise, strict=False)
            ],
            "test",
        )
        found = scaling.at(256)
        inside += found.low <= truth(256) * math.exp(noise[-1]) <= found.high
    assert inside / rounds >= 0.87  # 2 standard errors below 90 %


def test_curves_that_fit_nearly_as_well_widen_the_range() -> None:
    wavy = (1.01, 0.99, 1.0, 1.01, 0.99, 1.0)
    rates = {n: CURVES[Curve.LINE](n) * w for n, w in zip(SIZES, wavy, strict=True)}
    scaling = through(lambda n: rates[n])
    rivals = [f for f in scaling.fits[1:] if f.left_out <= RIVAL * scaling.fits[0].left_out]
    assert rivals
    found = scaling.at(512)
    for fit in (scaling.fits[0], *rivals):
        low, high = fit.interval(512)
        assert found.low <= low < fit.value(512) < high <= found.high
    assert "not ruled out" in found.range_from


def test_the_range_grows_with_the_distance_from_what_was_measured() -> None:
    random = np.random.default_rng(1)
    noise = dict(zip(SIZES, random.normal(0, 0.02, len(SIZES)), strict=True))
    scaling = through(lambda n: CURVES[Curve.POWER](n) * math.exp(noise[n]))
    widths = [found.high / found.low for found in map(scaling.at, (16, 64, 128, 512))]
    assert widths == sorted(widths)
    assert widths[-1] > 1.04 * widths[0]


def test_a_rise_is_never_carried_on() -> None:
    scaling = through(lambda n: (900 + n) * MB)
    assert [fit.curve for fit in scaling.fits] == [Curve.CONSTANT]
    assert scaling.at(512).value < 964 * MB


def test_with_two_sizes_there_is_what_was_measured_and_nothing_else() -> None:
    scaling = network_scaling(
        [
            NetworkScalingPoint(2, 1085 * MB),
            NetworkScalingPoint(178, 879 * MB),
            NetworkScalingPoint(2, 1095 * MB),
        ],
        "s",
    )
    twice, once = scaling.at(2), scaling.at(178)
    assert (twice.value, twice.low, twice.high) == (1090 * MB, 1085 * MB, 1095 * MB)
    assert (once.value, once.kind) == (879 * MB, ValueKind.MEASURED)
    assert "range is unknown" in once.range_from
    with pytest.raises(VenturiError, match="fewer than 3") as caught:
        scaling.at(64, force=True)
    assert caught.value.code == "VEN-MODEL-RANGE"


def test_beyond_eight_times_it_refuses_unless_forced_and_then_says_so() -> None:
    scaling = through(CURVES[Curve.POWER])
    assert "forced" not in scaling.at(512).note
    with pytest.raises(VenturiError, match="512") as caught:
        scaling.at(513)
    assert caught.value.code == "VEN-MODEL-RANGE"
    assert caught.value.where["limit"] == 512
    assert "65" in caught.value.hint
    assert "forced beyond the limit of 512" in scaling.at(513, force=True).note
    small = through(CURVES[Curve.POWER], (32, 64, 128))
    assert small.at(4).value > small.at(32).value
    with pytest.raises(VenturiError):
        small.at(3)
    assert check_range("x", 3, 32, 128, force=True)


def test_a_line_that_has_reached_zero_is_refused_even_by_force() -> None:
    scaling = through(lambda n: (130 - 30 * math.log2(n)) * MB, (2, 4, 8))
    assert scaling.at(16).value == pytest.approx(10 * MB)
    with pytest.raises(VenturiError, match="fallen to nothing"):
        scaling.at(32, force=True)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.floats(1, 1e5), min_size=3, max_size=6), st.floats(0.01, 100), st.integers(2, 60)
)
def test_more_nodes_never_get_more_and_the_unit_does_not_matter(
    rates: list[float], scale: float, nodes: int
) -> None:
    sizes = SIZES[: len(rates)]
    scaling = network_scaling(map(NetworkScalingPoint, sizes, rates), "s")
    scaled = network_scaling(map(NetworkScalingPoint, sizes, [scale * r for r in rates]), "s")
    assume(scaling.fits[0].value(2 * nodes) > 0)  # else refused: there is a test of its own
    few, more = scaling.at(nodes, force=True), scaling.at(2 * nodes, force=True)
    assert more.value <= few.value * (1 + 1e-9)
    if scaling.fits[0].curve is scaled.fits[0].curve:  # else a tie that rounding decided
        assert scaled.at(nodes, force=True).value == pytest.approx(scale * few.value, rel=1e-6)


@pytest.mark.parametrize(("nodes", "rate"), [(1, 1.0), (2, 0.0), (2, -1.0), (2, math.nan)])
def test_a_point_that_cannot_be_is_refused(nodes: int, rate: float) -> None:
    with pytest.raises(VenturiError):
        NetworkScalingPoint(nodes, rate)


def test_no_points_and_one_node_are_refused() -> None:
    with pytest.raises(VenturiError, match="points"):
        network_scaling([], "s")
    with pytest.raises(VenturiError, match="at least 2"):
        through(CURVES[Curve.POWER]).at(1)


# --- From recorded trials -----------------------------------------------------------------------


def sample(
    peers: object, rate: float, sockets: int = 1, metric: str = "all_to_all", **labels: Any
) -> Sample:
    given: dict[str, Any] = {"peers": peers, "sockets_per_peer": sockets, "slowest": True}
    return Sample(f"net_{metric}_bytes_per_s", rate, "B/s", labels={**given, **labels})


@pytest.fixture
def net_trial(make_trial: MakeTrial) -> Callable[..., Trial]:
    """A NetBench trial; its samples as the recorder writes them."""

    def make(*samples: Sample, network: str | None = "network", **changes: Any) -> Trial:
        cluster = Cluster((Host("here"),), network=network, instance_type="big")
        return make_trial(
            **{"engine": Engine("netbench", "1"), "cluster": cluster, "samples": samples} | changes
        )

    return make


def test_trials_give_the_slowest_peer_of_each_size(
    net_trial: Callable[..., Trial],
) -> None:
    first = net_trial(
        sample(2, 1000 * MB),
        sample(2, 1200 * MB, slowest=False, iteration=0),  # the mean of peers: not the figure
        sample(4, 950 * MB),
        sample(4, 1100 * MB, metric="pairwise", slowest=False, iteration=0),
        sample(4, 1050 * MB, metric="pairwise", slowest=False, iteration=1),
        sample(4, 1060 * MB, metric="pairwise", slowest=False, iteration=2),
        sample(4, 800 * MB, metric="pairwise"),
    )
    second = net_trial(sample(8, 900 * MB))
    ignored = net_trial(sample(8, 1 * MB), warm_up=True)
    scaling = network_scaling_from_trials([first, second, ignored])
    assert [(p.nodes, p.bytes_per_s / MB) for p in scaling.points] == [
        (2, 1000),
        (4, 950),
        (8, 900),
    ]
    assert scaling.at(16).value == pytest.approx(850 * MB, rel=0.01)
    assert first.id in scaling.source
    assert second.id in scaling.source
    assert scaling.as_of == date(2026, 1, 1)


def test_connection_counts_are_not_mixed(net_trial: Callable[..., Trial]) -> None:
    trials = [net_trial(sample(2, 1000 * MB, 1), sample(2, 2000 * MB, 2))]
    with pytest.raises(VenturiError, match="connections per peer"):
        network_scaling_from_trials(trials)


def test_what_does_not_measure_a_network_is_refused_with_the_reason(
    net_trial: Callable[..., Trial],
) -> None:
    good = net_trial(sample(2, MB))
    imported = replace(good.provenance, kind=ProvenanceKind.IMPORTED)
    assert network_scaling_from_trials([replace(good, provenance=imported)]).at(2).value == MB
    loopback = "loopback: memory copying, not a network"
    small = replace(good.cluster, instance_type="small")
    for trial, reason in (
        (net_trial(sample(2, MB), network=loopback), "memory copying"),
        (net_trial(sample(2, MB), network=None), "measured network"),
        (replace(good, state=State.FAILED, failure=Failure("x", "VEN-X", "x")), "is failed"),
        (replace(good, engine=Engine("diskbench", "1")), "not NetBench"),
        (replace(good, provenance=replace(imported, kind=ProvenanceKind.SIMULATED)), "simulated"),
        (replace(good, cluster=small), "instance_type"),
        (net_trial(sample("two", MB)), "peers is two"),
    ):
        with pytest.raises(VenturiError, match=reason) as caught:
            network_scaling_from_trials([good, trial])
        assert caught.value.code == "VEN-MODEL-INPUT"
    with pytest.raises(VenturiError, match="without all-to-all figures"):
        network_scaling_from_trials([])
