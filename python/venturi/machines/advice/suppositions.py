"""Assumptions about a whole answer instead of single rates: `--assume disks=both`, `fill=90%`, and
so on.

A supposition reinterprets a catalog's figures, for all types; the note of each changed value says
so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from venturi.core.errors import VenturiError
from venturi.core.quantity import ValueKind
from venturi.core.units import unit_error
from venturi.machines.advice.assume import EXAMPLES, assume, parse_assumption
from venturi.machines.catalog import Catalog, Fact, InstanceType
from venturi.machines.cost.operation import FILLED_SHARE

# Rate of disks that read and write concurrently, from their separate rates (MB/s), if it wasn't
# measured.
RULES: Mapping[str, Callable[[float, float], float]] = {
    "turns": lambda read, write: read * write / (read + write),
    "half": lambda read, write: min(read, write) / 2,
    "both": min,
}
PRICES = ("on-demand", "spot")
SPOT_LOSSES = "cost of losing spot nodes"
SHARES = {
    "fill": "largest share of the local disks to fill",
    "network-low": "the network's worst-case share of its rate",
}
EXAMPLE = "disks=turns (or half, both), fill=90%, network-low=70%, price=spot"


@dataclass(frozen=True, slots=True)
class Supposition:
    """`name` is disks, price, or one of `SHARES`, which has a `share`; `word` is the others'."""

    name: str
    word: str
    share: float


def assumed(catalog: Catalog, texts: Sequence[str], today: date) -> Catalog:
    """`catalog` with the rates and the suppositions in `texts`, as `--assume` gives them."""
    rates = [parse_assumption(text) for text in texts if not _is_supposition(text)]
    found = assume(catalog, rates, today)
    for text in texts:
        if _is_supposition(text):
            found = _suppose(found, parse_supposition(text))
    return found


def filled_share(texts: Sequence[str]) -> float:
    """Share of local disks that a job may fill: 1 if a `fill` in `texts` reduces their sizes."""
    fills = any(text.partition("=")[0].strip().lower() == "fill" for text in texts)
    return 1.0 if fills else FILLED_SHARE


def _is_supposition(text: str) -> bool:
    return text.partition("=")[0].strip().lower() in {"disks", "price", *SHARES}


def parse_supposition(text: str) -> Supposition:
    """The supposition in `text`, such as `disks=both` or `fill=90%`."""
    name, _, value = (part.strip().lower() for part in text.partition("="))
    if name in SHARES:
        try:
            share = float(value.removesuffix("%")) / 100
        except ValueError:
            share = 0.0
        if not (value.endswith("%") and 0 < share <= 1):
            raise _bad(text, "is not a share above 0 and at most 100%")
        return Supposition(name, value, share)
    if value not in (RULES if name == "disks" else PRICES):
        raise _bad(text, "is not known")
    return Supposition(name, value, 1.0)


def _suppose(catalog: Catalog, supposition: Supposition) -> Catalog:
    change = {
        "disks": _disks,
        "fill": _fill,
        "network-low": _network,
        "price": _price,
    }[supposition.name]
    types = {
        name: replace(each, facts={**each.facts, **change(each, supposition)})
        for name, each in catalog.types.items()
    }
    return replace(catalog, types=types)


def _disks(instance_type: InstanceType, supposed: Supposition) -> dict[str, Fact]:
    fact = instance_type.fact("storage_rate")
    read, write = (instance_type.number(f"local_{way}_rate") for way in ("read", "write"))
    if fact.kind is not ValueKind.DERIVED or read is None or write is None:
        return {}
    assert isinstance(fact.value, float)
    value = RULES[supposed.word](read, write)
    low, high = min(value, fact.low or fact.value), max(value, fact.high or fact.value)
    note = f"assumed: disks={supposed.word}; {fact.note}"
    return {"storage_rate": replace(fact, value=value, low=low, high=high, note=note)}


def _fill(instance_type: InstanceType, supposed: Supposition) -> dict[str, Fact]:
    found = {}
    for name in ("disk_size", "local_size"):
        fact = instance_type.fact(name)
        if isinstance(fact.value, float) and fact.kind is not None:
            kind = min(fact.kind, ValueKind.DERIVED, key=list(ValueKind).index)
            note = f"assumed: {supposed.word} of {fact.value:g} GB are filled"
            found[name] = replace(fact, value=fact.value * supposed.share, kind=kind, note=note)
    return found


def _network(instance_type: InstanceType, supposed: Supposition) -> dict[str, Fact]:
    found = {}
    for name in ("network_rate", "network_rate_at_scale"):
        fact = instance_type.fact(name)
        if isinstance(fact.value, float):
            note = "; ".join(x for x in (fact.note, f"assumed: at worst {supposed.word}") if x)
            low, high = fact.value * supposed.share, fact.high or fact.value
            found[name] = replace(fact, low=low, high=high, note=note)
    return found


def _price(instance_type: InstanceType, supposed: Supposition) -> dict[str, Fact]:
    if supposed.word != "spot":
        return {}
    spot = instance_type.fact("spot_price")
    if spot.value is None:
        return {"price": replace(spot, note=f"no spot price: {spot.note}")}
    rate = instance_type.number("spot_loss_rate")
    often = "frequency unknown" if rate is None else f"{rate:.2g} per node and hour"
    note = f"{SPOT_LOSSES} is left out ({often})"
    return {"price": replace(spot, note="; ".join(text for text in (spot.note, note) if text))}


def _bad(text: str, problem: str) -> VenturiError:
    hint = f"write it like {EXAMPLE}; rates: {EXAMPLES}"
    return unit_error(text, problem, hint, option="--assume")
