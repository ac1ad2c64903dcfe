"""Options and output that every verb shares."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

import click

from venturi import units

F = TypeVar("F", bound=Callable[..., Any])


class BytesType(click.ParamType[int]):
    """A size such as `4GiB` or `100GB`, in bytes."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        return value if isinstance(value, int) else units.parse_bytes(value)


class DurationType(click.ParamType[float]):
    """A duration such as `90s` or `3min`, in seconds."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        return float(value) if isinstance(value, int | float) else units.parse_duration_s(value)


BYTES = BytesType()
DURATION = DurationType()

json_option: Callable[[F], F] = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON instead of a table."
)

quiet_option: Callable[[F], F] = click.option(
    "-q", "--quiet", is_flag=True, help="No progress on stderr."
)

record_bytes_option: Callable[[F], F] = click.option(
    "--record-bytes", type=click.IntRange(1), default=100, show_default=True,
    help="Length of a record.",
)  # fmt: skip
key_bytes_option: Callable[[F], F] = click.option(
    "--key-bytes", type=click.IntRange(1), default=10, show_default=True,
    help="Length of the key at the beginning of a record.",
)  # fmt: skip


def print_json(data: Any, warnings: tuple[str, ...] = ()) -> None:
    """Prints the envelope every `--json` has: schema, data, warnings."""
    click.echo(json.dumps({"schema": 1, "data": data, "warnings": list(warnings)}, default=str))
