"""Deterministic input for `wordcount` and `aggregate`, with a known answer.

Words and keys follow a Zipf-like law, as natural text does: the probability of rank r is
proportional to 1/r. The generator counts each word and sums each key's values as it writes them, so
that a result can be checked entry by entry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from venturi.measure.hosts.host import Files

WORDS = 20_000
WORD_LETTERS = 7  # and a blank or line break: eight bytes a word
WORDS_PER_LINE = 12
LINE_BYTES = WORDS_PER_LINE * (WORD_LETTERS + 1)
KEYS = 200_000
CHUNK_BYTES = 8 * 2**20

# The engine's length-prefixed format: two little-endian u32, then key and value.
PAIR = np.dtype([("key_bytes", "<u4"), ("value_bytes", "<u4"), ("key", ">u8"), ("value", "<u8")])

U64 = npt.NDArray[np.uint64]


def vocabulary() -> npt.NDArray[np.uint8]:
    """`WORDS` distinct words of `WORD_LETTERS` small letters, one a row, in ascending order."""
    rest = np.arange(WORDS, dtype=np.int64) * (26**WORD_LETTERS // WORDS)
    letters = np.empty((WORDS, WORD_LETTERS), dtype=np.uint8)
    for column in range(WORD_LETTERS - 1, -1, -1):
        letters[:, column] = rest % 26 + ord("a")
        rest //= 26
    return letters


def _ranks(rng: np.random.Generator, count: int, limit: int) -> npt.NDArray[np.int64]:
    # Inverse of the continuous 1/r law on [1, limit + 1). Ranks are then spread over the entries,
    # so that frequent ones aren't adjacent in key order.
    rank = np.exp(rng.random(count) * np.log(limit + 1)).astype(np.int64) - 1
    scattered: npt.NDArray[np.int64] = np.minimum(rank, limit - 1) * 7919 % limit
    return scattered


def write_text(
    files: Files, path: Path, lines: int, seed: int, tick: Callable[[int], None] = lambda _: None
) -> U64:
    """Write `lines` lines of twelve words to `path`; return the count of each word of the
    vocabulary.

    `tick` receives the bytes written so far.
    """
    words = np.concatenate([vocabulary(), np.full((WORDS, 1), ord(" "), np.uint8)], axis=1)
    totals = np.zeros(WORDS, dtype=np.uint64)

    def chunk(rng: np.random.Generator, count: int) -> npt.NDArray[Any]:
        picked = _ranks(rng, count * WORDS_PER_LINE, WORDS)
        totals[:] += np.bincount(picked, minlength=WORDS).astype(np.uint64)
        text = words[picked].reshape(count, LINE_BYTES)
        text[:, -1] = ord("\n")
        return text

    _write(files, path, lines, LINE_BYTES, seed=seed, chunk=chunk, tick=tick)
    return totals


def write_pairs(
    files: Files, path: Path, pairs: int, seed: int, tick: Callable[[int], None] = lambda _: None
) -> U64:
    """Write `pairs` key-value pairs to `path`; return the sum of each key's values, modulo 2^64.

    `tick` receives the bytes written so far.
    """
    totals = np.zeros(KEYS, dtype=np.uint64)

    def chunk(rng: np.random.Generator, count: int) -> npt.NDArray[Any]:
        batch = np.empty(count, dtype=PAIR)
        batch["key_bytes"] = batch["value_bytes"] = 8
        picked = _ranks(rng, count, KEYS)
        batch["key"] = picked
        batch["value"] = rng.integers(1, 2**40, count, dtype=np.uint64)
        np.add.at(totals, picked, batch["value"])
        return batch

    _write(files, path, pairs, PAIR.itemsize, seed=seed, chunk=chunk, tick=tick)
    return totals


def _write(
    files: Files,
    path: Path,
    records: int,
    record_bytes: int,
    *,
    seed: int,
    chunk: Callable[[np.random.Generator, int], npt.NDArray[Any]],
    tick: Callable[[int], None],
) -> None:
    rng = np.random.Generator(np.random.PCG64(seed))
    step = max(1, CHUNK_BYTES // record_bytes)
    with files.create(path) as file:
        for first in range(0, records, step):
            count = min(step, records - first)
            file.write(chunk(rng, count).tobytes())
            tick((first + count) * record_bytes)


def check_counts(files: Files, paths: Sequence[Path], totals: U64) -> str | None:
    """Why the `word<TAB>count` lines in `paths` do not have these totals, or None if they do."""
    expected = {
        word.tobytes(): int(total)
        for word, total in zip(vocabulary(), totals, strict=True)
        if total
    }
    seen = 0
    before = b""
    for path in paths:
        with files.open(path) as file:
            for number, line in enumerate(file, start=1):
                word, _, count = line.rstrip(b"\n").partition(b"\t")
                if word <= before:
                    return f"{path.name}: line {number}: {word!r} is not after {before!r}"
                if not count.isdigit() or int(count) != expected.get(word):
                    return (
                        f"{path.name}: line {number}: {word!r} has count {count!r}, "
                        f"the input has {expected.get(word, 0)}"
                    )
                before = word
                seen += 1
    if seen != len(expected):
        return f"{seen} words in the output, {len(expected)} in the input"
    return None


def check_sums(files: Files, paths: Sequence[Path], totals: U64) -> str | None:
    """Why the pairs in `paths` do not have these totals, or None if they do."""
    parts = []
    for path in paths:
        size_bytes = files.stat(path).bytes
        if size_bytes % PAIR.itemsize:
            return f"{path.name}: {size_bytes} bytes are not a whole number of pairs"
        part = np.empty(size_bytes // PAIR.itemsize, dtype=PAIR)
        with files.open(path) as file:
            file.readinto(part.view(np.uint8).data)
        parts.append(part)
    pairs = np.concatenate(parts) if parts else np.empty(0, dtype=PAIR)
    if not ((pairs["key_bytes"] == 8) & (pairs["value_bytes"] == 8)).all():
        return "a pair does not have an 8-byte key and an 8-byte value"
    keys = pairs["key"].astype(np.uint64)
    if (keys[1:] <= keys[:-1]).any():
        return f"keys are not in strict order at pair {int(np.argmax(keys[1:] <= keys[:-1])) + 1}"
    expected = np.flatnonzero(totals)
    if len(keys) != len(expected) or (keys != expected.astype(np.uint64)).any():
        return f"{len(keys)} keys in the output, {len(expected)} in the input, or other ones"
    wrong = pairs["value"] != totals[expected]
    if wrong.any():
        return f"the sum of key {int(keys[np.argmax(wrong)])} is wrong"
    return None


def check_totals(
    files: Files, job: str, paths: Sequence[Path], answer: Mapping[str, Any]
) -> str | None:
    """Compare counts (`wordcount`) or sums (`aggregate`) with those of the generator."""
    totals = np.array(answer["totals"], dtype=np.uint64)
    return (check_counts if job == "wordcount" else check_sums)(files, paths, totals)
