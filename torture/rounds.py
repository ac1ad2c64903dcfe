"""The rounds there are."""

from __future__ import annotations

from torture.measure import engine_kills, lab_kills, plan_kills
from torture.record import (
    archives,
    connection_cuts,
    fuzz_archives,
    fuzz_records,
    import_kills,
    migration_kills,
    store_calls,
    upkeep_kills,
)
from torture.sort import sort_calls, sort_kills, sort_shapes
from torture.web import requests, upload_cuts, upload_kills, watch_failures

ROUNDS = {
    module.ROUND.name: module.ROUND
    for module in (
        sort_kills,
        sort_calls,
        sort_shapes,
        import_kills,
        upload_kills,
        upload_cuts,
        watch_failures,
        plan_kills,
        migration_kills,
        upkeep_kills,
        connection_cuts,
        requests,
        engine_kills,
        lab_kills,
        store_calls,
        archives,
        fuzz_records,
        fuzz_archives,
    )
}
