"""A module of programs has one for each workload of its family; workloads have different names."""

from __future__ import annotations

from importlib import import_module

import pytest

from venturi.measure.engines.registry import ENGINES
from venturi.measure.workloads.registry import WORKLOADS, family, program_module, runs

MODULES = sorted(
    {
        (family(each), module)
        for each in WORKLOADS
        for kind in ENGINES.values()
        if (module := program_module(each.name, kind.programs)) is not None
    }
)


@pytest.mark.parametrize(("package", "module"), MODULES)
def test_every_workload_of_a_family_has_its_program(package: str, module: str) -> None:
    found = import_module(module).PROGRAMS
    assert set(found) == {each.name for each in WORKLOADS if family(each) == package}


def test_every_workload_has_a_name_of_its_own_and_an_engine() -> None:
    assert len({each.name for each in WORKLOADS}) == len(WORKLOADS)
    for each in WORKLOADS:
        assert any(runs(each.name, kind.programs) for kind in ENGINES.values()), each.name
