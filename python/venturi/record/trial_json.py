"""Trials as JSON text and back, checked by pydantic: unknown keys are errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, from_json

from venturi.core.errors import VenturiError
from venturi.record.trial import SCHEMA_VERSION, ProvenanceKind, Trial

MEND = "`venturi repository check --mend` quarantines unreadable records"

READABLE = range(1, SCHEMA_VERSION + 1)
"""Later versions only add fields: a record of version 1 has their defaults."""

ADAPTER: TypeAdapter[Trial] = TypeAdapter(Trial)


def encode(trial: Trial) -> str:
    """`trial` as one line of JSON."""
    try:
        return ADAPTER.dump_json(trial).decode()
    except PydanticSerializationError as error:  # such as a path that is not UTF-8
        raise VenturiError(
            "VEN-RECORD-SCHEMA", f"cannot be written as JSON: {error}", where={"trial": trial.id}
        ) from error


def decode(text: str | bytes, *, where: Mapping[str, object] | None = None) -> Trial:
    """The trial in `text`; `where` (file, line) goes into the error if it is not one."""
    try:
        version = from_json(text).get("schema_version")
    except (ValueError, AttributeError) as error:
        raise VenturiError(
            "VEN-RECORD-SCHEMA", f"not a JSON object: {error}", where=where, hint="is it truncated?"
        ) from error
    if type(version) is not int or version not in READABLE:
        advice = "update Venturi" if isinstance(version, int) and version > SCHEMA_VERSION else ""
        raise VenturiError(
            "VEN-RECORD-VERSION",
            f"schema version {version!r}, but this Venturi reads versions 1 to {SCHEMA_VERSION}",
            where=where,
            hint=advice or "export it again with the Venturi that wrote it",
        )
    try:
        trial = _classed(ADAPTER.validate_json(text, strict=True))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
        raise VenturiError(
            "VEN-RECORD-SCHEMA",
            f"{place or 'record'}: {first['msg'].removeprefix('Value error, ')}{more}",
            where={**(where or {}), "field": place},
        ) from error
    return trial if version == SCHEMA_VERSION else replace(trial, schema_version=SCHEMA_VERSION)


def stored_trial(record: str, id_: str | None = None) -> Trial:
    """Decode the stored `record` of the trial `id_`; the error for an unreadable one has a hint."""
    where = {} if id_ is None else {"trial": id_}
    try:
        return decode(record, where=where)
    except VenturiError as error:
        if error.code == "VEN-RECORD-SCHEMA":
            error.hint = MEND
        raise


def _classed(trial: Trial) -> Trial:
    """`trial` with its failure's class as kind: older records have the last word of the code."""
    failure, named = trial.failure, trial.failure_class
    if failure is None or named is None or trial.provenance.kind is ProvenanceKind.IMPORTED:
        return trial
    area, _, last_word = failure.code.rpartition("-")
    if not area.startswith("VEN-") or failure.kind != last_word.lower():
        return trial
    return replace(trial, failure=replace(failure, kind=named.value))
