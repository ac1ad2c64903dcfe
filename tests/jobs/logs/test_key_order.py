"""Event logs that another tool wrote again: the order of keys changes nothing."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from event_log import Write
from venturi.jobs.logs import spark
from venturi.jobs.logs.find import spark_logs
from venturi.record.importing.formats import Log
from venturi.record.importing.streams import LogText

LOGS = Path(__file__).parents[2] / "data" / "spark"
Order = Callable[[Iterable[str]], list[str]]
_DRAW = random.Random(1)
ORDERS: dict[str, Order] = {
    "sorted": sorted,
    "reversed": lambda keys: list(keys)[::-1],
    "random": lambda keys: _DRAW.sample(list(keys), len(list(keys))),
    "event first": lambda keys: sorted(keys, key=lambda key: (key != "Event", key)),
}


def ordered(value: Any, order: Order) -> Any:
    if isinstance(value, dict):
        return {key: ordered(value[key], order) for key in order(value)}
    return [ordered(each, order) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "name",
    [
        "2.4.8/join.log",
        "3.5.9/aqe.zstd",
        "4.3.0/stream.zstd",
        "4.3.0/faults/python-udf-faulty.zstd",
    ],
)
def test_the_order_of_keys_changes_nothing(name: str, order: str, write: Write) -> None:
    (log,) = spark_logs(LOGS / name)
    lines = [
        json.dumps(ordered(json.loads(line), ORDERS[order]), separators=(",", ":")).encode()
        for line in LogText(log.files).lines()
    ]
    path = write(b"\n".join(lines) + b"\n")
    found, whole = spark.read(Log(path, (path,))), spark.read(log)
    assert found.application == whole.application
    assert found.configuration == whole.configuration
    assert found.there == whole.there
    different = [name for name in whole.there if not found.table(name).equals(whole.table(name))]
    assert not different
    assert (found.reading.events, found.reading.malformed) == (whole.reading.events, 0)
