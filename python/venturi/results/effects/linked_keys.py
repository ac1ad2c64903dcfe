"""Keys that are left out of strata because they change only together with the target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from venturi.record.query.columns import Column
from venturi.record.query.trial_columns import DISK_FOLDERS, HOST_NAMES, MACHINES, ORIGIN, WORK
from venturi.record.vocabulary import same_thing
from venturi.results.effects.strata import dependent_keys, partition

Integers = npt.NDArray[np.int64]

MACHINE_NAMES = frozenset(
    (*MACHINES, "cluster", "datanodes", "nodes", "workers", "machine", "machines", "provider")
)
"""Keys that are about machines: with them their names and number may change."""
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
    return along if MACHINE_NAMES & set(keys) else along - MACHINE_NAMES


def other_names(keys: Iterable[str], columns: Mapping[str, Column]) -> frozenset[str]:
    """The keys of `columns` that are other names of `keys`, with values that go with theirs."""
    splits = {key: partition(columns[key].codes) for key in keys}
    return frozenset(
        name
        for name, column in columns.items()
        for key, split in splits.items()
        if name != key and same_thing(name, key) and np.array_equal(partition(column.codes), split)
    )
