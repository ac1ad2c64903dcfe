"""sadf, iostat, mpstat and dstat: the series of a host, in the metrics of Venturi's own sampler."""

from __future__ import annotations

import hashlib
import io
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.core.errors import VenturiError
from venturi.record.importing.formats import FORMATS
from venturi.record.importing.host_series import HostSeries
from venturi.record.importing.importer import import_file
from venturi.record.importing.items import ImportSource
from venturi.record.importing.text import Refusal
from venturi.record.store.repository import TrialRepository
from venturi.record.store.series import read_series

DATA = Path(__file__).parents[2] / "data/results"


def read(format: str, content: bytes | str | Path) -> tuple[list[HostSeries], list[Refusal]]:
    if isinstance(content, Path):
        content = content.read_bytes()
    data = content.encode() if isinstance(content, str) else content
    source = ImportSource("file", hashlib.sha256(data).hexdigest())
    items = list(FORMATS[format].reader.read(io.BytesIO(data), source))
    return (
        [each for each in items if isinstance(each, HostSeries)],
        [each for each in items if isinstance(each, Refusal)],
    )


def values(series: HostSeries, metric: str, device: str | None = None) -> list[tuple[float, Any]]:
    return [
        (t_s, value)
        for t_s, name, on, value, _ in series.rows
        if (name, on) == (metric, device) and value is not None
    ]


def test_sadf() -> None:
    ((series,), refused) = read("sysstat", DATA / "sysstat/sadf.json")
    assert (series.host, series.tool, refused) == ("vm", "sadf", [])
    assert series.started_at == datetime(2026, 11, 28, 2, 32, 17, tzinfo=UTC)
    assert values(series, "cpu_user") == [
        (1.0, pytest.approx(0.8762)),
        (2.0, pytest.approx(0.9)),
        (3.0, pytest.approx(0.9213)),
    ]
    assert values(series, "disk_read_bytes_per_s", "vda")[0] == (1.0, 1474.51 * 1024)
    assert values(series, "disk_busy", "vda")[0] == (1.0, pytest.approx(0.0078))
    assert values(series, "net_receive_bytes_per_s", "eth0")[0] == (1.0, 1.31 * 1024)
    assert values(series, "memory_free_bytes")[0] == (1.0, 13939064 * 1024)


def test_a_truncated_sadf_keeps_its_complete_samples() -> None:
    text = (DATA / "sysstat/sadf.json").read_text()
    ((series,), refused) = read("sysstat", text[: int(len(text) * 0.8)])
    assert len(values(series, "cpu_user")) == 2
    assert series.host == "vm"
    assert len(refused) == 1


@pytest.mark.parametrize(
    ("name", "at_s", "read_bytes_per_s"),
    [
        ("iso.txt", 1.0, 1816.0 * 1024),
        ("x.txt", 1.0, 1500.99 * 1024),
        ("dk.txt", 1.0, 2316.83 * 1024),
    ],
)
def test_iostat_leaves_out_the_mean_since_the_start(
    name: str, at_s: float, read_bytes_per_s: float
) -> None:
    ((series,), refused) = read("iostat", DATA / "iostat" / name)
    assert values(series, "disk_read_bytes_per_s", "vda") == [(at_s, read_bytes_per_s)]
    assert (series.host, refused) == ("vm", [])
    assert "the mean since the host started" in series.warnings[-1].message


def test_iostat_and_mpstat_json() -> None:
    ((iostat,), _) = read("sysstat", DATA / "sysstat/iostat.json")
    assert values(iostat, "disk_read_ops_per_s", "vda") == [(1.0, 101.98)]
    ((mpstat,), _) = read("sysstat", DATA / "sysstat/mpstat.json")
    assert mpstat.tool == "mpstat"
    assert [t_s for t_s, _ in values(mpstat, "cpu_user")] == [1.0, 2.0]  # both are intervals


def test_the_mean_since_the_start_takes_no_time_of_a_series() -> None:
    text = (DATA / "sysstat/iostat.json").read_text()
    ((iostat,), _) = read("sysstat", re.sub(r'"timestamp": "[^"]*",', "", text))
    assert values(iostat, "disk_read_ops_per_s", "vda") == [(1.0, 101.98)]
    report = (DATA / "iostat/x.txt").read_text().partition("\n\n\n")[0] + "\n"
    ((alone,), _) = read("iostat", report)
    assert alone.elapsed_s == 0.0
    assert [each.message for each in alone.warnings] == [
        "the only report is the mean since the host started"
    ]


def test_iostat_of_older_versions_and_other_languages() -> None:
    head = "Linux 2.6.32 (h1) \t03/12/2014 \t_x86_64_\t(8 CPU)\n\n"
    report = (
        "{time}\navg-cpu:  %user   %nice %system %iowait  %steal   %idle\n"
        "           1,50    0,00    0,50    0,25    0,00   97,75\n\n"
        "Device:         rrqm/s   wrqm/s     r/s     w/s   rsec/s   wsec/s avgqu-sz  %util\n"
        "sda               0,00     1,00    2,00    3,00    16,00    32,00     0,02   5,00\n\n"
    )
    times = ("03/12/2014 11:59:58 PM", "03/13/2014 12:00:03 AM", "03/13/2014 12:00:08 AM")
    ((series,), refused) = read("iostat", head + "".join(report.format(time=t) for t in times))
    assert values(series, "disk_write_bytes_per_s", "sda") == [(5.0, 16384.0), (10.0, 16384.0)]
    assert values(series, "cpu_iowait") == [(5.0, 0.0025), (10.0, 0.0025)]
    assert (series.began, refused) == ("23:59:58", [])


def test_a_truncated_line_of_iostat_costs_itself() -> None:
    text = (DATA / "iostat/x.txt").read_text().rstrip()
    ((whole,), _) = read("iostat", text + "\n")
    ((series,), refused) = read("iostat", text[:-30])
    assert len(whole.rows) > len(series.rows) > 0
    assert [each.reason for each in refused] == ["truncated"]


def test_dstat() -> None:
    ((series,), refused) = read("dstat", DATA / "dstat/dstat.csv")
    assert (series.host, series.version, refused) == ("ip-10-0-0-79", "Dstat 0.7.0", [])
    assert values(series, "disk_write_bytes_per_s", "total") == [
        (1.0, 272334848.0),
        (2.0, 276201472.0),
    ]
    assert values(series, "cpu_iowait")[0] == (1.0, pytest.approx(0.13065))


def test_pcp_dstat_has_epochs_and_a_truncated_row() -> None:
    ((series,), refused) = read("dstat", DATA / "dstat/pcp.csv")
    assert series.started_at == datetime.fromtimestamp(1_726_534_318, UTC)
    assert values(series, "disk_read_bytes_per_s", "nvme0n1")[0] == (2.0, 1024.0)
    assert [each.line for each in refused] == [10]


@pytest.mark.parametrize(
    ("format", "name"), [("sysstat", "sadf.json"), ("iostat", "x.txt"), ("dstat", "dstat.csv")]
)
def test_a_series_is_a_trial_with_a_file_and_stored_once(
    format: str, name: str, repository: TrialRepository
) -> None:
    path = DATA / format / name
    report = import_file(repository, format, path)
    (arrival,) = report.trials
    assert (report.added, report.sound) == (1, True)
    trial = repository.get(arrival.trial)
    assert (trial.workload.name, trial.cluster.hosts[0].facts) == ("host-series", {})
    (artifact,) = trial.artifacts
    frame = read_series(repository.artifact_path(artifact))
    ((series,), _) = read(format, path)
    assert frame.rows() == series.rows
    again = import_file(repository, format, path)
    assert (again.added, again.already_present) == (0, 1)


@pytest.mark.parametrize("format", ["sysstat", "iostat", "dstat"])
@pytest.mark.parametrize("content", [b"", b"{}\n", b"\xff\xfe", b"a,b\n1,2\n", b'{"sysstat": 3}'])
def test_a_file_without_values_is_refused(
    format: str, content: bytes, repository: TrialRepository, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(VenturiError) as caught:
        import_file(repository, format, path)
    assert caught.value.code == "VEN-SERIES-FORMAT"


_WORDS = st.sampled_from(
    (
        "avg-cpu:",
        "Device",
        "%user",
        "r/s",
        "sda",
        "1.0",
        "-1",
        "nan",
        "1e400",
        "12:00:00",
        "\n",
        "x",
    )
)


@given(st.lists(_WORDS, max_size=30))
def test_any_text_of_iostat_gives_finite_values(words: list[str]) -> None:
    found, _ = read("iostat", "Linux 6.1 (h) 01/02/26 _x86_64_ (2 CPU)\n" + " ".join(words) + "\n")
    for series in found:
        assert all(
            row[0] >= 0 and row[3] is not None and 0 <= row[3] < 1e300 for row in series.rows
        )
