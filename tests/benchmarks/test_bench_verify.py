"""The independent check of outputs: it must pass what is right and nothing else."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.peers.to_parquet import convert
from benchmarks.verify import content, fixed_chunks, parquet_chunks


def records(seed: int, count: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, 100), dtype=np.uint8)


def ordered(data: np.ndarray) -> np.ndarray:
    rows = sorted(range(len(data)), key=lambda row: bytes(data[row, :10]))
    return data[rows]


@given(seed=st.integers(0, 2**32), count=st.integers(2, 300), cut=st.integers(0, 300))
def test_a_right_sort_passes_however_it_is_cut(seed: int, count: int, cut: int) -> None:
    data = records(seed, count)
    done = ordered(data)
    found = content([done[:cut], done[cut:]])
    assert found.problem_as_sorted(content([data])) is None


@given(
    seed=st.integers(0, 2**32),
    fault=st.sampled_from(["lose", "double", "change", "swap values"]),
    at=st.integers(0, 49),
)
def test_a_wrong_sort_fails(seed: int, fault: str, at: int) -> None:
    data = records(seed, 50)
    done = ordered(data)
    if fault == "lose":
        done = np.delete(done, at, axis=0)
    elif fault == "double":
        done[at] = done[(at + 1) % 50]
    elif fault == "change":
        done[at, 99] ^= 1
    else:  # keys in order, values of two records exchanged: a plain sum would not see it
        done[[at, at - 1], 10:] = done[[at - 1, at], 10:]
    assert content([done]).problem_as_sorted(content([data])) is not None


def test_keys_are_unsigned_bytes_of_ten() -> None:
    low, high = np.zeros((1, 100), np.uint8), np.zeros((1, 100), np.uint8)
    low[0, 0], high[0, 0] = 0x7F, 0x80
    assert content([np.vstack([low, high])]).unordered == 0
    assert content([np.vstack([high, low])]).unordered == 1
    low[0, :10] = high[0, :10] = 5
    high[0, 9] = 6  # the last byte of the key counts, the first of the value does not
    low[0, 10] = 9
    assert content([high, low]).unordered == 1
    assert content([low, high]).unordered == 0


def test_parquet_holds_the_same_records(tmp_path: Path) -> None:
    data = records(7, 70_000)  # more than one row group and one batch
    flat, parquet = tmp_path / "flat", tmp_path / "parquet"
    data.tofile(flat)
    convert(flat, parquet)
    assert content(parquet_chunks([parquet])) == content(fixed_chunks([flat]))


def test_a_torn_file_is_refused(tmp_path: Path) -> None:
    torn = tmp_path / "torn"
    torn.write_bytes(b"x" * 150)
    with pytest.raises(ValueError, match="150 bytes"):
        content(fixed_chunks([torn]))
