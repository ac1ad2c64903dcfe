"""The recorded output of peers and the agent, and the command lines that we give them."""

import json
from pathlib import Path

import pytest

from benchmarks.bench import Complaint, read_events
from benchmarks.suites.disk import MODES, disk_arguments, disk_rates, fio_command, fio_rates
from benchmarks.suites.net import iperf_rate, net_rate
from benchmarks.suites.peers import CONTENDERS, SortTask
from benchmarks.suites.predict import predicted_s
from venturi.measure.hosts.agent_results import (
    SortInput,
    SortMemory,
    SortOutput,
    SortPhase,
    SortPlan,
    SortResult,
)

# fio 3.33, one reader and one writer, cut to the keys that are read.
FIO = """fio: this platform does not support process shared mutexes
{"fio version": "fio-3.33", "jobs": [
  {"jobname": "read", "error": 0,
   "read": {"io_bytes": 2147483648, "bw_bytes": 1041204096, "iops": 248.242},
   "write": {"io_bytes": 0, "bw_bytes": 0, "iops": 0.0}},
  {"jobname": "write", "error": 0,
   "read": {"io_bytes": 0, "bw_bytes": 0, "iops": 0.0},
   "write": {"io_bytes": 1996488704, "bw_bytes": 968231040, "iops": 230.844}}]}
"""
DISKBENCH = {
    "measurements": [
        {
            "mode": "read",
            "role": "read",
            "dir": "/d",
            "bytes_per_s": {"mean": 1.0},
            "iops": {"mean": 10.0},
        },
        {
            "mode": "read_write",
            "role": "read",
            "dir": "/d",
            "bytes_per_s": {"mean": 2.0},
            "iops": {"mean": 20.0},
        },
        {
            "mode": "read_write",
            "role": "read",
            "dir": None,
            "bytes_per_s": {"mean": 3.0},
            "iops": {"mean": 30.0},
        },
        {
            "mode": "read_write",
            "role": "write",
            "dir": None,
            "bytes_per_s": {"mean": 4.0},
            "iops": {"mean": 40.0},
        },
    ]
}


def test_fio_rates_by_role_despite_a_warning_before() -> None:
    assert fio_rates(FIO) == {
        "read": {"bytes_per_s": 1041204096.0, "iops": 248.242},
        "write": {"bytes_per_s": 968231040.0, "iops": 230.844},
    }


def test_a_failed_fio_job_is_no_rate() -> None:
    failed = {"jobs": [{"jobname": "read", "error": 28}]}
    with pytest.raises(ValueError, match="error 28"):
        fio_rates(json.dumps(failed))


def test_disk_rates_take_one_mode_and_prefer_all_together() -> None:
    rates = disk_rates(DISKBENCH, "read_write")
    assert {role: rate["bytes_per_s"] for role, rate in rates.items()} == {"read": 3.0, "write": 4}
    assert disk_rates(DISKBENCH, "read") == {"read": {"bytes_per_s": 1.0, "iops": 10.0}}
    with pytest.raises(ValueError, match="no write measurement"):
        disk_rates(DISKBENCH, "write")


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_fio_and_diskbench_are_asked_for_the_same(mode) -> None:
    fio = fio_command(mode, Path("/d"), 8 << 20)
    ours = [str(part) for part in disk_arguments(mode, Path("/d"), 8 << 20)]
    block, depth = str(mode.block_bytes), str(mode.depth)
    assert {f"--bs={block}", f"--iodepth={depth}", f"--size={8 << 20}", "--direct=1"} <= set(fio)
    prefix = "--random-" if mode.is_random else "--"
    assert ours[ours.index(f"{prefix}block-bytes") + 1] == block
    assert ours[ours.index(f"{prefix}queue-depth") + 1] == depth
    assert ours[ours.index("--bytes") + 1] == str(8 << 20)
    assert ("--end_fsync=1" in fio) == ("write" in mode.jobs)
    seconds = {part.split("=")[1] for part in fio if part.startswith("--runtime")}
    assert seconds == ({ours[ours.index("--random-seconds") + 1]} if mode.is_random else set())


def test_iperf_counts_what_was_received() -> None:
    received = {"bits_per_second": 31792000000.0}
    text = json.dumps({"end": {"sum_sent": {"bits_per_second": 9e9}, "sum_received": received}})
    assert iperf_rate(text) == {"bytes_per_s": 3974000000.0}
    with pytest.raises(ValueError, match="refused"):
        iperf_rate('{"error": "unable to connect: Connection refused"}')


def test_net_rate_is_that_of_the_sockets_asked_for() -> None:
    def item(sockets: int, rate: float) -> dict[str, object]:
        pair = {"pattern": "pairwise", "sockets_per_peer": sockets}
        return {**pair, "bytes_per_s": {"mean": rate}}

    result = {"measurements": [item(1, 3e9), item(2, 4e9)]}
    assert net_rate(result, 2) == 4e9
    with pytest.raises(ValueError, match="3 sockets"):
        net_rate(result, 3)


def test_events_give_identity_and_result_or_the_complaint() -> None:
    started = '{"event": "started", "agent": {"version": "1"}}\n'
    result = '{"event": "result", "data": {"records": 3}}\n'
    assert read_events(started + result) == ({"version": "1"}, {"records": 3})
    error = '{"event": "error", "code": "VEN-SORT-SPACE", "message": "full"}\n'
    with pytest.raises(Complaint, match="VEN-SORT-SPACE: full"):
        read_events(started + error)
    with pytest.raises(ValueError, match="no result event"):
        read_events(started)


def test_every_contender_is_told_its_memory_and_its_threads() -> None:
    task = SortTask(Path("/agent"), Path("/in"), Path("/out"), Path("/tmp"), 123 * 2**20, 2)
    for contender in CONTENDERS:
        told = " ".join(
            [
                *map(str, contender.command(task)),
                *(f"{k}={v}" for k, v in contender.env(task).items()),
            ]
        )
        assert str(123 * 2**20) in told or "MEMORY_BUDGET_MB=123" in told, contender.name
        assert any(word in told for word in ("--threads 2", "--parallel=2", "MAX_THREADS=2")), (
            contender.name
        )


def test_a_prediction_scales_the_rehearsal_to_the_bytes_moved() -> None:
    planned = SortPlan(
        regime="hybrid",
        partitions=64,
        block_bytes=2**20,
        expected_spilled_bytes=2 * 10**9,
        expected_retained_bytes=2 * 10**9,
        scratch_bytes_needed=0,
        output_bytes_needed=0,
        minimum_memory_bytes=1,
        memory_bytes=2 * 10**9,
        threads=2,
        input_bytes=4 * 10**9,
        input_records=None,
    )
    phases = [
        SortPhase("sample", 0.0, 0.1),
        SortPhase("map+shuffle", 0.1, 0.6),
        SortPhase("sort+reduce", 0.7, 0.5),
    ]
    done = SortResult(
        input=SortInput(10**9, 10**7, 1),
        output=SortOutput(10**9, 10**7, [], []),
        regime="hybrid",
        spilled_bytes=5 * 10**8,
        retained_bytes=5 * 10**8,
        bytes_read=0,
        bytes_written=0,
        memory=SortMemory(10**9, None),
        threads=2,
        partitions=16,
        oversized_partitions=0,
        cpu=None,
        elapsed_s=1.2,
        io=[],
        phases=phases,
        stages=[],
        checksum=None,
    )
    assert predicted_s(planned, [done, done]) == pytest.approx(0.1 + 4 * (0.6 + 0.5))
