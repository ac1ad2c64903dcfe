"""The output of a sort on several hosts: each reads its own, the verdict is that of the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from venturi.core.errors import VenturiError
from venturi.measure.engines.hadoop.spread import shared_out
from venturi.measure.hosts.agent import Agent
from venturi.measure.hosts.agent_results import GenResult
from venturi.measure.hosts.host import LiveHost
from venturi.measure.hosts.remote import connected
from venturi.measure.trial.job import StepContext
from venturi.measure.workloads import outputs
from venturi.measure.workloads.checking import CheckInput, CheckResult, Portion
from venturi.measure.workloads.definition import Definition
from venturi.measure.workloads.inputs import InputData
from venturi.measure.workloads.registry import size_of_bytes, workload

RECORD_BYTES = 100
RECORDS = 3_000
TERASORT, TERAGEN = workload("terasort"), workload("teragen")
Check = Callable[..., CheckResult]


@pytest.fixture(scope="module")
def hosts(agent_binary: Path) -> Iterator[tuple[LiveHost, ...]]:
    """Three, each with an agent of its own."""
    with ExitStack() as stack:
        yield tuple(
            stack.enter_context(connected([agent_binary, "host"], f"w{number}"))
            for number in range(3)
        )


@pytest.fixture
def given(
    agent_binary: Path, hosts: tuple[LiveHost, ...], tmp_path: Path
) -> tuple[StepContext, InputData]:
    """Records to be sorted."""
    step = StepContext(Agent(str(agent_binary), hosts[0], allow_debug=True), 0.0, None)
    file = tmp_path / "input"
    made = step.run("gen", "--count", RECORDS, "--checksum", "--output", file).read(GenResult)
    return step, InputData((file,), RECORDS * RECORD_BYTES, RECORDS, checksum=made.checksum)


@pytest.fixture
def check(
    given: tuple[StepContext, InputData], hosts: tuple[LiveHost, ...], tmp_path: Path
) -> Check:
    """The verdict on these contents of the hosts, in this order."""
    step, data = given

    def checked(contents: Sequence[bytes], definition: Definition = TERASORT) -> CheckResult:
        portions = []
        for number, (host, content) in enumerate(zip(hosts, contents, strict=False)):
            folder = tmp_path / f"w{number}"
            folder.mkdir(exist_ok=True)
            (folder / ".summary").unlink(missing_ok=True)
            half = len(content) // 2 // RECORD_BYTES * RECORD_BYTES
            parts = folder / "part-0", folder / "part-1"
            for part, some in zip(parts, (content[:half], content[half:]), strict=True):
                part.write_bytes(some)
            portions.append(Portion(f"w{number}", host, folder, parts))
        size = size_of_bytes(definition, RECORDS * RECORD_BYTES)
        return outputs.check(
            CheckInput(step, definition, size, data, tmp_path / "none", {}, tuple(portions))
        )

    return checked


def test_what_several_hosts_have_is_judged_as_a_whole(
    check: Check, given: tuple[StepContext, InputData]
) -> None:
    content = given[1].files[0].read_bytes()
    records = sorted(content[at : at + RECORD_BYTES] for at in range(0, len(content), RECORD_BYTES))
    a, b, c = (b"".join(records[at : at + 1_000]) for at in range(0, RECORDS, 1_000))
    assert check([a, b, c]) == CheckResult(None)
    said = check([a, c, b]).invalid or ""
    assert "1 records are out of order, first 2000" in said, "where two hosts meet"
    assert "records are out of order" in (check([a, b[100:200] + b, c]).invalid or "")
    assert (
        check([a, b, c[:-RECORD_BYTES]]).invalid
        == "2999 records are on disk, but the input has 3000"
    )
    wrong = c[:-1] + bytes([c[-1] ^ 1])
    assert (check([a, b, wrong]).invalid or "").startswith("checksum ")
    assert check([]).invalid == "there is no output"


def test_records_that_were_made_on_several_hosts_need_no_order(
    check: Check, given: tuple[StepContext, InputData]
) -> None:
    content = given[1].files[0].read_bytes()
    a, b, c = (content[at : at + 100_000] for at in range(0, len(content), 100_000))
    assert check([c, a, b], TERAGEN) == CheckResult(None)
    few = check([c, a, b[:-RECORD_BYTES]], TERAGEN).invalid
    assert few == "2999 records are on disk, but 3000 were requested"
    wrong = b[:-1] + bytes([b[-1] ^ 1])
    assert (check([c, a, wrong], TERAGEN).invalid or "").startswith("checksum ")
    assert check([], TERAGEN).invalid == "there is no output"


def test_a_host_that_cannot_read_its_part_is_named(
    given: tuple[StepContext, InputData], hosts: tuple[LiveHost, ...], tmp_path: Path
) -> None:
    step, data = given
    gone = Portion("w1", hosts[1], tmp_path, (tmp_path / "part-0",))
    size = size_of_bytes(TERASORT, RECORDS * RECORD_BYTES)
    with pytest.raises(VenturiError) as caught:
        outputs.check(CheckInput(step, TERASORT, size, data, tmp_path, {}, (gone,)))
    assert caught.value.where["host"] == "w1"


def test_files_are_shared_out_in_order_and_evenly() -> None:
    def shares(sizes: Sequence[int], hosts: int) -> list[list[str]]:
        return shared_out([(str(number), size) for number, size in enumerate(sizes)], hosts)

    assert shares([1] * 6, 3) == [["0", "1"], ["2", "3"], ["4", "5"]]
    assert shares([1, 1], 4) == [["0"], ["1"]]
    assert shares([9, 1, 1, 1], 2) == [["0"], ["1", "2", "3"]]
    assert shares([5], 3) == [["0"]]
    assert shares([], 3) == []
