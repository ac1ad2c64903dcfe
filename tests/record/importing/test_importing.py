"""Importing results: whole or not at all, once, and counted; the public files where they are."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from public_data import ImportedData, dataset
from venturi.core.errors import CODES, ExitCode, VenturiError
from venturi.core.settings import Settings
from venturi.record.importing.formats import FORMATS, FormatKind, declared_format
from venturi.record.importing.importer import import_file, store
from venturi.record.importing.recognise import recognise
from venturi.record.importing.tally import ImportReport, RefusalReason, Variant
from venturi.record.importing.text import Refusal
from venturi.record.query.conditions import Condition
from venturi.record.query.paging import whole_trials
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import State

REPOSITORY = Path(__file__).parents[3]
FIXTURES = REPOSITORY / "tests" / "data" / "results"
SET4 = FIXTURES / "aloja" / "set4.csv"


@pytest.fixture
def sqlite(settings: Settings) -> Iterator[TrialRepository]:
    with TrialRepository.open(settings) as opened:
        yield opened


def test_what_becomes_of_each_row_is_counted(repository: TrialRepository) -> None:
    results = import_file(repository, "aloja", SET4)
    assert (results.added, results.already_present, results.repeated) == (5, 0, 0)
    assert (results.failed, results.alike, results.refused_count) == (0, 1, 3)
    assert [refusal.line for refusal in results.refused] == [6, 8, 9]
    assert RefusalReason("Maps", "below 1", 1) in results.reasons
    assert Variant("Service.Type", "On-Premise", "On-premise", 1) in results.spellings
    stored = whole_trials(repository)
    assert len(stored) == 5
    digest = hashlib.sha256(SET4.read_bytes()).hexdigest()
    assert {trial.provenance.digest for trial in stored} == {digest}


def test_long_rows_of_digits_that_are_no_number_are_refused(
    sqlite: TrialRepository, tmp_path: Path
) -> None:
    """Each immediately: trying all ways to split the digits in two would take minutes."""
    lines = (FIXTURES / "scout/runs.csv").read_text().splitlines()
    fields = lines[1].split(",")
    fields[8] = "1" * 8_000 + "x"
    path = tmp_path / "long.csv"
    path.write_text("\n".join([lines[0], *[",".join(fields)] * 500]) + "\n")
    results = import_file(sqlite, "scout", path)
    assert (results.added, results.refused_count) == (0, 500)
    assert results.reasons == (RefusalReason("input_size", "not a number", 500),)


def test_a_second_import_adds_nothing(repository: TrialRepository) -> None:
    first = import_file(repository, "scout", FIXTURES / "scout" / "runs.csv")
    stored = whole_trials(repository)
    again = import_file(repository, "scout", FIXTURES / "scout" / "runs.csv")
    assert (first.added, first.already_present, first.failed) == (4, 0, 2)
    assert (again.added, again.already_present, again.failed) == (0, 4, 2)
    assert again.refused == first.refused
    assert whole_trials(repository) == stored


def test_a_row_that_is_there_twice_is_added_once(sqlite: TrialRepository, tmp_path: Path) -> None:
    twice = tmp_path / "twice.csv"
    header, *rows = SET4.read_bytes().splitlines(keepends=True)
    twice.write_bytes(b"".join((header, *rows, *rows)))
    results = import_file(sqlite, "aloja", twice)
    assert (results.added, results.repeated, results.alike) == (5, 5, 1)
    assert len(whole_trials(sqlite)) == 5


def test_rows_that_readers_cannot_bear_are_refused_by_line_and_the_others_taken_in(
    repository_settings: Settings,
) -> None:
    limits = replace(repository_settings.limits, hosts=8)
    with TrialRepository.open(replace(repository_settings, limits=limits)) as repository:
        results = import_file(repository, "aloja", SET4)
        assert (results.added, results.refused_count) == (4, 4)
        refusal = Refusal(7, "cluster.hosts", "16 entries", "more than 8 entries")
        assert refusal in results.refused
        assert RefusalReason("cluster.hosts", "more than 8 entries", 1) in results.reasons
        assert {len(trial.cluster.hosts) for trial in whole_trials(repository)} == {3, 8}


def test_failed_trials_are_stored_as_failed(repository: TrialRepository) -> None:
    results = import_file(repository, "ibm", FIXTURES / "ibm" / "trials.csv")
    assert (results.added, results.failed, results.refused_count) == (5, 4, 2)
    assert len(whole_trials(repository, Condition.equal("state", State.FAILED))) == 4


def test_of_a_damaged_file_nothing_is_kept(repository: TrialRepository, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.csv"
    damaged.write_bytes(SET4.read_bytes() + b"\xff\xfe\n")
    with pytest.raises(VenturiError) as caught:
        import_file(repository, "aloja", damaged)
    assert caught.value.code == "VEN-IMPORT-FORMAT"
    assert caught.value.where == {"file": str(damaged), "line": 10}
    assert whole_trials(repository) == []


def test_a_last_line_that_is_cut_off_costs_itself(
    repository: TrialRepository, tmp_path: Path
) -> None:
    cut = tmp_path / "cut.csv"
    cut.write_bytes(SET4.read_bytes()[:-30])
    results = import_file(repository, "aloja", cut)
    assert (results.added, results.refused_count) == (5, 3)
    assert len(whole_trials(repository)) == 5
    refusal = results.refused[-1]
    assert (refusal.line, refusal.reason) == (9, "the last line is truncated")


def test_lines_above_the_header_cost_themselves(
    repository: TrialRepository, tmp_path: Path
) -> None:
    path = tmp_path / "titled.csv"
    path.write_bytes(b"ALOJA, exported 2016\n\n" + SET4.read_bytes())
    assert recognise(path).name == "aloja"
    results = import_file(repository, "aloja", path)
    plain = import_file(repository, "aloja", SET4)
    assert (results.added, plain.already_present) == (5, 5)
    assert results.refused_count == plain.refused_count + 1
    refusal = results.refused[0]
    assert (refusal.line, refusal.reason) == (1, "a line above the header")


def test_an_unknown_format_and_an_unreadable_file_are_errors(
    sqlite: TrialRepository, tmp_path: Path
) -> None:
    with pytest.raises(VenturiError) as caught:
        import_file(sqlite, "xls", SET4)
    assert caught.value.exit_code is ExitCode.USAGE
    assert "aloja" in caught.value.hint
    with pytest.raises(VenturiError, match="no file of the format aloja") as caught:
        import_file(sqlite, "aloja", tmp_path)
    assert caught.value.where == {"file": str(tmp_path)}


def test_progress_ends_at_the_end(sqlite: TrialRepository) -> None:
    seen: list[tuple[int, int]] = []
    import_file(sqlite, "aloja", SET4, lambda done, total: seen.append((done, total)))
    size_bytes = SET4.stat().st_size
    assert seen[-1] == (size_bytes, size_bytes)
    assert all(0 <= done <= total == size_bytes for done, total in seen)


def test_all_refusals_are_counted_and_the_first_are_kept(sqlite: TrialRepository) -> None:
    results = store(sqlite, (Refusal(line, "f", "v" * 9999, "no") for line in range(1, 2001)))
    assert (results.added, results.refused_count, len(results.refused)) == (0, 2000, 1000)
    assert results.reasons == (RefusalReason("f", "no", 2000),)
    assert len(results.refused[0].value) < 1000
    assert not results.sound


def test_every_format_has_its_reader(repository: TrialRepository) -> None:
    assert all(name == each.name and each.title for name, each in FORMATS.items())
    for name, each in FORMATS.items():
        with pytest.raises(VenturiError) as caught:
            import_file(repository, name, REPOSITORY / "LICENSE")
        assert caught.value.code == each.kind.value
        assert caught.value.code in CODES
        assert caught.value.where["file"] == str(REPOSITORY / "LICENSE")
    assert whole_trials(repository) == []


def test_every_format_is_what_its_reader_declares() -> None:
    assert {each.kind for each in FORMATS.values()} == set(FormatKind)
    for each in FORMATS.values():
        found = replace(each.reader.FORMAT, module=each.module, kind=each.kind)
        assert (each, each.reader.__name__) == (found, each.module)


def test_format_not_written_in_literals_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "stopwatch.py"
    path.write_text('COLUMNS = ("a",)\nFORMAT = Format("x", "y", columns=COLUMNS)\n')
    with pytest.raises(ValueError, match=r"stopwatch\.py: FORMAT is not written in literals only"):
        declared_format(path)
    path.write_text("COLUMNS = ()\n")
    assert declared_format(path) is None


def test_the_list_of_formats_loads_no_reader() -> None:
    program = "import sys; import venturi.record.importing.formats; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    ours = {name for name in done.stdout.split() if name.startswith("venturi.record.")}
    assert ours == {"venturi.record.importing", "venturi.record.importing.formats"}


def rows_of(results: ImportReport) -> int:
    return results.added + results.already_present + results.repeated + results.refused_count


@pytest.mark.slow
def test_the_whole_of_aloja_s_fourth_set(aloja: ImportedData) -> None:
    results = aloja.report
    assert rows_of(results) == 37_049
    assert (results.added, results.repeated, results.alike) == (37_047, 0, 972)
    assert [(reason.field, reason.count) for reason in results.reasons] == [("Maps", 2)]
    assert results.failed == 0
    spellings = {(each.field, each.written): each.count for each in results.spellings}
    assert spellings["Service.Type", "On-Premise"] == 3_701


def test_the_whole_of_scout(sqlite: TrialRepository) -> None:
    results = import_file(sqlite, "scout", dataset("scout.csv"))
    assert (rows_of(results), results.added, results.failed) == (1_242, 1_242, 75)
    workloads = {(t.workload.name, t.engine.name, t.workload.scale) for t in whole_trials(sqlite)}
    assert len(workloads) == 18


@pytest.mark.slow
def test_the_whole_of_ibm_s_set(sqlite: TrialRepository) -> None:
    results = import_file(sqlite, "ibm", dataset("ibm_multicloud.csv"))
    assert (rows_of(results), results.added, results.failed) == (2_507, 2_507, 305)
    failed = whole_trials(sqlite, Condition.equal("state", State.FAILED))
    failures = Counter(trial.failure.kind for trial in failed if trial.failure)
    assert (failures["timeout"], failures["connection"]) == (67, 24)
