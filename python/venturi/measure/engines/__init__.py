"""Engines a workload can run on: an explicit list. Nothing of an engine is imported before use."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from venturi.errors import ExitCode, VenturiError

if TYPE_CHECKING:
    from venturi.measure.engines.protocol import Engine

ENGINES = ("native", "mapreduce", "spark")


def engine(name: str, *, home: Path, environ: Mapping[str, str]) -> Engine:
    """The engine called `name`, or VEN-MEASURE-WORKLOAD. `home` is VENTURI_HOME."""
    if name == "native":
        from venturi.measure.engines.native import Native

        return Native(environ=environ)
    if name == "mapreduce":
        from venturi.measure.engines.mapreduce import MapReduce

        return MapReduce(home=home, environ=environ)
    if name == "spark":
        from venturi.measure.engines.spark import Spark

        return Spark(environ=environ)
    raise VenturiError(
        "VEN-MEASURE-WORKLOAD",
        f"there is no engine {name!r}",
        where={"value": name},
        hint="one of: " + ", ".join(ENGINES),
        exit_code=ExitCode.USAGE,
    )
