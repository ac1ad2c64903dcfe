"""A page as one HTML document: its values as JSON, its frame, its policy, and a file that appears
only whole.

Such a page asks the network for nothing: style, program (the web application, built from web/) and
the data that it shows (a JSON island) are all inside.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from venturi.core.errors import VenturiError
from venturi.record.store.files import refuse_existing, replacing

# Inside <script> only these can end or restart it; as \u escapes they are still the same JSON.
_JSON_ESCAPES = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}

_FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="Venturi">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<div id="app" data-page="{url}" data-written="{written}"></div>
<noscript><p class="nothing">This page needs JavaScript for its tables and charts. The file also \
has every number as JSON.</p></noscript>
<script type="application/json" id="twins">{twins}</script>
<script>{script}</script>
</body>
</html>
"""


def encode(value: Any) -> Any:
    """`value` (a page's data) as JSON values; so a `Missing` is `{"reason": "..."}`.

    A timestamp becomes ISO 8601 text. Floats keep nine digits: more than any page prints.
    """
    if is_dataclass(value):
        return {field.name: encode(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): encode(each) for name, each in value.items()}
    if isinstance(value, tuple | list):
        return [encode(item) for item in value]
    if isinstance(value, date):  # a datetime is one
        return value.isoformat()
    if isinstance(value, float):
        return float(f"{value:.9g}")
    return value


def island(values: Mapping[str, Any]) -> str:
    """JSON `values` as text that nothing in it can break out of."""
    text = json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_JSON_ESCAPES)


def page(
    url: str, title: str, twins: Mapping[str, Any], *, written_at: datetime | None = None
) -> str:
    """The page of the web application at `url` as one HTML document.

    `twins` are the answers that the page asks for, by their URLs, as JSON values (see `encode`).
    `written_at` is said at its end, for pages that do not say themselves of when they are.
    Raises VEN-REPORT-ASSET when the pages were not built.
    """
    script = _asset("page.js").replace("</script", "<\\/script").replace("<!--", "<\\!--")
    style = _asset("page.css").replace("</style", "<\\/style")
    return _FRAME.format(
        policy=f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; "
        "style-src-attr 'unsafe-inline'; base-uri 'none'; form-action 'none'",
        title=escape(title),
        url=escape(url),
        written=written_at.isoformat() if written_at else "",
        style=style,
        twins=island(twins),
        script=script,
    )


def require_assets() -> None:
    """VEN-REPORT-ASSET unless pages can be written: to be asked before measuring for one."""
    for name in ("page.js", "page.css"):
        _asset(name)


def _asset(name: str) -> str:
    """The text of a file that was built from web/ for pages that stand alone."""
    try:
        return files("venturi.web").joinpath("assets", name).read_text("utf-8")
    except FileNotFoundError as error:
        raise VenturiError(
            "VEN-REPORT-ASSET",
            f"the pages were not built: web/assets/{name} is missing",
            hint="install Venturi's wheel again; in a clone: make setup (or: cd web && npm ci && "
            "npm run build)",
        ) from error


def _digest(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def write_page(path: Path, text: str, *, overwrite: bool = False) -> None:
    """Write `text` to `path`: whole or not at all.

    Raises VEN-OUTPUT-EXISTS when `path` exists and `overwrite` is false.
    """
    refuse_existing(path, overwrite=overwrite)
    with replacing(path) as file:
        os.fchmod(file.fileno(), 0o644)
        file.write(text.encode())
