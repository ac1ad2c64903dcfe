"""The engines: each folder here that has a KIND. The rest of it is loaded on first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import MappingProxyType
from typing import TYPE_CHECKING

from venturi.core.errors import UsageError, VenturiError
from venturi.core.wording import did_you_mean, near
from venturi.measure import engines
from venturi.measure.engines.kind import EngineKind
from venturi.measure.workloads.registry import program, runs

if TYPE_CHECKING:
    from venturi.measure.engines.nodes import ClusterNodes
    from venturi.measure.engines.protocol import Fetched, WorkloadEngine
    from venturi.measure.hosts.host import LiveHost
    from venturi.measure.workloads.definition import Definition


def _kinds() -> dict[str, EngineKind]:
    folders = (each.name for each in iter_modules(engines.__path__) if each.ispkg)
    modules = [import_module(f"{engines.__name__}.{folder}") for folder in folders]
    found = [module.KIND for module in modules if hasattr(module, "KIND")]
    return {kind.name: kind for kind in sorted(found, key=lambda each: (each.order, each.name))}


ENGINES: Mapping[str, EngineKind] = MappingProxyType(_kinds())
DEFAULT = next(iter(ENGINES))
"""The engine that is used if none is named."""
_ALIASES = {alias: kind.name for kind in ENGINES.values() for alias in kind.aliases}


def split_spec(spec: str) -> tuple[str, str]:
    """The name and the deployment of `NAME[:DEPLOYMENT]`; the latter is empty if not chosen."""
    name, _, deployment = spec.partition(":")
    return name, deployment


def full_spec(spec: str) -> str:
    """`spec` with the engine's own name in place of an alias: `mapreduce:cluster`."""
    name, colon, deployment = spec.partition(":")
    return own_name(name) + colon + deployment


def own_name(name: str) -> str:
    """Return the engine's own name for `name`, which may be an alias; unknown names are
    unchanged.
    """
    return _ALIASES.get(name.lower(), name)


def starts_daemons(spec: str) -> bool:
    """Whether Venturi starts the daemons of the deployment in `spec`."""
    name, deployment = split_spec(spec)
    return name in ENGINES and deployment in ENGINES[name].clusters


def many_at_once(spec: str) -> bool:
    """Return whether the engine in `spec` can run several copies of a workload concurrently."""
    name = split_spec(spec)[0]
    return name in ENGINES and ENGINES[name].many_at_once


def hdfs_spec() -> str:
    """Return the engine that brings the HDFS for a lab's data."""
    return next(name for name, kind in ENGINES.items() if kind.brings_hdfs)


def on_hdfs(spec: str) -> bool:
    """Whether the files of the deployment in `spec` are in HDFS."""
    name, deployment = split_spec(spec)
    return name in ENGINES and deployment in ENGINES[name].on_hdfs


def flags_of(kind: EngineKind, definition: Definition) -> frozenset[str]:
    """The options of `venturi run` that only this engine takes, for `definition`."""
    from venturi.measure.workloads.programs import AgentSort  # noqa: PLC0415 - `venturi --help` needs no programs

    if not kind.flags or not runs(definition.name, kind.programs):
        return frozenset()
    is_sort = isinstance(program(definition, kind.programs), AgentSort)
    return kind.flags if is_sort else frozenset()


def engine(
    spec: str,
    host: LiveHost,
    *,
    home: Path,
    environ: Mapping[str, str],
    hadoop_conf: Path | None = None,
    nodes: ClusterNodes | None = None,
) -> WorkloadEngine:
    """Make the engine `NAME` or `NAME:DEPLOYMENT` on `host`; raise VEN-MEASURE-WORKLOAD if
    impossible. `home` is its VENTURI_HOME.

    `hadoop_conf` is the configuration folder of an existing Hadoop cluster. With `nodes` its
    daemons run on these, and `host` is that of their client.
    """
    name, deployment = split_spec(spec)
    if name not in ENGINES:
        raise _unknown_engine(name, spec)
    kind = ENGINES[name]
    url = kind.urls and ":" in deployment
    if nodes is not None and deployment not in kind.clusters:
        able = [f"{each.name}:{way}" for each in ENGINES.values() for way in sorted(each.clusters)]
        problem = f"{spec} runs on one host, not on a cluster"
        raise _refused(problem, spec, f"use one of {', '.join(able)}, or omit --cluster")
    if deployment and deployment not in kind.deployments and not url:
        problem = f"{name} cannot be deployed as {deployment!r}"
        known = kind.deployments
        hint = did_you_mean(deployment, known, "one of") if known else "give only its name"
        raise _refused(problem, spec, hint)
    module, _, of = kind.engine.partition(":")
    made: WorkloadEngine = getattr(import_module(module), of)(
        host,
        home=home,
        environ=environ,
        deployment=deployment or next(iter(kind.deployments), None),
        hadoop_conf=hadoop_conf,
        nodes=nodes,
    )
    return made


def install(
    name: str, host: LiveHost, home: Path, environ: Mapping[str, str], say: Callable[[str], None]
) -> Fetched:
    """Fetch the engine, which must have an installer; `say` receives its progress."""
    module, _, function = ENGINES[name].installer.partition(":")
    fetched: Fetched = getattr(import_module(module), function)(host, home, environ, say)
    return fetched


def _unknown_engine(name: str, spec: str) -> VenturiError:
    hint = did_you_mean(name, ENGINES, "one of")
    if close := near(name, _ALIASES):
        hint = f"did you mean {_ALIASES[close[0]]}?"
    return _refused(f"there is no engine {name!r}", spec, hint)


def _refused(problem: str, spec: str, hint: str) -> VenturiError:
    return UsageError(
        "VEN-MEASURE-WORKLOAD",
        problem,
        where={"value": spec},
        hint=hint,
    )
