"""All workloads: the definitions of all families, their scales, their programs.

A family is a folder here with `definition.py`: WORKLOADS, `size` and `size_of_bytes`, and SPACE for
those that need more than usual. Next to it are `data.py` (`write`) if the agent doesn't make the
input, `check.py` (`check`) unless it is that of any sort, and a module of PROGRAMS for each engine
on which the family runs, see `programs`. An engine may have such modules in its own folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from types import MappingProxyType, ModuleType
from typing import Any

from venturi.core.errors import UsageError
from venturi.core.wording import did_you_mean
from venturi.measure import workloads
from venturi.measure.workloads.definition import SCALES, Definition, Size
from venturi.record.trial import Scalar


def _families() -> Iterator[ModuleType]:
    for folder in iter_modules(workloads.__path__):
        definitions = f"{workloads.__name__}.{folder.name}.definition"
        if folder.ispkg and find_spec(definitions) is not None:
            yield import_module(definitions)


_FAMILIES = tuple(_families())
WORKLOADS: tuple[Definition, ...] = tuple(each for module in _FAMILIES for each in module.WORKLOADS)
_FAMILY: Mapping[str, ModuleType] = MappingProxyType(
    {each.name: module for module in _FAMILIES for each in module.WORKLOADS}
)
_SPACE = (2.0, 1.1)  # shuffled data and the engine's own copies; a little more than comes in
_BY_NAME: Mapping[str, Definition] = MappingProxyType({each.name: each for each in WORKLOADS})


def workload(name: str) -> Definition:
    """The workload called `name`, or VEN-MEASURE-WORKLOAD."""
    if name not in _BY_NAME:
        raise UsageError(
            "VEN-MEASURE-WORKLOAD",
            f"there is no workload {name!r}",
            where={"value": name},
            hint=f"{did_you_mean(name, _BY_NAME)} (`venturi workloads` lists them)",
        )
    return _BY_NAME[name]


def family(definition: Definition) -> str:
    """The package of the family of `definition`, as it is imported: its data, its check and its
    programs are modules of it.
    """
    return _FAMILY[definition.name].__name__.rpartition(".")[0]


def program_module(name: str, programs: Iterable[str]) -> str | None:
    """Return the module with the program of the workload `name`; None without one.

    `programs` are possible names of such a module, with `{family}` in the place of the family's:
    `EngineKind.programs`.
    """
    own = family(workload(name)).rpartition(".")[2]
    named = (each.format(family=own) for each in programs)
    return next((each for each in named if find_spec(each) is not None), None)


def runs(name: str, programs: Iterable[str]) -> bool:
    """Whether the workload called `name` has a program in one of the modules `programs`."""
    return program_module(name, programs) is not None


def program(definition: Definition, programs: Iterable[str]) -> Any:
    """Return the workload's program from one of the modules `programs`, which must exist."""
    module = program_module(definition.name, programs)
    assert module is not None
    return import_module(module).PROGRAMS[definition.name]


def workloads_with(programs: Sequence[str]) -> frozenset[str]:
    """The workloads that have a program in one of the modules `programs`."""
    return frozenset(each.name for each in WORKLOADS if runs(each.name, programs))


def space_factors(definition: Definition, *, hdfs: bool = False) -> tuple[float, float, float]:
    """Return the space for input, scratch data and output, as multiples of a size's bytes.

    In Venturi's own `hdfs`, on the output's disks, input and output need their space again; an
    output with the `format` none exists only there.
    """
    own: Mapping[str, tuple[float, float]] = getattr(_FAMILY[definition.name], "SPACE", {})
    given, (scratch, output) = 1.0, own.get(definition.name, _SPACE)
    if definition.generator == "none":  # its bytes are those of the output
        given, scratch, output = 0.0, 0.0, 1.0
    if hdfs:
        output = given + output * (1 if definition.format == "none" else 2)
    return given, scratch, output


def size_of(definition: Definition, scale: str, chosen: Mapping[str, Scalar] | None = None) -> Size:
    """The size of `definition` at `scale` with the `chosen` parameters, or VEN-MEASURE-WORKLOAD."""
    if scale not in SCALES:
        raise UsageError(
            "VEN-MEASURE-WORKLOAD",
            f"there is no scale {scale!r}",
            where={"value": scale},
            hint=did_you_mean(scale, SCALES, "one of"),
        )
    found: Size = _FAMILY[definition.name].size(definition, SCALES.index(scale), chosen or {})
    return found


def size_of_bytes(
    definition: Definition, size_bytes: int, chosen: Mapping[str, Scalar] | None = None
) -> Size:
    """The size of an input of (at most) `size_bytes`, in whole records."""
    found: Size = _FAMILY[definition.name].size_of_bytes(definition, size_bytes, chosen or {})
    return found
