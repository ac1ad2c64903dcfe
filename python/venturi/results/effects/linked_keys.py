"""Keys that are left out of strata because they change only together with the target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from venturi.record.query.columns import Column, combined
from venturi.record.query.trial_columns import DISK_FOLDERS, HOST_NAMES, MACHINES, ORIGIN, WORK
from venturi.record.vocabulary import same_thing
from venturi.results.compare.printed import KEY as PRINTED
from venturi.results.effects.strata import dependent_keys, partition

Integers = npt.NDArray[np.int64]

MACHINE_NAMES = frozenset(
    (*MACHINES, "cluster", "datanodes", "nodes", "workers", "machine", "machines", "provider")
)
"""Keys that are about machines: with them their names and number may change."""
PLATFORM = frozenset(("platform", "vms_per_host"))
"""Keys that name a platform: its machines and their settings follow from them."""
FACTORS = PLATFORM | {"hyper_threading"}
"""Keys that describe a platform on purpose, so keys that follow from them are part of them."""
_KIND = ("workload", "workload_version", "engine")
DIFFERENT_WORK = frozenset((*WORK, *ORIGIN, "engine"))
"""Keys that stay equal however they go along with the target: different work, another source."""


def linked_keys(
    keys: Iterable[str], target: Integers, columns: Mapping[str, Column]
) -> frozenset[str]:
    """The keys of `columns` that change only with `target`, the number of each trial's value of
    `keys`.

    Those about machines only if `keys` are: else other machines may be why times differ.
    """
    along = dependent_keys(target, columns) - DIFFERENT_WORK
    for key in {HOST_NAMES, DISK_FOLDERS} & columns.keys():
        # Facts of hosts that imported tables lack are unknown, not a different value.
        column = columns[key]
        known = np.array([value is not None for value in column.values], dtype=bool)[column.codes]
        known_of = {key: Column(column.values, column.codes[known])}
        if not known.all() and dependent_keys(target[known], known_of):
            along |= {key}
    along = along if MACHINE_NAMES & set(keys) else along - MACHINE_NAMES
    return along | followers(keys, target, columns)


def followers(
    keys: Iterable[str], target: Integers, columns: Mapping[str, Column]
) -> frozenset[str]:
    """The keys of `columns` that follow from a platform, if all `keys` describe one.

    In each kind of work, each value of `keys` has just one value of such a key: nodes and the
    memory of containers follow from the VMs per host. They are part of the platform.
    """
    wanted = set(keys)
    if not wanted or not wanted <= FACTORS:
        return frozenset()
    apart = DIFFERENT_WORK | {PRINTED} | (FACTORS - PLATFORM)
    if not wanted & PLATFORM:
        apart |= MACHINE_NAMES | PLATFORM
    kind = combined([columns[key] for key in _KIND if key in columns], len(target))[0]
    cell = kind * (int(target.max(initial=0)) + 1) + target
    return frozenset(
        key
        for key, column in columns.items()
        if key not in apart
        and _splits(cell, column) == len(np.unique(cell))
        and _splits(kind, column) > len(np.unique(kind))
    )


def without_followers(
    columns: Mapping[str, Column], x: str, by: Sequence[str]
) -> dict[str, Column]:
    """`columns` without the keys that follow from the platform, which names the curves itself."""
    platform = next((key for key in (*by, "platform") if key in PLATFORM & columns.keys()), None)
    if platform is None or x in PLATFORM:
        return dict(columns)
    others = {key: each for key, each in columns.items() if key not in (x, platform)}
    hidden = followers((platform,), columns[platform].codes, others)
    return {key: each for key, each in columns.items() if key not in hidden}


def _splits(parts: Integers, column: Column) -> int:
    """The number of pairs of a part and a value."""
    return len(np.unique(parts * len(column.values) + column.codes))


def other_names(keys: Iterable[str], columns: Mapping[str, Column]) -> frozenset[str]:
    """The keys of `columns` that are other names of `keys`, with values that go with theirs."""
    splits = {key: partition(columns[key].codes) for key in keys}
    return frozenset(
        name
        for name, column in columns.items()
        for key, split in splits.items()
        if name != key and same_thing(name, key) and np.array_equal(partition(column.codes), split)
    )
