"""The rounds there are."""

from __future__ import annotations

from torture import archives, fuzz_archives, fuzz_records, sort_calls, sort_kills, sort_shapes

ROUNDS = {
    round_.name: round_
    for round_ in (
        sort_kills.ROUND,
        sort_calls.ROUND,
        sort_shapes.ROUND,
        archives.ROUND,
        fuzz_records.ROUND,
        fuzz_archives.ROUND,
    )
}
