"""Accounts of tiered storage in Spark's event logs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from event_log import END, START, Write, event
from venturi.jobs.logs import spark
from venturi.jobs.tiers.recorded_tiers import tier_levels, tier_uses
from venturi.record.account_kind import SPARK
from venturi.record.importing.formats import Log
from venturi.record.job_account import JobAccount

TINY = Path(__file__).parents[2] / "data" / "spark" / "4.3.0" / "tiny.log"


def read(path: Path) -> JobAccount:
    """The account in the log `path`."""
    return spark.read(Log(path, (path,)))


def tiered(at_ms: int, executor_id: str, *tiers: dict[str, Any]) -> bytes:
    """An account of Venturi's plugin for tiered storage."""
    account = {"version": 1, "executor_id": executor_id, "host": "h", "at_ms": at_ms}
    return event(spark.TIERED_STORAGE, account={**account, "tiers": tiers})


def on_tier(tier: str, kinds: dict[str, tuple[int, int | None]], **rule: int) -> dict[str, Any]:
    """A tier with the bytes of each kind, and when it was first overflowed to."""
    told = [
        {
            "kind": kind,
            "placements": 2,
            "seen_bytes": seen_bytes,
            "present_bytes": 1,
            "peak_bytes": seen_bytes,
            "overflows": 0 if first is None else 1,
            "first_overflow_ms": first,
        }
        for kind, (seen_bytes, first) in kinds.items()
    ]
    return {"tier": tier, "errors": 0, "kinds": told, **rule}


def test_what_lay_on_which_tier(write: Write) -> None:
    early = tiered(2_000, "0", on_tier("ssd", {"shuffle": (10, None)}, leave_free_bytes=5_000_000))
    late = [
        tiered(
            9_000 + int(executor),
            executor,
            on_tier(
                "ssd", {"shuffle": (100, None), "spill": (7, None)}, leave_free_bytes=5_000_000
            ),
            on_tier("last", {"shuffle": (40, 3_000 + int(executor))}),
        )
        for executor in ("1", "0")
    ]
    account = read(write(START + early + b"".join(late) + END))
    assert account.tiers is not None
    assert account.tiers.columns == [column.name for column in SPARK.columns("tiers")]
    assert len(account.tiers) == 7
    assert [
        (use.tier, use.rule, use.kind, use.seen_bytes, use.placements, use.first_overflow_s)
        for use in tier_uses(account)
    ] == [
        ("ssd", "leaves 5.0 MB free", "shuffle", 200, 4, None),
        ("ssd", "leaves 5.0 MB free", "spill", 14, 4, None),
        ("last", "takes what is left", "shuffle", 80, 4, 2.0),
    ]
    assert account.reading.unknown == {}
    assert read(TINY).tiers is None
    assert tier_uses(read(TINY)) == ()


def test_what_lay_on_which_tier_over_time(write: Write) -> None:
    def at(at_ms: int, executor_id: str, ssd: int, last: int | None) -> bytes:
        slow = {} if last is None else {"shuffle": (last, None)}
        tiers = [on_tier("ssd", {"shuffle": (ssd, None)}), on_tier("last", slow)]
        for tier in tiers:
            for kind in tier["kinds"]:
                kind["present_bytes"] = kind["seen_bytes"]
        return tiered(at_ms, executor_id, *tiers)

    log = at(2_000, "0", 10, None) + at(4_000, "1", 5, 7) + at(6_000, "0", 3, 2)
    account = read(write(START + log + at(9_000, "1", 0, 0) + END))
    levels = tier_levels(account, 400)
    assert levels is not None
    assert levels.t_s == (0.0, 1.0, 3.0, 5.0, 8.0)
    assert [(line.tier, line.kind, line.present_bytes) for line in levels.lines] == [
        ("ssd", "shuffle", (0, 10, 15, 8, 3)),
        ("last", "shuffle", (0, 0, 7, 9, 2)),
    ]
    # Of fewer points each has the most until the next one.
    few = tier_levels(account, 2)
    assert few is not None
    assert (few.t_s, few.lines[0].present_bytes) == ((0.0, 3.0), (10, 15))
    assert tier_levels(read(TINY), 400) is None


@pytest.mark.parametrize(
    "account",
    [
        None,
        [],
        {},
        {"tiers": 5},
        {"at_ms": "soon", "executor_id": "0", "tiers": [{}]},
        {"at_ms": 1, "executor_id": "0", "tiers": [{"tier": "ssd", "kinds": [{}]}]},
    ],
)
def test_a_damaged_account_of_tiers_is_counted(account: Any, write: Write) -> None:
    found = read(write(START + event(spark.TIERED_STORAGE, account=account) + END))
    assert found.tiers is None
    assert found.reading.damaged == {spark.TIERED_STORAGE: 1}


def test_accounts_of_tiers_are_bounded(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark, "_TIERS", 3)
    each = tiered(2_000, "0", on_tier("ssd", {"shuffle": (1, None), "spill": (1, None)}))
    found = read(write(START + 3 * each + END))
    assert found.tiers is not None
    assert len(found.tiers) == 2
    assert found.reading.damaged == {f"{spark.TIERED_STORAGE} (too many)": 2}


def test_a_process_that_had_more_than_its_tier_may_use_is_told(write: Write) -> None:
    """The limit is per process, not in total: on two hosts each may use as much."""

    def rules(*bytes_each: int) -> set[str]:
        told = (
            tiered(9_000, str(n), on_tier("ssd", {"shuffle": (each, None)}, use_at_most_bytes=100))
            for n, each in enumerate(bytes_each)
        )
        return {use.rule for use in tier_uses(read(write(START + b"".join(told) + END)))}

    assert rules(100, 100) == {"uses at most 100 B"}
    assert rules(100, 101) == {"uses at most 100 B, but held more"}
