"""What lay on which tier of local storage: of a job's account, the sums over its processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from venturi.core.units import format_bytes_decimal
from venturi.record.job_account import JobAccount

if TYPE_CHECKING:
    import polars as pl

LINES_MAX = 40
TOLD_BY = ("executor_id", "tier", "kind")
"""Whose account a row of `JobAccount.tiers` is, and of what."""


@dataclass(frozen=True, slots=True)
class TierUse:
    """Files of one kind on one tier, of all processes of the job.

    `order` is the tier's place in the order in which they are filled. `seen_bytes` are of all files
    but those that were gone before they were looked at, within some 50 ms. `peak_bytes` is the most
    that was there at a time, of each process, added up. `overflows` counts what an earlier tier had
    no room for; `first_overflow_s` is when that was first so, in seconds from the start of the
    application (None: never, or the log does not say when it started).
    """

    order: int
    tier: str
    rule: str
    kind: str
    placements: int
    seen_bytes: int
    peak_bytes: int
    overflows: int
    first_overflow_s: float | None
    errors: int


def tier_uses(account: JobAccount) -> tuple[TierUse, ...]:
    """Tier by tier in the order in which they are filled; empty if there were none.

    Everything is counted from the start of a process, so its last account says all of it.
    """
    if account.tiers is None:
        return ()
    from venturi.record.store.frames import pl

    sums = (
        last_reported(account.tiers)
        .group_by("order", "tier", "kind")
        .agg(
            pl.col("placements", "seen_bytes", "peak_bytes", "overflows", "errors").sum(),
            pl.col("leave_free_bytes", "use_at_most_bytes").max(),
            pl.col("first_overflow_ms").min(),
            (pl.col("peak_bytes") > pl.col("use_at_most_bytes")).any().alias("exceeded"),
        )
        .sort("order", "seen_bytes", "kind", descending=[False, True, False])
    )
    began_ms = account.application.started_ms
    return tuple(
        TierUse(
            order=row["order"],
            tier=row["tier"],
            rule=_rule(row["leave_free_bytes"], row["use_at_most_bytes"], row["exceeded"]),
            kind=row["kind"],
            placements=row["placements"],
            seen_bytes=row["seen_bytes"],
            peak_bytes=row["peak_bytes"],
            overflows=row["overflows"],
            first_overflow_s=None
            if row["first_overflow_ms"] is None or began_ms is None
            else (row["first_overflow_ms"] - began_ms) / 1e3,
            errors=row["errors"],
        )
        for row in sums.iter_rows(named=True)
    )


def last_reported(tiers: pl.DataFrame) -> pl.DataFrame:
    """What each process said last of each tier and kind."""
    return tiers.sort("at_ms").unique(TOLD_BY, keep="last", maintain_order=True)


def increments(tiers: pl.DataFrame, column: str) -> pl.DataFrame:
    """`tiers` in the order of their moments, with `change`: by how much `column` of a process, a
    tier and a kind is more than it was told before, at first than 0.
    """
    from venturi.record.store.frames import pl

    told = pl.col(column).forward_fill().fill_null(0)
    change = (told - told.shift(1, fill_value=0)).over(*TOLD_BY)
    return tiers.sort("at_ms").with_columns(change=change)


@dataclass(frozen=True, slots=True)
class TierLine:
    """Bytes of one kind on one tier, of all processes, at the moments of its `TierLevels`."""

    tier: str
    kind: str
    present_bytes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TierLevels:
    """What lay on which tier over time; `t_s` from the start of the application.

    Tier by tier in the order in which they are filled. Where there were more moments than points,
    each value is the most until the next point.
    """

    t_s: tuple[float, ...]
    lines: tuple[TierLine, ...]


def tier_levels(account: JobAccount, points: int) -> TierLevels | None:
    """The bytes on each tier at no more than `points` moments; None if that is not known.

    A process's account holds until its next one. Of very many names of tiers and kinds the first
    `LINES_MAX` are told.
    """
    began_ms = account.application.started_ms
    if account.tiers is None or began_ms is None:
        return None
    import numpy as np  # noqa: PLC0415 - `show --help` does without

    rows = increments(account.tiers, "present_bytes")
    moments_ms = np.unique(np.append(rows["at_ms"].to_numpy(), began_ms))
    of_point = np.unique(np.linspace(0, len(moments_ms), points, endpoint=False).astype(int))
    lines: list[TierLine] = []
    for (_, tier, kind), own in rows.sort("order", "kind").group_by(
        "order", "tier", "kind", maintain_order=True
    ):
        if len(lines) == LINES_MAX:
            break
        at = np.searchsorted(moments_ms, own["at_ms"].to_numpy())
        changes = np.zeros(len(moments_ms), dtype=np.int64)
        np.add.at(changes, at, own["change"].to_numpy())
        most = np.maximum.reduceat(np.cumsum(changes), of_point)
        lines.append(TierLine(str(tier), str(kind), tuple(most.tolist())))
    t_s = (moments_ms[of_point] - began_ms) / 1e3
    return TierLevels(tuple(t_s.tolist()), tuple(lines))


def _rule(leave_free_bytes: int | None, use_at_most_bytes: int | None, exceeded: bool) -> str:
    if leave_free_bytes is not None:
        return f"leaves {format_bytes_decimal(leave_free_bytes)} free"
    if use_at_most_bytes is not None:
        # How large the first files of a kind become nobody knows before they are written.
        more = ", but had more of these at once" if exceeded else ""
        return f"uses at most {format_bytes_decimal(use_at_most_bytes)}{more}"
    return "takes what is left"
