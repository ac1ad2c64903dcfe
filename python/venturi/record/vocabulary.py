"""Names and meanings of the keys of trials, and of their coded values.

A key is recorded under one name, but a query may use another word for it (`WORDS`). Only synonyms
that every reader of the field uses are listed. `CODES` explains values that their source
abbreviates, each with the place that defines it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache

PREFIX = "configuration."
SOURCE = "source"
"""The column with the place of origin, such as a figure's number: it is no setting."""
CORE_SPEED = "core_speed"
"""The metric of `venturi probe host`: a core's work per second. The label `kind` names it."""


@dataclass(frozen=True, slots=True)
class Word:
    """A key: its recorded names, the usual one first, and its other names.

    Two recorded names of one trial are shown separately only if their values differ.
    """

    names: tuple[str, ...]
    also: tuple[str, ...]
    meaning: str
    unit: str = ""


WORDS = (
    Word(("workload",), ("benchmark", "bench", "job", "program"), "the program that was run"),
    Word(
        ("workload_version",),
        ("suite", "bench type"),
        "definition of the workload: a digest, or a publication's suite",
    ),
    Word(("scale",), ("scale profile",), "the named size of the input"),
    Word(
        ("input_bytes", "dataset_TB"),
        ("input", "input size", "data size", "bytes"),
        "bytes of input",
        "B",
    ),
    Word(("engine",), ("framework",), "engine that ran the workload"),
    Word(("engine_version",), (), "its version"),
    Word(("cluster",), ("cluster name", "testbed"), "the name of the cluster"),
    Word(
        ("hosts", "nodes", "datanodes"),
        ("machines", "workers", "number of nodes", "node count"),
        "number of machines that did the work",
    ),
    Word(("headnodes",), ("masters", "name nodes"), "machines that only coordinate"),
    Word(
        ("instance_type",),
        ("instance", "machine type", "vm size", "vm type"),
        "the type of each machine",
    ),
    Word(("network", "net"), ("interconnect", "networks", "nic"), "network between the machines"),
    Word(
        ("disk", "disk_name"),
        ("disks", "storage", "drive", "drives", "volumes"),
        "the disks of each machine",
    ),
    Word(("provider",), ("cloud", "vendor"), "provider of the machines"),
    Word(("service_type",), ("service",), "own machines, rented ones, or a managed service"),
    Word(("maps", "map_tasks"), ("mappers", "map slots"), "map tasks at a time"),
    Word(("reduces", "reduce_tasks"), ("reducers", "reduce slots"), "reduce tasks at a time"),
    Word(
        ("io_sort_factor",),
        ("sort factor", "iosf", "io sort"),
        "runs that a MapReduce merge reads concurrently (io.sort.factor)",
    ),
    Word(
        ("io_file_buffer_bytes",),
        ("file buffer", "io file buffer", "iofilebuf"),
        "buffer of file operations (io.file.buffer.size)",
        "B",
    ),
    Word(
        ("replication", "replication_level"),
        ("replicas", "rep", "dfs.replication"),
        "copies of each block of the distributed file system",
    ),
    Word(
        ("block_bytes",),
        ("block size", "blk size", "block", "dfs.blocksize"),
        "size of a block of the distributed file system",
        "B",
    ),
    Word(("compression",), ("comp", "codec", "compress"), "codec of the intermediate data"),
    Word(("memory_bytes", "memory"), ("ram", "heap", "memory budget"), "memory budget", "B"),
    Word(("threads",), ("cores used",), "threads of the engine"),
    Word(
        ("elapsed_s",),
        ("time", "elapsed", "duration", "runtime", "seconds"),
        "time of the workload alone",
        "s",
    ),
    Word(("state",), ("status", "outcome"), "how the trial ended"),
    Word(("failure",), ("error", "error code"), "error code"),
    Word(("failure_kind",), (), "whether the workload, the engine or the machine failed"),
    Word(("started_at",), ("started", "start", "date", "when"), "when it began (UTC)"),
    Word(("experiment",), ("study", "plan"), "the study that it belongs to"),
    Word(("group",), ("repeat group", "group key"), "trials with the same settings"),
    Word(("repetition",), ("repeat",), "which of a group's repetitions it is"),
    Word(("warm_up",), (), "whether it is a warm-up, which does not count"),
    Word(("provenance",), ("origin",), "measured here, imported or simulated"),
    Word(("source",), (), "file or publication of origin"),
    Word(("warnings",), (), "how many warnings it has"),
    Word(("id",), ("trial", "trial id"), "the trial's own id"),
    Word(
        ("published_statistic",),
        ("statistic",),
        "kind of a printed figure: one execution, or the best or mean of several",
    ),
)


def _plain(name: str) -> str:
    return re.sub(r"[\s_.-]", "", name.removeprefix(PREFIX)).casefold()


@cache
def _by_name() -> Mapping[str, Word]:
    found: dict[str, Word] = {}
    for word in WORDS:
        for name in (*word.names, *word.also):
            found.setdefault(_plain(name), word)
    return found


def word_of(key: str) -> Word | None:
    """Return the word that has `key` among its names."""
    return _by_name().get(_plain(key))


def same_thing(first: str, second: str) -> bool:
    """Whether two keys are names for one thing."""
    word = word_of(first)
    return _plain(first) == _plain(second) or (word is not None and word is word_of(second))


def resolve(name: str, recorded: Collection[str]) -> str | None:
    """The one of the `recorded` keys that `name` means: itself, another spelling, or a synonym."""
    if name in recorded:
        return name
    plain = _plain(name)
    spelt = [key for key in recorded if _plain(key) == plain]
    if len(spelt) == 1:
        return spelt[0]
    word = word_of(name)
    return next((key for key in word.names if key in recorded), None) if word else None


def sayings() -> Iterable[str]:
    """All words for keys, for suggestions."""
    for word in WORDS:
        yield from (*word.names, *word.also)


@dataclass(frozen=True, slots=True)
class CodeMeaning:
    """Values of `keys` that match `pattern` ({n} counts disks), their meaning and its source."""

    keys: tuple[str, ...]
    pattern: str
    meaning: str
    source: str


_LAYOUTS = "ALOJA's bench program (Aloja/aloja, aloja-bench), disk layouts"
_PAPER = "N. Poggi et al. 2015, SSD and InfiniBand under Hadoop"

CODES = (
    CodeMeaning(("network", "net"), "ETH", "Ethernet", _PAPER),
    CodeMeaning(("network", "net"), "IB", "InfiniBand", _PAPER),
    CodeMeaning(("disk",), "HDD", "one hard disk", _PAPER),
    CodeMeaning(("disk",), "HD([0-9]+)", "{n} hard disks", _PAPER),
    CodeMeaning(("disk",), "SSD", "one SSD", _PAPER),
    CodeMeaning(("disk",), "SS([0-9]+)", "{n} SSDs", _PAPER),
    CodeMeaning(
        ("disk",), "HS([0-9]+)", "HDFS on {n} hard disks, temporary files on an SSD", _PAPER
    ),
    CodeMeaning(
        ("disk",),
        "RL([0-9]+)",
        "HDFS on {n} remote disks, temporary files on a local disk",
        _LAYOUTS,
    ),
    CodeMeaning(("disk",), "RR([0-9]+)", "HDFS and temporary files on {n} remote disks", _LAYOUTS),
    CodeMeaning(
        ("disk",),
        "RS([0-9]+)",
        "{n} remote disks, purpose not stated",
        _LAYOUTS,
    ),
    CodeMeaning(("compression",), "none|0", "not compressed", _LAYOUTS),
    CodeMeaning(
        ("compression",), "zlib|1", "zlib, Hadoop's default codec (code 1 of ALOJA)", _LAYOUTS
    ),
    CodeMeaning(
        ("compression",), "lzo|2", "LZO (code 2 of ALOJA; its pages call it bzip2)", _LAYOUTS
    ),
    CodeMeaning(("compression",), "snappy|3", "Snappy (code 3 of ALOJA)", _LAYOUTS),
    CodeMeaning(("service_type",), "IaaS", "rented machines", _LAYOUTS),
    CodeMeaning(("service_type",), "PaaS", "a managed Hadoop service", _LAYOUTS),
    CodeMeaning(("published_statistic",), "single", "of one execution", "the publication"),
    CodeMeaning(
        ("published_statistic",), "best", "the best of several executions", "the publication"
    ),
    CodeMeaning(
        ("published_statistic",),
        "mean of ([0-9]+)",
        "the mean of {n} executions",
        "the publication",
    ),
    CodeMeaning(("published_statistic",), "advertised", "a data sheet's figure", "the publication"),
    CodeMeaning(
        ("published_statistic",),
        "not stated",
        "the number of executions is not stated",
        "the publication",
    ),
)
_COUNT = "([0-9]+)"
_CALLED_SO = frozenset({"HDD", "SSD", "none", "zlib", "snappy"})  # values that need no explanation


def code_of(key: str, value: object) -> CodeMeaning | None:
    """The entry that explains `value` of `key`, `{n}` filled in; None if it needs or has none."""
    plain = key.removeprefix(PREFIX)
    for code in CODES:
        match = re.fullmatch(code.pattern, str(value)) if plain in code.keys else None
        if match is not None:
            count = match[1] if match.re.groups else ""
            meaning = code.meaning.replace("{n}", count)
            if count == "1":
                meaning = meaning.replace("disks", "disk").replace("executions", "execution")
            return CodeMeaning(code.keys, code.pattern, meaning, code.source)
    return None


def meaning_of(key: str, value: object) -> str | None:
    """The meaning of `value` of `key` in words; None if it needs or has none."""
    code = None if value is None or value in _CALLED_SO else code_of(key, value)
    return None if code is None else code.meaning


def explained(shown: Mapping[str, Iterable[object]]) -> dict[str, str]:
    """The meaning of each coded value among those `shown` of keys: `HS5` -> `HDFS on 5 ...`.

    Values that differ only in a count share an entry: `HSn` -> `HDFS on n ...`. Self-explanatory
    words (SSD, snappy) are left out, unless they are among codes with a meaning of their own.
    """
    by_pattern: dict[str, dict[str, str]] = {}
    plain: dict[str, str] = {}
    for key, values in shown.items():
        for value in values:
            code = code_of(key, value)
            if code is None:
                continue
            if meaning_of(key, value) is not None:
                by_pattern.setdefault(code.pattern, {})[str(value)] = code.meaning
            elif value in DISK_LAYOUTS:
                plain[str(value)] = code.meaning
    found: dict[str, str] = {}
    for pattern, meanings in by_pattern.items():
        if len(meanings) > 1 and _COUNT in pattern:
            (meaning,) = (each.meaning for each in CODES if each.pattern == pattern)
            found[pattern.replace(_COUNT, "n")] = meaning.replace("{n}", "n")
        else:
            found |= meanings
    if any(DISK_LAYOUTS & meanings.keys() for meanings in by_pattern.values()):
        found |= plain
    return found


DISK_LAYOUTS = frozenset(("HDD", "HD2", "HD3", "HD4", "HD5", "SSD", "SS2", "HS4", "HS5"))
"""ALOJA's, which its prices name whether or not trials of each are here."""


def disks_of(label: str) -> dict[str, int]:
    """How many local disks of which kind ALOJA's label of a layout says: `HS4` is 4 HDD, 1 SSD."""
    match = re.fullmatch(r"(HDD|SSD|HD|SS|HS)([0-9]*)", label)
    if match is None:
        return {}
    count = int(match[2] or 1)
    return {
        "HDD": {"HDD": 1},
        "HD": {"HDD": count},
        "SSD": {"SSD": 1},
        "SS": {"SSD": count},
        "HS": {"HDD": count, "SSD": 1},
    }[match[1]]
