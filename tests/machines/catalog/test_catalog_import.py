"""Catalogs from other formats: every value, every rejection, every fault in its place."""

from __future__ import annotations

import contextlib
import math
import os
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.core.errors import ExitCode, VenturiError
from venturi.core.quantity import ValueKind
from venturi.machines import catalog
from venturi.machines.catalog import ATTRIBUTES, InstanceType
from venturi.machines.catalog.importers import IMPORTERS, import_catalog
from venturi.machines.catalog.importers.reading import CatalogSource, ImportedCatalog, ImportOptions
from venturi.machines.catalog.units_check import check_units
from venturi.machines.catalog.write import render
from venturi.machines.cost.overlay import overlay

DATA = Path(__file__).parents[2] / "data" / "catalogs"
DAY = date(2026, 7, 20)
REPOSITORY = Path(__file__).parents[3]


def read(format_name: str, *names: str, region: str | None = "east-1") -> ImportedCatalog:
    sources = [CatalogSource(name, (DATA / name).read_text(encoding="utf-8")) for name in names]
    return import_catalog(format_name, sources, ImportOptions(region, DAY, "mine"))


def refused(imported: ImportedCatalog) -> dict[str, tuple[str, str]]:
    return {r.instance_type: (r.place, r.field) for r in imported.refused}


def figures(instance_type: InstanceType) -> dict[str, float | str]:
    return {n: f.value for n, f in instance_type.facts.items() if f.value is not None}


ALL = {
    "skypilot": read("skypilot", "vms.csv"),
    "ec2instances": read("ec2instances", "instances.json"),
    "karpenter": read(
        "karpenter", "instance-types.md", "zz_generated.pricing_aws.go", region="us-east-1"
    ),
    "onprem": read("onprem", "machines.csv", region=None),
    "wide": read("wide", "wide.csv"),
    "karpenter_prices": read("karpenter_prices", "initial-prices.json"),
    "scylla": read(
        "scylla",
        "aws_io_params.yaml",
        "aws_net_params.json",
        "counts.csv",
        "azure_io_params.yaml",
        "azure_net_params.json",
        region=None,
    ),
}


def test_every_importer_is_tested_here() -> None:
    assert ALL.keys() == IMPORTERS.keys()


@pytest.mark.parametrize("format_name", list(ALL))
def test_what_is_imported_is_a_catalogue_whose_every_value_has_its_origin(format_name: str) -> None:
    imported = ALL[format_name].catalog
    again = catalog.parse(render(imported), "mine")
    assert again == imported
    for instance_type in imported.types.values():
        assert {"storage_rate", "network_rate"} <= instance_type.facts.keys()
        for attribute, fact in instance_type.facts.items():
            assert attribute in ATTRIBUTES
            if fact.value is None:
                assert fact.note
                assert fact.kind is None
            else:
                assert fact.kind
                assert fact.source
                assert fact.as_of
    assert check_units(imported) == ()


def test_skypilot_takes_one_region_and_gathers_its_zones() -> None:
    imported = ALL["skypilot"]
    types = imported.catalog.types
    assert list(types) == ["big.8", "arm.4", "gpu.8", "odd.2"]
    spot = types["big.8"].fact("spot_price")
    assert (spot.value, spot.low, spot.high) == (0.25, 0.20, 0.30)
    assert "2 zones" in spot.note
    assert types["big.8"].number("price") == 0.64
    assert types["arm.4"].fact("spot_price").value is None
    assert types["arm.4"].fact("architecture").value == "arm64"
    assert types["gpu.8"].fact("spot_price").low is None
    assert refused(imported) == {
        "odd.2": ("vms.csv, line 9", "Price"),
        "": ("vms.csv, line 10", "InstanceType"),
        "bad.2": ("vms.csv, line 11", "MemoryGiB"),
        "free.2": ("vms.csv, line 12", "Price"),
    }
    contradiction = next(r for r in imported.refused if r.instance_type == "odd.2")
    assert "'0.10' in vms.csv, line 8" in contradiction.reason
    assert any("GpuInfo" in note for note in imported.notes)
    west = read("skypilot", "vms.csv", region="west-2").catalog.types
    assert list(west) == ["big.8"]
    assert west["big.8"].number("price") == 0.70


def test_ec2instances() -> None:
    imported = ALL["ec2instances"]
    types = imported.catalog.types
    disk = types["disk.8"]
    assert figures(disk) == {
        "provider": "aws",
        "architecture": "x86_64",
        "processor": "Example 8000",
        "vcpus": 8.0,
        "memory": 61.0,
        "cores": 4.0,
        "coremark": 136083.5,
        "numa_nodes": 1.0,
        "disk_count": 2.0,
        "disk_size": 1900.0,
        "disk_kind": "NVMe",
        "network_burst_rate": 10.0,
        "volume_line_rate": 1700.0,
        "region": "east-1",
        "price": 0.624,
        "spot_price": 0.21,
    }
    assert disk.local_bytes == 3800 * 10**9
    assert disk.fact("coremark").kind is ValueKind.MEASURED
    assert disk.fact("volume_line_rate").low == 850.0
    assert (disk.fact("spot_price").low, disk.fact("spot_price").high) == (0.19, 0.25)
    assert "only the burst" in disk.fact("network_line_rate").note
    fast = types["fast.16"]
    assert fast.number("network_line_rate") == 400.0
    for name in ("price", "volume_line_rate", "coremark", "numa_nodes", "disk_count"):
        assert fast.fact(name).value is None, name
    old = types["old.1"]
    assert (old.number("disk_size"), old.fact("disk_kind").value) == (1600.0, "HDD")
    assert old.fact("network_class").value == "Low"
    assert old.fact("architecture").value == "x86_64"
    assert [(r.place, r.field) for r in imported.refused] == [
        ("instances.json, $[3]", "memory"),
        ("instances.json, $[4]", "storage.size_unit"),
        ("instances.json, $[5]", "ebs_baseline_bandwidth"),
        ("instances.json, $[6]", "instance_type"),
        ("instances.json, $[7]", "instance_type"),
    ]
    west = read("ec2instances", "instances.json", region="west-2").catalog.types
    assert west["disk.8"].number("price") == 0.702
    assert west["old.1"].fact("price").note == "not offered in west-2"


def test_karpenter_joins_page_and_prices() -> None:
    imported = ALL["karpenter"]
    types = imported.catalog.types
    assert figures(types["nvme.large"]) == {
        "provider": "aws",
        "architecture": "x86_64",
        "processor": "intel",
        "vcpus": 2.0,
        "memory": 15.25,
        "network_line_rate": 0.75,
        "volume_line_rate": 4750.0,
        "local_size": 475.0,
        "price": 0.156,
        "region": "us-east-1",
    }
    assert types["nvme.large"].local_bytes == 475 * 10**9
    price = types["nvme.large"].fact("price")
    assert price.as_of == date(2026, 7, 20)
    assert "zz_generated.pricing_aws.go" in price.source
    assert imported.places["nvme.large", "price"] == "zz_generated.pricing_aws.go, line 10"
    assert imported.places["nvme.large", "memory"].startswith("instance-types.md, line 7")
    plain = types["plain.xlarge"]
    assert plain.fact("disk_count").note == "no local disks"
    assert plain.fact("price").value is None
    assert plain.local_bytes is None
    places = {(r.place, r.field) for r in imported.refused}
    assert places == {
        ("zz_generated.pricing_aws.go, line 11", "price"),
        ("instance-types.md, line 34", "karpenter.k8s.aws/instance-cpu"),
        ("instance-types.md, line 40", "karpenter.k8s.aws/instance-cpu"),
    }
    assert imported.notes == ("with a price but no place on the page: nvme.xlarge",)


def test_karpenter_in_china_is_paid_in_yuan() -> None:
    tables = ("zz_generated.pricing_aws.go", "zz_generated.pricing_aws_cn.go")
    types = read("karpenter", "instance-types.md", *tables, region="cn-north-1").catalog.types
    price = types["nvme.large"].fact("price")
    assert (price.value, price.unit, price.as_of) == (1.561, "CNY/h", date(2026, 7, 19))


def test_karpenter_without_prices_says_so() -> None:
    types = read("karpenter", "instance-types.md").catalog.types
    assert types["nvme.large"].fact("price").note == "no price table was given"
    for names in (("zz_generated.pricing_aws.go",), ("instance-types.md", "machines.csv")):
        with pytest.raises(VenturiError) as caught:
            read("karpenter", *names)
        assert caught.value.code == "VEN-CATALOG-FORMAT"


def test_onprem_machines_have_capital_and_power_and_no_price() -> None:
    imported = ALL["onprem"]
    types = imported.catalog.types
    worker = types["worker"]
    capital = worker.fact("capital")
    assert (capital.value, capital.unit) == (9500.0, "EUR")
    assert capital.note == "rack 7; written off over 4 years"
    assert worker.number("power") == 350.0
    assert worker.fact("price").value is None
    assert "bought" in worker.fact("price").note
    assert worker.local_bytes == 24 * 10**12
    assert (worker.number("vcpus"), worker.number("cores")) == (32.0, 16.0)
    assert types["diskless"].fact("disk_count").note == "no local disks"
    assert types["diskless"].number("vcpus") == 32.0
    assert "no threads" in types["diskless"].fact("vcpus").note
    assert types["unsized"].fact("disk_size").note == "disk_size_gb is empty in the source"
    assert types["unsized"].fact("capital").unit == "USD"
    assert {(r.place.rpartition(" ")[2], r.field) for r in imported.refused} == {
        ("5", "memory_gib"),
        ("6", "cores"),
        ("7", "currency"),
        ("8", "as_of"),
        ("9", "line"),
        ("10", "instance_type"),
    }
    assert any("colour" in note for note in imported.notes)


def test_wide() -> None:
    imported = ALL["wide"]
    nvme = imported.catalog.types["nvme.large"]
    assert figures(nvme) == {
        "provider": "aws",
        "region": "east-1",
        "processor": "intel",
        "vcpus": 2.0,
        "numa_nodes": 1.0,
        "coremark": 38000.0,
        "memory": 16.0,
        "network_line_rate": 0.75,
        "price": 0.156,
        "architecture": "x86_64",
        "volume_line_rate": 4750.0,
        "local_size": 475.0,
    }
    assert "only the size of all" in nvme.fact("disk_count").note
    assert nvme.fact("coremark").kind is ValueKind.MEASURED
    assert nvme.fact("price").as_of == DAY
    plain = imported.catalog.types["plain.xlarge"]
    assert plain.fact("price").note == "price_usd_hour is empty in the source"
    assert plain.local_bytes is None
    assert refused(imported) == {"broken.large": ("wide.csv, line 4", "net_baseline_mbps")}


def test_wide_with_all_its_columns() -> None:
    full = read("wide", "wide_full.csv", region=None).catalog.types["full.8"]
    expected = {
        "processor": "Acme 9",
        "cpu_factor": 1.2,
        "cores": 4.0,
        "network_burst_rate": 10.0,
        "disk_count": 2.0,
        "disk_size": 960.0,
        "disk_kind": "NVMe",
        "local_read_rate": 3000.0,
        "local_write_rate": 1500.0,
        "billing_granularity": 1.0,
        "billing_minimum": 60.0,
        "platform_fee": 0.05,
        "capital": 5000.0,
        "power": 300.0,
        "spot_price": 0.1,
    }
    assert figures(full).items() >= expected.items()
    assert (full.fact("price").as_of, full.fact("price").source) == (
        date(2026, 5, 1),
        "price list 7",
    )
    loss = full.fact("spot_loss_rate")
    assert loss.value == pytest.approx(-math.log(0.9) / 730)
    assert loss.kind is ValueKind.DERIVED
    assert full.fact("volume_line_rate").low == 1000.0


@pytest.mark.parametrize(
    ("format_name", "text", "field"),
    [
        ("wide", "", "header"),
        ("wide", "instance_type,vcpus\n", "header"),
        ("wide", "instance_type,vcpus,vcpus,memory_mib\n", "header"),
        ("wide", 'instance_type,vcpus,memory_mib\n"x,1,1024\n', "line"),
        ("wide", "instance_type,vcpus,memory_mib\nx,nan,1024\n", "vcpus"),
        ("wide", "instance_type,vcpus,memory_mib\n,1,1024\n", "instance_type"),
        ("wide", "instance_type,vcpus,memory_mib,currency\nx,1,1024,EUR\n", "currency"),
        ("skypilot", "InstanceType,vCPUs,MemoryGiB,Price\n", "header"),
        ("onprem", "name,cores,memory\n", "header"),
        ("ec2instances", "[{]", "column 3"),
        ("ec2instances", "[" * 100_000, "$"),
        ("ec2instances", '{"a": 1}', "$"),
        ("karpenter", "# nothing\n", "headings"),
    ],
)
def test_a_file_that_is_none_is_refused_in_its_place(
    format_name: str, text: str, field: str
) -> None:
    with pytest.raises(VenturiError) as caught:
        import_catalog(format_name, [CatalogSource("it.csv", text)], ImportOptions(as_of=DAY))
    assert caught.value.code == "VEN-CATALOG-FORMAT"
    assert caught.value.where["file"] == "it.csv"
    assert caught.value.where["field"] == field


def test_a_choice_that_is_open_is_asked_for() -> None:
    for region, code, says in (
        (None, "VEN-CATALOG-FORMAT", "--region: east-1, west-2"),
        ("east-2", "VEN-CATALOG-UNKNOWN", "did you mean west-2 or east-1?"),
    ):
        with pytest.raises(VenturiError) as caught:
            read("skypilot", "vms.csv", region=region)
        assert caught.value.code == code
        assert says in caught.value.hint
    source = CatalogSource("wide.csv", (DATA / "wide.csv").read_text(encoding="utf-8"))
    with pytest.raises(VenturiError) as caught:
        import_catalog("wide", [source], ImportOptions())
    assert caught.value.exit_code == ExitCode.USAGE
    assert "--as-of" in caught.value.hint
    with pytest.raises(VenturiError) as caught:
        import_catalog("skypiolt", [source], ImportOptions())
    assert "did you mean skypilot?" in caught.value.hint


@given(st.sampled_from(list(IMPORTERS)), st.text(max_size=300))
def test_no_text_brings_an_importer_down(format_name: str, text: str) -> None:
    source = CatalogSource("vms.csv", text)
    with pytest.raises(VenturiError):
        import_catalog(format_name, [source], ImportOptions(as_of=DAY))


@given(st.sampled_from(["vms.csv", "instances.json", "machines.csv", "wide.csv"]), st.data())
def test_no_damage_to_a_file_brings_an_importer_down(name: str, data: st.DataObject) -> None:
    formats = {"vms": "skypilot", "instances": "ec2instances", "machines": "onprem"}
    text = (DATA / name).read_text(encoding="utf-8")
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 40)))
    damaged = text[:start] + data.draw(st.text(max_size=5)) + text[end:]
    options = ImportOptions(None if name == "machines.csv" else "east-1", DAY, "damaged")
    with contextlib.suppress(VenturiError):  # anything else is a fault
        imported = import_catalog(
            formats.get(name.partition(".")[0], "wide"), [CatalogSource(name, damaged)], options
        )
        assert imported.catalog.types
        catalog.parse(render(imported.catalog), "damaged")


def snapshot() -> Path:
    given_path = os.environ.get("VENTURI_CATALOG_SNAPSHOT")
    path = (
        Path(given_path)
        if given_path
        else REPOSITORY.parent / "shared" / "catalog" / "aws_us-east-1.csv"
    )
    if not path.is_file():
        pytest.skip(f"no snapshot at {path}: set VENTURI_CATALOG_SNAPSHOT to one")
    return path


@pytest.mark.slow
def test_a_provider_s_whole_list_is_imported_and_read_again() -> None:
    text = snapshot().read_text(encoding="utf-8")
    imported = import_catalog(
        "wide", [CatalogSource("snapshot.csv", text)], ImportOptions(None, DAY)
    )
    doubts = check_units(imported.catalog, imported.places)
    written = render(imported.catalog)
    assert len(imported.catalog.types) >= 1363
    assert imported.refused == ()
    assert doubts == ()
    assert catalog.parse(written, "imported") == imported.catalog


def test_price_tables_by_themselves_have_prices_of_one_region() -> None:
    imported = ALL["karpenter_prices"]
    types = imported.catalog.types
    assert list(types) == ["big-8-lssd", "big-16"]
    assert (types["big-8-lssd"].number("price"), types["big-8-lssd"].number("spot_price")) == (
        1.15,
        0.5,
    )
    assert "the table has none in east-1" in types["big-16"].fact("spot_price").note
    assert refused(imported)["odd-1"][1] == "price"
    go = read("karpenter_prices", "zz_generated.pricing_aws.go", region="us-east-1").catalog
    with_page = ALL["karpenter"].catalog.types
    both = go.types.keys() & with_page.keys()
    assert both
    assert all(go.types[n].number("price") == with_page[n].number("price") for n in both)
    with pytest.raises(VenturiError, match="prices of 2 regions"):
        read("karpenter_prices", "initial-prices.json", region=None)


def test_iotune_s_rates_of_one_disk_are_multiplied_and_those_of_all_are_not() -> None:
    imported = ALL["scylla"]
    types = imported.catalog.types
    whole = types["i9.large"].fact("local_read_rate")
    assert (whole.value, whole.kind, whole.low) == (600, ValueKind.MEASURED, None)
    one, two, four = (types[f"i3.{n}xlarge"].fact("local_read_rate") for n in ("", "4", "8"))
    assert (one.value, one.kind) == (1000, ValueKind.MEASURED)  # a line of its own before i3.ALL
    assert (two.value, two.kind, two.low) == (4000, ValueKind.DERIVED, 3600)
    assert (four.value, four.low) == (8000, pytest.approx(8000 * 0.69))
    assert types["Standard_X8"].number("local_write_iops") == 600_000
    assert refused(imported)["m5d.8xlarge"][1] == "disk_count"
    assert refused(imported)["i9.broken"][1] == "read_iops"


def test_both_directions_at_once_are_reckoned_from_each_alone_with_their_range() -> None:
    types = ALL["scylla"].catalog.types
    alone = types["i3.xlarge"].fact("storage_rate")
    assert alone.value == pytest.approx(1000 * 400 / 1400)
    assert (alone.low, alone.high, alone.kind) == (alone.value, 400, ValueKind.DERIVED)
    array = types["i3.8xlarge"].fact("storage_rate")
    assert (array.low, array.high) == (1600, 3200)


def test_network_tables_give_the_line_its_burst_and_what_of_it_is_payload() -> None:
    types = ALL["scylla"].catalog.types
    assert types["i3.xlarge"].number("network_line_rate") == 1.25
    assert types["i3.xlarge"].number("network_burst_rate") == 10
    assert types["i9.large"].number("network_rate") == pytest.approx(25_000 / 8 * 0.99)
    assert types["Standard_X8"].number("network_rate") == pytest.approx(12_500 / 8 * 0.942)
    assert refused(ALL["scylla"])["i9.small"][1] == "baseline"
    nameless = CatalogSource("net.json", "[]")
    with pytest.raises(VenturiError, match="name the provider"):
        import_catalog("scylla", [nameless], ImportOptions(None, DAY, "mine"))


def test_figures_no_machine_can_have_are_refused_with_their_place() -> None:
    rows = (
        '["i3.large", "Up to 10 Gigabit", 0.75], ["m5.large", "Up to 1.2.3 Gigabit", 0.75], '
        '["m6.large", "10 Gigabit", 1e308], ["m7.large", "10 Gigabit", 1e-320]'
    )
    rates = "\n".join(
        f"  {each}: 1e-320"
        for each in ("read_iops", "read_bandwidth", "write_iops", "write_bandwidth")
    )
    given = [
        CatalogSource("aws_net_params.json", f"[{rows}]"),
        CatalogSource("aws_io_params.yaml", f"m8.large:\n{rates}\n"),
    ]
    imported = import_catalog("scylla", given, ImportOptions(None, DAY, "mine"))
    assert list(imported.catalog.types) == ["i3.large"]
    assert [(each.place, each.instance_type, each.field) for each in imported.refused] == [
        ("aws_net_params.json, $[1]", "m5.large", "up to"),
        ("aws_net_params.json, $[2]", "m6.large", "baseline"),
        ("aws_net_params.json, $[3]", "m7.large", "baseline"),
        ("aws_io_params.yaml, line 1", "m8.large", "read_bandwidth"),
    ]


def test_a_type_that_is_twice_in_a_network_table_is_refused() -> None:
    of = '{"Network_Limit_Gbps": 1}'
    twice = CatalogSource("gcp_net_params.json", f'{{"n2-a": {of}, "n2-a": {of}}}')
    with pytest.raises(VenturiError, match=r"n2-a.*twice") as caught:
        import_catalog("scylla", [twice], ImportOptions(None, DAY, "mine"))
    assert caught.value.code == "VEN-CATALOG-FORMAT"


def test_of_two_sources_that_disagree_the_lower_stays_with_the_other_as_its_high_end() -> None:
    header = "instance_type,attribute,value,unit,kind,source,as_of,note\n"
    page, api = (
        catalog.parse(
            f"{header}x,network_line_rate,{gbit},Gbit/s,advertised,{source},{day},\n", "c"
        )
        for gbit, source, day in ((25, "page", "2026-07-20"), (12.5, "API", "2025-07-28"))
    )
    kept = overlay(page, api, both=True).types["x"].fact("network_line_rate")
    assert (kept.value, kept.high, kept.source) == (12.5, 25, "API")
    assert "two sources disagree: page has 25" in kept.note
    assert overlay(page, api).types["x"].number("network_line_rate") == 25  # the newer
    same = overlay(page, page, both=True).types["x"].fact("network_line_rate")
    assert (same.value, same.high) == (25, None)
