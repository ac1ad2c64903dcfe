"""Spark's storage levels by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pyspark import StorageLevel

LEVELS: Mapping[str, StorageLevel] = MappingProxyType(
    {
        "MEMORY_AND_DISK": StorageLevel.MEMORY_AND_DISK_DESER,
        "MEMORY_AND_DISK_SER": StorageLevel.MEMORY_AND_DISK,
        "MEMORY_ONLY": StorageLevel(False, True, False, True),
        "DISK_ONLY": StorageLevel.DISK_ONLY,
        "NONE": StorageLevel.NONE,
    }
)
"""By Spark's names: PySpark uses those of deserialized data for serialized ones."""
