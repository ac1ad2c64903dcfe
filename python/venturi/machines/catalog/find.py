"""Finds catalogs and instance types by name; suggests similar names if there is no match."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path

from venturi.core.errors import VenturiError
from venturi.core.wording import did_you_mean
from venturi.machines.catalog import DEFAULT, Catalog, InstanceType, load, load_shipped, shipped
from venturi.machines.catalog.units_check import ACCEPTED, Doubt, check_units, doubt_error


def find(name_or_path: str) -> Catalog:
    """The shipped catalog of this name, else the one in the file of this path.

    A shipped name wins over a file of the same name; `./name` means the file. Raises
    VEN-CATALOG-UNKNOWN if there is neither, VEN-CATALOG-FORMAT if the file isn't a catalog, and
    VEN-CATALOG-UNIT if a figure looks as if it were in a different unit.
    """
    catalog, doubts = find_with_doubts(name_or_path)
    if doubts:
        raise doubt_error(
            doubts,
            name_or_path,
            f"correct the figures; if they are right, write {ACCEPTED!r} into their notes",
        )
    return catalog


def find_with_doubts(name_or_path: str) -> tuple[Catalog, tuple[Doubt, ...]]:
    """Like `find`, but returns doubtful figures of a file instead of an error. Shipped ones are
    tested.
    """
    if name_or_path in shipped():
        return load_shipped(name_or_path), ()
    path = Path(name_or_path)
    if not _is_file(path):
        raise unknown(
            f"{name_or_path[:200]!r} is neither a shipped catalog nor a file",
            name_or_path[:200],
            shipped(),
            "shipped",
            {"catalog": name_or_path[:200]},
        )
    catalog = load(path)
    doubts = check_units(catalog)
    if doubts:  # doubts are rare, so line numbers are read only now
        doubts = check_units(catalog, places_of(path.read_text(encoding="utf-8"), str(path)))
    return catalog, doubts


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


def places_of(text: str, file: str) -> Mapping[tuple[str, str], str]:
    """(type, attribute) -> file and line of each value in the catalog `text`."""
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")), strict=True)
    return {
        (row["instance_type"].strip(), row["attribute"].strip()): f"{file}, line {reader.line_num}"
        for row in reader
    }


def type_named(catalog: Catalog, name: str) -> InstanceType:
    """The instance type `name` of `catalog`; VEN-CATALOG-UNKNOWN with near matches if none."""
    found = catalog.entries.get(name)
    if found is None:
        elsewhere = [each for each in shipped() if name in load_shipped(each).types]
        if elsewhere:
            raise VenturiError(
                "VEN-CATALOG-UNKNOWN",
                f"catalog {catalog.name} has no instance type {name!r}",
                where={"catalog": catalog.name, "instance_type": name},
                hint=f"it is in the catalog {elsewhere[0]}: add --catalog {elsewhere[0]}",
            )
        raise unknown(
            f"catalog {catalog.name} has no instance type {name!r}",
            name,
            catalog.types,
            "it has",
            {"catalog": catalog.name, "instance_type": name},
        )
    return found


def shipped_with(type_names: Iterable[str]) -> tuple[str, ...]:
    """The shipped catalogs to use by default: the default one, and others with types it lacks."""
    wanted = [name for name in type_names if name not in load_shipped(DEFAULT).entries]
    others = [n for n in shipped() if any(name in load_shipped(n).types for name in wanted)]
    return (DEFAULT, *others)


def unknown(
    message: str, name: str, known: Iterable[str], has: str, where: dict[str, object]
) -> VenturiError:
    """VEN-CATALOG-UNKNOWN, with a hint that lists `known` names similar to `name`."""
    return VenturiError(
        "VEN-CATALOG-UNKNOWN", message, where=where, hint=did_you_mean(name, known, has)
    )
