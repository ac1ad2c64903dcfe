"""The simulation equals the equations where nothing varies, and theory where something does."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

from venturi.core.errors import VenturiError
from venturi.core.quantity import UNLIMITED, Quantity, ValueKind
from venturi.machines.cost.choices import Durability
from venturi.machines.cost.dataflow import job_time
from venturi.machines.cost.job import Job, sort_job
from venturi.machines.cost.node import Node
from venturi.machines.simulate.distribution import (
    Constant,
    Distribution,
    Normal,
    RateDistribution,
    Uniform,
    bimodal,
    within_range,
)
from venturi.machines.simulate.scenario import NODES_MAX, Recovery, Scenario, Speculation
from venturi.machines.simulate.simulation import SimulationResult, simulate

SIMULATED = [each for each in Durability if each is not Durability.OBJECTS]

TB, MB = 1e12, 1e6


def quantity(mb_per_s: float) -> Quantity:
    value = mb_per_s * MB
    return Quantity(value, value, value, ValueKind.MEASURED, "test")


def node(storage: float = 1000, network: float = 500, disks: int | None = 8) -> Node:
    return Node(
        "n",
        quantity(storage),
        network=quantity(network),
        disks=disks,
        cores=8,
        memory_bytes=64e9,
        volume_read=quantity(240),
        volume_write=quantity(220),
    )


def disks_like(drawn: Distribution) -> dict[str, RateDistribution]:
    """Relative speeds of the disks of a node of 1000 MB/s."""
    return {"storage": RateDistribution(1000 * MB, node=drawn, cluster=Constant(1000 * MB))}


def scenario(
    job: Job | None = None, machine: Node | None = None, nodes: int = 100, **more: Any
) -> Scenario:
    return Scenario(job or sort_job(TB), machine or node(), nodes, **more)


RATES = st.floats(1, 1e5)
JOBS = st.builds(
    Job,
    name=st.just("job"),
    input_bytes=st.floats(1e9, 1e15),
    intermediate_bytes=st.floats(0, 1e15),
    output_bytes=st.floats(0, 1e15),
    durability=st.sampled_from(SIMULATED),
    copies=st.integers(1, 3),
    map_core_s_per_byte=st.floats(0, 1e-8),
    reduce_core_s_per_byte=st.floats(0, 1e-8),
    startup_s=st.floats(0, 100),
    retained_share=st.floats(0, 0.9),
)


@settings(max_examples=60)
@given(JOBS, RATES, RATES, st.sampled_from([None, 1, 2, 8]), st.integers(1, 300), st.booleans())
def test_without_variance_the_times_are_exactly_the_equations(
    job: Job, storage: float, network: float, disks: int | None, nodes: int, speculation: bool
) -> None:
    machine = node(storage, network, disks)
    rates = {"storage": within_range(quantity(storage)), "network": within_range(quantity(network))}
    result = simulate(
        scenario(
            job,
            machine,
            nodes,
            rates=rates,
            spare=2,
            speculation=Speculation() if speculation else None,
        ),
        3,
    )
    expected = job_time(job, machine, nodes)
    assert result.total_s.tolist() == [expected.seconds[0, 0]] * 3
    assert result.median_s == expected.span().value
    for index, phase in enumerate(expected.phases):
        assert set(result.phase_s[index]) == {phase.span().value}


@given(st.floats(1, 50), st.sampled_from(SIMULATED))
def test_a_hot_partition_costs_what_the_equations_say(skew: float, durability: Durability) -> None:
    job = replace(sort_job(TB, durability), partition_skew=skew)
    result = simulate(scenario(job), 2)
    assert result.median_s == pytest.approx(job_time(job, node(), 100).span().value)


def test_the_same_seed_gives_the_same_answer() -> None:
    plan = scenario(
        sort_job(TB, Durability.REPLICATED),
        rates=disks_like(Normal(1, 0.1)),
        share_cv=0.2,
        spare=3,
        loss_per_node_hour=0.1,
        recovery=Recovery.TASKS,
        speculation=Speculation(),
    )
    first, again, other = (simulate(plan, 50, seed) for seed in (5, 5, 6))
    assert first.total_s.tolist() == again.total_s.tolist()
    assert first.lost_nodes.tolist() == again.lost_nodes.tolist()
    assert first.total_s.tolist() != other.total_s.tolist()


def test_progress_is_told_and_many_nodes_are_worked_on_in_parts() -> None:
    told: list[int] = []
    plan = scenario(nodes=NODES_MAX, rates=disks_like(Normal(1, 0.05)))
    result = simulate(plan, 150, on_progress=told.append)
    assert told == [100, 150]
    assert result.total_s.shape == (150,)
    assert result.phase_s.shape == (2, 150)


def test_the_slowest_of_many_follows_order_statistics() -> None:
    """Sort and reduce takes D/min(rate): its median is where Phi^N = 1/2."""
    nodes, cv = 400, 0.05
    result = simulate(scenario(nodes=nodes, rates=disks_like(Normal(1, cv))), 3000)
    slowest = 1 - cv * float(ndtri(0.5 ** (1 / nodes)))
    assert result.phase_quantile_s(1, 0.5) == pytest.approx(
        TB / nodes / (1000 * MB) / slowest, rel=0.003
    )


def test_what_the_cluster_shares_moves_all_nodes_together() -> None:
    rates = {"network": RateDistribution(500 * MB, cluster=Uniform(250 * MB, 500 * MB))}
    result = simulate(scenario(rates=rates), 4000)
    each = TB / 100 / MB
    assert result.phase_quantile_s(0, 0.5) == pytest.approx(0.99 * each / 375, rel=0.02)
    assert set(result.phase_s[1]) == {each / 1000}
    np.testing.assert_allclose(result.node_finish_s[0, 0], result.phase_s[0])


def test_uneven_shares_cost_the_largest_of_them() -> None:
    nodes, cv = 50, 0.3
    result = simulate(scenario(nodes=nodes, share_cv=cv), 3000)
    alpha = ((nodes - 1) / cv**2 - 1) / nodes
    shares = nodes * np.random.default_rng(9).dirichlet([alpha] * nodes, 3000)
    assert shares.std() == pytest.approx(cv, rel=0.01)
    expected = TB / nodes / (1000 * MB) * np.median(shares.max(axis=1))
    assert result.phase_quantile_s(1, 0.5) == pytest.approx(expected, rel=0.01)


# --- culling ---


def culled(**more: Any) -> SimulationResult:
    rates = disks_like(bimodal(1, 0.4, 0.03))
    return simulate(scenario(nodes=200, rates=rates, **more), 400)


def test_dropping_slow_nodes_before_the_job_helps() -> None:
    plain, clean = culled(), culled(spare=20, cull_below=0.7)
    assert clean.median_s == pytest.approx(job_time(sort_job(TB), node(), 200).span().value)
    assert plain.median_s > 1.4 * clean.median_s
    assert clean.culled.mean() == pytest.approx(220 * 0.03, rel=0.1)


def test_the_rule_drops_only_what_is_slow_and_as_many_as_there_are_spares() -> None:
    assert culled(spare=20, cull_below=0.3).culled.max() == 0
    few = culled(spare=2, cull_below=0.7)
    assert few.culled.max() == 2
    assert few.median_s > 1.4 * culled(spare=20).median_s


# --- losses ---


@pytest.mark.parametrize("losses", [0.3, 1.0])
def test_restarting_the_job_takes_what_renewal_theory_says(losses: float) -> None:
    """E[T'] = (exp(L T) - 1) / L for losses at the rate L, and exp(L T) - 1 restarts."""
    total = job_time(sort_job(TB), node(), 100).span().value
    per_s = losses / total
    result = simulate(scenario(loss_per_node_hour=per_s * 3600 / 100), 20_000)
    assert result.total_s.mean() == pytest.approx(math.expm1(losses) / per_s, rel=0.03)
    assert result.restarts.mean() == pytest.approx(math.expm1(losses), rel=0.05)
    assert (result.lost_nodes == result.restarts).all()
    assert set(result.phase_s.sum(axis=0)) == {total}


def test_a_job_that_cannot_end_says_so() -> None:
    result = simulate(scenario(sort_job(100 * TB), loss_per_node_hour=1.0), 20)
    assert result.unfinished == 20
    assert result.median_s == math.inf
    assert result.share_within(1e9) == 0
    assert result.histogram()[0].size == 0


def test_redoing_tasks_takes_the_survivors_their_part_of_the_work() -> None:
    """By hand, for one loss: all of a phase in map and shuffle, whole tasks of both afterwards."""
    nodes, tasks = 20, 4
    job = sort_job(10 * TB, Durability.VOLUMES)
    first, second = (p.span().value for p in job_time(job, node(), nodes).phases)
    rate = 0.3 / ((first + second) / 3600) / nodes
    result = simulate(
        scenario(
            job, nodes=nodes, loss_per_node_hour=rate, recovery=Recovery.TASKS, tasks_per_node=tasks
        ),
        3000,
    )
    once = result.lost_nodes == 1
    early = once & (result.phase_s[0] > first * 1.0001)
    assert early.any()
    more = nodes / (nodes - 1)
    np.testing.assert_allclose(result.phase_s[0, early], first * more)
    np.testing.assert_allclose(result.phase_s[1, early], second * more)
    late = once & ~early
    redone = (result.phase_s[1, late] - second) * (nodes - 1) / (first + second) * tasks
    np.testing.assert_allclose(redone, np.round(redone), atol=1e-6)
    assert set(np.round(redone)) == set(range(1, tasks + 1))
    assert result.lost_nodes.mean() == pytest.approx(0.3, rel=0.1)
    assert (result.restarts == 0).all()


def test_redoing_tasks_beats_restarting_the_job() -> None:
    job = sort_job(10 * TB, Durability.REPLICATED)
    means = [
        simulate(scenario(job, loss_per_node_hour=0.05, recovery=recovery), 500).total_s.mean()
        for recovery in Recovery
    ]
    assert means[1] < 0.8 * means[0]


def test_when_all_nodes_are_lost_the_job_does_not_finish() -> None:
    job = sort_job(TB / 10, Durability.VOLUMES)
    total = job_time(job, node(), 1).span().value
    result = simulate(
        scenario(job, nodes=1, loss_per_node_hour=0.09 / total * 3600, recovery=Recovery.TASKS),
        4000,
    )
    assert result.unfinished / 4000 == pytest.approx(1 - math.exp(-0.09), abs=0.015)


# --- speculation ---


def speculated(rates: dict[str, RateDistribution], durability: Durability, **more: Any) -> float:
    """Time with speculation over time without, on the same draws."""
    with_it, without = (
        simulate(
            scenario(sort_job(TB, durability), rates=rates, speculation=rule, **more), 100
        ).median_s
        for rule in (Speculation(), None)
    )
    return with_it / without


def test_speculation_hurts_where_nodes_are_uneven_but_healthy() -> None:
    """One copy of the data: the published loss was 5 to 13 % (TeraGen and TeraValidate)."""
    uneven = disks_like(bimodal(1, 0.55, 0.2))
    assert 1.05 <= speculated(uneven, Durability.TWO_IO, machine=node(network=1e4)) <= 1.13


def test_speculation_helps_where_one_node_is_really_slow_and_the_data_are_elsewhere() -> None:
    one_slow = disks_like(bimodal(1, 0.15, 0.01))
    assert speculated(one_slow, Durability.REPLICATED) < 0.7
    assert speculated(one_slow, Durability.TWO_IO) > 1  # it reads them through the slow disks


def test_speculation_helps_slow_processors_even_with_one_copy() -> None:
    job = replace(sort_job(TB), map_core_s_per_byte=2e-8, reduce_core_s_per_byte=2e-8)
    rates = {"cpu": RateDistribution(1.0, node=bimodal(1, 0.15, 0.01))}
    with_it, without = (
        simulate(scenario(job, rates=rates, speculation=rule), 100).median_s
        for rule in (Speculation(), None)
    )
    assert with_it < 0.7 * without


@pytest.mark.parametrize("network", [1000, 100])
def test_a_copy_takes_as_long_as_computing_or_fetching(network: float) -> None:
    """By hand, one task per node: detected at 1.5 times the median, then repeated on another
    node.
    """
    job, machine = sort_job(TB, Durability.VOLUMES), node(network=network)
    rates = {"volumes": RateDistribution(1.0, node=bimodal(1, 0.01, 0.01))}
    result = simulate(
        scenario(job, machine, rates=rates, speculation=Speculation(), tasks_per_node=1), 50
    )
    usual, fetch = TB / 100 / (220 * MB), TB / 100 / (network * MB)
    copied = 1.5 * usual + max(usual, fetch)
    assert sorted(set(np.round(result.phase_s[1], 6))) == pytest.approx([usual, copied])


@pytest.mark.parametrize(("on_volumes", "slow"), [(True, 0.5), (False, 0.75)])
def test_volumes_that_are_the_only_storage_are_drawn_once(on_volumes: bool, slow: float) -> None:
    machine = replace(
        node(), on_volumes=on_volumes, volume_read=quantity(1000), volume_write=quantity(1000)
    )
    rate = RateDistribution(1000 * MB, cluster=bimodal(1000 * MB, 10 * MB, 0.5))
    rates = {"storage": rate, "volumes": rate}
    result = simulate(scenario(sort_job(TB, Durability.VOLUMES), machine, rates=rates), 1000)
    assert np.mean(result.total_s > 2 * result.total_s.min()) == pytest.approx(slow, abs=0.06)


def test_speculation_leaves_even_nodes_alone() -> None:
    assert speculated(disks_like(Normal(1, 0.05)), Durability.TWO_IO) == 1


# --- results and faults ---


def test_the_result_in_numbers() -> None:
    result = simulate(scenario(rates=disks_like(Normal(1, 0.1))), 500)
    low, high = result.interval_s(0.9)
    assert np.mean((result.total_s >= low) & (result.total_s <= high)) == pytest.approx(
        0.9, abs=0.01
    )
    assert low < result.quantile_s(0.25) < result.median_s < result.quantile_s(0.75) < high
    noise = result.median_noise_s()
    assert noise[0] < result.median_s < noise[1]
    assert result.share_within(result.median_s) == 0.5
    counts, edges = result.histogram()
    assert counts.sum() == 500
    assert len(edges) == len(counts) + 1
    done = list(result.node_finish_median_s(1).values())
    assert done == sorted(done)
    assert done[-1] == result.phase_quantile_s(1, 0.5)
    counts, edges = result.node_histogram(1)
    assert counts.sum() == 500 * 100
    assert edges[0] <= result.node_finish_s[1, 0].min()
    assert edges[-1] >= result.phase_s[1].max()


@pytest.mark.parametrize(
    ("fault", "field"),
    [
        ({"nodes": 0}, "nodes"),
        ({"nodes": NODES_MAX + 1}, "nodes"),
        ({"spare": -1}, "spare"),
        ({"spare": 1, "cull_below": 2.0}, "cull_below"),
        ({"cull_below": 0.5}, "spare"),
        ({"loss_per_node_hour": -1}, "loss_per_node_hour"),
        ({"tasks_per_node": 0}, "tasks_per_node"),
        ({"share_cv": -0.1}, "share_cv"),
        ({"share_cv": 0.5, "nodes": 1}, "share_cv"),
        ({"share_cv": 100}, "share_cv"),
        ({"share_cv": math.nan}, "share_cv"),
        ({"rates": {"disk": RateDistribution(1.0)}}, "rates"),
        ({"recovery": Recovery.TASKS}, "recovery"),
        ({"job": replace(sort_job(TB), partition_skew=101)}, "partition_skew"),
        ({"job": replace(sort_job(TB), partition_skew=2), "share_cv": 0.1}, "share_cv"),
        ({"machine": replace(node(), network=None)}, "network"),
    ],
)
def test_bad_input_is_refused_by_field(fault: dict[str, Any], field: str) -> None:
    with pytest.raises(VenturiError) as caught:
        simulate(scenario(**fault), 1)
    assert caught.value.code == "VEN-MODEL-INPUT"
    assert caught.value.where["field"] == field


def test_more_losses_than_can_be_described_are_refused() -> None:
    job = sort_job(TB, Durability.VOLUMES)
    with pytest.raises(VenturiError) as caught:
        simulate(scenario(job, loss_per_node_hour=50, recovery=Recovery.TASKS), 1)
    assert caught.value.code == "VEN-MODEL-RANGE"


def test_what_is_unlimited_takes_no_time() -> None:
    machine = replace(node(), network=UNLIMITED)
    result = simulate(scenario(machine=machine), 1)
    assert result.median_s == pytest.approx(2 * TB / 100 / (1000 * MB))
    assert result.histogram()[0].tolist() == [1]


@pytest.mark.parametrize("disks", [1, 2, 8])
@pytest.mark.parametrize("retained", [0.0, 0.1])
def test_a_hot_partition_costs_what_the_equations_say_whatever_the_disks(
    disks: int, retained: float
) -> None:
    job = replace(sort_job(TB, Durability.REPLICATED), partition_skew=3.0, retained_share=retained)
    machine = node(network=1e5, disks=disks)
    expected = job_time(job, machine, 100).span().value
    assert simulate(scenario(job, machine), 2).median_s == pytest.approx(expected)


def test_shares_as_uneven_as_can_be_are_still_shares() -> None:
    result = simulate(scenario(share_cv=9.9), 3000)
    assert np.isfinite(result.total_s).all()
    all_on_one = job_time(replace(sort_job(TB), partition_skew=100.0), node(), 100)
    assert result.total_s.max() == pytest.approx(all_on_one.span().value)


def test_what_memory_keeps_of_uneven_shares_is_said_to_be_assumed() -> None:
    job = replace(sort_job(TB), retained_share=0.5)
    assert not any("share" in text for text in simulate(scenario(job), 1).assumptions)
    assert any("share" in text for text in simulate(scenario(job, share_cv=0.1), 1).assumptions)
