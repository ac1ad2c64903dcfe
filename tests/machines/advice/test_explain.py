"""Every figure of an option has a formula and an origin; what matters most comes first."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from advice_samples import TB, catalog_of, machine, request, without
from venturi.core.errors import VenturiError
from venturi.core.quantity import ValueKind
from venturi.machines.advice.explain import explain, explain_type
from venturi.machines.advice.hardware import advise, predict
from venturi.machines.advice.question import HardwareRequest
from venturi.machines.catalog import load_shipped
from venturi.machines.cost.choices import Durability, Exchange, NetworkChoice
from venturi.machines.cost.job import sort_job

EC2 = load_shipped("ec2-2014")
ASKED = HardwareRequest(sort_job(100 * TB, exchange=Exchange.ALL), today=date(2015, 8, 27))


def test_i2_8xlarge_explained() -> None:
    advice = advise(ASKED, [EC2])
    (why,) = explain_type(advice, [EC2], "i2.8xlarge", 178)
    assert why.option.nodes == 178
    assert why.rank == 1
    terms = {(t.phase, t.what): t for t in why.terms}
    shuffle = terms["map+shuffle", "shuffle"]
    assert shuffle.formula == "100.0 TB / (178 x 879 MB/s)"
    assert shuffle.narrowest
    assert shuffle.rate is not None
    assert shuffle.rate.kind is ValueKind.MEASURED
    assert "5.1" in shuffle.rate.source
    assert shuffle.rate.range_from == "from the slowest node at scale to two nodes alone"
    assert shuffle.equation == "(1)"
    assert sum(t.seconds.value for t in why.terms if t.narrowest and t.what != "input") >= (
        why.option.time_s.value
    )
    assert why.bill is not None
    assert why.bill.metered == pytest.approx(why.option.usd.value)
    # Storage is in both phases, but only in the second it is the narrowest.
    by_rate = {each.rate: each for each in why.sensitivity}
    assert set(by_rate) == {"storage", "network"}
    network = by_rate["network"]
    assert network.time_s[0] == pytest.approx(why.option.time_s.value)  # low is the middle
    assert network.time_s[1] < network.time_s[0]
    assert why.sensitivity[0].swing_s >= why.sensitivity[1].swing_s


def test_the_count_that_was_chosen_is_explained_by_default() -> None:
    (why,) = explain_type(advise(ASKED, [EC2]), [EC2], "i2.8xlarge")
    assert (why.option.nodes, why.option.least_nodes) == (47, 47)


def test_sensitivity_says_when_the_rank_would_change() -> None:
    vague = machine("vague", storage_rate=(1000.0, 200.0, 1500.0), network_rate=2000.0)
    types = catalog_of(vague, machine("known", price=1.2))
    (why,) = explain_type(advise(request(), [types]), [types], "vague")
    (change,) = why.sensitivity
    assert change.rate == "storage"
    assert why.rank == 1
    assert change.rank == (2, 1)
    assert change.usd is not None
    assert change.usd[0] > why.option.usd.value > change.usd[1]


def test_each_term_is_its_formula() -> None:
    job = replace(sort_job(TB, Durability.REPLICATED), map_core_s_per_byte=1e-8, partition_skew=1.5)
    candidate = predict(job, "t", machine("a"), 10, NetworkChoice.AT_SCALE)
    why = explain(request(job), candidate, 10)
    for term in why.terms:
        if term.rate is not None and term.demand_bytes is not None:
            plain = term.demand_bytes / 10 / term.rate.value
            assert term.seconds.value in (pytest.approx(plain), pytest.approx(1.5 * plain))
            assert ("skew" in term.formula) == (term.seconds.value != pytest.approx(plain))
    (cpu,) = (t for t in why.terms if t.resource == "cpu")
    assert cpu.formula == "10,000 core-s / (10 x 8 cores)"
    assert why.rank is None
    assert {t.equation.split()[0] for t in why.terms} == {"(1)", "(8)"}


def test_no_limit_and_no_price_are_said() -> None:
    bare = without(machine("a"), "price")
    candidate = predict(sort_job(TB), "t", bare, 10, NetworkChoice.UNLIMITED)
    why = explain(request(network=NetworkChoice.UNLIMITED), candidate, 10)
    shuffle = next(t for t in why.terms if t.what == "shuffle")
    assert (shuffle.rate, shuffle.formula) == (None, "assumed to be no limit")
    assert why.bill is None
    assert "price" in why.no_price
    assert all(each.rate != "network" for each in why.sensitivity)


def test_what_is_no_option_cannot_be_explained_but_says_why() -> None:
    advice = advise(ASKED, [EC2])
    with pytest.raises(VenturiError, match="never printed") as caught:
        explain_type(advice, [EC2], "r3.large")
    assert caught.value.code == "VEN-ADVISE-NOWHERE"
    with pytest.raises(VenturiError) as caught:
        explain_type(advice, [EC2], "r3.huge")
    assert caught.value.code == "VEN-CATALOG-UNKNOWN"


def test_a_type_without_a_price_is_explained_beside_a_ranking() -> None:
    types = catalog_of(machine("known"), without(machine("bare"), "price"))
    (why,) = explain_type(advise(request(), [types]), [types], "bare", 10)
    assert why.rank is None
    assert why.option.metered_usd is None


def test_what_moves_nothing_says_so() -> None:
    dark = without(machine("a", disk_size=9000.0), "network_rate")
    candidate = predict(sort_job(TB), "t", dark, 1, NetworkChoice.AT_SCALE)
    shuffle = next(t for t in explain(request(), candidate, 1).terms if t.what == "shuffle")
    assert (shuffle.formula, shuffle.seconds.value) == ("nothing to move", 0)
