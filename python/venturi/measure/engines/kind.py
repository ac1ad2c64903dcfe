"""An engine's declaration of its capabilities, known before its code is loaded."""

from __future__ import annotations

from dataclasses import dataclass

MOST_INSTANCES = 64
"""Most concurrent executions of a workload in one trial, on an engine that supports them."""
_FAMILIES = "venturi.measure.workloads"


@dataclass(frozen=True, slots=True)
class EngineKind:
    """An engine and its capabilities. Code checks these and never compares the name."""

    name: str
    engine: str
    """The class that makes it, as `module:Class` in a module of its folder."""
    order: int = 100
    """Its place in lists, before the name; the first one is the default."""
    aliases: tuple[str, ...] = ()
    """Other names that users write."""
    prefixes: tuple[str, ...] = ()
    """Prefixes of the engine's own settings."""
    flags: frozenset[str] = frozenset()
    """Options of `venturi run` that only it takes, where the agent's sort runs the workload."""
    deployments: tuple[str, ...] = ()
    """The ways to deploy it; its name alone means the first."""
    urls: str = ""
    """How the URL of a running master begins; empty: it takes none."""
    clusters: frozenset[str] = frozenset()
    """The deployments for which Venturi starts daemons."""
    on_hdfs: frozenset[str] = frozenset()
    """The deployments with files in HDFS."""
    brings_hdfs: bool = False
    """Its installation has the HDFS in which a lab has its data."""
    many_at_once: bool = False
    """It can run several copies of a workload concurrently."""
    records_defaults: bool = True
    """Its trials record threads and memory even if they are defaults."""
    records_stages: bool = False
    """Its trials record how each of its stages spent a phase."""
    modelled: frozenset[str] = frozenset()
    """The jobs with a time that Venturi can predict without an earlier trial."""
    installer: str = ""
    """The function that fetches it, as `module:function`; empty if Venturi can't."""

    @property
    def package(self) -> str:
        """Its folder, as it is imported."""
        return self.engine.partition(":")[0].rpartition(".")[0]

    @property
    def programs(self) -> tuple[str, str]:
        """The modules that may have its programs of a workload's family."""
        return f"{_FAMILIES}.{{family}}.on_{self.name}", f"{self.package}.on_{{family}}"

    @property
    def usage(self) -> str:
        """How to name it and its deployments: `spark[:standalone|:yarn|:spark://HOST:PORT]`."""
        ways = [*self.deployments[1:], *([f"{self.urls}HOST:PORT"] if self.urls else [])]
        return self.name + (f"[{'|'.join(f':{way}' for way in ways)}]" if ways else "")
