"""What every page shares: its formats, its frame, its policy, and a file that appears only whole.

A page is one HTML document that asks the network for nothing: the style, the charts' program
(built from web/) and the figures they draw (a JSON island) are all inside.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from venturi import units
from venturi.errors import VenturiError
from venturi.model.stats import Missing
from venturi.record.files import refuse_existing

# Inside <script> only these can end or restart it; as \u escapes they are still the same JSON.
_JSON_ESCAPES = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


def _missing(value: Missing) -> Markup:
    return Markup('<span class="missing">— <span class="reason">{}</span></span>').format(
        value.reason
    )


def _quantity(tell: Callable[[float], str]) -> Callable[[float | Missing], Markup]:
    def told(value: float | Missing) -> Markup:
        return _missing(value) if isinstance(value, Missing) else escape(tell(value))

    return told


def _text(value: str | Missing) -> Markup:
    return _missing(value) if isinstance(value, Missing) else escape(value)


def _significant(value: float) -> str:
    """A time as short as a request's: `85 µs`, `1.2 ms`."""
    for step, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= step:
            return f"{value / step:.3g} {unit}"
    return f"{value * 1e9:.0f} ns"


FORMATS: Mapping[str, Callable[[Any], Markup]] = {
    "rate": _quantity(units.format_rate),
    "duration": _quantity(units.format_duration),
    "latency": _quantity(_significant),
    "size": _quantity(units.format_bytes),
    "size_decimal": _quantity(units.format_bytes_decimal),
    "usd": _quantity(units.format_usd),
    "usd3": _quantity(lambda value: f"${value:,.3f}"),
    "count": _quantity(lambda value: f"{value:,.0f}"),
    "share": _quantity(lambda value: f"{value:.0%}" if value >= 0.0995 else f"{value:.1%}"),
    "ratio": _quantity(lambda value: f"{value:.2f}"),
    "text": _text,
}


def _per_unit(value: float | Missing, unit: str) -> Markup:
    return FORMATS["share" if unit == "fraction" else "rate"](value)


def _utc(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} {moment.tzname() or ''}".strip()


@cache
def environment() -> Environment:
    """Where the templates are rendered; everything that is not `Markup` is escaped."""
    made = Environment(
        loader=PackageLoader("venturi.present", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(FORMATS)
    made.filters["per_unit"] = _per_unit
    made.filters["utc"] = _utc
    made.tests["missing"] = lambda value: isinstance(value, Missing)
    return made


def plain(value: Any) -> Any:
    """`value` as JSON values; a `Missing` is null (the tables print its reason)."""
    if isinstance(value, Missing):
        return None
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.6g}")  # more digits than a pixel can show
    return value


def island(charts: Mapping[str, Any]) -> Markup:
    """What the charts draw, as JSON that no text in it can break out of."""
    values = {name: plain(value) for name, value in charts.items()}
    text = json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.translate(_JSON_ESCAPES))  # noqa: S704 - escaped in the line above


def _program(name: str) -> str:
    """The charts' program `name`, built from web/."""
    try:
        return files("venturi.present").joinpath("assets", name).read_text("utf-8")
    except FileNotFoundError as error:
        raise VenturiError(
            "VEN-REPORT-ASSET",
            f"the page's chart program (present/assets/{name}) is not there",
            hint="build it: make setup (or: cd web && npm ci && npm run build)",
        ) from error


def document(template: str, program: str, charts: Mapping[str, Any], **context: Any) -> str:
    """The page that `template` makes of `context`, with the figures in `charts` for `program`.

    Raises VEN-REPORT-ASSET when the charts' program was not built.
    """
    script = _program(program).replace("</script", "<\\/script").replace("<!--", "<\\!--")
    style = files("venturi.present").joinpath("templates/report.css").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        environment()
        .get_template(template)
        .render(
            **context,
            island=island(charts),
            script=Markup(script),  # noqa: S704 - our own build, named by its digest in the policy
            style=Markup(style),  # noqa: S704 - our own file
            policy=(
                f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
                "base-uri 'none'; form-action 'none'"
            ),
        )
    )


def write_page(path: Path, text: str, *, overwrite: bool = False) -> None:
    """Writes `text` to `path`: whole or not at all.

    Raises VEN-OUTPUT-EXISTS when `path` is there and `overwrite` is not asked for.
    """
    refuse_existing(path, overwrite=overwrite)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            os.fchmod(handle, 0o644)
            file.write(text)
            file.flush()
            os.fsync(handle)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
