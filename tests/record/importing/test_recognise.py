"""Recognizes a file's format by its beginning: every format, and malicious files."""

from __future__ import annotations

import gzip
import os
import re
import resource
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.core.errors import VenturiError
from venturi.record import starter
from venturi.record.importing.exchange import export_trials
from venturi.record.importing.formats import FORMATS, FormatKind
from venturi.record.importing.importer import found, import_file
from venturi.record.importing.recognise import formats_of, recognise
from venturi.record.query.paging import whole_trials
from venturi.record.store.repository import TrialRepository

DATA = Path(__file__).parents[2] / "data"
RESULTS = DATA / "results"


def examples() -> Iterator[tuple[str, Path]]:
    """Every file of test data with the format that it is of."""
    for folder, name in (("aloja-minerva", "aloja"), *((name, name) for name in FORMATS)):
        for path in sorted((RESULTS / folder).glob("*.*")):
            if path.name != "README.md":
                yield name, path
    for folder in ("asv", "clickbench"):
        for path in sorted((RESULTS / "tools" / folder).glob("*.json")):
            yield "bench-tools", path
    yield "bench-tools", RESULTS / "tools" / "pytest-benchmark.json"
    for path in sorted((DATA / "spark").rglob("*")):
        if path.is_file() and path.suffix != ".md" and "appstatus" not in path.name:
            yield "spark-eventlog", path
    for path in sorted((DATA / "mapreduce").rglob("*.jhist")):
        yield "mapreduce-history", path
    for path in starter.TABLES:
        yield "published", path


EXAMPLES = tuple(examples())


@pytest.mark.parametrize(
    ("name", "path"), EXAMPLES, ids=[str(path.relative_to(path.parents[2])) for _, path in EXAMPLES]
)
def test_a_file_is_of_one_format(name: str, path: Path) -> None:
    assert recognise(path).name == name


def test_every_format_has_an_example() -> None:
    # A user's own table has no beginning of its own: its format is always named.
    assert {name for name, _ in EXAMPLES} == FORMATS.keys() - {"archive", "table"}


def test_an_archive_and_its_unpacked_files(tmp_path: Path, repository: TrialRepository) -> None:
    """Also if a tool or a person packed it again, in a folder or with files of their own."""
    import_file(repository, "scout", DATA / "results/scout/runs.csv")
    trials = whole_trials(repository)
    export_trials(repository, trials, tmp_path / "own.zip")
    with zipfile.ZipFile(tmp_path / "own.zip") as archive:
        archive.extractall(tmp_path / "unpacked")
        members = [(name, archive.read(name)) for name in archive.namelist()]
    again = {
        "zip in zip": [("own.zip", (tmp_path / "own.zip").read_bytes())],
        "in a folder": [(f"export/{name}", data) for name, data in members],
        "with folders": [("artifacts/", b""), *members, ("__MACOSX/._manifest.json", b"x")],
    }
    for name, files in again.items():
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for member, data in files:
                archive.writestr(member, data)
    for name in ("own.zip", "unpacked", *again):
        assert recognise(tmp_path / name).name == "archive"
        report = import_file(repository, "archive", tmp_path / name)
        assert (report.already_present, report.refused_count) == (len(trials), 0)


@pytest.mark.parametrize("folder", ["spark/4.3.0", "spark/4.3.0/eventlog_v2_local-1795206808966"])
def test_a_folder_of_logs(folder: str, tmp_path: Path) -> None:
    if folder == "spark/4.3.0":  # without the unreadable compressed ones
        for each in (DATA / folder).glob("*.log"):
            (tmp_path / each.name).symlink_to(each)
        (tmp_path / "notes.txt").write_text("ZVEZDA: begins as what LZF packed")
        assert recognise(tmp_path).name == "spark-eventlog"
    else:
        assert recognise(DATA / folder).name == "spark-eventlog"


def test_blank_lines_take_no_time(tmp_path: Path) -> None:
    (tmp_path / "blank").write_bytes(b"\n" * (1 << 16))  # half a minute, were each end tried
    with pytest.raises(VenturiError):
        recognise(tmp_path / "blank")


def test_a_report_without_its_header(tmp_path: Path) -> None:
    report = tmp_path / "hibench.report"
    *_, line = (RESULTS / "hibench" / "hibench.report").read_text().splitlines()[:2]
    report.write_text(line + "\n")
    assert recognise(report).name == "hibench"


def test_what_may_be_several_is_left_to_the_user(tmp_path: Path) -> None:
    both = tmp_path / "both.csv"
    both.write_text("ID,Benchmark,Exe.Time,framework,datasize,completed\n")
    with pytest.raises(VenturiError, match="may be aloja or scout") as caught:
        recognise(both)
    assert caught.value.hint == f"venturi import aloja {both} or venturi import scout {both}"
    for name in ("spark/4.3.0/tiny.log", "mapreduce/3.4.2"):
        (tmp_path / Path(name).name).symlink_to(DATA / name)
    (tmp_path / "job.jhist").write_text("Avro-Json\n{}\n")
    assert [each.name for each in formats_of(tmp_path)] == ["mapreduce-history", "spark-eventlog"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"\0" * 100_000,
        b"ID,Benchmark,Exe.Time,\0\n",
        b"\xff\xfe\0",
        b"{",
        b"{}",
        b"neither a log nor a catalogue\n",
        b'"' * 70_000,
        b"," * 70_000,
        b" " * 70_000,
        b"{" * 70_000,
        gzip.compress(b"a,b\n", mtime=0),
        b"\x1f\x8b",
        b"LZ4Block" + b"\xff" * 30,
        b"\x28\xb5\x2f\xfd",
        b"\x82SNAPPY\0" + b"\xff" * 30,
    ],
    ids=lambda content: ascii(content[:12]),
)
def test_what_begins_like_nothing(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(VenturiError) as caught:
        recognise(path)
    assert caught.value.code == "VEN-IMPORT-FORMAT"
    assert re.search("formats are archive, |^copy it again", caught.value.hint)


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("Linux 6.1 (h) 11/28/26 _x86_64_ (2 CPU)\n\n07:02:28 AM  CPU   %usr\n", "sadf -j"),
        ("# hostname;interval;timestamp;CPU;%user\n", "sadf -j"),
        ("procs -----------memory---------- ---swap--\n r  b   swpd\n", "sadf -j"),
        ("Connecting to host 10.0.0.2, port 5201\n[  5] local 10.0.0.1 port 5\n", "iperf3 -c"),
        (f"{'-' * 60}\nClient connecting to 10.0.0.2, TCP port 5001\n", "iperf3 -c"),
        ("r: (g=0): rw=read, bs=(R) 4096KiB-4096KiB, ioengine=psync\n", "fio --output-format=json"),
        ("20260101000000,10.0.0.1,40000,10.0.0.2,5001,3,0.0-10.0,1175,940\n", "iperf3 -c"),
    ],
)
def test_reports_that_are_not_read_name_the_option_that_is(
    text: str, option: str, tmp_path: Path
) -> None:
    path = tmp_path / "report"
    path.write_text(text)
    with pytest.raises(VenturiError, match="which isn't read") as caught:
        recognise(path)
    assert f"use JSON: {option}" in caught.value.hint


def test_an_empty_file_is_named_as_such(tmp_path: Path) -> None:
    path = tmp_path / "app-1.log"
    cut = b"\x1f\x8b\x08"
    empty = gzip.compress(b"")
    for content, why in (
        (b"", "is empty"),
        (b"\0" * 99, "no text"),
        (cut, "cut off or damaged"),
        (empty, "is compressed, and empty"),
    ):
        path.write_bytes(content)
        with pytest.raises(VenturiError, match=why):
            recognise(path)


@given(st.binary(max_size=300))
def test_no_beginning_does_more_than_not_be_recognised(data: bytes) -> None:
    for each in FORMATS.values():
        assert each.begins(data, "file") in {True, False}


def test_a_pipe_is_not_waited_for_and_an_empty_folder_holds_nothing(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero")):
        with pytest.raises(VenturiError, match="neither a file nor a folder"):
            recognise(path)
        for each in FORMATS.values():
            with pytest.raises(VenturiError, match="neither a file nor a folder") as caught:
                list(found(each, path))
            assert caught.value.code == each.kind.value
    with pytest.raises(VenturiError, match="contains no log of an engine"):
        recognise(tmp_path)
    with pytest.raises(VenturiError, match="cannot be read"):
        recognise(tmp_path / "absent")


def _line_of_1_gb(path: Path, begin: bytes) -> None:
    with path.open("wb") as file:
        file.write(begin)
        file.truncate(1 << 30)  # sparse: zeros without an end of line


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["archive", "spark-eventlog", "mapreduce-history", "aloja", "spark-perf", "pkb"]
)  # each way of reading; the others read as one of these
def test_a_line_of_1_gb_is_an_error_in_little_memory(name: str, tmp_path: Path) -> None:
    """In a process of its own that may have 1.5 GB of addresses: the line may never be in it."""
    path = tmp_path / "file"
    begins = dict.fromkeys(FORMATS, b"a" * 100)
    for known, example in EXAMPLES:
        if FORMATS[known].kind is FormatKind.RESULTS or example.suffix in {".log", ".jhist"}:
            begins[known] = example.read_bytes().split(b"\n")[0]
    _line_of_1_gb(path, begins[name])
    program = "import sys; from venturi.cli.main import main; sys.argv[0] = 'venturi'; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "import", name, str(path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "VENTURI_HOME": str(tmp_path / "home")},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (3 << 29, 3 << 29)),
    )
    assert "Traceback" not in done.stderr
    if name == "spark-eventlog":  # an event that is too long is left out, as in a log that is whole
        assert (done.returncode, "1 event exceeded the size limit" in done.stdout) == (0, True)
    else:
        assert done.returncode == 1, done.stderr
        assert f"error[{FORMATS[name].kind.value}]" in done.stderr


def test_a_packed_bomb_is_looked_at_and_not_unpacked(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.gz"
    with gzip.open(bomb, "wb") as file:
        for _ in range(256):
            file.write(bytes(1 << 20))
    with pytest.raises(VenturiError, match="contains no text"):
        recognise(bomb)


def test_a_zip_bomb_is_an_error_and_leaves_nothing(
    repository: TrialRepository, tmp_path: Path
) -> None:
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", bytes(300 << 20))
        archive.writestr("trials.ndjson", "")
    chosen = recognise(bomb)
    ((_, take),) = found(chosen, bomb)
    with pytest.raises(VenturiError) as caught:
        take(repository, lambda done, total: None)
    assert caught.value.code == "VEN-EXCHANGE-FORMAT"
    assert whole_trials(repository) == []
