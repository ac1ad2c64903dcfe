"""`venturi workloads`: the workloads with their engines, sizes and parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from venturi.cli.options import json_option, print_json
from venturi.cli.screen import show
from venturi.core.units import format_bytes_decimal
from venturi.terminal.table import pairs, table

if TYPE_CHECKING:
    from venturi.measure.workloads.definition import Definition, Size


@click.command()
@click.argument("name", required=False, metavar="[WORKLOAD]")
@json_option
def command(name: str | None, *, as_json: bool) -> None:
    """List the workloads with their engines and sizes.

    With WORKLOAD, show its sizes, parameters and validation.
    """
    from venturi.measure.engines.registry import ENGINES
    from venturi.measure.workloads.registry import WORKLOADS, runs, workload

    chosen = WORKLOADS if name is None else (workload(name),)
    runs_on = {
        each.name: [name for name, kind in ENGINES.items() if runs(each.name, kind.programs)]
        for each in chosen
    }
    if as_json:
        print_json([_record(each, runs_on[each.name]) for each in chosen])
        return

    if name is not None:
        _show(chosen[0], runs_on[name])
        return
    listing = table("workload", "engines", "what", left=3, prose=("engines", "what"))
    for each in chosen:
        listing.add(each.name, ", ".join(runs_on[each.name]), each.summary)
    show(listing)


def _sizes(definition: Definition) -> dict[str, Size]:
    from venturi.measure.workloads.definition import SCALES
    from venturi.measure.workloads.registry import size_of

    return {scale: size_of(definition, scale) for scale in SCALES}


def _record(definition: Definition, engines: list[str]) -> dict[str, Any]:
    return {
        "name": definition.name,
        "version": definition.version,
        "summary": definition.summary,
        "engines": engines,
        "validation": definition.validation,
        "parameters": definition.parameters,
        "scales": _sizes(definition),
    }


def _show(definition: Definition, engines: list[str]) -> None:
    show(
        pairs(
            [
                ("workload", f"{definition.name} (version {definition.version})"),
                ("what", definition.summary),
                ("engines", ", ".join(engines)),
                ("right if", definition.validation),
            ]
        )
    )
    sizes = _sizes(definition)
    first = sizes["tiny"].parameters
    varied = [key for key in first if len({size.parameters[key] for size in sizes.values()}) > 1]
    scales = table("scale", "input", "records", *varied, left=1)
    for scale, size in sizes.items():
        read = "none" if size.bytes is None else format_bytes_decimal(size.bytes)
        scales.add(scale, read, f"{size.records:,}", *(str(size.parameters[k]) for k in varied))
    show("", scales)
    if definition.parameters:
        parameters = table("--param", "default", "meaning", left=3, prose=("meaning",))
        for each in definition.parameters:
            default = "by scale" if each.name in varied else str(each.default)
            parameters.add(each.name, default, each.meaning)
        show("", parameters)
