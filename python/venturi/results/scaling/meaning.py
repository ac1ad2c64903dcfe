"""The quantity that a numeric key's name suggests: a resource, an amount of work, or neither."""

from __future__ import annotations

import re

from venturi.results.scaling.formulas import Meaning

_RESOURCE = re.compile(
    r"(host|node|datanode|machine|instance|worker|executor|core|v?cpu|thread|slot|map|mapper"
    r"|reduce|reducer|processor|container)s?|parallelism"
)
_AMOUNT = re.compile(
    r"(byte|record|row|line|link|page|edge|observation|sample|point|feature|document|iteration"
    r"|step|task|file|client|user)s?|vertices|queries|scale"
)
_DATA = re.compile(r"data|dataset|input|output|work|workload")
_SIZE = re.compile(r"size|[kmgt]?i?b")
# Words by which it is a setting of an engine or a machine, whatever its unit is.
_SETTING = re.compile(
    r"block|blk|buffer|buf|split|chunk|memory|mem|ram|heap|cache|disks?|replication|factor|length"
    r"|per|rate|limit|threshold"
)
_COUNT = re.compile(r"count|number|num|total")
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def meaning_of(key: str) -> Meaning:
    """The meaning of `key`: `hosts` and `executor.cores` are a resource, `data_size_MB` an amount.

    Any other name, such as `io_sort_factor`, is a setting: how the time depends on it is unknown.
    """
    words = [word.lower() for word in _WORDS.findall(key.removeprefix("configuration."))]
    words = [word for word in words if not _COUNT.fullmatch(word)]
    if not words or any(map(_SETTING.fullmatch, words)):
        return Meaning.OTHER
    if _RESOURCE.fullmatch(words[-1]):
        return Meaning.RESOURCE
    sized = any(map(_DATA.fullmatch, words)) and any(map(_SIZE.fullmatch, words))
    return Meaning.AMOUNT if sized or _AMOUNT.fullmatch(words[-1]) else Meaning.OTHER
