"""What is known of an engine before anything of it is loaded."""

from __future__ import annotations

from dataclasses import dataclass

MOST_INSTANCES = 64
"""Executions of a workload at once, as one trial, on an engine that can do that."""


@dataclass(frozen=True, slots=True)
class EngineKind:
    """An engine: its `name`, and what else people call it (`aliases`).

    `engine` is the class that makes it, as `module:Class`. `programs` is the module of a workload's
    family that has its programs. `prefixes` are how the names of its own settings begin.
    `deployments` are how it can be deployed, the first what its name alone means; with `takes_url`
    also the URL of a master that is there. Venturi starts the daemons of the `clusters` among them;
    files are in HDFS for those in `on_hdfs`. `many_at_once`: it can execute a workload several
    times at once.
    """

    name: str
    engine: str
    programs: str
    aliases: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    deployments: tuple[str, ...] = ()
    takes_url: bool = False
    clusters: frozenset[str] = frozenset()
    on_hdfs: frozenset[str] = frozenset()
    many_at_once: bool = False
