"""A numeric setting is an ordered curve with the range that is statistically best."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from venturi.record.importing.importer import import_file
from venturi.record.query.selection import Query
from venturi.record.store.repository import TrialRepository
from venturi.results.effects.effect import NumericCurve
from venturi.web.api.context import Selection, Services
from venturi.web.api.results.scaling import scaling
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


def test_value_without_a_setting_in_common_with_the_best_has_its_place(
    repository: TrialRepository, tmp_path: Path
) -> None:
    """2 and 8 maps share settings with 4, the baseline, but not with each other."""
    all_rows = rows(12)
    kept = [row for row in all_rows if row[1] in (4, 32)]
    kept += [row for row in all_rows if row[1] == 2 and row[2] in {"d0", "d1", "d2", "d3"}]
    kept += [row for row in all_rows if row[1] == 8 and row[2] in {"d8", "d9", "d10", "d11"}]
    found = curve(repository, tmp_path, kept)
    assert found is not None
    assert (found.reference, found.best) == (4, (4, 8))
    standings = {each.value: each.standing for each in found.values}
    assert standings[2] == standings[32] == "worse"
    assert {each.value: each.settings for each in found.values} == {2: 4, 4: None, 8: 4, 32: 12}


def test_a_key_that_changes_along_hides_the_curve(
    repository: TrialRepository, tmp_path: Path
) -> None:
    along = [(work, maps, f"for {maps}", *rest) for work, maps, _, *rest in rows(1)]
    assert curve(repository, tmp_path, along) is None


def test_scaling_has_the_curve_of_the_effect(repository: TrialRepository, tmp_path: Path) -> None:
    found = curve(repository, tmp_path, rows(12))
    answer = scaling(Services(repository), Selection(), x="maps")
    assert answer.total == 12
    assert answer.matched == found
    assert answer.verdict == "No single best maps; 4 to 16 tie"


def test_scaling_by_amounts_has_no_best(repository: TrialRepository, tmp_path: Path) -> None:
    table = tmp_path / "own.csv"
    lines = [f"sort,{10**9 * n},{10 * n + at},d{at}" for n in (1, 2, 4) for at in range(3)]
    table.write_text("\n".join(("workload,input_bytes,elapsed_s,disk", *lines)) + "\n")
    import_file(repository, "table", table)
    answer = scaling(Services(repository), Selection(), x="input_bytes")
    assert (answer.matched, answer.total) == (None, 3)
    assert answer.verdict == (
        "twice the input_bytes take 1.93 of the time [1.78, 2.10], on average over 3 settings"
    )
    one = scaling(Services(repository), Selection(), x="input_bytes", skip=1)
    assert one.verdict.startswith("twice the input_bytes (2.0 GB to 4.0 GB) took ")
