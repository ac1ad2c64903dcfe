"""Overlays: the better known value stays; trials become measured facts, and loopback none."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_trials import succeeded
from venturi.core.errors import VenturiError
from venturi.core.quantity import ValueKind
from venturi.machines.catalog import ATTRIBUTES, Catalog, Fact, InstanceType, parse
from venturi.machines.catalog.units_check import check_units
from venturi.machines.catalog.write import render
from venturi.machines.cost.node import node_of
from venturi.machines.cost.overlay import (
    TrialFacts,
    need_facts,
    network_at,
    overlay,
    overlay_from_trials,
    replace_facts,
)
from venturi.record.trial import (
    Cluster,
    Engine,
    Failure,
    Host,
    Provenance,
    ProvenanceKind,
    Sample,
    Scalar,
    State,
    Trial,
    TrialWarning,
    Workload,
)

DAY = date(2026, 1, 1)


def fact(
    value: float | None, kind: ValueKind | None = ValueKind.ADVERTISED, day: date = DAY
) -> Fact:
    if value is None:
        return Fact(None, "MB/s", None, "", None, "nobody knows")
    return Fact(value, "MB/s", kind, "sheet", day, "")


def catalog_of(**types: dict[str, Fact]) -> Catalog:
    return Catalog("mine", {name: InstanceType(name, facts) for name, facts in types.items()})


def merged(below: Fact, above: Fact) -> Fact:
    over = overlay(catalog_of(x={"network_rate": below}), catalog_of(x={"network_rate": above}))
    return over.types["x"].facts["network_rate"]


def test_the_stronger_kind_stays_then_the_newer_day() -> None:
    kinds = list(ValueKind)
    for weak, strong in itertools.pairwise(kinds):
        assert merged(fact(1.0, weak), fact(2.0, strong)).value == 2.0
        assert merged(fact(1.0, strong), fact(2.0, weak)).value == 1.0
    later = date(2026, 1, 2)
    assert merged(fact(1.0), fact(2.0, day=later)).value == 2.0
    assert merged(fact(1.0, day=later), fact(2.0)).value == 1.0
    assert merged(fact(1.0), fact(2.0)).value == 2.0
    assert merged(fact(1.0), fact(None)).value == 1.0
    assert merged(fact(None), fact(2.0, ValueKind.ASSUMED)).value == 2.0


def test_types_and_facts_that_only_one_has_are_kept() -> None:
    base = catalog_of(a={"network_rate": fact(1.0)}, b={"network_rate": fact(2.0)})
    over = catalog_of(c={"network_rate": fact(4.0)}, b={"storage_rate": fact(3.0)})
    result = overlay(base, over)
    assert list(result.types) == ["a", "b", "c"]
    assert result.types["b"].facts.keys() == {"network_rate", "storage_rate"}
    assert base.types["b"].facts.keys() == {"network_rate"}


def test_a_derived_storage_rate_follows_the_rates_that_it_is_derived_from() -> None:
    names = ("local_read_rate", "local_write_rate", "storage_rate")
    derived = (fact(1200.0), fact(600.0), fact(400.0, ValueKind.DERIVED))
    below = catalog_of(x=dict(zip(names, derived, strict=True)))
    rates = {"local_read_rate": 200.0, "local_write_rate": 100.0}
    probed = {name: fact(rate, ValueKind.MEASURED) for name, rate in rates.items()}
    storage = overlay(below, catalog_of(x=probed)).types["x"].facts["storage_rate"]
    assert storage.kind is ValueKind.DERIVED
    assert (storage.value, storage.low, storage.high) == pytest.approx((200 / 3, 200 / 3, 100.0))
    both = probed | {"storage_rate": fact(150.0, ValueKind.MEASURED)}
    assert overlay(below, catalog_of(x=both)).types["x"].facts["storage_rate"].value == 150.0
    weaker = {name: fact(9.0, ValueKind.ASSUMED) for name in names[:2]}
    assert overlay(below, catalog_of(x=weaker)).types["x"].facts["storage_rate"].value == 400.0


def test_the_number_of_nodes_goes_with_its_rate() -> None:
    old = {"network_rate_at_scale": fact(900.0), "network_nodes": fact(178.0)}
    new = {"network_rate_at_scale": fact(700.0, ValueKind.MEASURED)}
    result = overlay(catalog_of(x=old), catalog_of(x=new)).types["x"]
    assert result.number("network_rate_at_scale") == 700.0
    assert result.fact("network_nodes").value is None
    back = overlay(catalog_of(x=new), catalog_of(x=old)).types["x"]
    assert back.number("network_rate_at_scale") == 700.0
    assert back.fact("network_nodes").value is None


@given(
    st.lists(st.tuples(st.sampled_from(list(ValueKind)), st.dates(), st.floats(1, 100)), min_size=1)
)
def test_no_overlay_makes_a_value_less_well_known(
    layers: list[tuple[ValueKind, date, float]],
) -> None:
    result = catalog_of(x={})
    for kind, day, value in layers:
        result = overlay(result, catalog_of(x={"network_rate": fact(value, kind, day)}))
    best = max((list(ValueKind).index(kind), day) for kind, day, _ in layers)
    final = result.types["x"].facts["network_rate"]
    assert final.kind is not None
    assert (list(ValueKind).index(final.kind), final.as_of) == best
    assert overlay(result, result) == result


FACTS = {
    "cpu_threads": 32,
    "cpu_cores": 16,
    "numa_nodes": 2,
    "memory_total_bytes": 61 * 2**30,
    "cpu_model": "Example 9",
    "architecture": "x86_64",
}


def disk(host: str = "n1", day: int = 1, scale: float = 1.0, **changes: object) -> Trial:
    rates = {
        "disk_read_bytes_per_s": (3.0e9, 2.9e9, 3.1e9),
        "disk_write_bytes_per_s": (2.0e9, 1.9e9, 2.2e9),
        "disk_mixed_read_bytes_per_s": (1.5e9, 1.4e9, 1.6e9),
        "disk_mixed_write_bytes_per_s": (1.6e9, 1.3e9, 1.7e9),
    }
    samples = tuple(
        Sample(
            metric,
            value * scale,
            "B/s",
            labels={
                "dir": None,
                "block_bytes": 4 << 20,
                "queue_depth": 8,
                "iteration": iteration,
            },
        )
        for metric, values in rates.items()
        for iteration, value in enumerate(values)
    )
    trial = succeeded(
        id=f"disk-{host}-{day}",
        workload=Workload("diskbench", "1"),
        engine=Engine("diskbench", "1"),
        cluster=Cluster((Host(host, FACTS),)),
        samples=samples,
        started_at=datetime(2026, 3, day, tzinfo=UTC),
    )
    return replace(trial, **changes)  # type: ignore[arg-type]


def net(network: str = "measured over a network", **changes: object) -> Trial:
    samples = [
        Sample(
            "net_pairwise_bytes_per_s",
            value,
            "B/s",
            labels={"peers": 4, "iteration": i, "slowest": False},
        )
        for i, value in enumerate((1.0e9, 1.1e9, 1.2e9))
    ]
    for peers, slowest, mean in ((2, 1.0e9, 1.05e9), (4, 0.8e9, 0.9e9)):
        labels: dict[str, Scalar] = {"peers": peers, "slowest": True, "peer": "n3"}
        samples.append(Sample("net_all_to_all_bytes_per_s", slowest, "B/s", labels=labels))
        labels = {"peers": peers, "slowest": False, "iteration": 0}
        samples.append(Sample("net_all_to_all_bytes_per_s", mean, "B/s", labels=labels))
    trial = succeeded(
        id="net-1",
        workload=Workload("netbench", "1"),
        engine=Engine("netbench", "1"),
        cluster=Cluster((Host("n1", FACTS),), network=network),
        samples=tuple(samples),
    )
    return replace(trial, **changes)  # type: ignore[arg-type]


def of(*trials: Trial) -> InstanceType:
    return overlay_from_trials(trials, "x").catalog.types["x"]


def fio_jobs(digest: str = "a", day: int = 1, **rates: float) -> list[Trial]:
    """Trials of one fio run, as its importer makes them: a job each."""
    made = []
    for name, rate in rates.items():
        labels: dict[str, Scalar] = {"dir": f"/data/{name}", "block_bytes": 1 << 20}
        labels["queue_depth"] = 8
        trial = succeeded(
            id=f"fio-{digest}-{name}",
            workload=Workload("diskbench", "fio"),
            engine=Engine("fio", "3.33"),
            cluster=Cluster((Host("fio-unknown/1"),)),
            samples=(Sample(f"disk_{name}_bytes_per_s", rate, "B/s", labels=labels),),
            provenance=Provenance(ProvenanceKind.IMPORTED, "fio", digest),
            started_at=datetime(2026, 3, day, tzinfo=UTC),
        )
        made.append(trial)
    return made


RATES = {"read": 3e9, "write": 2e9, "mixed_read": 1.5e9, "mixed_write": 1.6e9}


def test_imported_jobs_of_one_file_count_like_one_probe() -> None:
    found = overlay_from_trials(fio_jobs(**RATES), "x")
    facts = found.catalog.types["x"].facts
    own = of(disk()).facts
    for name in ("storage_rate", "local_read_rate", "local_write_rate"):
        assert facts[name].value == own[name].value
        assert facts[name].kind is ValueKind.MEASURED
        assert facts[name].source.startswith("imported trials fio-a-")
        assert "imported from fio" in facts[name].note
    assert found.left_out == {}


def test_a_newer_run_gives_only_what_it_measured() -> None:
    newer = fio_jobs("b", 2, read=1e9)
    found = overlay_from_trials([*newer, *fio_jobs(**RATES)], "x")
    facts = found.catalog.types["x"].facts
    assert (facts["local_read_rate"].value, facts["local_write_rate"].value) == (1000.0, 2000.0)
    assert found.left_out == {"fio-a-read": "trial fio-b-read of the same host is newer"}


def test_jobs_that_shared_the_disk_and_limited_networks_say_nothing() -> None:
    (shared,) = fio_jobs(read=3e9)
    sample = shared.samples[0]
    labels = {**sample.labels, "concurrent_jobs": 2}
    shared = replace(shared, samples=(replace(sample, labels=labels),))
    assert of(shared).fact("local_read_rate").value is None
    limited = net(configuration={"target_bits_per_s": 1e9})
    assert "was limited to" in overlay_from_trials([limited], "x").left_out["net-1"]


def test_disk_rates_are_equation_5_with_the_range_of_the_iterations() -> None:
    measured = of(disk())
    storage = measured.fact("storage_rate")
    assert (storage.value, storage.low, storage.high) == (1500.0, 1300.0, 1600.0)
    assert (storage.kind, storage.source) == (ValueKind.MEASURED, "trial disk-n1-1")
    assert storage.as_of == date(2026, 3, 1)
    read, write = measured.fact("local_read_rate"), measured.fact("local_write_rate")
    assert (read.value, read.low, read.high) == (3000.0, 2900.0, 3100.0)
    assert write.value == 2000.0
    assert "storage_nodes" not in measured.facts


def test_host_facts_come_along() -> None:
    measured = of(disk())
    found = {
        name: measured.fact(name).value
        for name in ("vcpus", "cores", "numa_nodes", "memory", "processor", "architecture")
    }
    assert found == {
        "vcpus": 32.0,
        "cores": 16.0,
        "numa_nodes": 2.0,
        "memory": 61.0,
        "processor": "Example 9",
        "architecture": "x86_64",
    }
    bare = of(disk(cluster=Cluster((Host("n1", {"cpu_threads": None, "cpu_model": None}),))))
    assert not {"vcpus", "processor", "memory"} & bare.facts.keys()


def test_several_hosts_give_the_median_and_the_slowest() -> None:
    trials = [disk("n1"), disk("n2", scale=0.5), disk("n3", scale=0.9), disk("n3", day=2)]
    found = overlay_from_trials(trials, "x")
    measured = found.catalog.types["x"]
    assert measured.number("storage_rate") == 1500.0
    assert measured.fact("storage_rate").low == 650.0
    assert "of 3 hosts" in measured.fact("storage_rate").note
    assert measured.number("storage_rate_slowest") == 750.0
    assert measured.number("storage_nodes") == 3.0
    assert found.left_out == {"disk-n3-1": "trial disk-n3-2 of the same host is newer"}


def test_the_network_between_pairs_and_of_the_slowest_of_all() -> None:
    measured = of(net())
    rate = measured.fact("network_rate")
    assert (rate.value, rate.low, rate.high) == (1100.0, 1000.0, 1200.0)
    at_scale = measured.fact("network_rate_at_scale")
    assert (at_scale.value, at_scale.high) == (800.0, 900.0)
    assert measured.number("network_nodes") == 4.0


def test_the_network_at_a_size_that_was_not_measured_follows_the_curve() -> None:
    samples = tuple(
        Sample(
            "net_all_to_all_bytes_per_s",
            1e9 * peers**-0.1,
            "B/s",
            labels={"peers": peers, "slowest": True, "sockets_per_peer": 1, "iteration": 0},
        )
        for peers in (2, 4, 8, 16)
    )
    trial = net(samples=samples)
    at = network_at([trial, disk()], "x", 100).types["x"]
    rate = at.fact("network_rate_at_scale")
    assert rate.value == pytest.approx(1e3 * 100**-0.1, rel=1e-3)
    assert rate.kind is ValueKind.DERIVED
    assert rate.low is not None
    assert rate.high is not None
    assert rate.low <= rate.value <= rate.high
    assert at.number("network_nodes") == 100
    with pytest.raises(VenturiError) as caught:
        network_at([trial], "x", 1000)
    assert caught.value.code == "VEN-MODEL-RANGE"
    forced = network_at([trial], "x", 1000, force=True).types["x"].fact("network_rate_at_scale")
    assert "forced" in forced.note
    laid = replace_facts(overlay_from_trials([trial], "x").catalog, Catalog("x", {"x": at}))
    assert laid.types["x"].number("network_nodes") == 100


def test_what_no_trial_measured_stays_unknown_with_the_reason() -> None:
    reads = tuple(s for s in disk().samples if "mixed" not in s.metric)
    measured = of(disk(samples=reads))
    assert measured.number("local_read_rate") == 3000.0
    storage = measured.fact("storage_rate")
    assert storage.value is None
    assert "disk_mixed_read_bytes_per_s" in storage.note


def test_rates_that_did_not_settle_say_so() -> None:
    shaky = disk(warnings=(TrialWarning("VEN-MEASURE-UNSTEADY", "read on /d"),))
    assert "did not settle" in of(shaky).fact("local_read_rate").note


def test_what_is_measured_fits_over_a_catalogue_and_into_the_model() -> None:
    lines = [
        f"x,network_line_rate,10,Gbit/s,advertised,sheet,{DAY},\n",
        f"x,storage_rate,900,MB/s,derived,paper,{DAY},\n",
    ]
    header = "instance_type,attribute,value,unit,kind,source,as_of,note\n"
    base = parse(header + "".join(lines), "mine")
    result = overlay(base, overlay_from_trials([disk(), net()], "x").catalog)
    assert parse(render(result), "mine") == result
    assert check_units(result) == ()
    node = node_of(result.types["x"])
    assert node.storage is not None
    assert (node.storage.value, node.storage.low) == (1.5e9, 1.3e9)
    assert node.network is not None
    assert node.network.value == 0.8e9
    assert node.network.kind is ValueKind.MEASURED


@pytest.mark.parametrize(
    ("trial", "why"),
    [
        (net("loopback: memory copying, not a network"), "loopback is memory copying"),
        (net(configuration={"loopback": 4}), "loopback is memory copying"),
        (disk(state=State.FAILED, failure=Failure("space", "VEN-X", "full")), "it is failed"),
        (succeeded(id="sort-1"), "is not a probe"),
        (disk(cluster=Cluster((Host("n1"),), instance_type="y")), "it was measured on y"),
        (disk(cluster=Cluster((Host("n1"),), dilation=20.0)), "rates divided by 20"),
        (disk(cluster=Cluster(())), "its host or its time is missing"),
    ],
)
def test_what_does_not_count_is_left_out_with_the_reason(trial: Trial, why: str) -> None:
    found = overlay_from_trials([trial], "x")
    assert found.catalog.types == {}
    assert why in found.left_out[trial.id]
    with pytest.raises(VenturiError) as caught:
        need_facts(found, [trial.id])
    assert why in caught.value.message


def test_a_trial_asked_for_is_not_left_out_silently() -> None:
    loopback = net("loopback: memory copying, not a network", id="lo")
    found = overlay_from_trials([disk(), loopback], "x")
    need_facts(found, [])
    with pytest.raises(VenturiError, match="loopback"):
        need_facts(found, ["lo"])
    with pytest.raises(VenturiError, match="no probe"):
        need_facts(TrialFacts(Catalog("x", {}), {}), [])


def test_every_measured_fact_has_the_attribute_s_unit() -> None:
    for name, each in of(disk(), net()).facts.items():
        assert each.unit == ATTRIBUTES[name][0]
