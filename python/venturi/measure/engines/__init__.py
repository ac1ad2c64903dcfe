"""Engines a workload can run on: an explicit list. Nothing of an engine is imported before use."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from venturi.errors import ExitCode, VenturiError
from venturi.wording import did_you_mean, near

if TYPE_CHECKING:
    from venturi.measure.engines.protocol import Engine

ENGINES = ("native", "mapreduce", "spark")
DEPLOYMENTS: Mapping[str, tuple[str, ...]] = {
    "native": (),
    "mapreduce": ("local", "cluster"),
    "spark": ("local", "standalone", "yarn"),
}
"""How each engine can be deployed; the first is what its name alone means. Spark also takes the URL
of a master that is there."""

CLUSTERS = frozenset({"cluster", "standalone", "yarn"})
"""Deployments whose daemons Venturi starts."""

ALIASES: Mapping[str, str] = {"hadoop": "mapreduce", "mr": "mapreduce", "pyspark": "spark"}
"""What else people call an engine."""

MOST_INSTANCES = 64
"""Executions of a workload at once, as one trial."""

ON_HDFS = frozenset({"cluster", "yarn"})
"""Deployments whose files are in HDFS."""


def split_spec(spec: str) -> tuple[str, str]:
    """The name and the deployment of `NAME[:DEPLOYMENT]`; the latter is empty if not chosen."""
    name, _, deployment = spec.partition(":")
    return name, deployment


def full_spec(spec: str) -> str:
    """`spec` with the engine's own name in place of an alias: `mapreduce:cluster`."""
    name, colon, deployment = spec.partition(":")
    return ALIASES.get(name.lower(), name) + colon + deployment


def engine(
    spec: str, *, home: Path, environ: Mapping[str, str], hadoop_conf: Path | None = None
) -> Engine:
    """The engine `NAME` or `NAME:DEPLOYMENT`, or VEN-MEASURE-WORKLOAD. `home` is VENTURI_HOME.

    `hadoop_conf` is the configuration folder of a Hadoop cluster that is there.
    """
    name, deployment = split_spec(spec)
    if name not in ENGINES:
        raise _unknown(f"there is no engine {name!r}", name, spec, ENGINES)
    known = DEPLOYMENTS[name]
    if deployment and deployment not in known and not (name == "spark" and ":" in deployment):
        raise _unknown(f"{name} cannot be deployed as {deployment!r}", deployment, spec, known)
    if name == "native":
        from venturi.measure.engines.native.engine import Native

        return Native(environ=environ)
    where = deployment or known[0]
    if name == "mapreduce":
        from venturi.measure.engines.hadoop.engine import MapReduce

        return MapReduce(home=home, environ=environ, deployment=where, hadoop_conf=hadoop_conf)
    from venturi.measure.engines.spark.engine import Spark

    return Spark(home=home, environ=environ, deployment=where, hadoop_conf=hadoop_conf)


def _unknown(problem: str, name: str, spec: str, known: tuple[str, ...]) -> VenturiError:
    hint = did_you_mean(name, known, "one of") if known else "name it alone"
    if known is ENGINES and (close := near(name, ALIASES)):
        hint = f"did you mean {ALIASES[close[0]]}?"
    return VenturiError(
        "VEN-MEASURE-WORKLOAD",
        problem,
        where={"value": spec},
        hint=hint,
        exit_code=ExitCode.USAGE,
    )
