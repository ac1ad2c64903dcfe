"""Checks that TeraGen made the right records, and that TeraValidate read the existing ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from venturi.measure.hosts.agent import repeated
from venturi.measure.hosts.agent_results import GenResult, ValidateResult
from venturi.measure.workloads.portions import validated

if TYPE_CHECKING:
    from venturi.measure.workloads.checking import CheckInput


def check(checking: CheckInput) -> str | None:
    """Why the result is wrong; None: it is right."""
    if checking.definition.job == "teragen":
        return _check_records(checking)
    return _check_verdict(checking)


def _check_records(checking: CheckInput) -> str | None:
    """Validate the records, which have no order, by reading them again."""
    step, records = checking.step, checking.size.records
    there = checking.parts() if checking.portions is None else checking.portions
    if not there:
        return "there is no output"
    if checking.portions is None:
        seen = step.run("validate", *repeated("--input", there)).read(ValidateResult)
    else:
        seen = validated(step, checking.portions)[0]
    if seen.records != records:
        return f"{seen.records} records are on disk, but {records} were requested"
    expected = checking.answer.get("checksum")
    if expected is None:
        made = step.run("gen", "--count", records, "--checksum", "--output", "/dev/null")
        expected = made.read(GenResult).checksum
    # Hadoop counts in 64 bits.
    if (int(seen.checksum, 16) - int(str(expected), 16)) % 2**64:
        return f"checksum {seen.checksum} on disk, {expected} of the records to be made"
    return None


def _check_verdict(checking: CheckInput) -> str | None:
    answer, given = checking.answer, checking.given
    if (unordered := answer.get("unordered_records")) != 0:
        return f"the input is sorted, but {unordered} records were found out of order"
    checksum = answer.get("checksum")
    if (
        checksum is None
        or given.checksum is None
        or int(str(checksum), 16) != int(given.checksum, 16)
    ):
        return f"checksum {checksum} was read, the input has {given.checksum}"
    return None
