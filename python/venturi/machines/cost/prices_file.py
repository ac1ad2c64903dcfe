"""The file of the user's prices for jobs: `prices.toml` in VENTURI_HOME, or VENTURI_PRICES."""

from __future__ import annotations

import json
from pathlib import Path
from stat import S_IMODE
from typing import Annotated

from pydantic import Field

from venturi.core.errors import VenturiError
from venturi.core.text_file import read_text
from venturi.core.toml_file import Strict, Text, parse, refused
from venturi.machines.cost.job_prices import MOST_USD, JobPrices
from venturi.record.store.files import modes_in, replacing

CODE = "VEN-PRICE-FORMAT"
_HEADER = "# US dollars. `venturi prices set` rewrites this file, without other comments.\n"
_HINT = "`venturi prices set core-hour 0.05` writes a valid line"
_Usd = Annotated[float, Field(gt=0, le=MOST_USD, allow_inf_nan=False, strict=True)]


class PricesFile(Strict):
    """The keys of the file."""

    usd_per_core_hour: _Usd | None = None
    usd_per_node_hour: dict[Text, _Usd] = Field(default_factory=dict)
    usd_per_cluster_hour: dict[Text, _Usd] = Field(default_factory=dict)


def own_job_prices(file: Path | None) -> JobPrices:
    """The prices in `file`; VEN-PRICE-FORMAT with every mistake if it has any. None: no prices."""
    if file is None:
        return JobPrices()
    found, _, mistakes = parse(PricesFile, read_text(file, CODE, _HINT), "the file of prices")
    if found is None:
        raise refused(CODE, "the file of prices", file, mistakes, _HINT)
    return JobPrices(found.usd_per_core_hour, found.usd_per_node_hour, found.usd_per_cluster_hour)


def write_job_prices(file: Path, prices: JobPrices) -> None:
    """Replace `file`; a new one is as open to others as its folder."""
    lines = [_HEADER]
    if prices.core_hour is not None:
        lines.append(f"usd_per_core_hour = {prices.core_hour!r}\n")
    for table, named in (
        ("usd_per_node_hour", prices.nodes),
        ("usd_per_cluster_hour", prices.clusters),
    ):
        if named:
            rows = (f"{_key(name)} = {usd!r}\n" for name, usd in sorted(named.items()))
            lines += [f"\n[{table}]\n", *rows]
    try:
        file = file.resolve()
        file.parent.mkdir(0o700, parents=True, exist_ok=True)
        mode = S_IMODE(file.stat().st_mode) if file.exists() else modes_in(file.parent)[1]
        with replacing(file, mode=mode) as opened:
            opened.write("".join(lines).encode())
    except OSError as error:
        raise VenturiError(
            "VEN-PRICE-WRITE",
            f"{file} cannot be written: {error.strerror}",
            where={"file": str(file)},
            hint="set VENTURI_PRICES to a file that you can write",
        ) from error


def _key(name: str) -> str:
    """The name as a quoted key: JSON's escapes are TOML's, except that of DEL."""
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007F")
