"""Which settings only identify a trial, and which are factors measured once each."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from venturi.record.query.identifying_keys import identifies
from venturi.record.trial import Scalar

RANDOM = random.Random(36)


def digits(n: int) -> str:
    return str(RANDOM.randrange(10 ** (n - 1), 10**n) | 1)


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("tmp_dir", [f"/tmp/spark-{digits(5)}/out" for _ in range(6)]),
        ("out", ["/tmp/tmpq7_x2wee/o", "/tmp/tmpz8kd_3aa/o", "/tmp/tmpo1lpp_2a/o"]),
        ("run", ["3f2504e0-4f89-11d3-9a0c-0305e82c3301", "3f2504e0-4f89-11d3-9a0c-0305e82c3302"]),
        ("digest", ["9f86d081884c7d65", "60303ae22b998861", "fd61a03af4f77d87"]),
        ("spark.app.id", ["application_1700000000123_0017", "application_1700000000123_0018"]),
        ("pid", [4711, 4712, 4800, 5000]),
        ("driver.pid", [17, 19]),
        ("launched", ["2026-11-20T08:00:01", "2026-11-20T08:10:07", "2026-11-20 09:00:00"]),
        ("date", ["2026-11-20", "2026-11-21"]),
        ("Datum", ["20.11.2026 08:00", "21.11.2026 8:05", "21.11.2026 09:00:07"]),
        ("day", ["20.11.2026", "1.12.2026", "11/21/2026"]),
        ("start_ms", [1700000000123, 1700000060456]),
    ],
)
def test_identifiers_are_recognized(key: str, values: Sequence[Scalar]) -> None:
    assert identifies(key, list(dict.fromkeys(values)), len(values))


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("maps", [4, 8, 16, 32]),
        ("maps", list(range(1, 41))),
        ("memory_mb", [1234, 2345, 3456]),
        ("memory", ["1500m", "2500m", "3333m", "4711m"]),
        ("input", ["/data/1000", "/data/5000", "/data/10000"]),
        ("input", ["/data/sort-1024", "/data/sort-1536", "/data/sort-4096"]),
        ("data_dir", ["/mnt/ssd", "/mnt/hdd", "/mnt/nvme"]),
        ("data_dir", ["/mnt/disk1", "/mnt/disk2", "/mnt/disk3"]),
        ("jar", ["/opt/a-12345.jar", "/opt/b-54321.jar"]),
        ("disk", ["HDD", "SSD"]),
        ("codec", ["zlib", "lz4"]),
        ("seed", [17, 4711, 99991]),
        ("commit", ["9f86d081884c7d65", "60303ae22b998861"]),
        ("spark.version", ["3.5.1234", "3.5.4321"]),
        ("timeout_s", [60, 120, 600]),
        ("flag", [True, False]),
        ("tmp_dir", ["/tmp/run-4711"]),
    ],
)
def test_factors_measured_once_each_are_none(key: str, values: Sequence[Scalar]) -> None:
    assert not identifies(key, values, len(values))


def test_a_value_of_several_trials_is_none() -> None:
    values = [f"/tmp/run-{digits(5)}" for _ in range(6)]
    assert identifies("tmp_dir", values, 6)
    assert not identifies("tmp_dir", values, 12)
