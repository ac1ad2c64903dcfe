"""The published sorts, simulated from the published figures of their nodes.

Source: M. Conley, A. Vahdat, G. Porter, "Achieving Cost-efficient, Data-intensive Computing in the
Cloud", SoCC 2015. Nothing here is fitted to a time that is checked, except where it says so.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from venturi.core.quantity import UNLIMITED, Quantity, ValueKind
from venturi.machines.catalog import load_shipped
from venturi.machines.cost.choices import Durability, Exchange
from venturi.machines.cost.dataflow import job_time
from venturi.machines.cost.job import Job, sort_job
from venturi.machines.cost.node import Node, node_of
from venturi.machines.simulate.distribution import RateDistribution, bimodal, distributions_of
from venturi.machines.simulate.scenario import Scenario
from venturi.machines.simulate.simulation import SimulationResult, simulate

TYPES = load_shipped("ec2-2014").types
SORTED_BYTES = 100e12

with (Path(__file__).parents[1] / "data/soc2015/facts.csv").open(encoding="utf-8") as _file:
    FACTS = {row["quantity"]: float(row["value"]) for row in csv.DictReader(_file)}


@pytest.fixture(scope="module")
def indy() -> SimulationResult:
    """100 TB on 178 i2.8xlarge: rates and their spread are the catalogue's."""
    kind = TYPES["i2.8xlarge"]
    nodes = int(FACTS["indy_gray_vms"])
    return simulate(
        Scenario(
            sort_job(SORTED_BYTES, exchange=Exchange.ALL),
            node_of(kind),
            nodes,
            distributions_of(kind),
        ),
        trials=4000,
    )


def test_the_indy_sort_is_bracketed_with_its_median_within_8_percent(
    indy: SimulationResult,
) -> None:
    published = FACTS["indy_gray_time"]
    low, high = indy.interval_s(0.95)
    assert low < published < high
    assert indy.median_s == pytest.approx(published, rel=0.08)


def test_it_is_nearer_than_the_plain_formula(indy: SimulationResult) -> None:
    """The slowest disk and the slowest network of many as everybody's: 1,010 s, 13.7 % too slow."""
    machine = Node(
        "slowest",
        _rate(FACTS["diskbench_slowest"]),
        network=_rate(FACTS["netbench_at_scale"]),
        disks=8,
    )
    formula = job_time(sort_job(SORTED_BYTES, exchange=Exchange.ALL), machine, 178).span().value
    published = FACTS["indy_gray_time"]
    assert formula == pytest.approx(1010, abs=1)
    assert abs(indy.median_s - published) < 0.6 * abs(formula - published)


def test_the_phases_are_not_those_of_the_run(indy: SimulationResult) -> None:
    """A known miss: some 570 + 371 s, where the run took about 500 + 388 s.

    Its network gave 1,123 MB/s a node, more than the two nodes of the baseline, and its sort phase
    ran at 1,448 MB/s, below the slowest disks; the two misses are opposite and partly cancel.
    """
    shuffle, reduce_s = (indy.phase_quantile_s(phase, 0.5) for phase in (0, 1))
    assert shuffle == pytest.approx(570, abs=8)
    assert reduce_s == pytest.approx(371, abs=3)
    shuffle_run = FACTS["phase1_network_bound"]
    assert shuffle > shuffle_run + 50
    assert reduce_s < FACTS["indy_gray_time"] - shuffle_run


def _rate(mb_per_s: float) -> Quantity:
    value = mb_per_s * 1e6
    return Quantity(value, value, value, ValueKind.MEASURED, "SoCC 2015")


# 326 c3.4xlarge, 4 volumes each (section 5.3): about 95 % of the nodes had read their part at
# 1,400 s, the others took three times as long.
NODES, VOLUMES = 326, 4
READ_S, SLOWER, SLOW_NODES = 1400.0, 3.0, 0.05


@pytest.fixture(scope="module")
def c3_reading() -> SimulationResult:
    """The read phase alone. A node is slow if one of its volumes is: 1 - (1 - p)^4 = 5 %."""
    slow_volumes = 1 - (1 - SLOW_NODES) ** (1 / VOLUMES)
    usual = SORTED_BYTES / NODES / VOLUMES / READ_S
    rate = RateDistribution(
        VOLUMES * usual, node=bimodal(usual, usual / SLOWER, slow_volumes), devices=VOLUMES
    )
    volumes = Quantity(
        rate.nominal, rate.nominal, rate.nominal, ValueKind.DERIVED, "SoCC 2015, 5.3"
    )
    machine = Node(
        "c3.4xlarge", UNLIMITED, network=UNLIMITED, volume_read=volumes, volume_write=volumes
    )
    reading = Job("read 100 TB", SORTED_BYTES, 0, 0, Durability.VOLUMES)
    return simulate(Scenario(reading, machine, NODES, {"volumes": rate}), trials=1000)


def test_326_c3_4xlarge_read_as_long_as_published(c3_reading: SimulationResult) -> None:
    assert c3_reading.scenario.nodes * VOLUMES == 1304
    done = c3_reading.node_finish_median_s(0)
    assert done[0.9] == pytest.approx(READ_S)
    assert done[1.0] == pytest.approx(SLOWER * READ_S)
    counts, edges = c3_reading.node_histogram(0)
    slow = counts[edges[:-1] > 2 * READ_S].sum() / counts.sum()
    assert slow == pytest.approx(SLOW_NODES, abs=0.003)
    assert c3_reading.total_s.min() == c3_reading.median_s == pytest.approx(4200)


def test_330_r3_4xlarge_end_before_c3_4xlarge_have_read(c3_reading: SimulationResult) -> None:
    """The catalogue doesn't know their local disks and network, so these are taken as no limit.

    Their volumes' rates (243 and 226 MB/s) then give 2,588 s, of which the run achieved 87 %.
    """
    kind = TYPES["r3.4xlarge"]
    rates = distributions_of(kind)
    node = node_of(kind)
    machine = Node(
        node.name,
        UNLIMITED,
        network=UNLIMITED,
        volume_read=node.volume_read,
        volume_write=node.volume_write,
    )
    job = sort_job(SORTED_BYTES, Durability.VOLUMES)
    nodes = int(FACTS["cloudsort_r3_vms"])
    ideal = simulate(Scenario(job, machine, nodes), trials=1)
    published = FACTS["cloudsort_time"]
    assert ideal.median_s / published == pytest.approx(FACTS["achieved_pct"] / 100, abs=0.005)
    uncertain = simulate(Scenario(job, machine, nodes, rates), trials=1000)
    assert np.isfinite(uncertain.total_s).all()
    # No evidence: the slow end of the volumes' range, 87 %, is what this very run achieved.
    assert uncertain.interval_s()[1] == pytest.approx(published, rel=0.02)
    assert max(published, uncertain.total_s.max()) < c3_reading.quantile_s(0.01)
