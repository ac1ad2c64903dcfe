"""Sorts of odd shapes: lengths, keys, budgets, threads, files and folders drawn at random.

The expected output comes from numpy and Python's own sort, which share no code with the engine.
"""

from __future__ import annotations

import random
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from torture.agent import run
from torture.play import Play, Round, TortureCase

_MIB = 1 << 20
_RECORD_BYTES = (1, 2, 7, 8, 9, 10, 16, 90, 99, 100, 101, 512, 4096, 4097, 65_536, 300_001)
_REFUSED = "VEN-SORT-MEMORY"


@dataclass(frozen=True, slots=True)
class Shape:
    """An input, its options for the agent, and the expected output."""

    data: bytes
    flags: tuple[object, ...]
    expected: bytes
    cuts: tuple[int, ...]
    """Where the input may be cut into files."""


def play(round_: Play) -> None:
    """Every case has a new input and new options."""
    for case in round_.cases():
        with case:
            chance = random.Random(round_.seed * 1_000_003 + case.number)
            shape = chance.choice((_fixed, _fixed, _pairs, _sums, _words))(chance)
            folder = round_.folder / f"{case.number}"
            folder.mkdir()
            files = list(_files(chance, shape, folder))
            flags = [*shape.flags, *_options(chance, folder)]
            case.label = " ".join(str(flag).rpartition("/")[2] for flag in flags)
            _sort(case, folder, files, flags, shape.expected)
            _remove(folder)


def _sort(
    case: TortureCase, folder: Path, files: Sequence[Path], flags: Sequence[object], expected: bytes
) -> None:
    inputs = [word for file in files for word in ("--input", file)]
    refused = ""
    ended = run(["sort", *inputs, *flags])
    if ended.code == _REFUSED:
        refused = ", once refused for too little memory"
        at = flags.index("--memory") + 1
        least = ended.events[-1]["where"]["minimum_bytes"]
        flags = [*flags[:at], least, *flags[at + 1 :]]
        ended = run(["sort", *inputs, *flags])
    assert ended.result, f"status {ended.status}: {ended.stderr[-300:]}"
    parts = [Path(file["path"]) for file in ended.result["output"]["files"]]
    assert b"".join(part.read_bytes() for part in parts) == expected, "not what sorting gives"
    for copies in folder.glob("copy*"):
        for copy in copies.iterdir():
            (original,) = [part for part in parts if part.name == copy.name]
            assert copy.read_bytes() == original.read_bytes(), "a replica differs"
    case.saw(f"right, {ended.result['regime']}{refused}")


def _files(chance: random.Random, shape: Shape, folder: Path) -> Iterator[Path]:
    """The input in one file or several, some of them empty, in the order of their names."""
    cuts = sorted(chance.choices(shape.cuts, k=chance.choice((0, 0, 1, 4)))) if shape.cuts else []
    for number, (start, end) in enumerate(zip([0, *cuts], [*cuts, len(shape.data)], strict=True)):
        file = folder / f"input{number}"
        file.write_bytes(shape.data[start:end])
        yield file


def _options(chance: random.Random, folder: Path) -> Iterator[object]:
    yield from ("--memory", chance.choice((3, 4, 5, 8, 16, 64)) * _MIB + chance.randrange(5000))
    yield from ("--threads", chance.choice((1, 2, 3, 8)))
    yield from ("--seed", chance.randrange(1000))
    for kind, most in (("output", 3), ("scratch", 2), ("copy", 1)):
        for number in range(chance.randint(kind == "output", most)):
            path = folder / f"{kind}{number}"
            path.mkdir()
            yield from ({"copy": "--replica"}.get(kind, f"--{kind}"), path)
    if chance.random() < 0.3:
        yield from ("--partition-bytes", chance.choice((1, 70_000, _MIB, 100 * _MIB)))
    yield from chance.choice(((), (), ("--io", "posix"), ("--buffered",)))


def _fixed(chance: random.Random) -> Shape:
    length = chance.choice(_RECORD_BYTES)
    count = _count(chance, length)
    key = chance.randint(1, min(length, 40))
    noise = np.random.default_rng(chance.randrange(1 << 32))
    records = noise.integers(0, 256, (count, length), dtype=np.uint8)
    kind = chance.choice(("any", "few keys", "one key", "hot", "low", "sorted", "reversed"))
    if kind == "few keys":
        records[:, :key] = records[noise.integers(0, max(1, min(7, count)), count), :key]
    elif kind == "one key" or (kind == "hot" and count):
        hot = noise.random(count) < (1.0 if kind == "one key" else 0.9)
        records[hot, : key if chance.random() < 0.5 else length] = chance.randrange(256)
    elif kind == "low":
        records &= 1
    ordered = sorted(row.tobytes() for row in records)
    data = records.tobytes()
    if kind in ("sorted", "reversed"):
        data = b"".join(ordered if kind == "sorted" else reversed(ordered))
    return Shape(
        data,
        ("--verify", "--record-bytes", length, "--key-bytes", key),
        b"".join(ordered),
        tuple(range(0, len(data) + 1, length)),
    )


def _pairs(chance: random.Random) -> Shape:
    longest = chance.choice((3, 30, 3000))
    pairs = [
        (chance.randbytes(chance.randint(0, longest)), chance.randbytes(chance.randint(0, longest)))
        for _ in range(_count(chance, 2 * longest + 8))
    ]
    if chance.random() < 0.3:
        pairs = [(pairs[0][0], value) for _, value in pairs]
    framed = [_framed(pair) for pair in pairs]
    return Shape(
        b"".join(framed),
        ("--verify", "--format", "kv"),
        b"".join(map(_framed, sorted(pairs))),
        _ends(framed),
    )


def _sums(chance: random.Random) -> Shape:
    keys = [chance.randbytes(chance.randint(0, 12)) for _ in range(chance.choice((1, 5, 5000)))]
    sums: Counter[bytes] = Counter()
    framed = []
    for _ in range(_count(chance, 30)):
        key, value = chance.choice(keys), chance.randrange(1 << 40)
        sums[key] += value
        framed.append(_framed((key, struct.pack("<Q", value))))
    expected = (_framed((key, struct.pack("<Q", total))) for key, total in sorted(sums.items()))
    return Shape(b"".join(framed), ("--job", "aggregate"), b"".join(expected), _ends(framed))


def _words(chance: random.Random) -> Shape:
    vocabulary = [
        bytes(chance.choices(range(0x21, 0x100), k=chance.randint(1, 20)))
        for _ in range(chance.choice((1, 50, 20_000)))
    ]
    words = chance.choices(vocabulary, k=_count(chance, 12))
    lines = []
    while words:
        taken = chance.randint(1, 30)
        lines.append(b" ".join(words[:taken]) + b"\n")
        words = words[taken:]
    text = b"".join(lines)
    expected = (b"%s\t%d\n" % pair for pair in sorted(Counter(text.split()).items()))
    return Shape(text, ("--job", "wordcount"), b"".join(expected), _ends(lines))


def _count(chance: random.Random, record_bytes: int) -> int:
    """Records: 0 and 1 now and then, else up to 40 MB of them; 200,000 at most."""
    most = min(200_000, 40_000_000 // record_bytes)
    sizes = [0, 1, 2, most, most, *(int(most ** chance.random()) for _ in range(9))]
    return chance.choice(sizes)


def _framed(pair: tuple[bytes, bytes]) -> bytes:
    key, value = pair
    return struct.pack("<II", len(key), len(value)) + key + value


def _ends(records: Sequence[bytes]) -> tuple[int, ...]:
    return tuple(int(end) for end in np.cumsum([0, *map(len, records)]))


def _remove(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()


ROUND = Round(
    name="sort-shapes",
    question="A sort has an odd shape (lengths, keys, budgets, files, folders). Is its output "
    "the sorted input?",
    count=5000,
    few=20,
    run=play,
)
