"""Archives of `venturi export`, taken apart and put together again as no export is."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.repository import synthetic_trials
from torture.mutation import TEXTS, VALUES, changed_bytes, changed_json
from venturi.core.settings import Settings
from venturi.record.importing.containers import MANIFEST, RECORDS
from venturi.record.importing.exchange import export_trials
from venturi.record.query.paging import whole_trials
from venturi.record.store.repository import TrialRepository
from venturi.record.store.series import SeriesWriter
from venturi.record.trial import State

Members = Sequence[tuple[str, bytes]]
NAMES = (
    "../evil",
    "/etc/passwd",
    "artifacts/../../evil",
    "artifacts/..",
    "artifacts//x",
    "C:\\evil",
    "artifacts\\x",
    "a\0b",
    "artifacts/\0",
    ".",
    "",
    "manifest.json/",
    "artifacts/t0",
    "artifacts/t0/",
    "artifacts/t0/../t1/run.log",
    "other",
    "\u202e",
    "x" * 60_000,
    "artifacts/" + "a/" * 3_000,
    "MANIFEST.JSON",
    "trials.ndjson ",
)


@dataclass(frozen=True, slots=True)
class Archive:
    """The content of an export: its bytes, its members, its records as objects."""

    data: bytes
    members: Members
    manifest: Mapping[str, Any]
    lines: tuple[bytes, ...]
    records: tuple[Mapping[str, Any], ...]

    @property
    def ids(self) -> list[str]:
        return [each["id"] for each in self.records]


def exported(folder: Path, trials: int = 2) -> Archive:
    """An export of `trials` trials, each with a log and a series."""
    with TrialRepository.open(
        Settings(folder / "exporting", None, None, allow_debug=False)
    ) as made:
        some = (each for each in synthetic_trials(100) if each.state is State.SUCCEEDED)
        for number, each in zip(range(trials), some, strict=False):
            trial = replace(each, id=f"t{number}")
            trial = made.attach(trial, "log", "run.log", b"a line\n" * 9)
            series = folder / f"{number}.parquet"
            with SeriesWriter(series) as writer:
                for t_s in range(5):
                    writer.append(float(t_s), "cpu_user", None, 0.5, "fraction")
            made.add(made.attach(trial, "series", "host.parquet", series))
        path = folder / "exported.zip"
        export_trials(made, whole_trials(made), path)
    with zipfile.ZipFile(path) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    lines = tuple(dict(members)[RECORDS].splitlines())
    return Archive(
        path.read_bytes(),
        members,
        json.loads(dict(members)[MANIFEST]),
        lines,
        tuple(map(json.loads, lines)),
    )


def zipped(members: Members, method: int = zipfile.ZIP_STORED) -> bytes:
    """An archive of `members`, in which nothing is checked."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members:
            info = zipfile.ZipInfo("x")
            info.filename = info.orig_filename = name  # as it is: NUL and slashes too
            info.compress_type = method
            archive.NameToInfo.pop(name, None)  # else a name that is there twice is a warning
            archive.writestr(info, data)
    return file.getvalue()


def with_lines(archive: Archive, lines: Sequence[bytes], ids: Sequence[str] = ()) -> Members:
    """Return the members with other records, and a manifest with their digests."""
    trials = [
        {"id": id_, "sha256": hashlib.sha256(line).hexdigest()}
        for id_, line in zip(ids or archive.ids, lines, strict=True)
    ]
    new = {
        MANIFEST: json.dumps({**archive.manifest, "trials": trials}).encode(),
        RECORDS: b"".join(line + b"\n" for line in lines),
    }
    return [(name, new.get(name, data)) for name, data in archive.members]


def changed(chance: Random, archive: Archive) -> bytes:
    """An archive with a change of its bytes, its names, its manifest, a record or a file."""
    kind = chance.randrange(10)
    if kind < 3:
        return changed_bytes(chance, archive.data)
    if kind < 5:
        return zipped(with_lines(archive, *changed_record(chance, archive)))
    members = list(archive.members)
    at = chance.randrange(len(members))
    name, data = members[at]
    if kind == 5:
        members[0] = (MANIFEST, changed_json(chance, archive.manifest))
    elif kind == 6:
        members[at] = (chance.choice(NAMES), data)
    elif kind == 7:
        members[at] = (name, changed_bytes(chance, data))
    elif kind == 8:
        members.insert(at, (name, chance.choice((data, b"", changed_bytes(chance, data)))))
    else:
        members.pop(at)
    made = zipped(members)
    return changed_bytes(chance, made) if chance.random() < 0.1 else made


def changed_record(chance: Random, archive: Archive) -> tuple[list[bytes], list[str]]:
    """The records with one changed, and the ids for the manifest."""
    lines, ids = list(archive.lines), archive.ids
    at = chance.randrange(len(lines))
    record = dict(archive.records[at])
    if chance.random() < 0.5:
        # As one would who means it: a new id, its files under it, and then a change.
        ids[at] = chance.choice(("n1", "last", "t00", "T0", "-", "x" * 64, chance.choice(TEXTS)))
        record["id"] = ids[at]
        record["artifacts"] = []
    if chance.random() < 0.5:
        artifacts = [dict(each) for each in archive.records[at]["artifacts"]]
        key = chance.choice(("name", "path", "size_bytes", "sha256", "kind"))
        artifacts[0][key] = chance.choice((*NAMES, *VALUES[:40]))
        record["artifacts"] = artifacts
        lines[at] = changed_json(chance, record) if chance.random() < 0.1 else _dumped(record)
    else:
        lines[at] = changed_json(chance, record)
    lines[at] = lines[at].replace(b"\n", b" ")
    return lines, ids


def _dumped(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record).encode()
