"""Advice: choice of counts, ranking, frontier, limits, exclusions, and that it is monotone."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advice_samples import ALL, DAY, TB, catalog_of, machine, request, without
from venturi.core.errors import VenturiError
from venturi.core.quantity import ValueKind
from venturi.machines.advice.assume import assume, parse_assumption
from venturi.machines.advice.choose import GRID_POINTS, grid
from venturi.machines.advice.frontier import unbeaten, undominated_counts
from venturi.machines.advice.hardware import Advice, ClassAdvice, advise, predict
from venturi.machines.advice.option import AdviceObjective, Option, RuledOutReason
from venturi.machines.advice.question import HardwareRequest
from venturi.machines.advice.suppositions import assumed
from venturi.machines.catalog import Fact, InstanceType, load_shipped
from venturi.machines.cost.choices import Durability, Exchange, NetworkChoice
from venturi.machines.cost.job import sort_job
from venturi.machines.cost.operation import operated


def only(asked: HardwareRequest, *types: InstanceType) -> ClassAdvice:
    return advise(asked, [catalog_of(*types)]).classes[0]


def best(asked: HardwareRequest, *types: InstanceType) -> Option:
    return only(asked, *types).ranked[0]


def test_one_option_by_hand() -> None:
    option = best(request(), machine("a"))
    assert (option.least_nodes, option.nodes, option.most_nodes) == (4, 85, 330)  # 30 TB on 8 TB
    assert option.time_s.value == pytest.approx(10e12 / 85 / 500e6 + 10e12 / 85 / 1000e6)
    assert option.time_s.low == option.time_s.high == option.time_s.value
    assert option.metered_usd is not None
    assert option.metered_usd.value == pytest.approx(85 * option.time_s.value / 3600)
    assert option.billed_usd is not None
    assert option.billed_usd.value >= option.metered_usd.value
    assert [phase.narrowest for phase in option.phases] == ["network", "storage"]
    assert all(phase.certain for phase in option.phases)
    assert (option.weakest, option.lower_bound) == (ValueKind.MEASURED, False)
    assert (option.price_as_of, option.price_is_stale) == (DAY, False)


@given(st.integers(1, 10**6), st.integers(0, 10**6))
def test_the_grid_goes_from_the_fewest_to_the_most(least: int, more: int) -> None:
    counts = grid(least, least + more)
    assert (counts[0], counts[-1]) == (least, least + more)
    assert counts.size <= GRID_POINTS
    assert (np.diff(counts) > 0).all()


def test_of_counts_that_cost_the_same_the_fewest_nodes_are_chosen() -> None:
    asked = request(max_nodes_of={"a": 50}, objective=AdviceObjective.CHEAPEST)
    assert best(asked, machine("a")).nodes == 4
    assert best(replace(asked, objective=AdviceObjective.FASTEST), machine("a")).nodes == 50
    assert best(replace(asked, deadline_s=3000.0), machine("a")).nodes == 10


def test_start_up_makes_nodes_dearer_and_the_three_choices_weigh_it() -> None:
    # N nodes take 600 + 30,000 / N seconds and cost (600 N + 30,000) / 3600 USD.
    job = replace(sort_job(10 * TB, exchange=Exchange.ALL), startup_s=600.0)
    choices = only(request(job), machine("a")).choices
    assert choices is not None
    assert choices.cheapest.nodes == 4
    # at most a quarter dearer than 9.00 USD are 17 nodes, 2,365 s; four times as long 4 take less
    assert choices.recommended.nodes == 4
    # (600 N + 30,000) (600 + 30,000 / N) is least for N = 50, and within 1 % of it from 41 on
    assert 41 <= choices.fastest.nodes <= 50
    hurried = only(request(job, deadline_s=2500.0), machine("a")).choices
    assert hurried is not None
    assert hurried.cheapest.nodes == hurried.recommended.nodes == 16  # 30,000 / 1,900


def test_of_types_with_tied_costs_the_one_with_fewer_nodes_is_recommended() -> None:
    small = machine("small")
    large = machine("large", price=4.8, disk_count=16.0, storage_rate=4000.0, network_rate=2000.0)
    asked = request(deadline_s=3000.0)
    found = only(asked, small, large)
    assert found.choices is not None
    assert (found.choices.cheapest.instance_type, found.choices.cheapest.nodes) == ("small", 10)
    first = found.ranked[0]
    assert first == found.choices.recommended
    assert (first.instance_type, first.nodes) == ("large", 3)  # 20 % dearer
    assert [each.instance_type for each in found.ranked] == ["large", "small"]


def test_without_a_deadline_types_are_compared_at_the_same_pace() -> None:
    slow = machine("slow", price=0.9, storage_rate=500.0, network_rate=250.0)
    found = only(request(objective=AdviceObjective.RECOMMENDED), machine("a"), slow)
    first, second = found.ranked
    assert second.time_s.value <= first.time_s.value * 1.0001


def test_failures_of_nodes_repeat_the_job() -> None:
    job = replace(sort_job(10 * TB, exchange=Exchange.ALL), failures_per_node_hour=0.01)
    option = best(request(job, nodes=100), machine("a"))
    # 300 s on 100 nodes with 1 failure an hour: (exp(1/12) - 1) h
    assert option.time_s.value == pytest.approx((math.exp(300 / 3600) - 1) * 3600, rel=1e-6)
    assert option.time_s.low == pytest.approx(300, rel=1e-6)
    assert option.time_s.high == pytest.approx((math.exp(6 * 300 / 3600) - 1) * 600, rel=1e-6)


@pytest.mark.parametrize("exchange", list(Exchange))
@pytest.mark.parametrize("catalog", ["current", "ec2-2014"])
def test_no_option_is_cheaper_than_the_cheapest(exchange: Exchange, catalog: str) -> None:
    asked = request(operated(sort_job(100 * TB, exchange=exchange)), deadline_s=7200.0)
    (found,) = advise(asked, [load_shipped(catalog)]).classes
    assert found.choices is not None
    cheapest, recommended, fastest = (
        found.choices.cheapest,
        found.choices.recommended,
        found.choices.fastest,
    )
    sure = [each for each in found.ranked if each.within_limits]
    assert all(each.usd.value >= cheapest.usd.value / 1.01 for each in sure)
    assert recommended.usd.value <= cheapest.usd.value * 1.25
    assert recommended.nodes <= cheapest.nodes
    assert recommended.time_s.high <= 7200
    assert fastest.time_s.value <= recommended.time_s.value


def test_a_deadline_names_the_fewest_nodes_that_keep_it() -> None:
    # 7,500 s on 4 nodes: 3,000 s need exactly 10.
    option = best(request(deadline_s=3000.0), machine("a"))
    assert option.nodes == 10
    assert option.within_limits is True
    ranged = machine("b", storage_rate=(1000.0, 500.0, 1000.0))
    assert best(request(deadline_s=3000.0), ranged).nodes == 14  # 10,000 s on 4 nodes
    capped = best(request(deadline_s=3000.0, max_nodes=12), ranged)
    assert capped.nodes == 10  # by the middle only
    assert capped.within_limits is False


def test_a_budget_bounds_the_fastest() -> None:
    # With 600 s of start-up more nodes cost more: N * (600 + 30000/N) / 3600 USD.
    job = replace(sort_job(10 * TB, exchange=Exchange.ALL), startup_s=600.0)
    asked = request(job, objective=AdviceObjective.FASTEST, budget_usd=20.0)
    option = best(asked, machine("a"))
    assert option.usd.value <= 20.0
    assert option.nodes == pytest.approx((20 * 3600 - 30000) / 600, abs=1)
    assert best(replace(asked, objective=AdviceObjective.CHEAPEST), machine("a")).nodes == 4


def test_what_keeps_the_limits_only_perhaps_comes_after_what_surely_does() -> None:
    sure = machine("sure", price=1.3)
    unsure = machine("unsure", network_rate=(500.0, 100.0, 500.0), max_nodes=12.0)
    found = only(request(deadline_s=3000.0), sure, unsure)
    assert [each.instance_type for each in found.ranked] == ["sure", "unsure"]


def test_types_are_excluded_with_every_reason() -> None:
    found = only(
        request(),
        machine("good"),
        without(machine("diskless"), "disk_size"),
        without(machine("dark", max_nodes=3.0), "storage_rate", "price"),
        machine("few", max_nodes=3.0),
        without(machine("free"), "price"),
    )
    out = {each.instance_type: each for each in found.excluded}
    assert out["diskless"].reason is RuledOutReason.UNKNOWN
    assert "size of each local disk" in out["diskless"].detail
    assert out["few"].reason is RuledOutReason.TOO_MANY
    assert "need 4" in out["few"].detail
    assert (out["few"].nearest, out["few"].also) == (4, ())
    assert out["dark"].reason is RuledOutReason.TOO_MANY
    assert "at most 3" in out["dark"].detail
    assert [text.partition(":")[0] for text in out["dark"].also] == ["storage", "price"]
    assert out["free"].reason is RuledOutReason.NO_PRICE
    assert [each.instance_type for each in found.ranked] == ["good"]


def test_a_line_rate_alone_is_never_ranked() -> None:
    bound = without(machine("line", network_line_rate=100.0, price=0.01), "network_rate")
    found = only(request(), machine("a"), bound)
    assert [each.instance_type for each in found.ranked] == ["a"]
    assert [each.instance_type for each in found.at_least] == ["line"]
    assert all(point.option.instance_type == "a" for point in found.frontier)
    out = only(
        request(deadline_s=60.0, max_nodes=5),
        replace(bound, name="slow"),
        machine("fast", storage_rate=1e6, network_rate=1e6),
    ).excluded
    assert [(each.instance_type, each.reason) for each in out] == [
        ("slow", RuledOutReason.DEADLINE)
    ]
    assert "at least" in out[0].detail


def test_types_whose_ranges_overlap_cannot_be_told_apart_until_one_is_measured() -> None:
    known = machine("known", price=1.2)
    vague = machine(
        "vague", storage_rate=(1000.0, 500.0, 1500.0), network_rate=(2000.0, 1900.0, 2100.0)
    )
    far = machine("far", price=30.0)
    slow = machine("slow", price=1.2, network_rate=(700.0, 690.0, 710.0))
    found = only(request(), known, vague, far, slow)
    assert [each.instance_type for each in found.ranked] == ["vague", "slow", "known", "far"]
    assert found.undecided == ((1, 2), (1, 3))
    first = found.measure[0]
    assert (first.instance_type, first.rate) == ("vague", "storage")
    assert first.decides == ((1, 2), (1, 3))
    assert "disk" in first.how
    sure = only(request(), known, machine("vague"))
    assert sure.undecided == ()
    assert sure.measure == ()


def brute_force(points: list[tuple[float, float, float, float]]) -> list[bool]:
    return [
        not any(
            a[1] <= b[0] and a[3] <= b[2] and (a[1] < b[0] or a[3] < b[2])
            for a in points
            if a is not b
        )
        for b in points
    ]


NUMBER = st.integers(1, 6).map(float)
RANGE = st.tuples(NUMBER, NUMBER).map(lambda pair: (min(pair), max(pair)))


@given(st.lists(st.tuples(RANGE, RANGE), min_size=1, max_size=12))
def test_the_frontier_is_what_comparing_each_with_each_gives(
    ranges: list[tuple[tuple[float, float], tuple[float, float]]],
) -> None:
    points = [(*time, *usd) for time, usd in ranges]
    columns = np.array(points).T
    assert unbeaten(*columns).tolist() == brute_force(points)


def test_counts_of_one_type_share_the_truth_and_are_compared_bound_by_bound() -> None:
    seconds = np.array([[10.0, 5.0, 2.0], [5.0, 2.5, 1.0], [20.0, 10.0, 4.0]])
    flat = np.full((3, 3), 7.0) * np.array([[1.0], [0.5], [2.0]])
    assert undominated_counts(seconds, flat).tolist() == [False, False, True]
    rising = flat * np.array([1.0, 1.2, 1.5])
    assert undominated_counts(seconds, rising).all()


def test_the_frontier_holds_trade_offs_and_drops_what_is_surely_worse() -> None:
    cheap = machine("cheap", max_nodes=8.0)
    quick = machine("quick", price=4.0, storage_rate=2000.0, network_rate=2000.0, max_nodes=8.0)
    worse = machine("worse", price=5.0, max_nodes=8.0)
    found = only(request(), cheap, quick, worse)
    on_it = [(p.option.instance_type, p.option.nodes, p.by_middle) for p in found.frontier]
    assert on_it == [("quick", 8, True), ("cheap", 8, True)]


def test_each_durability_class_is_answered_apart() -> None:
    asked = request(durabilities=ALL, max_nodes=20)
    with_volumes = machine(
        "a",
        volume_read_rate=200.0,
        volume_write_rate=200.0,
        volume_price=0.1,
        volume_optimised_price=0.5,
    )
    two_io, replicated, volumes = advise(asked, [catalog_of(with_volumes)]).classes
    assert [c.durability for c in (two_io, replicated, volumes)] == list(ALL)
    assert two_io.ranked[0].least_nodes == 4
    assert replicated.ranked[0].least_nodes == 5
    option = volumes.ranked[0]
    assert option.least_nodes == 2
    # 10 TB in and 10 TB out at 0.10 USD/GiB and 720 h, pro rata; the path to them costs 0.50 USD/h.
    # More nodes need them for less time, so a quarter of those available take four times as long.
    nodes, monthly = option.nodes, 20e12 / 2**30 * 0.1 / 720
    assert nodes == 5
    seconds = 10e12 / nodes / 200e6 * 2
    assert option.time_s.value == pytest.approx(seconds)
    assert option.metered_usd is not None
    assert option.metered_usd.value == pytest.approx((nodes * 1.5 + monthly) * seconds / 3600)
    unpriced = advise(
        request(durabilities=ALL[2:] + ALL[:1]), [catalog_of(without(with_volumes, "volume_price"))]
    )
    assert unpriced.classes[0].excluded[0].reason is RuledOutReason.NO_PRICE


def test_a_replica_needs_another_node() -> None:
    job = replace(sort_job(TB, Durability.REPLICATED), copies=3)
    assert best(request(job), machine("a", disk_size=10000.0)).least_nodes == 4


def nowhere(asked: HardwareRequest, *types: InstanceType) -> VenturiError:
    with pytest.raises(VenturiError) as caught:
        advise(asked, [catalog_of(*types)])
    assert caught.value.code == "VEN-ADVISE-NOWHERE"
    return caught.value


def test_a_job_that_fits_nowhere_is_told_the_nearest_limit() -> None:
    late = nowhere(
        request(deadline_s=60.0, max_nodes=100), machine("a"), machine("b", network_rate=9.0)
    )
    assert "--deadline 300s" in late.hint  # 30,000 s over 100 nodes
    assert "100 a" in late.hint
    dear = nowhere(request(budget_usd=1.0), machine("a"))
    assert "4 a would keep --budget 8.34" in dear.hint  # 30,000 node-seconds at 1 USD/h
    few = nowhere(request(max_nodes=2), machine("a"), machine("b", disk_size=1500.0))
    assert "3 b" in few.hint
    assert "--max-nodes" in few.hint
    one = nowhere(request(nodes=2), machine("a"))
    assert "4 a" in one.hint
    dark = nowhere(request(), without(machine("a"), "storage_rate"))
    assert "--assume storage=400MB/s/TB (" in dark.hint
    assert dark.message.endswith("a figure is unknown (1)")
    unknown = nowhere(
        request(),
        *(without(machine(name), "storage_rate") for name in "ab"),
        without(machine("c"), "storage_rate", "network_rate"),
    )
    assert str(unknown.where["a figure is unknown"]).startswith("2 types: storage: ")
    assert "; 1 type: " in str(unknown.where["a figure is unknown"])
    assert "--assume storage=400MB/s/TB --assume network=5Gbit/s" in unknown.hint
    nowhere(request())


def test_the_number_of_nodes_asked_for_is_taken_as_it_is() -> None:
    found = only(request(nodes=1500), machine("a"), machine("b", max_nodes=1400.0))
    assert [option.nodes for option in found.ranked] == [1500]
    assert found.excluded[0].reason is RuledOutReason.TOO_MANY


@pytest.mark.parametrize(
    "asked",
    [
        {"deadline_s": 0.0},
        {"budget_usd": -1.0},
        {"nodes": 0},
        {"max_nodes": 0},
        {"max_nodes_of": {"a": 0}},
    ],
)
def test_a_request_out_of_its_domain_is_refused(asked: dict[str, object]) -> None:
    with pytest.raises(VenturiError) as caught:
        request(**asked)
    assert caught.value.code == "VEN-MODEL-INPUT"


def test_a_prediction_for_given_machines() -> None:
    job = sort_job(10 * TB, exchange=Exchange.ALL)
    made = predict(job, "test", machine("a"), 10, NetworkChoice.AT_SCALE)
    assert made.seconds[0, 0] == pytest.approx(3000)
    unpriced = predict(
        sort_job(10 * TB), "t", without(machine("a"), "price"), 10, NetworkChoice.AT_SCALE
    )
    assert unpriced.metered_usd is None
    assert "price" in unpriced.no_price
    with pytest.raises(VenturiError, match="does not fit") as caught:
        predict(sort_job(10 * TB), "test", machine("a"), 3, NetworkChoice.AT_SCALE)
    assert "4 nodes" in caught.value.hint
    with pytest.raises(VenturiError, match="are unknown"):
        predict(sort_job(TB), "t", without(machine("a"), "storage_rate"), 9, NetworkChoice.AT_SCALE)


RATES = ("storage_rate", "network_rate", "volume_read_rate", "volume_write_rate")
FULL: dict[str, float | str | tuple[float, float, float]] = {
    "storage_rate": (1000.0, 900.0, 1100.0),
    "network_rate": (700.0, 600.0, 800.0),
    "volume_read_rate": 250.0,
    "volume_write_rate": 220.0,
    "volume_price": 0.08,
}


def scaled(attribute: str, factor: float) -> InstanceType:
    base = machine("a", **FULL)
    old = base.facts[attribute]
    assert isinstance(old.value, float)
    bounds = [None if b is None else b * factor for b in (old.low, old.high)]
    changed = replace(old, value=old.value * factor, low=bounds[0], high=bounds[1])
    return replace(base, facts={**base.facts, attribute: changed})


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(ALL),
    st.floats(1.01, 20),
    st.integers(4, 400),
    st.sampled_from(RATES),
)
def test_dearer_never_costs_less_slower_never_takes_less_more_bytes_never_cost_less(
    durability: Durability, factor: float, nodes: int, slower: str
) -> None:
    def at(instance_type: InstanceType, size: float = TB / 10) -> Option:
        return best(request(sort_job(size, durability), nodes=nodes), instance_type)

    before = at(machine("a", **FULL))
    for bound in ("value", "low", "high"):

        def no_less(after: Option, of: str, bound: str = bound) -> None:
            new, old = getattr(getattr(after, of), bound), getattr(getattr(before, of), bound)
            assert new >= old * (1 - 1e-12)

        no_less(at(scaled("price", factor)), "usd")
        no_less(at(scaled(slower, 1 / factor)), "time_s")
        no_less(at(scaled(slower, 1 / factor)), "usd")
        no_less(at(machine("a", **FULL), TB / 10 * factor), "usd")
        no_less(at(machine("a", **FULL), TB / 10 * factor), "time_s")


@settings(max_examples=40, deadline=None)
@given(st.floats(1.01, 20), st.sampled_from(["price", "storage_rate", "network_rate"]))
def test_the_best_answer_never_gets_cheaper_by_a_dearer_or_slower_machine(
    factor: float, worse: str
) -> None:
    """Also when the count is free: within the one percent that counts as the same cost."""
    before = best(request(), machine("a", **FULL)).usd.value
    after = best(request(), scaled(worse, factor if worse == "price" else 1 / factor)).usd.value
    assert after >= before * (1 - 1e-9)


def test_assumptions_fill_in_what_is_unknown_and_nothing_else() -> None:
    bare = without(
        machine("bare", network_line_rate=8.0, disk_kind="NVMe"), "storage_rate", "network_rate"
    )
    given = catalog_of(machine("known"), bare)
    texts = ("storage=300MB/s", "NVMe=400MB/s", "network=70%")
    filled = assume(given, [parse_assumption(text) for text in texts], DAY)
    assert filled.types["known"].facts == given.types["known"].facts
    storage = filled.types["bare"].fact("storage_rate")
    assert (storage.value, storage.low, storage.high) == (1600.0, 800.0, 2400.0)  # 8 disks / 2
    assert storage.kind is ValueKind.ASSUMED
    network = filled.types["bare"].fact("network_rate")
    assert network.value == pytest.approx(700)
    assert network.high == pytest.approx(1000)  # the line rate
    found: Advice = advise(request(), [filled])
    assert {each.instance_type for each in found.classes[0].ranked} == {"known", "bare"}
    assert assume(given, [], DAY) is given


@pytest.mark.parametrize(
    "text",
    [
        "storage",
        "storage=",
        "speed=9MB/s",
        "storage=9MB",
        "SSD=70%",
        "storage=70%",
        "network=0%",
        "network=170%",
        "network=xGbit/s",
        "storage=0MB/s",
    ],
)
def test_a_bad_assumption_is_refused(text: str) -> None:
    with pytest.raises(VenturiError) as caught:
        parse_assumption(text)
    assert caught.value.exit_code == 2
    assert "--assume" in str(caught.value.where)


def test_an_assumed_disk_rate_goes_by_size_or_count_and_never_is_one_for_all() -> None:
    small, large = (
        without(machine(name, disk_kind="NVMe", disk_count=count, disk_size=500.0), "storage_rate")
        for name, count in (("small", 1.0), ("large", 24.0))
    )
    given = catalog_of(small, large)

    def rates(text: str) -> list[float | None]:
        types = assume(given, [parse_assumption(text)], DAY).types
        return [types[name].number("storage_rate") for name in ("small", "large")]

    assert rates("storage=400MB/s/TB") == [200, 4800]
    assert rates("NVMe=1000MB/s") == [500, 12_000]  # half of the disks read while the others write
    assert rates("NVMe=1000MB/s/TB") == [250, 6000]
    assert rates("HDD=100MB/s/TB") == [None, None]
    with pytest.raises(VenturiError, match=r"one rate to small with 500\.0 GB and large") as caught:
        rates("storage=900MB/s")
    assert "storage=400MB/s/TB" in caught.value.message
    with pytest.raises(VenturiError, match="doesn't depend on the size"):
        parse_assumption("network=1GB/s/TB")


def test_what_is_supposed_of_all_types_changes_their_figures_and_says_so() -> None:
    current = load_shipped("current")

    def fact(text: str, attribute: str, name: str = "i8g.4xlarge") -> Fact:
        return assumed(current, [text], DAY).types[name].fact(attribute)

    read, write = 4266.7, 3368.53
    known = current.types["i8g.4xlarge"].fact("storage_rate")
    for word, value in (
        ("turns", read * write / (read + write)),
        ("half", write / 2),
        ("both", write),
    ):
        found = fact(f"disks={word}", "storage_rate")
        assert found.value == pytest.approx(value, rel=1e-4)
        assert found.high == known.high
        assert f"disks={word}" in found.note
    assert fact("fill=80%", "disk_size").value == pytest.approx(3000)
    low = fact("network-low=70%", "network_rate")
    assert isinstance(low.value, float)
    assert low.low == pytest.approx(0.7 * low.value)
    assert fact("network=70%", "network_rate").value == pytest.approx(0.7 * 9375 / 8)
    spot = fact("price=spot", "price")
    assert spot.value == current.types["i8g.4xlarge"].number("spot_price")
    assert "left out" in spot.note
    assert fact("price=spot", "price", "Standard_L8s_v3").value is None
    for wrong in ("disks=fast", "fill=0%", "fill=0.9", "network-low=120%", "price=cheap"):
        with pytest.raises(VenturiError) as caught:
            assumed(current, [wrong], DAY)
        assert caught.value.exit_code == 2


def test_rates_are_read_in_bits_too() -> None:
    assert parse_assumption("network=8Gbit/s").bytes_per_s == 1e9
    assert parse_assumption("volume-read=800 Mbit/s").bytes_per_s == 1e8


def test_a_window_between_two_counts_of_the_grid_is_found() -> None:
    """Start-up makes more nodes dearer: both limits together leave one count or two."""
    job = replace(sort_job(10 * TB, exchange=Exchange.ALL), startup_s=600.0)
    for count in (92, 100, 137, 400):
        deadline_s, budget_usd = 600 + 30000 / count + 0.01, (600 * count + 30000) / 3600 + 0.15
        asked = request(job, deadline_s=deadline_s, budget_usd=budget_usd, max_nodes=1000)
        option = best(asked, machine("a"))
        assert count - 1 <= option.nodes <= count + 1
        assert option.time_s.value <= deadline_s
        assert option.usd.value <= budget_usd


def test_the_count_chosen_for_a_limit_is_compared_on_the_frontier() -> None:
    job = replace(sort_job(10 * TB, exchange=Exchange.ALL), startup_s=600.0)
    found = only(request(job, deadline_s=933.0), machine("a"))
    assert found.ranked[0].nodes in {point.option.nodes for point in found.frontier}


def test_more_nodes_than_can_be_had_are_told_how_many_were_asked_for() -> None:
    error = nowhere(request(nodes=500), machine("a", max_nodes=186.0))
    assert "--max-nodes a=500" in error.hint


def test_a_cap_on_a_type_that_no_catalogue_has_is_refused() -> None:
    with pytest.raises(VenturiError, match="'aa'") as caught:
        advise(request(max_nodes_of={"aa": 3}), [catalog_of(machine("a"))])
    assert caught.value.code == "VEN-CATALOG-UNKNOWN"


def test_a_job_without_local_data_needs_no_local_disks() -> None:
    scan = replace(sort_job(TB, Durability.VOLUMES), intermediate_bytes=0.0)
    rates = {"volume_price": 0.1, "volume_read_rate": 200.0, "volume_write_rate": 200.0}
    bare = without(machine("v", **rates), "disk_count", "disk_size", "storage_rate")
    assert best(request(scan), bare).least_nodes == 1


def test_volumes_priced_in_another_currency_exclude_their_type_alone() -> None:
    rates = {"volume_price": 0.1, "volume_read_rate": 200.0, "volume_write_rate": 200.0}
    good, foreign = machine("good", **rates), machine("foreign", **rates)
    price = replace(foreign.facts["volume_price"], unit="EUR/GiB-month")
    foreign = replace(foreign, facts={**foreign.facts, "volume_price": price})
    found = only(request(durabilities=(Durability.VOLUMES,)), good, foreign)
    assert [each.instance_type for each in found.ranked] == ["good"]
    assert "EUR" in found.excluded[0].detail
    assert best(request(), foreign).usd.value > 0  # without volumes their price does not matter


def test_the_fullest_node_of_a_skewed_job_must_fit() -> None:
    skewed = replace(sort_job(10 * TB), partition_skew=3.0)
    assert best(request(skewed), machine("a")).least_nodes == 9  # 10 + 3 * 20 TB on 8 TB each
