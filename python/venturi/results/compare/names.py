"""Names of groups that are shown together: only the settings that distinguish them.

The caption has the values that all groups share, once. Different names of the same thing (network
and net) are one key. Keys that no group states are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from venturi.core.units import size_text
from venturi.record.trial import Scalar, Trial
from venturi.record.vocabulary import PREFIX, SOURCE, WORDS, explained, same_thing

PARTS_MAX = 4  # of a name, unless more are needed to tell the groups apart
CAPTION_MAX = 8
_GENERIC = frozenset({"none", "default", "unknown", "yes", "no", "true", "false", "all", "any"})
_ORDER = {name: place for place, name in enumerate(n for word in WORDS for n in word.names)}
_NEVER = frozenset({"id", "group", "elapsed_s", "state", "repetition", "warm_up", "started_at"})
_DERIVED = (
    "host_names",
    "disk_folders",
    "disks.",
    "input_records",
    "source",
    "engine_version",
)
"""Keys that another, shorter key usually implies."""
_VALUE_CHARACTERS_MAX = 40
_SELDOM = ("workload_version", "engine_version", SOURCE, "provenance")  # last in a caption


@dataclass(frozen=True, slots=True)
class Names:
    """`names` of the groups in their order, `keys` by which they differ, `caption` with their
    common values (`common`), and `explained`, the meaning of coded values in the names.
    """

    names: tuple[str, ...]
    keys: tuple[str, ...]
    caption: str
    common: Mapping[str, Scalar]
    explained: Mapping[str, str]


def name_groups(groups: Sequence[Mapping[str, Scalar]]) -> Names:
    """Names for `groups`, each given by the values of its keys (None or absent: not stated).

    A name has the values of up to four differing keys, or of more if names would otherwise be
    equal. It leaves out the keys that its group doesn't state, unless it states none. Groups that
    don't differ get a number.
    """
    columns = _columns(groups)
    common = {
        key: values[0]
        for key, values in columns.items()
        if values and len({_plain(value) for value in values}) == 1
    }
    differing = [key for key in columns if key not in common]
    keys = tuple(key for key in differing if not _is_redundant(key, differing, columns))
    if keys != (SOURCE,):  # it only names groups that nothing else does
        keys = tuple(key for key in keys if key != SOURCE)
    named = {key: _with_key(columns[key]) for key in keys}
    names: list[str] = []
    for used in range(min(PARTS_MAX, len(keys)), len(keys) + 1):
        names = [_name(keys[:used], columns, named, place) for place in range(len(groups))]
        if len(set(names)) == len(names):
            break
    names = [name or "all trials" for name in names]
    if len(set(names)) < len(names):
        names = [f"{name} ({place})" for place, name in enumerate(names, start=1)]
    return Names(
        tuple(names), keys, _caption(common), common, explained({key: columns[key] for key in keys})
    )


def _name(
    keys: Sequence[str],
    columns: Mapping[str, Sequence[Scalar]],
    named: Mapping[str, bool],
    place: int,
) -> str:
    stated = [key for key in keys if columns[key][place] is not None]
    parts = [value_text(key, columns[key][place], named[key]) for key in stated or keys]
    return (" " if not any(" " in part for part in parts) else ", ").join(parts)


def _number(text: str) -> float | None:
    from venturi.record.store.tables import number_of  # noqa: PLC0415 - loads SQLAlchemy

    return number_of(text)


def _columns(groups: Sequence[Mapping[str, Scalar]]) -> dict[str, list[Scalar]]:
    """The values of each key that any group states, in display order; equal synonyms
    are one key.
    """
    every = [
        key
        for key in dict.fromkeys(key for group in groups for key in group)
        if key.removeprefix(PREFIX) not in _NEVER
    ]
    every.sort(
        key=lambda key: (
            key.startswith(_DERIVED),
            _ORDER.get(key.removeprefix(PREFIX), len(_ORDER)),
            key,
        )
    )
    found: dict[str, list[Scalar]] = {}
    for key in every:
        values = [group.get(key) for group in groups]
        if all(value is None for value in values):
            continue
        twin = any(
            same_thing(key, other) and list(map(_plain, values)) == list(map(_plain, known))
            for other, known in found.items()
        )
        if not twin:
            found[key] = values
    return found


def _is_redundant(
    key: str, differing: Sequence[str], columns: Mapping[str, Sequence[Scalar]]
) -> bool:
    """Whether a derived key adds nothing to another, non-derived key."""
    if not key.startswith(_DERIVED):
        return False
    for other in differing:
        if not other.startswith(_DERIVED):
            pairs = set(zip(map(_plain, columns[other]), map(_plain, columns[key]), strict=True))
            if len(pairs) == len({first for first, _ in pairs}):
                return True
    return False


def _plain(value: Scalar) -> str | float | None:
    """Normalize a value: 2, 2.0 and "2" are equal."""
    if value is None or isinstance(value, bool):
        return None if value is None else str(value).lower()
    number = float(value) if isinstance(value, int | float) else _number(value)
    return value if number is None else number


def _with_key(values: Sequence[Scalar]) -> bool:
    """Whether a key's values need the key's name: numbers, flags, and words such as none."""
    return any(
        not isinstance(value, str) or _number(value) is not None or value.lower() in _GENERIC
        for value in values
        if value is not None
    )


def value_text(key: str, value: Scalar, with_key: bool = True) -> str:
    """`SSD`, `maps 8`, `block_bytes 64 MiB`, `disk not stated`."""
    plain = key.removeprefix(PREFIX)
    if value is None:
        return f"{plain} not stated"
    told = str(value).lower() if isinstance(value, bool) else str(value)
    number = _number(told)
    if number is not None and plain.endswith("_bytes"):
        told = size_text(number)
    if len(told) > _VALUE_CHARACTERS_MAX:
        told = f"{told[: _VALUE_CHARACTERS_MAX - 3]}..."
    return f"{plain} {told}" if with_key or number is not None else told


def _caption(common: Mapping[str, Scalar]) -> str:
    rarely = (*_SELDOM, *_DERIVED)
    keys = [key for key in common if not key.removeprefix(PREFIX).startswith(rarely)]
    parts = [
        value_text(key, common[key], key not in ("workload", "scale", "engine")) for key in keys
    ]
    more = len(parts) - CAPTION_MAX
    return ", ".join(parts[:CAPTION_MAX]) + (f" and {more} more equal keys" if more > 0 else "")


def settings_of(trial: Trial) -> dict[str, Scalar]:
    """All settings of `trial`, key by key; its group's key is a digest of them."""
    workload, cluster = trial.workload, trial.cluster
    found: dict[str, Scalar] = {
        "workload": workload.name,
        "workload_version": workload.version,
        "scale": workload.scale,
        "input_bytes": workload.input_bytes,
        "input_records": workload.input_records,
        "engine": trial.engine.name,
        "engine_version": trial.engine.version,
        "instance_type": cluster.instance_type,
        "network": cluster.network,
        "hosts": len(cluster.hosts) or None,
        "host_names": ", ".join(sorted(host.name for host in cluster.hosts)) or None,
        "provenance": trial.provenance.kind.value,
        "source": trial.provenance.source,
        **{f"disks.{role}": ", ".join(places) for role, places in cluster.disks_by_role.items()},
    }
    for key, value in trial.configuration.items():
        found[PREFIX + key if key in found else key] = value
    return found
