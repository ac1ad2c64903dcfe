"""Settings that an engine takes and then ignores, by how it is deployed, each with why.

A trial measured with one of them says nothing about it. So Venturi warns before the trial begins,
and on its record. Only what the engine's own documentation or its behaviour here settles is listed:
in RULES of a module `ignored` in the engine's folder. Such a module may also have `more`, for what
depends on a setting's value.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from venturi.measure.engines.registry import ENGINES

CODE = "VEN-ENGINE-IGNORED"


@dataclass(frozen=True, slots=True)
class IgnoredSettings:
    """Settings with names like `pattern` have no effect where the engine is deployed as one of
    `deployments` (empty: wherever; `url`: a master that is running); `instead` is what has one.
    """

    deployments: tuple[str, ...]
    pattern: str
    why: str
    source: str
    instead: str = ""


def without_effect(
    engine: str,
    deployment: str | None,
    settings: Mapping[str, str],
    scratch: Collection[Path] = (),
) -> Iterator[str]:
    """What to say of each of `settings` that has no effect; `scratch` are the folders named for
    local files, where these decide.
    """
    for setting, rule in ignored(engine, deployment, settings).items():
        yield in_words(engine, setting, rule, deployment)
    module = _module(engine)
    if module is not None and hasattr(module, "more"):
        yield from module.more(deployment, settings, scratch)


def rules_of(engine: str) -> tuple[IgnoredSettings, ...]:
    """The rules about the settings of `engine`."""
    module = _module(engine)
    rules: tuple[IgnoredSettings, ...] = () if module is None else module.RULES
    return rules


def _module(engine: str) -> ModuleType | None:
    name = f"{ENGINES[engine].package}.ignored"
    return None if find_spec(name) is None else import_module(name)


def ignored(
    engine: str, deployment: str | None, settings: Iterable[str]
) -> Mapping[str, IgnoredSettings]:
    """The settings that have no effect on `engine`, each with its rule.

    `deployment` is a name of the engine's, or the URL of a master that is there.
    """
    place = "url" if deployment is not None and "://" in deployment else deployment
    return {
        setting: rule
        for setting in settings
        for rule in rules_of(engine)
        if (not rule.deployments or place in rule.deployments)
        and fnmatchcase(setting, rule.pattern)
    }


def in_words(engine: str, setting: str, rule: IgnoredSettings, deployment: str | None) -> str:
    """`spark.executor.cores has no effect on spark local: ...; --threads has`."""
    where = f"{engine} {deployment}" if deployment else engine
    instead = f"; {rule.instead} has" if rule.instead else ""
    return f"{setting} has no effect on {where}: {rule.why} ({rule.source}){instead}"
