"""Reading engines' output: counters, TestDFSIO's figures, phases; pi; sizes; Java."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest

from this_host import HOST
from venturi.core.errors import VenturiError
from venturi.measure.engines.hadoop.job_log import read_counters, read_phases
from venturi.measure.engines.java import find_java
from venturi.measure.trial.programs import ProcessResult
from venturi.measure.workloads.definition import SCALES
from venturi.measure.workloads.dfsio.on_mapreduce import read_dfsio
from venturi.measure.workloads.registry import WORKLOADS, size_of, size_of_bytes, workload
from venturi.measure.workloads.shared.halton import points_inside

LOG = """\
2026-11-20 20:00:01,000 INFO terasort.TeraSort: starting
2026-11-20 20:00:02,000 INFO mapreduce.Job: Running job: job_local1_0001
2026-11-20 20:00:04,500 INFO mapred.LocalJobRunner: map task executor complete.
2026-11-20 20:00:07,000 INFO mapreduce.Job: Job job_local1_0001 completed successfully
2026-11-20 20:00:07,010 INFO mapreduce.Job: Counters: 3
\tMap-Reduce Framework
\t\tSpilled Records=640000
\t\tGC time elapsed (ms)=658
\tShuffle Errors
\t\tBAD_ID=0
2026-11-20 20:00:07,020 INFO terasort.TeraSort: done
"""


def test_counters_by_group() -> None:
    earlier = LOG.replace("640000", "1")
    assert read_counters(earlier + LOG) == {
        "Map-Reduce Framework": {"Spilled Records": 640000, "GC time elapsed (ms)": 658},
        "Shuffle Errors": {"BAD_ID": 0},
    }
    assert read_counters("nothing of the kind") == {}


def test_phases_follow_each_other_without_a_gap() -> None:
    ended = ProcessResult(100.0, 108.0, 0.0, 0.0, 0, Path())
    first_s = datetime(2026, 11, 20, 20, 0, 1, tzinfo=UTC).timestamp()
    phases = read_phases(LOG, ended, 101.0 - first_s)
    assert [phase.name for phase in phases] == [
        "start",
        "submit",
        "map",
        "shuffle+sort+reduce",
        "end",
    ]
    assert sum(phase.elapsed_s for phase in phases) == pytest.approx(8.0)
    assert [phase.started_s for phase in phases] == pytest.approx([100, 101, 102, 104.5, 107])
    for before, after in pairwise(phases):
        assert after.started_s == pytest.approx(before.started_s + before.elapsed_s)


def test_dfsio_figures() -> None:
    text = (
        "----- TestDFSIO ----- : write\n            Date & time: Fri Nov 20 20:00:00 UTC 2026\n"
        "        Number of files: 16\n Total MBytes processed: 16\n      Throughput mb/sec: 250.5\n"
        " Average IO rate mb/sec: 262.25\n  IO rate std deviation: 55.1\n"
        "     Test exec time sec: 2.44\n"
    )
    figures = read_dfsio(text)
    assert figures["Throughput mb/sec"] == 250.5
    assert figures["Average IO rate mb/sec"] == 262.25
    with pytest.raises(VenturiError, match="Total MBytes"):
        read_dfsio(text.replace("Total MBytes", "All MBytes"))
    # A file that took no whole millisecond: Java prints what 1 / 0 and 0 / 0 are.
    for printed in ("Infinity", "NaN"):
        assert "Average IO rate mb/sec" not in read_dfsio(text.replace("262.25", printed))


def test_halton_points_are_exact_and_approach_pi() -> None:
    def mirrored(number: int, base: int) -> Fraction:
        result, weight = Fraction(0), Fraction(1, base)
        while number:
            number, digit = divmod(number, base)
            result, weight = result + weight * digit, weight / base
        return result

    half = Fraction(1, 2)
    inside = sum(
        (mirrored(n, 2) - half) ** 2 + (mirrored(n, 3) - half) ** 2 <= half**2
        for n in range(101, 1101)
    )
    assert points_inside(1000, 100) == inside
    assert 4 * points_inside(10**6) / 10**6 == pytest.approx(math.pi, abs=1e-4)
    whole, parts = points_inside(3000), points_inside(1000) + points_inside(2000, 1000)
    assert whole == parts


def test_every_workload_has_every_scale_in_ascending_order() -> None:
    for each in WORKLOADS:
        records = [size_of(each, scale).records for scale in SCALES]
        assert records == sorted(records)
        assert records[0] > 0


@pytest.mark.parametrize(
    ("name", "scale", "size_bytes", "records"),
    [
        ("terasort", "small", 320_000_000, 3_200_000),
        ("wordcount", "tiny", 31_968, 333),  # whole lines of HiBench's 32,000 bytes
        ("dfsio-write", "tiny", 16 * 2**20, 16),
        ("pi", "tiny", None, 10**6),
    ],
)
def test_sizes(name: str, scale: str, size_bytes: int | None, records: int) -> None:
    size = size_of(workload(name), scale)
    assert (size.bytes, size.records) == (size_bytes, records)


def test_a_size_in_bytes_needs_an_input() -> None:
    with pytest.raises(VenturiError, match="no input"):
        size_of_bytes(workload("pi"), 1000)


@pytest.mark.parametrize(
    ("text", "major"),
    [('JAVA_VERSION="17.0.15"', 17), ('JAVA_VERSION="1.8.0_402"', 8), ("", None)],
)
def test_java_is_read_from_its_release_file(tmp_path: Path, text: str, major: int | None) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text("#!/bin/sh\n")
    (tmp_path / "release").write_text(f'IMPLEMENTOR="x"\n{text}\n')
    java = find_java(HOST, {"JAVA_HOME": str(tmp_path)})
    assert (java.major if java else None) == major
