"""ALOJA's public data sets 1 to 4: Hadoop MapReduce trials, one per row.

Sets 1 and 2 have costs and end times and only the name of the cluster, set 3 has its machines, and
set 4 also the suite (`Bench.Type`). The sets overlap, and rows of the same execution can't be
recognized: import one set only. Decisions:

- Rows that are equal in everything but `ID` are kept as separate executions, and all but the first
  are marked (VEN-IMPORT-ALIKE). Times are whole seconds, and Hadoop 1's heartbeat makes those of
  short jobs multiples of 3 s, so equal repeats are common: set 4 has 2,319 pairs of repeats with
  equal times, 1,704 that differ by 1 s and 2,773 by 3 s. The `ID`s of equal rows have no constant
  distance, as rows copied in blocks would, and its 265 times with milliseconds are all different.
  Dropping such rows would keep each group's rare times and lose its common ones (of 44 repeats, 29
  of which took 105 s, 5 would be left).
- `VM.RAM` is GiB, and `Blk.size` MiB, except 134, which clusters of Windows machines have: that is
  128 MiB in decimal megabytes.
- Compression 0, 1, 2, 3 means no compression, zlib (Hadoop's default codec), LZO, Snappy, as
  the bench program passes them to Hadoop. ALOJA's pages, and sets 1 and 2, wrongly call code 2
  "BZIP2".
- A `Running.Cost` of 0 means that no price was known, not that it was free.
- `End.time` has no time zone, so `started_at` stays None; a warning keeps the text.
- None of these sets has the version of Hadoop.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import BinaryIO

from venturi.record.importing.formats import Format
from venturi.record.importing.items import (
    ALIKE,
    CLOCK,
    SOFTWARE,
    ImportedItem,
    ImportSource,
    Spelling,
    imported_id,
    of_rows,
    unnamed_hosts,
)
from venturi.record.importing.tables import (
    TableRow,
    UnreadableError,
    bytes_of_gib,
    number,
    rows,
    text,
    whole,
)
from venturi.record.trial import (
    Cluster,
    Engine,
    Host,
    Sample,
    Scalar,
    State,
    Trial,
    TrialWarning,
    Workload,
)

FORMAT = Format(
    "aloja",
    "ALOJA: Hadoop trials, the four public CSV sets",
    columns=("ID", "Benchmark", "Exe.Time"),
)

_COLUMNS = (
    "ID",
    "Benchmark",
    "Exe.Time",
    "Net",
    "Disk",
    "Maps",
    "IO.SFac",
    "Rep",
    "IO.FBuf",
    "Comp",
    "Blk.size",
    "Cluster",
)
_MACHINES = (
    "Cl.Name",
    "Datanodes",
    "Headnodes",
    "VM.OS",
    "VM.Cores",
    "VM.RAM",
    "Provider",
    "VM.Size",
    "Service.Type",
)
_OPTIONAL = ("Bench.Type", "Running.Cost", "End.time")

_CODECS = {"0": "none", "1": "zlib", "2": "lzo", "3": "snappy"}
_CODEC_NAMES = {"none": "none", "zlib": "zlib", "bzip2": "lzo", "lzo": "lzo", "snappy": "snappy"}
_SERVICES = {
    "onpremise": "On-premise",
    "onprem": "On-premise",
    "iaas": "IaaS",
    "paas": "PaaS",
    "saas": "SaaS",
}
_SCALE = re.compile(r"(?:^|-)(min|[0-9]+[KMGT]B)$")
_MIB = 1 << 20
_BLOCK_MB_128_MIB = 134

# Kind of disk and how many -> where HDFS lies and where the temporary files do, as the bench
# program lays them out. Labels it does not explain (RS...) are kept as labels only.
_DISK = re.compile(r"(HDD|SSD|HD|SS|HS|RL|RR)([0-9]{0,2})")
_DISKS: Mapping[str, tuple[str, str]] = {
    "HDD": ("hdd", "hdd1"),
    "HD": ("hdd", "hdd1"),
    "SSD": ("ssd", "ssd1"),
    "SS": ("ssd", "ssd1"),
    "HS": ("hdd", "ssd1"),
    "RL": ("remote", "hdd1"),
    "RR": ("remote", "remote1"),
}


def read(file: BinaryIO, source: ImportSource) -> Iterator[ImportedItem]:
    """Yield the trials of one of ALOJA's sets, the refused rows and the interpreted values."""
    provenance = source.provenance("aloja")
    clusters: dict[tuple[str, ...], tuple[Host, ...]] = {}
    first_with: dict[str, str] = {}

    def items(row: TableRow) -> Iterator[ImportedItem]:
        spellings: list[Spelling] = []
        trial = Trial(
            id=imported_id("aloja", text(row, "ID"), _content(row)),
            workload=_workload(row),
            engine=Engine("mapreduce", "unknown"),
            cluster=_cluster(row, clusters),
            configuration=_configuration(row, spellings),
            software=SOFTWARE,
            provenance=provenance,
            started_at=None,
            state=State.SUCCEEDED,
            elapsed_s=number(row, "Exe.Time", above=0),
            samples=_cost(row),
            warnings=(*_clock(row), *_duplicate_warning(row, first_with)),
        )
        yield from spellings
        yield trial

    return of_rows(rows(file, source, _COLUMNS, _OPTIONAL, together=_MACHINES), items, source)


def _content(row: TableRow) -> str:
    """The content of a row without its number, independent of the order of columns."""
    return imported_id(
        "aloja", *(f"{name}={value}" for name, value in sorted(row.fields.items()) if name != "ID")
    )


def _duplicate_warning(row: TableRow, first_with: dict[str, str]) -> tuple[TrialWarning, ...]:
    number_ = row.fields["ID"]
    first = first_with.setdefault(_content(row), number_)
    if first == number_:
        return ()
    return (TrialWarning(ALIKE, f"identical to the row with ID {first}, except for the ID"),)


def _workload(row: TableRow) -> Workload:
    suite = row.fields.get("Bench.Type", "")
    scale = _SCALE.search(suite)
    return Workload(
        name=text(row, "Benchmark"),
        version=f"aloja {suite}" if suite else "aloja, suite not stated",
        scale=scale[1] if scale else None,
    )


def _cluster(row: TableRow, known: dict[tuple[str, ...], tuple[Host, ...]]) -> Cluster:
    network = text(row, "Net").upper()
    disks = _disks_by_role(text(row, "Disk"))
    if "Cl.Name" not in row.fields:  # how many machines, and which, is not said
        return Cluster((), disks, network=network)
    key = tuple(row.fields[name] for name in _MACHINES)
    if key not in known:
        facts = {
            "os_name": text(row, "VM.OS"),
            "cpu_cores": whole(row, "VM.Cores", least=1),
            "memory_total_bytes": bytes_of_gib(row, "VM.RAM"),
        }
        count = whole(row, "Datanodes", least=1, most=10_000)
        known[key] = unnamed_hosts(text(row, "Cl.Name"), count, facts)
    return Cluster(known[key], disks, instance_type=text(row, "VM.Size"), network=network)


def _disks_by_role(label: str) -> dict[str, tuple[str, ...]]:
    """`HS5` is five hard disks for HDFS and one SSD for temporary files; `RL3` three remote disks
    and a local one."""
    match = _DISK.fullmatch(label)
    if match is None:
        return {}
    kind, scratch = _DISKS[match[1]]
    data = tuple(f"{kind}{place}" for place in range(1, int(match[2] or 1) + 1))
    return {"input": data, "output": data, "scratch": (scratch,)}


def _configuration(row: TableRow, spellings: list[Spelling]) -> dict[str, Scalar]:
    fields = row.fields
    machines = "Cl.Name" in fields
    chosen: dict[str, Scalar] = {
        "cluster": text(row, "Cl.Name" if machines else "Cluster"),
        "net": _as(row, "Net", fields["Net"].upper(), spellings),
        "disk": fields["Disk"],
        "maps": whole(row, "Maps", least=1),
        "io_sort_factor": whole(row, "IO.SFac", least=1),
        "replication": whole(row, "Rep", least=1),
        "io_file_buffer_bytes": whole(row, "IO.FBuf", least=1),
        "compression": _codec(row, spellings),
        "block_bytes": _block_bytes(row, spellings),
    }
    if machines:
        service = text(row, "Service.Type")
        canonical = _SERVICES.get(service.replace("-", "").casefold(), service)
        chosen |= {
            "datanodes": whole(row, "Datanodes", least=1),
            "headnodes": whole(row, "Headnodes"),
            "provider": text(row, "Provider"),
            "service_type": _as(row, "Service.Type", canonical, spellings),
        }
    return chosen


def _as(row: TableRow, column: str, value: str, spellings: list[Spelling]) -> str:
    if value != row.fields[column]:
        spellings.append(Spelling(row.line, column, row.fields[column], value))
    return value


def _codec(row: TableRow, spellings: list[Spelling]) -> str:
    written = text(row, "Comp")
    codec = _CODECS.get(written.removeprefix("Cmp"))
    if codec is not None:
        return codec
    codec = _CODEC_NAMES.get(written.casefold())
    if codec is None:
        raise UnreadableError(row.refuse("Comp", "not a compression of ALOJA"))
    # Another case of the same word is no interpretation; another codec is.
    return codec if codec == written.casefold() else _as(row, "Comp", codec, spellings)


def _block_bytes(row: TableRow, spellings: list[Spelling]) -> int:
    size = whole(row, "Blk.size", least=1)
    if size == _BLOCK_MB_128_MIB:
        spellings.append(Spelling(row.line, "Blk.size", row.fields["Blk.size"], "128 (MiB)"))
        size = 128
    return size * _MIB


def _cost(row: TableRow) -> tuple[Sample, ...]:
    if "Running.Cost" not in row.fields:
        return ()
    cost_usd = number(row, "Running.Cost", least=0)
    reason = None if cost_usd else "Running.Cost is 0: no price was known"
    return (Sample("cost_usd", cost_usd or None, "USD", missing_reason=reason),)


def _clock(row: TableRow) -> tuple[TrialWarning, ...]:
    written = row.fields.get("End.time")
    if not written:
        return ()
    return (
        TrialWarning(CLOCK, f"it ended at {written}, in a time zone that the source doesn't state"),
    )
