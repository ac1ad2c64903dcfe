"""Series: long format, whole or not at all."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from venturi.core.errors import VenturiError
from venturi.core.settings import TrialLimits
from venturi.record.store.series import SeriesWriter, check_series, read_parts, read_series


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


def test_a_series_of_too_many_values_is_thinned_to_means(tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    moments, most = 200_000, 50_000
    with SeriesWriter(path, TrialLimits(series_rows=most)) as writer:
        for number in range(moments):
            writer.append(float(number), "cpu", None, float(number % 2), "fraction")
            writer.append(float(number), "read", "sda", None if number < 1_000 else 5.0, "B/s")
    frame = read_series(path)
    assert most / 4 < len(frame) <= most
    assert writer.moments_each == 8
    assert frame.columns == ["t_s", "metric", "device", "value", "unit"]
    cpu = frame.filter(metric="cpu")
    assert cpu["value"].mean() == pytest.approx(0.5, abs=0.001)
    assert cpu["t_s"].is_sorted()
    assert cpu["t_s"].mean() == pytest.approx((moments - 1) / 2, rel=0.001)
    assert cpu["t_s"].diff().drop_nulls().median() == 8.0
    read = frame.filter(metric="read", device="sda")
    assert read["value"].null_count() == pytest.approx(1_000 / 8, abs=2)
    assert set(read["value"].drop_nulls()) == {5.0}


def test_no_more_is_read_than_the_end_of_the_file_says(tmp_path: Path) -> None:
    """A file may say that it has few values, and hold many."""
    many, few = 20_000_000, 1_100_000
    path = tmp_path / "s.parquet"
    columns = {"t_s": 1.0, "metric": "m", "device": "d", "value": 1.0, "unit": "B"}
    frame = pl.select(**{name: pl.repeat(value, many) for name, value in columns.items()})
    frame.write_parquet(path, compression="zstd")
    content = path.read_bytes()
    end = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    where = content.index(zigzag(many), end)
    lying = content[:where] + zigzag(few) + content[where + len(zigzag(few)) :]
    path.write_bytes(lying)
    assert len(pl.read_parquet(path, columns=["t_s"])) == many
    assert len(read_series(path)) == few
    with pytest.raises(VenturiError) as caught:
        check_series(path, "x", TrialLimits(series_rows=few - 1))
    assert caught.value.code == "VEN-RECORD-LIMIT"
    assert caught.value.where["value"] == "1,100,000 rows"


def test_a_series_has_so_many_lines_and_no_more(tmp_path: Path) -> None:
    path, few = tmp_path / "s.parquet", TrialLimits(series_lines=3)
    with SeriesWriter(path) as writer:
        for moment in range(2):
            for disk in range(4):
                writer.append(float(moment), "read", f"d{disk}", 1.0, "B/s")
    check_series(path, "x", TrialLimits(series_lines=4))
    with pytest.raises(VenturiError) as caught:
        check_series(path, "x", few)
    assert caught.value.code == "VEN-RECORD-LIMIT"
    assert caught.value.where["limit"] == "more than 3"
    assert "VENTURI_MAX_SERIES_LINES" in caught.value.hint
    # Values measured here are cut, not rejected.
    with SeriesWriter(path, few) as writer:
        for moment in range(2):
            for disk in range(5):
                writer.append(float(moment), "read", f"d{disk}", 1.0, "B/s")
    check_series(path, "x", few)
    assert (writer.lines_left_out, read_series(path).height) == (2, 6)


def zigzag(number: int) -> bytes:
    """`number` as the end of a Parquet file has it, in Thrift's compact protocol."""
    number, found = 2 * number, bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes((*found, number))


def test_long_texts_that_were_stored_before_are_cut_where_they_are_grouped(tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    texts = {"metric": "m" * 100_000, "device": None, "unit": "B"}
    pl.DataFrame({"t_s": 1.0, **texts, "value": 2.0}).with_columns(
        pl.col("device").cast(pl.String)
    ).write_parquet(path)
    (part,) = read_parts(path)
    assert part.select("metric", "device", "unit").row(0) == ("m" * 1_000, None, "B")
