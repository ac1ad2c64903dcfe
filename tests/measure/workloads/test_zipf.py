"""Generated text and pairs: deterministic, and their checks notice every corruption."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from this_host import FILES
from venturi.measure.workloads.shared import zipf

FAST = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def right_counts(text: bytes) -> bytes:
    return b"".join(b"%s\t%d\n" % pair for pair in sorted(Counter(text.split()).items()))


def right_sums(path: Path) -> np.ndarray:
    pairs = np.fromfile(path, dtype=zipf.PAIR)
    keys = np.unique(pairs["key"])
    out = np.empty(len(keys), dtype=zipf.PAIR)
    out["key_bytes"] = out["value_bytes"] = 8
    out["key"] = keys
    out["value"] = [sum(map(int, pairs["value"][pairs["key"] == key])) % 2**64 for key in keys]
    return out


def test_the_vocabulary_is_in_order_and_distinct() -> None:
    words = [word.tobytes() for word in zipf.vocabulary()]
    assert len(set(words)) == zipf.WORDS
    assert words == sorted(words)


@FAST
@given(lines=st.integers(1, 300), seed=st.integers(0, 2**32))
def test_text_is_deterministic_and_its_answer_is_right(
    tmp_path: Path, lines: int, seed: int
) -> None:
    answer = zipf.write_text(FILES, tmp_path / "a", lines, seed)
    zipf.write_text(FILES, tmp_path / "b", lines, seed)
    text = (tmp_path / "a").read_bytes()
    assert text == (tmp_path / "b").read_bytes()
    assert len(text) == lines * zipf.LINE_BYTES
    assert text.count(b"\n") == lines
    assert int(answer.sum()) == lines * zipf.WORDS_PER_LINE
    (tmp_path / "out").write_bytes(right_counts(text))
    assert zipf.check_counts(FILES, [tmp_path / "out"], answer) is None


@pytest.mark.parametrize("fault", ["count", "missing", "extra", "order", "twice", "number"])
def test_wrong_counts_are_noticed(tmp_path: Path, fault: str) -> None:
    answer = zipf.write_text(FILES, tmp_path / "in", 50, 1)
    lines = right_counts((tmp_path / "in").read_bytes()).splitlines(keepends=True)
    word, count = lines[3].split(b"\t")
    wrong = {
        "count": [*lines[:3], b"%s\t%d\n" % (word, int(count) + 1), *lines[4:]],
        "missing": lines[:-1],
        "extra": [*lines, b"zzzzzzz\t1\n"],
        "order": [lines[1], lines[0], *lines[2:]],
        "twice": [lines[0], *lines],
        "number": [*lines[:3], word + b"\tmany\n", *lines[4:]],
    }[fault]
    (tmp_path / "out").write_bytes(b"".join(wrong))
    assert zipf.check_counts(FILES, [tmp_path / "out"], answer) is not None


def test_output_may_lie_in_several_files(tmp_path: Path) -> None:
    answer = zipf.write_text(FILES, tmp_path / "in", 50, 1)
    lines = right_counts((tmp_path / "in").read_bytes()).splitlines(keepends=True)
    (tmp_path / "a").write_bytes(b"".join(lines[:7]))
    (tmp_path / "b").write_bytes(b"".join(lines[7:]))
    assert zipf.check_counts(FILES, [tmp_path / "a", tmp_path / "b"], answer) is None
    assert zipf.check_counts(FILES, [tmp_path / "b", tmp_path / "a"], answer) is not None


@FAST
@given(pairs=st.integers(1, 2000), seed=st.integers(0, 2**32))
def test_pairs_have_the_right_answer(tmp_path: Path, pairs: int, seed: int) -> None:
    answer = zipf.write_pairs(FILES, tmp_path / "a", pairs, seed)
    assert (tmp_path / "a").stat().st_size == pairs * zipf.PAIR.itemsize
    right_sums(tmp_path / "a").tofile(tmp_path / "out")
    assert zipf.check_sums(FILES, [tmp_path / "out"], answer) is None


@pytest.mark.parametrize("fault", ["sum", "missing", "order", "twice", "torn", "header"])
def test_wrong_sums_are_noticed(tmp_path: Path, fault: str) -> None:
    answer = zipf.write_pairs(FILES, tmp_path / "in", 500, 1)
    out = right_sums(tmp_path / "in")
    if fault == "sum":
        out["value"][5] += 1
    elif fault == "missing":
        out = np.delete(out, 5)
    elif fault == "order":
        out[[0, 1]] = out[[1, 0]]
    elif fault == "twice":
        out = np.insert(out, 5, out[5])
    elif fault == "header":
        out["key_bytes"][2] = 9
    data = out.tobytes()
    (tmp_path / "out").write_bytes(data[:-1] if fault == "torn" else data)
    assert zipf.check_sums(FILES, [tmp_path / "out"], answer) is not None


def test_frequent_entries_are_frequent(tmp_path: Path) -> None:
    answer = zipf.write_text(FILES, tmp_path / "in", 20_000, 3)
    share = np.sort(answer)[::-1] / answer.sum()
    # P(rank 1) = ln 2 / ln(WORDS + 1) = 7.0 %; the first hundred hold ln 101 / ln(WORDS + 1).
    assert share[0] == pytest.approx(np.log(2) / np.log(zipf.WORDS + 1), rel=0.05)
    assert share[:100].sum() == pytest.approx(np.log(101) / np.log(zipf.WORDS + 1), rel=0.05)
