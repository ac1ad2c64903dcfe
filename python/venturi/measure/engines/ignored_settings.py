"""Settings that an engine accepts and then ignores, by its deployment, each with the reason.

A trial with such a setting says nothing about it, so Venturi warns before the trial and in its
record. Only settings with proof in the engine's documentation or from its behavior here are listed,
in RULES of a module `ignored` in the engine's folder. Such a module may also have `more`, for
warnings that depend on a setting's value.
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
    """Settings with names that match `pattern` have no effect with the engine's `deployments`
    (empty: all; `url`: a running master). `instead` names the setting that works.
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
    """Yield a warning for each of `settings` without effect; `scratch` are the folders chosen for
    local files, which some rules need.
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
    """Return the settings without effect on `engine`, each with its rule.

    `deployment` is one of the engine's names, or the URL of an existing master.
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
