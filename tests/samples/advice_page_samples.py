"""Advice and simulations as the commands answer them, and hostile ones, for the tests of pages."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

from venturi.core.quantity import Quantity, ValueKind
from venturi.core.statistics.stats import Missing
from venturi.machines.advice.explain import ExplainedTerm, Explanation, Sensitivity
from venturi.machines.advice.network_costs import NETWORKS, NetworkCosts
from venturi.machines.advice.option import Option, PhaseTime
from venturi.machines.cost.choices import Durability
from venturi.machines.cost.dataflow import Bounds
from venturi.machines.cost.job import sort_job
from venturi.web.advice_page.data import (
    AdvicePage,
    ExclusionRow,
    Histogram,
    NodeTimes,
    OptionRow,
    QuantileRow,
    SimulationPage,
    TimeMark,
)
from venturi.web.report.data import ReportFact

AT = datetime(2026, 7, 14, 9, 30, tzinfo=UTC)
HOSTILE = "</script><img src=x onerror=\"document.title='owned'\">{{7*7}}&amp;\u2028"
LONG = "a-type-whose-name-never-ends-" * 8
DATA_MB = 100e6
NO_NETWORK = Missing("no measurement of its network, and no line rate is advertised")

# type -> nodes, MB/s of storage, of a pair's network, of the network at scale, dollars an hour
TYPES = {
    "i2.8xlarge": (178, 1515, 1090, 879, 6.82),
    "i2.4xlarge": (94, 885, 240, 200, 3.41),
    "i2.xlarge": (375, 219, 62, 48, 0.853),
    "m1.xlarge": (179, 89, 60, 38, 0.35),
    "c3.large": (9375, 208, 60, 12, 0.105),
    "m3.large": (9375, 120, 60, 12, 0.14),
    "hs1.8xlarge": (7, 1060, 1090, 900, 4.6),
    "hi1.4xlarge": (147, 480, 1000, 700, 3.1),
    "cc2.8xlarge": (90, 300, 1000, 450, 2.0),
    "cr1.8xlarge": (1250, 65.6, 1000, 600, 3.5),
}


def seconds(nodes: int, storage: float, network: float) -> float:
    """Equation (6): both phases of a sort of 100 TB."""
    return DATA_MB / nodes * (1 / min(storage, network) + 1 / storage)


def bounds(value: float, low: float = 0.97, high: float = 1.02) -> Bounds:
    """A value that is certain within `low` to `high` of it."""
    return Bounds(value, low * value, high * value)


def option(name: str, nodes: int | None = None) -> OptionRow:
    """One option."""
    count, storage, _, network, price = TYPES[name]
    count = nodes or count
    time = seconds(count, storage, network)
    cost = count * price * time / 3600
    narrow = "network" if network < storage else "storage"
    return OptionRow(
        Option(
            catalog="ec2-2014",
            instance_type=name,
            provider="aws",
            volumes="",
            durability=Durability.TWO_IO,
            nodes=count,
            least_nodes=1,
            most_nodes=10_000,
            time_s=bounds(time),
            startup_s=0.0,
            cost_usd=bounds(cost),
            metered_usd=bounds(cost),
            billed_usd=bounds(count * price * math.ceil(time / 3600), 1, 1),
            phases=(
                PhaseTime("map+shuffle", bounds(time / 2), narrow, network < 0.8 * storage),
                PhaseTime("sort+reduce", bounds(time / 2), "storage", certain=True),
            ),
            lower_bound=False,
            weakest=ValueKind.ADVERTISED,
            price_as_of=date(2014, 9, 6),
            price_is_stale=True,
            assumptions=(),
        ),
        frontier="no",
    )


def altered(row: OptionRow, **changes: Any) -> OptionRow:
    """The row with another option."""
    return replace(row, option=replace(row.option, **changes))


def with_frontier(options: Sequence[OptionRow]) -> tuple[OptionRow, ...]:
    """The options, each with whether some other is faster and cheaper, by their spans."""

    def state(each: OptionRow) -> OptionRow:
        def beaten(low: str, high: str) -> bool:
            return any(
                getattr(other.option.time_s, high) < getattr(each.option.time_s, low)
                and getattr(other.option.cost_usd, high) < getattr(each.option.cost_usd, low)
                for other in options
                if other is not each
            )

        if beaten("low", "high"):
            return replace(each, frontier="no")
        return replace(each, frontier="cannot tell" if beaten("high", "low") else "yes")

    return tuple(map(state, options))


def explanation() -> Explanation:
    """The four terms of 178 × i2.8xlarge."""

    def rate_of(mb_per_s: float, low: float) -> Quantity:
        value, source = mb_per_s * 1e6, "SoCC 2015, the slowest of 178 nodes"
        day = date(2014, 9, 1)
        return Quantity(value, low * 1e6, 1.02 * value, ValueKind.MEASURED, source, day)

    def term(phase: str, what: str, rate: float, low: float, narrowest: bool) -> ExplainedTerm:
        resource = "network" if what == "shuffle" else "storage"
        return ExplainedTerm(
            phase=phase,
            equation="(6)",
            resource=resource,
            what=what,
            formula=f"D / (N · B_{resource})",
            demand_bytes=100e12,
            rate_name=resource,
            rate=rate_of(rate, low),
            seconds=bounds(DATA_MB / 178 / rate),
            narrowest=narrowest,
        )

    terms = (
        term("map+shuffle", "input", 1515, 1500, False),
        term("map+shuffle", "intermediate", 1515, 1500, False),
        term("map+shuffle", "shuffle", 879, 860, True),
        term("sort+reduce", "output", 1515, 1500, True),
    )
    unknown = replace(
        terms[0], what="start-up", rate=None, demand_bytes=None, seconds=Bounds(0.0, 0.0, 0.0)
    )
    known = rate_of(879, 860)
    return Explanation(
        option=option("i2.8xlarge").option,
        job=sort_job(10**14),
        rank=1,
        startup_s=0.0,
        terms=(*terms, unknown),
        bill=None,
        no_price="",
        sensitivity=(Sensitivity("network", known, (1020.0, 1000.0), None, None),),
    )


def costs(name: str, nodes: int, *usd: float | Missing) -> NetworkCosts:
    """The job's cost with storage alone, an ideal and the observed network."""
    return NetworkCosts(name, nodes, dict(zip(NETWORKS, usd, strict=True)))


def advice() -> AdvicePage:
    """The paper's question: a 100 TB sort on the EC2 of 2014, within half an hour."""
    rows = [option(name) for name in TYPES]
    rows += [option("i2.8xlarge", nodes=nodes) for nodes in (47, 90, 300)]
    rows[0] = altered(
        replace(rows[0], chosen=True, note="the placement group is used"),
        time_s=Bounds(1010.3, 879.0, 1010.3),
        cost_usd=Bounds(340.6, 299.4, 340.6),
    )
    rows[8] = altered(
        replace(rows[8], note="its network is known as a line rate only"), lower_bound=True
    )
    bars = []
    for name, (nodes, storage, pair, scaled, price) in TYPES.items():

        def dollars(
            network: float, *, n: int = nodes, s: float = storage, p: float = price
        ) -> float:
            return n * p * seconds(n, s, network) / 3600

        known = name not in {"hi1.4xlarge", "cr1.8xlarge"}
        bars.append(
            costs(
                name,
                nodes,
                dollars(math.inf),
                dollars(pair),
                dollars(scaled) if known else NO_NETWORK,
            )
        )
    unknown = Missing("no measurement of its storage")
    bars.append(costs("g2.2xlarge", 1, unknown, unknown, unknown))
    return AdvicePage(
        title="Venturi advice: 100 TB sort",
        question="Sort 100 TB, two passes without replication, the cheapest within 30 min, on the "
        "catalogue ec2-2014.",
        answer="178 × i2.8xlarge: $340.60 in 16 min 50 s",
        generated_at=AT,
        options=with_frontier(rows),
        bars=tuple(bars),
        exclusions=(
            ExclusionRow("storage rate not known", 18, ("m1.small", "c1.medium", "r3.large")),
            ExclusionRow("needs 75,000 nodes, the cap is 10,000", 1, ("m3.medium",)),
        ),
        assumptions=(
            "Half of the disks of a node read while the other half write.",
            "Every node is as slow as the slowest one measured.",
        ),
        explain=(explanation(),),
        reasons=(
            "i2.8xlarge with 178 nodes is the cheapest that ends before 30 min even at its "
            "slowest.",
            "m1.xlarge would be cheaper by up to 12 %, but takes 7 h 39 min.",
        ),
        deadline_s=1800.0,
        commands=("venturi advise hardware --sort 100TB --catalog ec2-2014 --deadline 30min",),
    )


def advice_edge() -> AdvicePage:
    """Hostile and endless names, equal options, nothing certain, a thousand options."""
    noise = random.Random(3)
    many = [
        altered(
            option("i2.8xlarge"),
            instance_type=f"x{place}.large",
            time_s=bounds(t, 0.8, 1.3),
            cost_usd=bounds(c, 0.9, 1.1),
        )
        for place in range(400)
        for t, c in [(10 ** noise.uniform(2, 5), 10 ** noise.uniform(1, 4))]
    ]
    no_price = dict.fromkeys(("cost_usd", "price_as_of"), NO_NETWORK.reason)
    unknown = altered(
        option("m1.xlarge"),
        instance_type=LONG,
        cost_usd=None,
        metered_usd=None,
        billed_usd=None,
        price_as_of=None,
        phases=(),
        weakest=None,
        missing=no_price,
    )
    hostile = altered(
        replace(option("m1.xlarge"), note=HOSTILE, chosen=True),
        instance_type=HOSTILE,
        lower_bound=True,
    )
    page = advice()
    rows = tuple(
        costs(f"x{place}.large", 1, 10.0 + place, NO_NETWORK, NO_NETWORK) for place in range(40)
    )
    return replace(
        page,
        title=f"Venturi advice: {HOSTILE}",
        question=HOSTILE,
        options=(*with_frontier([*many, hostile]), unknown),
        bars=(costs(LONG, 1, 3.0, 4.0, 4000.0), costs(HOSTILE, 1, 1.0, 2.0, 3.0), *rows),
        exclusions=(ExclusionRow(HOSTILE, 3, (HOSTILE, LONG)),),
        reasons=(LONG,),
        deadline_s=9e9,
        budget_usd=300.0,
    )


def advice_empty() -> AdvicePage:
    """A job that fits nowhere."""
    return replace(
        advice(),
        title="Venturi advice: nowhere",
        answer="No type can hold the data",
        options=(),
        bars=(),
        exclusions=(),
        assumptions=(),
        explain=(),
        reasons=(),
        deadline_s=None,
        commands=(),
    )


def histogram_of(values: Sequence[float], bins: int) -> Histogram:
    """`values` in equal bins from the least to the greatest."""
    low, high = min(values), max(values)
    width = (high - low) / bins or 1.0
    counts = [0] * bins
    for value in values:
        counts[min(bins - 1, int((value - low) / width))] += 1
    return Histogram(tuple(low + width * place for place in range(bins + 1)), tuple(counts))


def _quantile(values: Sequence[float], fraction: float) -> float:
    return sorted(values)[int(fraction * (len(values) - 1))]


def simulation(spread: float = 0.02) -> SimulationPage:
    """178 × i2.8xlarge, 2,000 trials of the job."""
    noise = random.Random(11)
    times = [870 * math.exp(noise.gauss(0.02, spread)) for _ in range(2000)]
    first = [noise.gauss(505, 500 * spread) for _ in range(4000)]
    second = [noise.gauss(330, 600 * spread) for _ in range(4000)]
    levels = (("p5", 0.05), ("median", 0.5), ("p95", 0.95), ("p99", 0.99))
    found = {name: _quantile(times, fraction) for name, fraction in levels}
    return SimulationPage(
        title="Venturi simulation: 100 TB sort on 178 × i2.8xlarge",
        question="Sort 100 TB on 178 × i2.8xlarge, two passes without replication.",
        answer=f"The job takes {found['median'] / 60:.1f} min in half of the trials, and at most "
        f"{found['p95'] / 60:.1f} min in 95 of 100",
        generated_at=AT,
        trials=2000,
        finished_trials=2000,
        histogram=histogram_of(times, 40),
        marks=(
            *(
                TimeMark(name, "median" if name == "median" else "quantile", found[name])
                for name in ("p5", "median", "p95")
            ),
            TimeMark("plain formula", "formula", 1010.3),
            TimeMark("measured", "measured", 888.0),
            TimeMark("deadline", "deadline", 1200.0),
        ),
        quantiles=tuple(
            QuantileRow(name, found[name], 178 * 6.82 * found[name] / 3600) for name in found
        ),
        settings=(
            ReportFact("Storage of a node", "normal, 1,738 MB/s with a deviation of 4.5 %"),
            ReportFact("Network of a node", "normal, 1,090 MB/s with a deviation of 3 %"),
            ReportFact("Partition skew", "largest 1.05 of the mean"),
            ReportFact("Lost nodes", Missing("no loss rate was given")),
            ReportFact("Seed", "1"),
            ReportFact("Trials", "2,000"),
        ),
        node_times=(
            NodeTimes("map+shuffle", histogram_of(first, 40)),
            NodeTimes("sort+reduce", histogram_of(second, 40)),
        ),
        reasons=("The plain formula gives 16 min 50 s: it takes every node to be the slowest.",),
        assumptions=("Nodes do not differ from one trial to the next but by the draw.",),
        commands=("venturi simulate --sort 100TB --on i2.8xlarge:178 --trials 2000 --seed 1",),
    )


def simulation_edge() -> SimulationPage:
    """Two kinds of volumes, trials without an end, a name that is an attack, marks on one spot."""
    page = simulation()
    noise = random.Random(5)
    volumes = [1400 * noise.gauss(3 if noise.random() < 0.05 else 1, 0.04) for _ in range(4000)]
    crowd = tuple(
        TimeMark(f"{HOSTILE[:30]} {place}", "quantile", 4300.0 + place) for place in range(5)
    )
    return replace(
        page,
        title=f"Venturi simulation: {HOSTILE}",
        question=LONG,
        finished_trials=1900,
        histogram=histogram_of([max(volumes[n : n + 40]) for n in range(0, 4000, 40)], 60),
        marks=(*crowd, TimeMark("far", "deadline", 9e9)),
        quantiles=(QuantileRow(HOSTILE, 4200.0, Missing(HOSTILE)),),
        node_times=(
            NodeTimes(HOSTILE, histogram_of(volumes, 60), HOSTILE),
            NodeTimes("without spread", histogram_of([500.0] * 7, 1)),
        ),
        settings=(ReportFact(HOSTILE, LONG),),
    )


def simulation_empty() -> SimulationPage:
    """No trial finished."""
    return replace(
        simulation(),
        title="Venturi simulation: none",
        finished_trials=0,
        node_times=(),
        marks=(),
        histogram=Histogram((), ()),
        quantiles=(),
        reasons=(),
        assumptions=(),
        commands=(),
    )
