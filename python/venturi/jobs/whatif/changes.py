"""Settings that the model understands, and the changes that a question asks for."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources

from venturi.core.errors import UsageError
from venturi.jobs.whatif.model import Codec, codecs_of
from venturi.jobs.whatif.setup import SetupChange
from venturi.jobs.whatif.task_plan import ADVISORY, MOST_BYTES, PARTITIONS, size_setting

CODEC, COMPRESS = "spark.io.compression.codec", "spark.shuffle.compress"
INSTANCES = "spark.executor.instances"
CORES, MEMORY = "spark.executor.cores", "spark.executor.memory"
MODELED = (PARTITIONS, ADVISORY, MOST_BYTES, CODEC, INSTANCES, CORES, MEMORY)
"""Settings that change a prediction."""
_COUNTS = {PARTITIONS, INSTANCES, CORES}
_SIZES = {ADVISORY, MOST_BYTES, MEMORY}


@dataclass(frozen=True, slots=True)
class JobChanges:
    """Differences from the recorded job: machines and executors, data, and settings.

    `data` is the size of the data relative to the recorded one. `settings` are the new values of
    modeled settings, `not_modeled` the others that the question names.
    """

    setup: SetupChange = field(default_factory=SetupChange)
    data: float = 1.0
    settings: Mapping[str, str] = field(default_factory=dict)
    not_modeled: tuple[str, ...] = ()


def settings_given(texts: Sequence[str]) -> dict[str, str]:
    """`KEY=VALUE` texts; values of modeled settings are checked."""
    found = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not key or not value:
            raise _bad(text, "is not KEY=VALUE", f"write it like {PARTITIONS}=400")
        if key in _COUNTS and not (value.isdecimal() and int(value) > 0):
            raise _bad(text, "is not a number above 0", f"write it like {key}=8")
        if key in _SIZES and size_setting({key: value}, key) <= 0:
            raise _bad(text, "is not a size above 0", f"write it like {key}=4g")
        found[key] = value
    return found


def _bad(text: str, problem: str, hint: str) -> UsageError:
    where = {"option": "--set", "value": text[:80]}
    return UsageError("VEN-UNIT-SYNTAX", f"--set {text[:80]} {problem}", where=where, hint=hint)


def codec_change(
    before: Mapping[str, str], after: Mapping[str, str]
) -> tuple[tuple[Codec, Codec] | None, str | None]:
    """The codecs before and after, None if they stay; and a codec that no table has, if any."""
    if before.get(COMPRESS) == "false" or CODEC not in after:
        return None, None
    table = tomllib.loads((resources.files(__package__) / "codecs.toml").read_text("utf-8"))
    old, new = (
        each.rpartition(".")[2].lower() for each in (before.get(CODEC, "lz4"), after[CODEC])
    )
    if old == new:
        return None, None
    if unknown := next((each for each in (old, new) if each not in table), None):
        return None, unknown
    return codecs_of(table, old, new), None
