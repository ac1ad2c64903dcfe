"""Series: long format, whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from venturi.errors import VenturiError
from venturi.record.series import SeriesWriter, read_series


def test_what_is_appended_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "host.parquet"
    rows = [
        (number / 2, "disk_read_bytes_per_s", None if number % 3 else "sda", float(number), "B/s")
        for number in range(150_000)  # more than one row group
    ]
    rows.append((1e6, "cpu_user", None, None, "fraction"))
    writer = SeriesWriter(path)
    for row in rows:
        writer.append(*row)
    assert not path.exists()
    writer.close()
    writer.close()
    frame = read_series(path)
    assert frame.columns == ["t_s", "metric", "device", "value", "unit"]
    assert frame.rows() == rows
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_block_that_fails_keeps_what_was_measured(tmp_path: Path) -> None:
    path = tmp_path / "host.parquet"
    with pytest.raises(RuntimeError), SeriesWriter(path) as writer:  # noqa: PT012
        writer.append(0.0, "cpu_user", None, 0.5, "fraction")
        raise RuntimeError
    assert read_series(path).height == 1


def test_a_bad_row_leaves_no_file(tmp_path: Path) -> None:
    writer = SeriesWriter(tmp_path / "host.parquet")
    writer.append("soon", "cpu_user", None, 0.5, "fraction")  # type: ignore[arg-type]
    with pytest.raises(Exception, match="soon"):
        writer.close()
    assert list(tmp_path.iterdir()) == []


def test_an_empty_series_is_a_series(tmp_path: Path) -> None:
    path = tmp_path / "host.parquet"
    SeriesWriter(path).close()
    assert read_series(path).height == 0


def test_what_is_no_series_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("t_s,metric")
    for name in ("text", "missing"):
        with pytest.raises(VenturiError) as caught:
            read_series(tmp_path / name)
        assert caught.value.code == "VEN-RECORD-ARTIFACT"
