"""Quantities as text and back. Inside, a quantity is a plain number with its unit in its name.

Decimal and binary units are kept apart: 1 MB is 10^6 bytes, 1 MiB is 2^20 bytes.
"""

from __future__ import annotations

import math
import re

from venturi.core.errors import UsageError, VenturiError

SECONDS_PER_HOUR = 3600.0

_BYTES = {
    "": 1,
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "PB": 10**15,
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
    "TIB": 2**40,
    "PIB": 2**50,
}
_SECONDS = {
    name: seconds
    for seconds, names in (
        (86400.0, "d day days"),
        (3600.0, "h hr hrs hour hours"),
        (60.0, "min m mins minute minutes"),
        (1.0, "s sec secs second seconds"),
        (1e-3, "ms"),
    )
    for name in names.split()
}
_BITS = re.compile(r"[0-9]\s*([KMGTP]i?b)\s*\Z")  # an upper-case prefix before a lower-case b
_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_QUANTITY = re.compile(rf"\s*({_NUMBER})\s*([A-Za-z]*)\s*\Z")
_PART = re.compile(rf"\s*({_NUMBER})\s*([A-Za-z]*)")


def _parse(text: str, what: str, examples: str) -> float:
    """Bytes in `text`; an error names the kind of quantity, `what`."""
    match = _QUANTITY.match(text)
    unit = match.group(2).upper() if match else ""
    if match is not None and unit in {"K", "M", "G", "T", "P"}:
        prefix = "k" if unit == "K" else unit
        raise unit_error(
            text,
            f"is not a {what}: {prefix}B or {unit[0]}iB?",
            f"write "
            f"{match.group(1)}{prefix}B (powers of 1000) or {match.group(1)}{unit[0]}iB "
            "(powers of 1024)",
        )
    if match is None or unit not in _BYTES:
        raise unit_error(text, f"is not a {what}", f"write it like {examples}")
    return _finite(float(match.group(1)) * _BYTES[unit], text, what, examples)


def _finite(value: float, text: str, what: str, examples: str) -> float:
    if math.isinf(value):
        raise unit_error(text[:40], f"is too large for a {what}", f"write it like {examples}")
    return value


def unit_error(text: str, problem: str, hint: str, **where: object) -> VenturiError:
    """Return VEN-UNIT-SYNTAX for a `text` with this `problem`; `where` adds fields to its place."""
    return UsageError(
        "VEN-UNIT-SYNTAX",
        f"{text!r} {problem}",
        where={**where, "value": text},
        hint=hint,
    )


def parse_bytes(text: str, *, unit_needed: bool = False) -> int:
    """Bytes in `text`, such as `4GiB`, `2 GB` or `512`. `Gb` may mean bits and is refused.

    With `unit_needed` so is a bare number, which is more often a slip than a count of bytes.
    """
    number = text.strip()
    if unit_needed and re.fullmatch(_NUMBER, number):
        raise unit_error(text, "has no unit", f"did you mean {number}GB or {number}TB?")
    bits = _BITS.search(text)
    if bits is not None:
        unit = bits.group(1)
        raise unit_error(
            text,
            "may mean bits or bytes",
            f"write {unit[:-1]}B for bytes, and a rate in bits as {unit[0]}bit/s",
        )
    examples = "4GiB or 100GB" if unit_needed else "4GiB, 100GB or 512"
    return round(_parse(text, "size", examples))


def parse_excess(text: str) -> float:
    """The factor that `text` allows, at least 1: `5%` and `1.05x` are both 1.05."""
    number = text.strip()
    if re.fullmatch(_NUMBER, number):
        raise unit_error(text, "has no unit", f"did you mean {number}% or {number}x?")
    match = re.fullmatch(rf"({_NUMBER})\s*([%x])", number)
    if match is None:
        raise unit_error(
            text[:40], "is neither a percentage nor a factor", "write it like 5% or 1.05x"
        )
    factor = 1 + float(match[1]) / 100 if match[2] == "%" else float(match[1])
    if factor < 1:
        raise unit_error(text, "is less than 1", "a factor starts at 1x (no change)")
    return _finite(factor, text, "factor", "5% or 1.05x")


def parse_rate(text: str) -> float:
    """Bytes per second in `text`, such as `900MB/s`, `850MiB/s` or `10Gbit/s`.

    A small b after a prefix (`10Gb/s`) is refused: it means bits to some and bytes to others.
    """
    examples = "900MB/s, 850MiB/s or 10Gbit/s"
    amount, _, per = (part.strip() for part in text.partition("/"))
    bits = amount.lower().endswith("bit")
    if per.lower() != "s" or amount.endswith("b"):
        what = "clear: bits or bytes?" if per.lower() == "s" else "a rate"
        raise unit_error(text, f"is not {what}", f"write it like {examples}")
    try:
        scaled = _parse(amount[:-3] + "B" if bits else amount, "rate", examples)
    except VenturiError as error:
        raise unit_error(text, "is not a rate", error.hint) from None
    return scaled / 8 if bits else scaled


def parse_duration_s(text: str) -> float:
    """Seconds in `text`, such as `90s`, `1.5h`, `1h30m` or `2 days`. A bare number is refused."""
    examples = "90s, 30min, 1.5h or 1h30m"
    bare = text.strip()
    if re.fullmatch(_NUMBER, bare):
        raise unit_error(text, "has no unit", f"did you mean {bare}s, {bare}min or {bare}h?")
    total_s, before_s, end = 0.0, math.inf, 0
    while end < len(text.rstrip()):
        match = _PART.match(text, end)
        unit_s = _SECONDS.get(match.group(2).lower()) if match else None
        if match is None or unit_s is None or unit_s >= before_s:  # hours come before minutes
            raise unit_error(text[:40], "is not a duration", f"write it like {examples}")
        total_s += float(match.group(1)) * unit_s
        before_s, end = unit_s, match.end()
    if not end:
        raise unit_error(text, "is not a duration", f"write it like {examples}")
    return _finite(total_s, text, "duration", examples)


def _scaled(value: float, step: float, names: tuple[str, ...], digits: int) -> str:
    power = 0
    while abs(value) >= step and power < len(names) - 1:
        value /= step
        power += 1
    return f"{value:.{digits if power else 0}f} {names[power]}"


def format_bytes(value_bytes: float | None) -> str:
    """`value_bytes` in binary units (memory and file sizes): `4.0 GiB`."""
    if value_bytes is None:
        return "—"
    return _scaled(value_bytes, 1024.0, ("B", "KiB", "MiB", "GiB", "TiB", "PiB"), 1)


def format_bytes_decimal(value_bytes: float | None) -> str:
    """`value_bytes` in decimal units (data set sizes): `100.0 TB`."""
    if value_bytes is None:
        return "—"
    return _scaled(value_bytes, 1000.0, ("B", "kB", "MB", "GB", "TB", "PB"), 1)


def decimal_size(value_bytes: float) -> str:
    """`value_bytes` as a user would write it, nothing rounded away: `100 TB`, `1.5 GB`."""
    powers = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"))
    scale, name = next((each for each in powers if value_bytes >= each[0]), (1, "B"))
    return f"{value_bytes / scale:.12g} {name}"


def binary_size(value_bytes: int) -> str:
    """`value_bytes` as a user would write it in binary units, nothing rounded away: `1 GiB`."""
    powers = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
    scale, name = next((each for each in powers if value_bytes >= each[0]), (1, "B"))
    return f"{value_bytes / scale:.12g} {name}"


def size_text(value_bytes: float) -> str:
    """A size that was chosen, as it was probably written: `64 KiB`, `100 GB`; in whichever units
    it is shorter, and rounded where it is long in both."""
    exact = [decimal_size(value_bytes), binary_size(int(value_bytes))]
    shortest = min(exact, key=len)
    return shortest if len(shortest) <= 8 else format_bytes_decimal(value_bytes)


def format_rate(bytes_per_s: float | None) -> str:
    """`bytes_per_s` in decimal MB/s, as the field prints it: `1515 MB/s`."""
    if bytes_per_s is None:
        return "—"
    mb = bytes_per_s / 1e6
    return f"{mb:,.0f} MB/s" if mb >= 10 else f"{mb:.2f} MB/s"


def format_duration(value_s: float | None) -> str:
    """`value_s` for people: `85 µs`, `1.35 ms`, `850 ms`, `12.3 s`, `4 min 05 s`, `2 h 03 min`."""
    if value_s is None or math.isnan(value_s):
        return "—"
    if 0 < value_s < 0.009995:
        scales = ((1e-3, "ms"), (1e-6, "µs"))
        scale, name = next((each for each in scales if value_s >= 0.9995 * each[0]), (1e-9, "ns"))
        return f"{value_s / scale:.3g} {name}"
    if value_s < 0.9995:
        return f"{value_s * 1000:.0f} ms"
    if value_s < 99.95:
        return f"{value_s:.1f} s"
    total = round(value_s)
    if total < 3600:
        return f"{total // 60} min {total % 60:02d} s"
    minutes = round(value_s / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min"


def format_latency(value_s: float | None) -> str:
    """`value_s` of a single request, in three digits: `57.1 µs`, `8.34 ms`, `1.2 s`."""
    if value_s is None:
        return "—"
    scales = ((1.0, "s"), (1e-3, "ms"))
    scale, name = next((each for each in scales if value_s >= each[0]), (1e-6, "µs"))
    return f"{value_s / scale:.3g} {name}"


def format_line_rate(bytes_per_s: float | None) -> str:
    """`bytes_per_s` in bits, as links are sold: `10 Gbit/s`."""
    if bytes_per_s is None:
        return "—"
    bits = bytes_per_s * 8
    scale, name = (1e9, "Gbit/s") if bits >= 1e9 else (1e6, "Mbit/s")
    return f"{bits / scale:.4g} {name}"


def format_offset(value_s: float, error_s: float) -> str:
    """The difference between two clocks with its error: `-1.2 s ± 0.3 ms`."""

    def size(seconds: float) -> str:
        return format_duration(seconds) if seconds >= 0.01 else f"{seconds * 1000:.2g} ms"

    return f"{'-' if value_s < 0 else ''}{size(abs(value_s))} ± {size(error_s)}"


def format_figure(value: float) -> str:
    """A positive number without an exponent: `12,345`, `1.25`, `0.04`, `under 0.001`."""
    if 0 < value < 0.001:
        return "under 0.001"
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.3g}"


def format_core_time(core_s: float) -> str:
    """`core_s` core-seconds for people: `12.5 core-hours`, or few as `21.3 core-seconds`."""
    hours = core_s / SECONDS_PER_HOUR
    if hours < 0.01:
        return f"{format_figure(core_s)} core-seconds"
    return f"{format_figure(hours)} core-hours"


def format_usd(value_usd: float | None) -> str:
    """`value_usd` to the cent: `$299.45`."""
    return "—" if value_usd is None else f"${value_usd:,.2f}"


def format_cost(value_usd: float | None) -> str:
    """The cost of one job: as `format_usd`, but below 10 cents with more digits: `$0.0042`."""
    if value_usd is None or not 0 < value_usd < 0.0995:
        return format_usd(value_usd)
    if value_usd < 5e-5:
        return "<$0.0001"
    return f"${value_usd:.{3 if value_usd >= 0.00995 else 4}f}"


def about_cost(value_usd: float) -> str:
    """An estimate in a sentence: `about $4.20`, `under $0.0001`."""
    text = format_cost(value_usd)
    return f"under {text[1:]}" if text.startswith("<") else f"about {text}"
