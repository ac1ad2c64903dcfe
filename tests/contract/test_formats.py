"""The examples of docs/reference/formats.md, read as Venturi reads such files."""

from __future__ import annotations

import tomllib
import zipfile
from datetime import date
from pathlib import Path

from pydantic import TypeAdapter

from venturi.core.settings import Settings
from venturi.machines import catalog
from venturi.machines.catalog.importers import onprem
from venturi.machines.catalog.importers.reading import CatalogSource, ImportOptions
from venturi.machines.catalog.units_check import check_units
from venturi.machines.cost.choices import Durability
from venturi.machines.cost.job import parse_job
from venturi.machines.health.devices import DiskClass
from venturi.machines.health.doctor import DoctorRule, load_rules
from venturi.measure.clusters.cluster_file import parse_cluster
from venturi.measure.engines.registry import ENGINES
from venturi.measure.studies.plan_file import EngineWords, parse_plan
from venturi.record.importing.containers import MANIFEST, RECORDS
from venturi.record.importing.exchange import import_archive
from venturi.record.store.repository import TrialRepository

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "formats.md"
EXAMPLES = ROOT / "docs" / "reference" / "examples"


def example(name: str) -> str:
    """The example as the page shows it, which is the file."""
    text = (EXAMPLES / name).read_text()
    assert text in PAGE.read_text()
    return text


def test_job() -> None:
    job = parse_job(example("job.toml"))
    assert (job.input_bytes, job.durability) == (10e12, Durability.REPLICATED)


def test_plan() -> None:
    workloads = frozenset({"terasort"})
    engines = {"native": EngineWords(workloads, (), ENGINES["native"].deployments)}
    plan, mistakes = parse_plan(example("plan.toml"), engines, EXAMPLES, EXAMPLES, Path.read_text)
    assert mistakes == ()
    assert plan is not None
    assert len(plan.combinations) == 6  # 8, without 4 GB on one thread


def test_cluster() -> None:
    spec, mistakes = parse_cluster(example("cluster.toml"), EXAMPLES / "cluster.toml")
    assert mistakes == ()
    assert spec is not None
    assert (len(spec.hosts), spec.address(spec.master)) == (18, "10.1.0.1")


def test_sheet_of_own_machines() -> None:
    source = CatalogSource("machines.csv", example("machines.csv"))
    imported = onprem.read([source], ImportOptions(as_of=date(2025, 9, 1)))
    assert not imported.refused
    assert imported.catalog.types["flash-node"].number("disk_count") == 4


def test_catalogue() -> None:
    found = catalog.parse(example("catalogue.csv"), "example")
    assert check_units(found) == ()
    assert found.types["i2.8xlarge"].number("storage_rate") == 1738


def test_advice_tables() -> None:
    (rule,) = TypeAdapter(tuple[DoctorRule, ...]).validate_python(
        tomllib.loads(example("doctor.toml"))["rule"]
    )
    assert rule in load_rules()
    (disk,) = TypeAdapter(tuple[DiskClass, ...]).validate_python(
        tomllib.loads(example("devices.toml"))["disk"]
    )
    assert disk.read_mb_per_s == (500, 560)


def test_every_example_is_on_the_page() -> None:
    for file in EXAMPLES.rglob("*.*"):
        example(str(file.relative_to(EXAMPLES)))


def test_archive(tmp_path: Path, settings: Settings) -> None:
    with zipfile.ZipFile(tmp_path / "example.zip", "w") as archive:
        for name in (MANIFEST, RECORDS):
            archive.writestr(name, example(f"archive/{name}"))
    with TrialRepository.open(settings) as repository:
        assert import_archive(repository, tmp_path / "example.zip").refused == ()
