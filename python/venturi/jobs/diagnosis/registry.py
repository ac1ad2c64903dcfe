"""The functions of the rules: those in `rules` with the decorator `rule`, in the table's order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from venturi.jobs.diagnosis import rules
from venturi.jobs.diagnosis.case import Case, Hit
from venturi.jobs.diagnosis.table import load_rules

RuleFunction = Callable[[Case], Iterator[Hit]]
_FUNCTIONS: dict[str, RuleFunction] = {}


def rule(id_: str) -> Callable[[RuleFunction], RuleFunction]:
    """Decorate the function of the rule `id_` in `diagnosis.toml`."""

    def register(function: RuleFunction) -> RuleFunction:
        if _FUNCTIONS.setdefault(id_, function) is not function:
            raise ValueError(f"the rule {id_!r} has two functions")
        return function

    return register


@cache
def rule_functions() -> Mapping[str, RuleFunction]:
    """The function of each rule of the table; a rule or a function alone is a bug."""
    for module in iter_modules(rules.__path__):
        import_module(f"{rules.__name__}.{module.name}")
    table = load_rules()
    if alone := _FUNCTIONS.keys() ^ table.keys():
        raise ValueError(f"not both in diagnosis.toml and in rules/: {', '.join(sorted(alone))}")
    return {id_: _FUNCTIONS[id_] for id_ in table}
