"""The reference page of the files that users write or exchange, from the models that read them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel

from venturi.machines.catalog import ATTRIBUTES, COLUMNS, ValueKind
from venturi.machines.catalog.importers import onprem
from venturi.machines.cost.job import JobFile
from venturi.machines.health.devices import DiskClass
from venturi.machines.health.doctor import DoctorRule
from venturi.measure.clusters.cluster_file import (
    ClusterFile,
    HostTable,
    NetworkTable,
    PriceTable,
    RackTable,
)
from venturi.measure.studies.plan_file import PlanFile
from venturi.record.importing import exchange

EXAMPLES = Path(__file__).parent.parent / "docs" / "reference" / "examples"


def formats() -> Iterator[str]:
    """The lines of the page."""
    yield "The files that you write for Venturi. If you use an unknown field, the error names it"
    yield "with its line. Sizes and durations are text with a unit, such as `100TB` or `10min`, or"
    yield "numbers: bytes and seconds. 1 MB is 10^6 bytes, 1 MiB is 2^20."
    yield from _part("Job file", "`predict`, `advise hardware` and `simulate --job FILE.toml`.")
    yield from _fields(JobFile)
    yield from _example("job.toml")
    yield from _part(
        "Plan",
        "`venturi plan check`, `start`, `status`, `resume FILE.toml`; the "
        "[guide](../guide/measure/plans.md) explains them.",
    )
    yield from _fields(PlanFile)
    for name in ("factors", "clusters", "budget", "failure"):
        part = PlanFile.model_fields[name].annotation
        several = get_args(part)  # a dictionary of tables
        part = several[1] if several else part
        assert isinstance(part, type)
        assert issubclass(part, BaseModel)
        yield from ("", f"### [{name}.NAME]" if several else f"### [{name}]", "")
        yield from _fields(part)
    yield from _example("plan.toml")
    yield from _part(
        "Cluster",
        "`venturi cluster check FILE.toml`, `--cluster` of other verbs; "
        "the [guide](../guide/measure/clusters.md) explains it.",
    )
    yield from _fields(ClusterFile)
    for title, table in (
        ("[[hosts]]", HostTable),
        ("[networks.NAME]", NetworkTable),
        ("[racks.NAME]", RackTable),
        ("[hosts.price]", PriceTable),
    ):
        yield from ("", f"### {title}", "")
        yield from _fields(table)
    yield from _example("cluster.toml")
    yield from _part(
        "Sheet of own machines",
        "`venturi catalog import onprem FILE.csv -o own.csv` "
        "converts it to a catalog, and `--own years=4,...` prices it. CSV with one "
        "type of machine per row, and the columns in any order.",
    )
    yield from ("| column | required | content |", "|---|---|---|")
    for name, meaning in onprem.COLUMNS.items():
        yield f"| `{name}` | {'yes' if name in onprem.REQUIRED else ''} | {meaning} |"
    yield from _example("machines.csv")
    yield from _part(
        "Catalog",
        "`--catalog`, `--measured` and `venturi catalog`. CSV with one value "
        f"per row and the columns `{','.join(COLUMNS)}` in this order (`low` and "
        "`high` may be left out). `kind` is one of "
        + ", ".join(f"`{kind}`" for kind in ValueKind)
        + ". An unknown value is empty, and its note gives the reason.",
    )
    yield from ("| attribute | unit | meaning |", "|---|---|---|")
    for name, (unit, meaning) in ATTRIBUTES.items():
        yield f"| `{name}` | {unit or 'text'} | {meaning} |"
    yield from _example("catalogue.csv")
    yield from _part("Archive", "`venturi export -o FILE.zip`, `import` and `push`.")
    assert exchange.__doc__ is not None
    yield from exchange.__doc__.splitlines()[2:]
    for name in (exchange.MANIFEST, exchange.RECORDS):
        yield from _example(f"archive/{name}")
    yield from _part(
        "Advice tables",
        "Part of the package, `venturi/machines/health`; each number has its source.",
    )
    for name, made in (
        ("doctor.toml, [[rule]]", DoctorRule),
        ("devices.toml, [[disk]]", DiskClass),
    ):
        yield from ("", f"### {name}", "", "| field | default | meaning |", "|---|---|---|")
        told = _head(name.partition(",")[0])
        for field in dataclasses.fields(made):
            default = "required" if field.default is dataclasses.MISSING else str(field.default)
            yield f"| `{field.name}` | {default} | {told[field.name]} |"
        yield from _example(name.partition(",")[0])


def _part(title: str, use: str) -> Iterator[str]:
    yield from ("", f"## {title}", "", use, "")


def _fields(model: type[BaseModel]) -> Iterator[str]:
    yield from ("| field | default | meaning |", "|---|---|---|")
    for name, field in model.model_fields.items():
        assert field.description, f"{model.__name__}.{name} has no description"
        if field.is_required():
            default = "required"
        elif isinstance(field.default, BaseModel):
            default = ""
        else:
            default = "" if field.default in (None, (), {}, "") else _value(field.default)
        yield f"| `{name}` | {default} | {field.description} |"


def _value(value: Any) -> str:
    return f"`{json.dumps(list(value) if isinstance(value, tuple) else value)}`"


def _example(name: str) -> Iterator[str]:
    """An example that a test reads as Venturi does."""
    text = (EXAMPLES / name).read_text("utf-8").rstrip()
    yield from ("", f"```{name.rpartition('.')[2].removeprefix('nd')}", text, "```")


def _head(table: str) -> Mapping[str, str]:
    """Field -> meaning, from the comments that open an advice table."""
    told: dict[str, str] = {}
    folder = Path(str(import_module("venturi.machines.health").__file__)).parent
    name = ""
    for line in (folder / table).read_text("utf-8").splitlines():
        if not line.startswith("#"):
            break
        text = line.removeprefix("#")
        key, _, meaning = text.strip().partition("  ")
        if meaning.strip() and not text.startswith("     "):
            for name in key.split(", "):
                told[name] = meaning.strip()
        elif name and text.startswith("     "):
            told[name] += " " + text.strip()
    return told
