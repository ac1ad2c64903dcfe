"""Bytes by tier of local storage, summed over the processes of a job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from venturi.core.units import format_bytes_decimal
from venturi.record.job_account import JobAccount

if TYPE_CHECKING:
    import polars as pl

LINES_MAX = 40
TOLD_BY = ("executor_id", "tier", "kind")
"""Key of a row of `JobAccount.tiers`: process, tier and kind of file."""


@dataclass(frozen=True, slots=True)
class TierUse:
    """Files of one kind on one tier, of all processes of the job.

    `order` is the tier's place in the fill order. `seen_bytes` excludes files deleted before their
    size was read, within about 50 ms. `peak_bytes` is the sum of each process's peak. `overflows`
    counts files that didn't fit into an earlier tier; `first_overflow_s` is the time of the first,
    in seconds since the application started (None: never, or its start isn't recorded).
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
    """Use of each tier, in fill order; empty if the job had no tiers.

    Reports are cumulative per process, so the last one is complete.
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
    """The last report of each process for each tier and kind."""
    return tiers.sort("at_ms").unique(TOLD_BY, keep="last", maintain_order=True)


def increments(tiers: pl.DataFrame, column: str) -> pl.DataFrame:
    """`tiers` in time order, with `change`: the increase of `column` since the last report of
    the same process, tier and kind, or since 0.
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
    """Bytes on each tier over time; `t_s` counts from the start of the application.

    Tiers are in fill order. If there are more reports than points, each value is the peak until the
    next point.
    """

    t_s: tuple[float, ...]
    lines: tuple[TierLine, ...]


def tier_levels(account: JobAccount, points: int) -> TierLevels | None:
    """The bytes on each tier at up to `points` times; None if not recorded.

    A process's report holds until its next one. Shows at most `LINES_MAX` tiers and kinds.
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
        # The size of the first files of a kind is unknown until they are written.
        more = ", but held more" if exceeded else ""
        return f"uses at most {format_bytes_decimal(use_at_most_bytes)}{more}"
    return "takes what is left"
