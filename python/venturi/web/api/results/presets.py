"""Pages worth a look that come with Venturi."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import parse_qs, urlencode, urlsplit

from venturi.record.access.authors import Author
from venturi.record.access.views import View
from venturi.record.query.conditions import conditions_of
from venturi.record.query.counting import count
from venturi.record.query.selection import Query
from venturi.record.store.repository import TrialRepository

_MADE = datetime(2015, 10, 1, tzinfo=UTC)


def _view(name: str, path: str, *pairs: tuple[str, str]) -> View:
    return View(name, f"{path}?{urlencode(pairs)}" if pairs else path, Author("Venturi"), _MADE)


_DISKS_USD = {
    "HDD": 0.2,
    "HD2": 0.4,
    "HD3": 0.6,
    "HD4": 0.8,
    "HD5": 1.0,
    "SSD": 0.7,
    "SS2": 1.4,
    "HS4": 1.5,
    "HS5": 1.7,
}
# USD per hour of the whole cluster, by the kind of disk of each worker, and for InfiniBand.
_ALOJA = (
    ("by", "net"),
    ("by", "disk"),
    ("usd_per_hour", "3.5"),
    *(("plus", f"disk={disk}:{usd}") for disk, usd in _DISKS_USD.items()),
    ("plus", "net=IB:0.8"),
    ("price_source", "Poggi and Carrera 2015"),
)
# Its sorts of 100 GB: those of 1 TB, which only a tag distinguishes, have a scale.
_TRIALS = (
    ("where", "workload=terasort"),
    ("where", "cluster=minerva100-10-18-21"),
    ("where", "scale="),
)

PRESETS: tuple[View, ...] = (
    _view(
        "ALOJA's Table 2 as printed (starter data)",
        "/cost",
        ("where", "source=Poggi and Carrera 2015, Table 2"),
        *_ALOJA,
        ("objective", "cost"),
    ),
    _view(
        "ALOJA's Table 2 from its public trials: medians, intervals, ties",
        "/cost",
        *_TRIALS,
        *_ALOJA,
        ("objective", "cost"),
    ),
)


def presets(repository: TrialRepository) -> tuple[View, ...]:
    """The preset pages that have trials in `repository`."""
    return tuple(view for view in PRESETS if _has_trials(repository, view))


def _has_trials(repository: TrialRepository, view: View) -> bool:
    conditions = conditions_of(parse_qs(urlsplit(view.url).query).get("where", []))
    return count(repository, Query(conditions)) > 0
