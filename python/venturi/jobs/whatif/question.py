"""The question of a what-if answer, as a user writes it: in options of the verb, or in an address.

Messages name the verb's options; the parameters of an address have the same names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from venturi.core.errors import UsageError
from venturi.jobs.whatif.changes import (
    CORES,
    INSTANCES,
    MEMORY,
    MODELED,
    JobChanges,
    codec_change,
    settings_given,
)
from venturi.jobs.whatif.setup import SetupChange, disk_given, positive_rate
from venturi.jobs.whatif.task_plan import size_setting
from venturi.machines.advice.hardware import type_and_nodes
from venturi.machines.catalog import Catalog, InstanceType
from venturi.machines.catalog.find import type_named
from venturi.machines.cost.choices import MOST_NODES
from venturi.record.trial import Trial

_MOST_TARGETS = 6
_MOST_FACTOR = 1e6


@dataclass(frozen=True, slots=True)
class WhatIfQuestion:
    """The changes of a question. None stays as recorded.

    `machines` are types with a number of machines, such as `i4i.4xlarge:8`. `executors` is a number
    or a range, `data` a factor, and `settings` are `KEY=VALUE`.
    """

    machines: Sequence[str] = ()
    executors: str | None = None
    cores_per_executor: int | None = None
    disk: str | None = None
    network: str | None = None
    data: str | None = None
    settings: Sequence[str] = ()
    usd_per_node_hour: float | None = None

    def type_names(self) -> list[str]:
        """The names of the machine types."""
        return [_type_and_nodes(text)[0] for text in self.machines]

    def changes(self) -> list[JobChanges]:
        """The changes for each number of executors, on the machines that the job ran on."""
        given = settings_given(self.settings)
        heap = size_setting(given, MEMORY) if MEMORY in given else None
        if self.disk is not None:
            disk_given(self.disk)
        network = self.network
        change = SetupChange(
            cores_per_executor=self.cores_per_executor
            or (int(given[CORES]) if CORES in given else None),
            heap_bytes=heap,
            disk=self.disk,
            network_bytes_per_s=None if network is None else positive_rate("--network", network),
            usd_per_host_hour=self.usd_per_node_hour,
        )
        modeled = {key: value for key, value in given.items() if key in MODELED}
        _, unknown = codec_change({}, modeled)
        left_out = [key for key in given if key not in MODELED]
        left_out += [f"codec {unknown}"] if unknown else []
        factor = 1.0 if self.data is None else _factor(self.data)
        return [
            JobChanges(replace(change, executors=count), factor, modeled, tuple(left_out))
            for count in _counts(self.executors or given.get(INSTANCES))
        ]

    def targets(self, catalogs: Sequence[Catalog]) -> list[JobChanges]:
        """The changes for each of the machines and each number of executors."""
        changes = self.changes()
        named = [_type_and_nodes(text) for text in self.machines]
        return [
            replace(change, setup=replace(change.setup, type=type_in(catalogs, name), nodes=nodes))
            for name, nodes in named
            for change in changes
        ] or changes


def type_in(catalogs: Sequence[Catalog], name: str) -> InstanceType:
    """The type of this name; VEN-CATALOG-UNKNOWN with near names."""
    catalog = next((each for each in catalogs if name in each.types), catalogs[0])
    return type_named(catalog, name)


def recorded_type(catalogs: Iterable[Catalog], trial: Trial) -> InstanceType | None:
    """The type that the trial's cluster names, if a catalog has it."""
    name = trial.cluster.instance_type or ""
    return next((each.types[name] for each in catalogs if name in each.types), None)


def _type_and_nodes(text: str) -> tuple[str, int | None]:
    found = type_and_nodes(text)
    if found is None:
        problem = f"is not TYPE or TYPE:NODES, with at most {MOST_NODES:,} nodes"
        raise _syntax_error("--on", text[:80], problem, "i4i.4xlarge:8")
    return found


def _syntax_error(option: str, value: str, problem: str, example: str) -> UsageError:
    return UsageError(
        "VEN-UNIT-SYNTAX",
        f"{option} {value!r} {problem}",
        where={"option": option, "value": value},
        hint=f"write it like {example}",
    )


def _counts(text: str | None) -> list[int | None]:
    """The numbers of executors to try: of a range its ends, and powers of two between them."""
    if text is None:
        return [None]
    match = re.fullmatch(r"(\d{1,6})(?:\.\.(\d{1,6}))?", text.strip())
    low, high = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 0 < low <= high:
        problem = "is not a number above 0, or a range"
        raise _syntax_error("--executors", text[:40], problem, "8 or 4..64")
    powers = [2**n for n in range(20) if low < 2**n < high]
    step = max(-(-len(powers) // (_MOST_TARGETS - 2)), 1)
    return list(dict.fromkeys([low, *powers[::-1][::step][::-1], high]))


def _factor(text: str) -> float:
    match = re.fullmatch(r"(\d*\.?\d+)x?", text.strip())
    value = float(match[1]) if match else 0.0
    if not 1 / _MOST_FACTOR <= value <= _MOST_FACTOR:
        raise _syntax_error("--data", text[:40], "is not a factor above 0", "2x or 0.5x")
    return value
