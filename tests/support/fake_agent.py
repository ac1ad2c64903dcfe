#!/usr/bin/env -S python3 -ISE
"""A stand-in for the agent that misbehaves on request: FAKE_FAULT names the fault.

It speaks the real protocol and really sorts (small) files, so that everything above the process
border is exercised, with faults that the real agent doesn't have.
"""

import argparse
import json
import os
import random
import signal
import sys
import time
import zlib
from pathlib import Path

FAULT = os.environ.get("FAKE_FAULT", "")
START = time.monotonic()


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def emit(event: str, **fields: object) -> None:
    say(json.dumps({"event": event, **fields}))


def started(command: str) -> None:
    profile = "debug" if FAULT == "debug" else "release"
    emit(
        "started",
        schema_version=2 if FAULT == "newer" else 1,
        command=command,
        agent={
            "version": "9.9.9",
            "git_sha": "unknown",
            "build_profile": profile,
            "target_arch": "x86_64",
        },
        unix_time_s=time.time(),
    )


def misbehave() -> None:
    """Faults of the protocol, the same for every subcommand."""
    if FAULT == "garbage":
        say("Segmentation fault (just kidding)")
    elif FAULT == "nan":
        say('{"event": "progress", "done": NaN}')
    elif FAULT == "not-an-event":
        say("[1, 2, 3]")
    elif FAULT == "long-line":
        say("x" * (65 << 20))
    elif FAULT == "bad-progress":
        emit("progress", phase="x", done="much", total=None, unit="bytes", elapsed_s=0.0)
    elif FAULT == "killed":
        sys.stderr.write("about to die\n")
        os.kill(os.getpid(), signal.SIGKILL)
    elif FAULT == "silent":
        sys.exit(0)
    elif FAULT == "usage":
        sys.stderr.write("error: unexpected argument\n")
        sys.exit(2)
    elif FAULT == "error":
        emit(
            "error",
            code="VEN-EXTSORT-SPACE",
            message="the disk is full",
            where={"dir": "/data"},
            hint="free some space",
        )
        sys.exit(1)
    elif FAULT == "hang":
        hang()


def hang() -> None:
    """Works until it is interrupted or its parent ends, then cleans up as the real agent does."""
    parent = os.getppid()
    marker = Path(os.environ["FAKE_MARKER"])
    signal.signal(signal.SIGINT, lambda *_: (marker.unlink(), sys.exit(130)))
    marker.write_text("temporary")
    emit("progress", phase="hang", done=1, total=None, unit="bytes", elapsed_s=0.1)
    while os.getppid() == parent:
        time.sleep(0.05)
    marker.unlink()
    sys.exit(130)


def checksum(data: bytes, size: int) -> str:
    pieces = range(0, len(data), size)
    return f"{sum(zlib.crc32(data[at : at + size]) for at in pieces):x}"


def generate(args: argparse.Namespace) -> dict[str, object]:
    records = []
    for number in range(args.start, args.start + args.count):
        source = random.Random(number)
        records.append(source.randbytes(10) + source.randbytes(90))
    data = b"".join(records)
    Path(args.output).write_bytes(data)
    emit("progress", phase="generate", done=len(data), total=len(data), unit="bytes", elapsed_s=0.1)
    return {
        "records": args.count,
        "bytes": len(data),
        "checksum": checksum(data, 100) if args.checksum else None,
        "elapsed_s": 0.5,
        "cpu_s": 0.5,
    }


def plan(args: argparse.Namespace, size: int) -> dict[str, object]:
    memory = args.memory or 1 << 30
    spilled = max(0, size - memory)
    return {
        "regime": "hybrid" if spilled else "in-memory",
        "partitions": 1,
        "block_bytes": 4096,
        "expected_spilled_bytes": spilled,
        "expected_retained_bytes": size - spilled,
        "scratch_bytes_needed": spilled,
        "output_bytes_needed": size,
        "minimum_memory_bytes": 1000,
        "memory_bytes": memory,
        "threads": 2,
        "input_bytes": size,
        "input_records": size // 100 if args.format == "fixed" else None,
    }


def work(args: argparse.Namespace, data: bytes) -> bytes:
    if args.job == "wordcount":
        counts: dict[bytes, int] = {}
        for word in data.split():
            counts[word] = counts.get(word, 0) + 1
        if FAULT == "miscount":
            counts[min(counts)] += 1
        return b"".join(b"%s\t%d\n" % (word, counts[word]) for word in sorted(counts))
    if args.job == "aggregate":
        sums: dict[bytes, int] = {}
        for at in range(0, len(data), 24):
            key, value = data[at + 8 : at + 16], int.from_bytes(data[at + 16 : at + 24], "little")
            sums[key] = (sums.get(key, 0) + value) % 2**64
        head = (8).to_bytes(4, "little") * 2
        return b"".join(head + key + sums[key].to_bytes(8, "little") for key in sorted(sums))
    size = args.record_bytes
    records = sorted(data[at : at + size] for at in range(0, len(data), size))
    if FAULT == "unsorted":
        records.reverse()
    if FAULT == "swapped-payload":
        records[0] = records[0][:50] + bytes(50)
    return b"".join(records)


def sort(args: argparse.Namespace) -> tuple[dict[str, object], int]:
    data = b"".join(Path(path).read_bytes() for path in args.input)
    if args.first_bytes is not None:
        data = data[: args.first_bytes // args.record_bytes * args.record_bytes]
        if FAULT == "fail-in-rehearsal":
            emit("error", code="VEN-SORT-MEMORY", message="too little", where=None, hint="")
            sys.exit(1)
    planned = plan(args, len(data))
    if args.plan_only:
        return planned, 0
    if FAULT == "hang-in-sort":
        hang()
    if FAULT == "fail-in-sort":
        emit("error", code="VEN-EXTSORT-SPACE", message="full", where=None, hint="")
        sys.exit(1)
    made = work(args, data)
    path = Path(args.output[0]) / "part-00000"
    path.write_bytes(made)
    phases = [
        {"name": "sample", "started_s": 0.0, "elapsed_s": 0.1},
        {"name": "map+shuffle", "started_s": 0.1, "elapsed_s": 1.0},
        {"name": "sort+reduce", "started_s": 1.1, "elapsed_s": 1.0},
    ]
    stage = {
        "phase": "map+shuffle",
        "stage": "read",
        "device": str(args.output[0]),
        "workers": 1,
        "bytes": len(data),
        "records": len(data) // 100,
        "useful_s": 0.9,
        "idle_s": 0.1,
        "waiting_for_memory_s": 0.0,
        "blocked_s": 0.0,
        "started_s": 0.1,
        "ended_s": 1.1,
    }
    records = len(data) // args.record_bytes if args.format == "fixed" else len(data) // 24
    if args.job == "wordcount":
        records = data.count(b"\n")
    lost = 1 if FAULT == "lost-record" else 0
    return {
        "input": {"bytes": len(data), "records": records, "files": len(args.input)},
        "output": {
            "bytes": len(made),
            "records": records - lost,
            "files": [{"path": str(path), "bytes": len(made), "records": records}],
            "manifests": [],
        },
        "regime": planned["regime"],
        "spilled_bytes": planned["expected_spilled_bytes"],
        "retained_bytes": planned["expected_retained_bytes"],
        "bytes_read": len(data),
        "bytes_written": len(made),
        "memory": {"budget_bytes": planned["memory_bytes"], "peak_rss_bytes": 1 << 20},
        "threads": 2,
        "partitions": 1,
        "oversized_partitions": 0,
        "cpu": {"user_s": 0.5, "system_s": 0.5},
        "elapsed_s": 2.1,
        "io": [{"role": "input", "dir": "/", "method": "posix+buffered"}],
        "phases": phases,
        "stages": [stage],
        "checksum": None,
    }, 0


def validate(args: argparse.Namespace) -> tuple[dict[str, object], int]:
    data = b"".join(Path(path).read_bytes() for path in args.input)
    size = args.record_bytes
    keys = [data[at : at + args.key_bytes] for at in range(0, len(data), size)]
    wrong = [at for at in range(1, len(keys)) if keys[at] < keys[at - 1]]
    return {
        "records": len(keys),
        "checksum": checksum(data, size),
        "duplicate_keys": sum(keys[at] == keys[at - 1] for at in range(1, len(keys))),
        "unordered_records": len(wrong),
        "first_unordered": wrong[0] if wrong else None,
        "ordered": not wrong,
        "bytes": len(data),
        "elapsed_s": 0.5,
        "cpu_s": 0.5,
    }, 3 if wrong else 0


def spread(*values: float) -> dict[str, object]:
    mean = sum(values) / len(values)
    return {
        "mean": mean,
        "min": min(values),
        "max": max(values),
        "stdev": None,
        "iterations": list(values),
    }


def disk(args: argparse.Namespace) -> dict[str, object]:
    def measurement(mode: str, role: str, *rates: float) -> dict[str, object]:
        rates = tuple(rate / slower for rate in rates)
        return {
            "mode": mode,
            "role": role,
            "dir": None,
            "block_bytes": 4 << 20,
            "queue_depth": 4,
            "bytes": 1 << 20,
            "bytes_per_s": spread(*rates),
            "iops": spread(*(rate / 4096 for rate in rates)),
            "latency_s": {"p50": 0.001, "p90": 0.002, "p99": 0.003, "p99_9": 0.004, "max": 0.005},
            "steady": mode != "write",
            "unsteady_reason": "the last third was 30 % slower" if mode == "write" else None,
        }

    rates = {"read": 2e9, "write": 1e9, "random_read": 4e7, "shuffle_read": 1e9}
    slower = float(os.environ.get("FAKE_SLOWER", "1"))
    found = []
    for mode in args.mode.split(","):
        if FAULT == "no-write" and mode == "write":
            continue
        if mode == "read_write":
            found += [
                measurement(mode, "read", 8e8, 9e8),
                measurement(mode, "write", 7e8, 6e8),
            ]
        else:
            role = "write" if mode == "write" else "read"
            found.append(measurement(mode, role, rates[mode], rates[mode] * 1.1))
    device = {
        "dir": args.dir[0],
        "mount_point": "/",
        "file_system": "ext4",
        "device": "vda",
        "io_method": "io_uring+direct",
    }
    slow = {
        "dir": "/slow",
        "role": "read",
        "mode": "read",
        "bytes_per_s": 1e8,
        "median_bytes_per_s": 1e9,
    }
    # One directory alone, and all (one) of them together: as the real one does.
    found = [{**each, "dir": args.dir[0]} for each in found] + found
    return {"devices": [device], "measurements": found, "slow": [slow]}


def net(args: argparse.Namespace) -> dict[str, object]:
    lost = 1 if FAULT == "lost-message" else 0
    peers = [int(peers) for peers in args.scale.split(",")] if args.scale else [args.loopback]
    return {
        "label": "loopback: memory copying, not a network",
        "measurements": [
            {
                "pattern": args.pattern,
                "peers": count,
                "sockets_per_peer": 1,
                "bytes_per_s": spread(3e9, 4e9),
                "slowest_peer": {"name": "peer-1", "bytes_per_s": 2.5e9},
                "matrix": [[None, 3e9], [3e9, None]],
                "messages_sent": 10,
                "messages_received": 10 - lost,
                "bytes_sent": 1000,
                "bytes_received": 1000,
            }
            for count in peers
        ],
    }


def facts() -> dict[str, object]:
    return {
        "schema_version": 1,
        "hostname": "fake",
        "kernel_release": "6.1.0-fake",
        "cpu_threads": 2,
        "memory_total_bytes": 8 << 30,
        "memory_available_bytes": 4 << 30,
        "block_devices": [{"name": "vda", "size_bytes": 10**12, "rotational": False}],
        "missing": {},
    }


def sample(args: argparse.Namespace) -> dict[str, object]:
    if FAULT == "sampler-dies":
        os.kill(os.getpid(), signal.SIGKILL)
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    count = 0
    while not stopped:
        t_s = time.monotonic() - START
        others = float(os.environ.get("FAKE_OTHERS", "0"))
        rows = [
            ["cpu_user", None, 0.2 + others, "fraction"],
            ["cpu_nice", None, 0.0, "fraction"],
            ["cpu_system", None, 0.1, "fraction"],
            ["cpu_steal", None, 0.01, "fraction"],
            ["own_cpu", None, 0.3, "fraction"],
            ["disk_read_bytes_per_s", "vda", 1e6, "B/s"],
        ]
        if FAULT == "sampler-nonsense":
            rows = [["cpu_user"]]
        emit("series", t_s=t_s, unix_time_s=time.time(), rows=rows)
        count += 1
        if count >= 2 and "FAKE_SAMPLING" in os.environ:
            Path(os.environ["FAKE_SAMPLING"], str(os.getpid())).touch()
        time.sleep(args.interval_ms / 1000)
    return {"samples": count, "cpu_s": 0.0, "elapsed_s": 1.0}


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser()
    made.add_argument("command")
    for name, kind, default in (
        ("count", int, 0),
        ("start", int, 0),
        ("output", str, None),
        ("input", str, None),
        ("scratch", str, None),
        ("replica", str, None),
        ("dir", str, None),
        ("memory", int, None),
        ("first-bytes", int, None),
        ("record-bytes", int, 100),
        ("key-bytes", int, 10),
        ("job", str, "sort"),
        ("format", str, "fixed"),
        ("mode", str, ""),
        ("loopback", int, 2),
        ("scale", str, ""),
        ("pattern", str, "pairwise"),
        ("interval-ms", int, 1000),
        ("threads", int, None),
        ("bytes", int, 0),
    ):
        many = name in {"input", "scratch", "replica", "dir"}
        made.add_argument(
            f"--{name}",
            type=kind,
            default=[] if many else default,
            action="append" if many else "store",
        )
    for flag in ("checksum", "plan-only", "verify", "indy", "overwrite", "skew", "ascii"):
        made.add_argument(f"--{flag}", action="store_true")
    return made


def memory(args: argparse.Namespace) -> dict[str, object]:
    return {
        "bytes": args.bytes,
        "first_touch_bytes_per_s": 2e9,
        "second_touch_bytes_per_s": 8e9,
        "threads": 2,
    }


def cpu(args: argparse.Namespace) -> dict[str, object]:
    rates = {"mean": 2e8, "min": 1e8, "max": 3e8, "stdev": 1e8, "iterations": [1e8, 2e8, 3e8]}
    kinds = ("integer", "memory", "compression", "serialization")
    speeds = [
        {"kind": kind, "unit": "1/s" if kind == "integer" else "B/s", "per_core": rates}
        for kind in kinds
    ]
    return {"threads": 2, "speeds": speeds}


def main() -> None:
    args, _ = parser().parse_known_args()
    if args.command == "sort":
        args.output = [args.output]
    if FAULT != "unannounced":
        started(args.command)
    misbehave()
    status = 0
    if args.command == "gen":
        data = generate(args)
    elif args.command == "sort":
        data, status = sort(args)
    elif args.command == "validate":
        data, status = validate(args)
    else:
        data = {
            "disk": disk,
            "net": net,
            "memory": memory,
            "cpu": cpu,
            "sample": sample,
            "facts": lambda _: facts(),
        }[args.command](args)
    if FAULT == "odd-result":
        data = {"surprise": True}
    emit("result", data=data)
    sys.exit(status)


if __name__ == "__main__":
    main()
