"""Options and output that every verb shares."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from venturi.core import units
from venturi.core.errors import VenturiError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


SPECIAL = "a named pipe, a socket or a device"


class InputPath(click.Path):
    """A file or folder to read: no named pipe, socket or device, which could block for ever."""

    def __init__(self, *, dir_okay: bool = True, allow_dash: bool = False) -> None:
        super().__init__(path_type=Path, dir_okay=dir_okay, allow_dash=allow_dash)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if str(path) != "-" and is_special(path):
            self.fail(f"{path} is {SPECIAL}: write its content to a file first", param, ctx)
        return path


def is_special(path: Path) -> bool:
    """Whether reading `path` could block for ever."""
    try:
        return path.exists() and not (path.is_file() or path.is_dir())
    except OSError:  # reading it says why not
        return False


class QuantityType(click.ParamType[T]):
    """A value with a unit, such as `4GiB` or `1h30m`, as `parse` reads it."""

    def __init__(self, name: str, parse: Callable[[str], T]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> T:
        if not isinstance(value, str):
            return value  # type: ignore[no-any-return]
        with _of(param):
            return self._parse(value)


@contextmanager
def _of(param: click.Parameter | None) -> Iterator[None]:
    """Names the option in an error of its value."""
    try:
        yield
    except VenturiError as error:
        if param is not None and param.opts:
            error.where = {"option": param.opts[0], **error.where}
        raise


BYTES = QuantityType("size", units.parse_bytes)  # a bare number is bytes
SIZE = QuantityType("size", partial(units.parse_bytes, unit_needed=True))
DURATION = QuantityType("duration", units.parse_duration_s)
EXCESS = QuantityType("limit", units.parse_excess)

json_option: Callable[[F], F] = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON instead of a table."
)

quiet_option: Callable[[F], F] = click.option(
    "-q", "--quiet", is_flag=True, help="Don't print progress on stderr."
)

wait_option: Callable[[F], F] = click.option(
    "--wait",
    is_flag=True,
    help="Wait until no other command is measuring on this host.",
)

predict_option: Callable[[F], F] = click.option(
    "--predict",
    is_flag=True,
    help="Before each counted trial, predict its time from earlier ones and store the prediction; "
    "see `venturi predict --errors`.",
)

_LABELS = "venturi.labels"
_LABEL = re.compile(r"([A-Za-z][\w.-]{0,63})=(.{1,200})")


def _labels(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> None:
    labels: dict[str, str] = {}
    for text in texts:
        parts = _LABEL.fullmatch(text)
        if parts is None or not text.isprintable():
            raise click.BadParameter(
                f"{text[:100]!r} is not KEY=VALUE; a key is a letter and letters, digits, _, . or -"
            )
        if labels.setdefault(parts[1], parts[2]) != parts[2]:
            raise click.BadParameter(f"{parts[1]} has two values")
    context.meta[_LABELS] = labels


label_option: Callable[[F], F] = click.option(
    "--label",
    multiple=True,
    metavar="KEY=VALUE",
    callback=_labels,
    expose_value=False,
    help="Label the new trials, such as commit=4f2a91c; repeatable. Labels are keys of --where, "
    "but not settings: trials with other labels stay in one repeat group.",
)


def labels_given() -> dict[str, str]:
    """The labels of the verb's `label_option`; none without that option."""
    context = click.get_current_context(silent=True)
    return {} if context is None else context.meta.get(_LABELS, {})


_CONDITIONS = (
    "Repeat a key for alternatives; different keys must all hold. Values may have a unit (10GB, "
    "5min) or be a date; KEY= is a missing value, KEY!= any value."
)


with_excluded_option: Callable[[F], F] = click.option(
    "--with-excluded", is_flag=True, help="Include excluded trials."
)


def ignore_option(help: str) -> Callable[[F], F]:
    """Add `--ignore`, which takes keys in which trials may differ."""
    return click.option(
        "--ignore", "ignored", multiple=True, metavar="KEY", help=f"{help} Repeatable."
    )


def keep_option(function: F) -> F:
    """Add `--keep`, which takes keys that count although their values are unique per trial."""
    return click.option(
        "--keep",
        multiple=True,
        metavar="KEY",
        help="Don't ignore this key, although it looks like an identifier: paths with process IDs, "
        "UUIDs, digests and times that are unique per trial are ignored. Repeatable.",
    )(function)


def where_option(
    help: str = "Only trials with this value of a column or configuration key.",
    *names: str,
    **more: Any,
) -> Callable[[F], F]:
    """Add `--where`, which takes conditions of trials; `names` are further names of the option."""
    metavar = "KEY=VALUE|KEY!=VALUE|KEY<N|KEY>=N"
    return click.option(
        "--where",
        *names,
        multiple=True,
        metavar=metavar,
        help=f"{help} {_CONDITIONS}",
        shell_complete=_complete,
        **more,
    )


def _complete(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    from venturi.cli.completion import complete_condition

    return complete_condition(incomplete)


record_bytes_option: Callable[[F], F] = click.option(
    "--record-bytes",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Length of a record.",
)
key_bytes_option: Callable[[F], F] = click.option(
    "--key-bytes",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="Length of the key at the beginning of a record.",
)


def print_json(data: Any, warnings: tuple[str, ...] = ()) -> None:
    """Prints the envelope every `--json` has: schema, data, warnings."""
    click.echo(json_text({"schema": 1, "data": data, "warnings": list(warnings)}))


def print_change(changed: Any, as_json: bool, sentence: str) -> None:
    """Print the `changed` record as JSON, or a `sentence` about it on stderr."""
    if as_json:
        print_json(changed)
    else:
        click.echo(sentence, err=True)


def json_text(data: Any) -> str:
    """Return `data` as JSON: a dataclass by its fields, dates, infinity and NaN as text."""
    try:
        return json.dumps(data, default=_plain, allow_nan=False)
    except ValueError:  # rare: only if a user gave it in the place of a number
        return json.dumps(_without_infinities(data), default=_plain, allow_nan=False)


def _plain(data: Any) -> Any:
    if is_dataclass(data):
        return {field.name: getattr(data, field.name) for field in fields(data)}
    return data.isoformat() if isinstance(data, date) else str(data)


def _without_infinities(data: Any) -> Any:
    if is_dataclass(data):
        data = _plain(data)
    if isinstance(data, Mapping):
        return {name: _without_infinities(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [_without_infinities(value) for value in data]
    return str(data) if isinstance(data, float) and not math.isfinite(data) else data
