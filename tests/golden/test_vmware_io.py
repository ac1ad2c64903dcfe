"""Two VMware studies of Hadoop: what a bond, a storage controller and a memory cliff explain."""

from __future__ import annotations

import csv
import math
import os
from pathlib import Path

import pytest

from io_cost import replica_bytes_per_host
from venturi.core.quantity import Quantity, ValueKind
from venturi.machines.cost.extensions import (
    bonded,
    capped,
    fit_memory_cliff,
    memory_cliff_s,
)

ROOT = Path(__file__).parents[2]
TB, GB, MB = 1e12, 1e9, 1e6
HOSTS, REPLICAS, PORTS = 10, 3, 2
TEN_GBE = Quantity(1.25e9, 1.25e9, 1.25e9, ValueKind.ADVERTISED, "10 GbE", upper_bound=True)
JOBS = ("teragen_s", "testdfsio_s")


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


WRITES = rows(ROOT / "tests/data/vmware2017/hdfs_writes.csv")
LOGREG = rows(ROOT / "tests/data/vmware2017/logreg_scaling.csv")
WRITES_2011 = rows(ROOT / "tests/data/vmware2011/hdfs_writes.csv")
TEN_TB = {row["platform"]: row for row in WRITES if row["size_tb"] == "10"}


def sent_gb_per_s(row: dict[str, str], job: str) -> float:
    """Replica traffic that left each host: two of three replicas, less what stayed inside."""
    written = float(row["size_tb"]) * TB
    sent = replica_bytes_per_host(written, REPLICAS, HOSTS, int(row["workers_per_host"]))
    return sent / float(row[job]) / GB


def bond_gb_per_s(row: dict[str, str]) -> float:
    """All that the two ports can carry; under ESX only what the workers' virtual ports reach."""
    units = int(row["workers_per_host"]) if row["bond"] == "virtual port" else PORTS
    return bonded(TEN_GBE, PORTS, units).value / GB


def floor_s(row: dict[str, str], gb_per_s: float) -> float:
    workers = int(row["workers_per_host"])
    return replica_bytes_per_host(10 * TB, REPLICAS, HOSTS, workers) / gb_per_s / GB


@pytest.mark.parametrize(
    ("platform", "teragen", "testdfsio"),
    [
        ("1vm_per_host", 1.07, 0.99),
        ("2vm_per_host", 1.91, 1.88),
        ("4vm_per_host", 2.47, 2.46),
        ("bare_metal", 1.64, 1.54),
    ],
)
def test_replica_traffic_of_the_10_tb_writes(
    platform: str, teragen: float, testdfsio: float
) -> None:
    found = [sent_gb_per_s(TEN_TB[platform], job) for job in JOBS]
    assert found == pytest.approx([teragen, testdfsio], abs=0.005)


def test_two_of_three_replicas_cross_the_network() -> None:
    """The study's own reading of its monitor: 23.7 GB/s of network for 35.3 GB/s of writes."""
    crossing = (REPLICAS - 1) / REPLICAS
    assert crossing == pytest.approx(23.7 / 35.3, rel=0.01)


@pytest.mark.parametrize("job", JOBS)
def test_no_write_sends_more_than_its_bond_carries(job: str) -> None:
    assert [bond_gb_per_s(row) for row in TEN_TB.values()] == [1.25, 2.5, 2.5, 2.5]
    assert all(sent_gb_per_s(row, job) <= bond_gb_per_s(row) for row in WRITES)


def test_four_workers_a_host_run_at_the_line_rate() -> None:
    """Network-bound floor: 738 s; measured 748.3 and 749.5."""
    row = TEN_TB["4vm_per_host"]
    least = floor_s(row, bond_gb_per_s(row))
    assert least == pytest.approx(738, abs=1)
    assert [float(row[job]) / least for job in JOBS] == pytest.approx([1.014, 1.015], abs=0.001)


@pytest.mark.parametrize("job", JOBS)
def test_the_bond_explains_one_worker_against_four_better_than_two_open_ports(job: str) -> None:
    one, four = TEN_TB["1vm_per_host"], TEN_TB["4vm_per_host"]
    measured = float(one[job]) / float(four[job])  # 2.5 and 2.7
    by_bond = floor_s(one, bond_gb_per_s(one)) / floor_s(four, bond_gb_per_s(four))
    by_both_ports = floor_s(one, 2.5) / floor_s(four, 2.5)
    assert by_bond == pytest.approx(2.17, abs=0.01)
    assert by_both_ports == pytest.approx(1.08, abs=0.01)
    assert by_bond <= measured  # a floor; 14 to 20 % is left for what the bond does not explain
    assert measured / by_bond < 1.25
    assert measured / by_both_ports > 2.3


@pytest.mark.parametrize("job", JOBS)
def test_disks_per_datanode_do_not_explain_it(job: str) -> None:
    """One worker a host and bare metal have the same 12 disks a DataNode, but not the same bond.

    Only behind an ESX bond does one worker stay below one port; two workers, which reach both
    ports at best, use 76 % of them: they may share one, and the model's range says so.
    """
    one, metal = TEN_TB["1vm_per_host"], TEN_TB["bare_metal"]
    assert float(one[job]) / float(metal[job]) > 1.5
    assert sent_gb_per_s(one, job) < 1.25 < sent_gb_per_s(metal, job)
    two = bonded(TEN_GBE, PORTS, 2)
    assert two.low < sent_gb_per_s(TEN_TB["2vm_per_host"], job) * GB < two.high


def written_mb_per_s(row: dict[str, str]) -> list[float]:
    """MB/s written by each of 7 hosts, two replicas, on each platform that was measured."""
    elapsed = [float(row[p]) for p in ("native_s", "vm1_s", "vm2_s", "vm4_s") if row[p]]
    return [2 * float(row["written_bytes"]) / 7 / seconds / MB for seconds in elapsed]


def test_a_controller_of_500_to_600_mb_per_s_caps_every_write_of_2011() -> None:
    theory = Quantity(1000 * MB, 1000 * MB, 1000 * MB, ValueKind.ADVERTISED, "x4", upper_bound=True)
    practice = Quantity(550 * MB, 500 * MB, 600 * MB, ValueKind.ADVERTISED, "study")
    cap = capped(theory, {"storage controller": practice})
    assert "capped by the storage controller" in cap.note
    for row in WRITES_2011:
        assert max(written_mb_per_s(row)) * MB <= cap.high
        assert max(written_mb_per_s(row)) * MB >= 0.9 * cap.low  # and every one comes near it
    on = {
        row["benchmark"]: written_mb_per_s(row)
        for row in WRITES_2011
        if row["hyper_threading"] == "on"
    }
    assert on["TestDFSIO-write"][2:] == pytest.approx([499, 508], abs=0.5)
    assert max(on["TeraGen 3.5TB"]) == pytest.approx(508, abs=0.5)
    assert cap.low <= max(on["TeraGen 3.5TB"]) * MB <= cap.high


def test_logistic_regression_falls_off_a_cliff_where_its_data_outgrows_the_heaps() -> None:
    """Table 21: 13.85 s/TB in memory, 58.5 s/TB beyond it, 105 s more from 3 to 4 TB."""
    sizes = [float(row["dataset_tb"]) * TB for row in LOGREG]
    elapsed = [float(row["elapsed_s"]) for row in LOGREG]
    heaps = 279 * 11 * 2**30
    assert [size <= heaps for size in sizes] == [row["fits_in_memory"] == "yes" for row in LOGREG]
    cliff = fit_memory_cliff(sizes, elapsed, heaps)
    assert cliff.within_s_per_byte * TB == pytest.approx(13.85, abs=0.005)
    assert cliff.beyond_s_per_byte * TB == pytest.approx(58.5, abs=0.05)
    assert cliff.step_s == pytest.approx(105.2, abs=0.05)
    assert max(map(abs, cliff.residuals_s[:3])) < 0.6
    assert max(map(abs, cliff.residuals_s[3:])) < 8.1
    for size, seconds in zip(sizes, elapsed, strict=True):
        assert memory_cliff_s(size, cliff) == pytest.approx(seconds, rel=0.05)


def test_terasort_of_10_tb_takes_12_waves_of_maps() -> None:
    """319 files of 10 TB in blocks of 1,280 MiB, on 640 virtual cores less the job's own."""
    blocks = 319 * math.ceil(10e12 / 319 / 1342177280)
    assert blocks == 319 * 24
    assert math.ceil(blocks / (640 - 1)) == 12


def reference() -> Path:
    folder = Path(os.environ.get("PUBLISHED_NUMBERS_DIR") or ROOT.parent / "shared" / "reference")
    if not (folder / "000_table14_testdfsio_results.csv").is_file():
        pytest.skip("the folder of published numbers is absent (PUBLISHED_NUMBERS_DIR)")
    return folder


def test_typed_figures_equal_the_published_tables() -> None:
    folder = reference()
    dfsio = {r["platform"]: r for r in rows(folder / "000_table14_testdfsio_results.csv")}
    for table, size in (("09", "1"), ("10", "3"), ("11", "10")):
        published = {
            r["platform"]: r for r in rows(folder / f"000_table{table}_terasort_{size}TB.csv")
        }
        for row in (row for row in WRITES if row["size_tb"] == size):
            assert float(row["teragen_s"]) == float(published[row["platform"]]["teragen_s"])
            assert float(row["testdfsio_s"]) == float(dfsio[row["platform"]][f"{size}TB_s"])
    scaling = rows(folder / "000_table21_logreg_scaling.csv")
    assert [tuple(map(str, row.values())) for row in LOGREG] == [tuple(r.values()) for r in scaling]
    for name, threads in (
        ("001_figure04_elapsed_ht_off", "off"),
        ("001_figure05_elapsed_ht_on", "on"),
    ):
        figure = {r["benchmark"]: r for r in rows(folder / f"{name}.csv")}
        for row in (row for row in WRITES_2011 if row["hyper_threading"] == threads):
            for platform in ("native_s", "vm1_s", "vm2_s", "vm4_s"):
                assert row[platform] == figure[row["benchmark"]].get(platform, "")
