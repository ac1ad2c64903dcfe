"""Malicious archives: false claims, huge unpacked sizes, paths that lead elsewhere.

Imported trials are complete and readable; nothing of the rest remains in the repository or outside.
"""

from __future__ import annotations

import hashlib
import io
import json
import random
import shutil
import struct
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

from torture import worker
from torture.mutation import TEXTS
from torture.play import Play, Round
from torture.record.archive_parts import NAMES, Archive, changed, exported, with_lines, zipped
from torture.worker import AttemptFunction
from venturi.core.errors import VenturiError
from venturi.core.settings import Settings
from venturi.record.importing.containers import MANIFEST, RECORDS
from venturi.record.importing.exchange import export_trials, import_archive
from venturi.record.query.paging import whole_trials
from venturi.record.store.frames import pl
from venturi.record.store.repository import TrialRepository
from venturi.record.upkeep.check import check
from venturi.web.api.results.series import series_of

_CENTRAL = b"PK\1\2"
_BOMB_BYTES = 100_000_000
Make = Callable[[Random, Archive], bytes]


def attempts(folder: Path) -> AttemptFunction:
    """Each into an empty repository of its own."""
    archive = exported(folder, 3)
    empty = folder / "empty"
    TrialRepository.open(Settings(empty, None, None, allow_debug=False)).close()
    outside = sorted(path.name for path in folder.iterdir())

    def attempt(chance: Random) -> str:
        kind = chance.choice(list(KINDS))
        path, home = folder / "hostile.zip", folder / "home"
        path.write_bytes(KINDS[kind](chance, archive))
        shutil.copytree(empty, home)
        try:
            settings = Settings(home, None, None, allow_debug=False)
            with TrialRepository.open(settings) as repository:
                taken = _import(repository, path)
                _require_whole(repository, taken, folder / "again.zip")
        finally:
            shutil.rmtree(home)
            path.unlink()
        found = sorted(each.name for each in folder.iterdir())
        assert found == outside, f"{kind}: outside of the repository is {found}"
        if not taken:
            return "refused"
        return "imported whole" if taken == 3 else "valid trials imported"

    return attempt


def _import(repository: TrialRepository, path: Path) -> int:
    """Return the number of imported trials."""
    try:
        return import_archive(repository, path).added
    except VenturiError:
        return len(whole_trials(repository))


def _require_whole(repository: TrialRepository, taken: int, again: Path) -> None:
    """Check that stored trials are complete, can be shown and exported, and that nothing else is
    stored.
    """
    report = check(repository)
    assert not report.findings, f"{report.findings[0].kind}: {report.findings[0].message}"
    trials = whole_trials(repository)
    assert len(trials) == taken, f"{taken} taken in, {len(trials)} there"
    for trial in trials:
        series_of(repository, trial, 1_000)
    export_trials(repository, trials, again)
    again.unlink()


def _truncated(chance: Random, archive: Archive) -> bytes:
    return archive.data[: chance.randrange(len(archive.data))]


def _bomb(chance: Random, archive: Archive) -> bytes:
    """A member that unpacks to hundreds of megabytes."""
    members = list(archive.members)
    at = chance.randrange(len(members) + 1)
    name = members[at][0] if at < len(members) else "artifacts/t0/bomb"
    size = chance.choice((_BOMB_BYTES // 100, _BOMB_BYTES // 10, _BOMB_BYTES))
    fill = chance.choice((b"\0", b" ", b"[", b'{"a":', b'"', b"\n"))
    bomb = (name, fill * (size // len(fill)))
    return zipped([*members[:at], bomb, *members[at + 1 :]], zipfile.ZIP_DEFLATED)


def _wrong_size(chance: Random, archive: Archive) -> bytes:
    """The directory says another size, place, method, flag or checksum than is true."""
    data = bytearray(archive.data)
    places = [at for at in range(len(data) - 46) if data[at : at + 4] == _CENTRAL]
    at = chance.choice(places)
    offset, width = chance.choice(((8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (38, 4), (42, 4)))
    value = chance.choice((0, 1, 8, 0x7FFF, 0xFFFF, chance.getrandbits(8 * width)))
    if width == 4:
        value = chance.choice((value, 0xFFFFFFFF, 0xFFFFFFFE, 0x7FFFFFFF))
    if offset == 38:
        value = chance.choice((0o120777, 0o020666, 0o040755, 0o010644)) << 16  # a link, a device
    struct.pack_into({2: "<H", 4: "<I"}[width], data, at + offset, value & (256**width - 1))
    return bytes(data)


def _same_place(chance: Random, archive: Archive) -> bytes:
    """All names of the directory lead to one member."""
    data = bytearray(archive.data)
    places = [at for at in range(len(data) - 46) if data[at : at + 4] == _CENTRAL]
    chosen = chance.choice(places)
    (where,) = struct.unpack_from("<I", data, chosen + 42)
    for at in places:
        struct.pack_into("<I", data, at + 42, where)
    return bytes(data)


def _named(chance: Random, archive: Archive) -> bytes:
    """Make a member lead outside, or add one that no export has."""
    members = list(archive.members)
    at = chance.randrange(len(members))
    new = (chance.choice(NAMES), members[at][1])
    members[at : at + chance.choice((0, 1))] = [new]
    return zipped(members)


def _twice(chance: Random, archive: Archive) -> bytes:
    members = list(archive.members)
    name, data = chance.choice(members)
    return zipped([*members, (name, chance.choice((data, b"", data[::-1])))])


def _many(chance: Random, archive: Archive) -> bytes:
    """Tens of thousands of members, or of trials that the manifest names."""
    n = 30_000
    if chance.random() < 0.5:
        return zipped([*archive.members, *((f"artifacts/t0/{i}", b"") for i in range(n // 5))])
    trials = [{"id": f"t{i}", "sha256": "0" * 64} for i in range(n)]
    manifest = json.dumps({**archive.manifest, "trials": trials}).encode()
    return _with(archive, MANIFEST, manifest, zipfile.ZIP_DEFLATED)


def _manifest(chance: Random, archive: Archive) -> bytes:
    """Of wrong types, too deep, or no text."""
    odd: list[Any] = [
        None,
        1,
        "x",
        [],
        {},
        {"id": 1},
        {"id": None, "sha256": None},
        {"id": "t0", "sha256": {}},
        [archive.manifest["trials"][0]] * 3,
        {"id": "../t0", "sha256": "0" * 64},
        TEXTS[3],
    ]
    whole = dict(archive.manifest)
    key = chance.choice(list(whole))
    whole[key] = chance.choice(odd) if key != "trials" else [chance.choice(odd)] * 3
    raw = (
        b"",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b'{"format":"\xff"}',
        b"null",
        b"1" * 10_000,
        b"\xef\xbb\xbf{}",
        json.dumps(whole).encode("utf-16"),
        json.dumps(whole).encode(),
        json.dumps(whole).encode(),
    )
    return _with(archive, MANIFEST, chance.choice(raw))


def _records(chance: Random, archive: Archive) -> bytes:
    """Make one record of three hostile, with a matching manifest."""
    lines, ids = list(archive.lines), archive.ids
    at = chance.randrange(3)
    record = dict(archive.records[at])
    changes: list[Mapping[str, Any]] = [
        {"started_at": "0001-01-01T00:00:00+23:59"},
        {"started_at": "9999-12-31T23:59:59-23:59"},
        {"elapsed_s": -5},
        {"elapsed_s": 1e308},
        {"repetition": 2**70},
        {"seed": 2**64},
        {"configuration": {f"key{i}": i for i in range(100_000)}},
        {"configuration": {"name": "x" * 1_000_000}},
        {"configuration": {"a\0b": "\0"}},
        {"configuration": {"": ""}},
        {"configuration": {"k": 10**300}},
        {"workload": {**record["workload"], "name": "x" * 1_000_000}},
        {"workload": {**record["workload"], "name": "a\0b"}},
        {"workload": {**record["workload"], "input_bytes": -1}},
        {"workload": {**record["workload"], "input_bytes": 2**63}},
        {"phases": [{"name": "p", "started_s": 0.0, "elapsed_s": 1.0}] * 50_000},
        {"warnings": [{"code": "c", "message": "\x1b[2J"}] * 3},
        {"schema_version": 10**9},
        {"warnings": [{"code": "c", "message": "m"}] * 100_000},
        {"id": "last"},
        {"id": "../t0"},
        {"id": "T" + ids[at][1:]},
        {"state": "planned"},
        {"failure": None, "state": "failed"},
        {
            "cluster": {
                "hosts": [{"name": "h", "facts": {}}] * 60_000,
                "disks_by_role": {},
                "instance_type": None,
                "network": None,
                "price": None,
            }
        },
        {"cluster": {**record["cluster"], "hosts": [{"name": "h", "facts": _deep(100)}]}},
        {"artifacts": [record["artifacts"][0]] * 2},
        {"artifacts": [record["artifacts"][0]] * 2000},
        {"artifacts": [{**record["artifacts"][0], "size_bytes": 2**62}]},
        {"artifacts": [{**record["artifacts"][0], "name": "../x", "path": f"{ids[at]}/../x"}]},
        {"artifacts": [{**record["artifacts"][0], "path": "t1/run.log"}]},
    ]
    record |= chance.choice(changes)
    ids[at] = record["id"]
    lines[at] = chance.choice(
        (
            json.dumps(record).encode(),
            json.dumps(record).encode(),
            json.dumps(record).encode(),
            json.dumps(record).encode().replace(b'"', b"\xff", 3),
            b"",
            b"\0" * 1000,
            b"[" * 200_000,
            json.dumps(record).encode() + b"\r",
        )
    )
    return zipped(with_lines(archive, lines, ids), zipfile.ZIP_DEFLATED)


def _series(chance: Random, archive: Archive) -> bytes:
    """A series of other columns, of many equal rows, or none at all."""
    at = chance.randrange(3)
    record = json.loads(json.dumps(archive.records[at]))
    found = [each for each in record["artifacts"] if each["kind"] == "series"]
    data = chance.choice((_parquet, _damaged_parquet))(chance)
    found[0] |= {"size_bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    lines = list(archive.lines)
    lines[at] = json.dumps(record).encode()
    members = [
        (name, data if name == f"artifacts/{found[0]['path']}" else old)
        for name, old in with_lines(archive, lines)
    ]
    return zipped(members)


def _parquet(chance: Random) -> bytes:
    rows = chance.choice((0, 1, 100, 1_000_000))
    number: Any = chance.choice((0.5, float("nan"), float("inf"), -1e308, None))
    metric, device = chance.choice(TEXTS[:20]), chance.choice((None, "x" * 10_000, "\0"))
    rows = min(rows, _BOMB_BYTES // len(f"{metric}{device}"))  # to make it takes memory, too
    columns: dict[str, Any] = {
        "t_s": pl.repeat(number, rows, eager=True, dtype=pl.Float64),
        "metric": pl.repeat(metric, rows, eager=True),
        "device": pl.repeat(device, rows, eager=True, dtype=pl.String),
        "value": pl.repeat(number, rows, eager=True, dtype=pl.Float64),
        "unit": pl.repeat("B", rows, eager=True),
    }
    kind = chance.randrange(5)
    if kind == 0:
        columns.pop(chance.choice(list(columns)))
    elif kind == 1:
        columns["t_s"] = pl.repeat([[1]], rows, eager=True)
    elif kind == 2:
        columns |= {f"more{i}": columns["t_s"] for i in range(300)} if rows <= 100 else {}
    file = io.BytesIO()
    pl.DataFrame(columns).write_parquet(file)
    return file.getvalue()


def _damaged_parquet(chance: Random) -> bytes:
    data = bytearray(_parquet(random.Random(chance.randrange(8))))
    for _ in range(chance.choice((1, 3, 30))):
        # Most of the harm is in the footer, which is at the end.
        back = min(len(data), chance.choice((8, 400, 10_000)))
        data[-1 - chance.randrange(back)] = chance.randrange(256)
    return bytes(data)


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


def _odd(chance: Random, archive: Archive) -> bytes:
    """No zip, or one with something before, behind or in between."""
    data = archive.data
    return chance.choice(
        (
            b"",
            b"PK",
            b"PK\5\6" + b"\0" * 18,
            b"\0" * 1_000_000,
            data[::-1],
            b"x" * 70_000 + data,
            data + b"x" * 70_000,
            data * 2,
            zipped([]),
            zipped([("in.zip", data)]),
            zipped(archive.members, zipfile.ZIP_BZIP2),
            zipped(archive.members, zipfile.ZIP_LZMA),
            _with(archive, RECORDS, dict(archive.members)[RECORDS] * 2),
            _with(archive, RECORDS, dict(archive.members)[RECORDS][:-1]),
            _with(archive, RECORDS, b"\n" * 10_000_000, zipfile.ZIP_DEFLATED),
        )
    )


def _with(archive: Archive, name: str, data: bytes, method: int = zipfile.ZIP_STORED) -> bytes:
    return zipped([(each, data if each == name else old) for each, old in archive.members], method)


KINDS: Mapping[str, Make] = {
    "truncated": _truncated,
    "bomb": _bomb,
    "directory": _wrong_size,
    "overlapping": _same_place,
    "names": _named,
    "twice": _twice,
    "many": _many,
    "manifest": _manifest,
    "records": _records,
    "records again": _records,
    "series": _series,
    "odd": _odd,
    "changed": changed,
}


def play(round_: Play) -> None:
    worker.play(round_, __name__)


ROUND = Round(
    name="archives",
    question="Archives are bombs, lie, lead outside, or hold fields that no trial has. Is each "
    "rejected without a trace, or its valid part imported whole, within 10 s and 1 GiB?",
    count=5_000,
    few=12,
    run=play,
)
