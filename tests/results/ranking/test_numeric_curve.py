"""A numeric setting is an ordered curve with the range that is statistically best."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from venturi.record.importing.importer import import_file
from venturi.record.query.selection import Query
from venturi.record.store.repository import TrialRepository
from venturi.results.effects.effect import NumericCurve
from venturi.web.effects import Question, effects

TIMES_S = {1: 400, 2: 210, 4: 100, 8: 100, 16: 100, 32: 180}


def curve(
    repository: TrialRepository, folder: Path, rows: list[tuple[object, ...]], key: str = "maps"
) -> NumericCurve | None:
    header = ("workload", "maps", "disk", "elapsed_s", "repetition")
    table = folder / "own.csv"
    table.write_text("\n".join(",".join(map(str, row)) for row in (header, *rows)) + "\n")
    import_file(repository, "table", table)
    answer = effects(repository, Query(()), Question((key,)))
    if answer.curve is not None:
        assert answer.verdict == answer.curve.sentence
    return answer.curve


def rows(disks: int) -> list[tuple[object, ...]]:
    """Trials of each number of maps on `disks` kinds of disks, each 7 times, within 5 %."""
    random = Random(3)
    return [
        ("sort", maps, f"d{disk}", time_s * (1 + disk) * random.uniform(0.95, 1.05), n)
        for maps, time_s in TIMES_S.items()
        for disk in range(disks)
        for n in range(7)
    ]


@pytest.mark.parametrize("disks", [1, 12])
def test_values_that_tie_are_a_range(
    disks: int, repository: TrialRepository, tmp_path: Path
) -> None:
    found = curve(repository, tmp_path, rows(disks))
    assert found is not None
    assert [each.value for each in found.values] == list(TIMES_S)
    assert found.sentence == "No single best maps; 4 to 16 tie"
    standings = {each.value: each.standing for each in found.values}
    assert [standings[each] for each in (1, 2, 32)] == ["worse"] * 3
    ratios = [each.ratio for each in found.values]
    assert None not in ratios


def test_other_keys_have_no_curve(repository: TrialRepository, tmp_path: Path) -> None:
    assert curve(repository, tmp_path, rows(8), "disk") is None


def test_two_values_are_no_curve(repository: TrialRepository, tmp_path: Path) -> None:
    few = [row for row in rows(1) if row[1] in (4, 8)]
    assert curve(repository, tmp_path, few) is None


def test_too_little_data_is_said(repository: TrialRepository, tmp_path: Path) -> None:
    once = [row for row in rows(1) if row[4] == 0]
    found = curve(repository, tmp_path, once)
    assert found is None or found.sentence.startswith("Can't tell which maps is fastest")
