#!/usr/bin/env python3
"""Speaks the agent's protocol, with real (small) sorting and fixed rates.

It lets the harness be tested apart from the agent. FAKE_AGENT_FAULT makes it misbehave: `swap` two
records, `change` one, or `die-in-sort`.
"""

import argparse
import json
import os
import sys
from pathlib import Path

import numpy as np


def say(event: str, **fields: object) -> None:
    sys.stdout.write(json.dumps({"event": event, **fields}) + "\n")


def gen(args: argparse.Namespace) -> dict[str, object]:
    records = np.random.default_rng(1).integers(0, 256, (args.count, 100), dtype=np.uint8)
    if args.ascii:
        records = records % 95 + 32
        records[:, 98:] = (13, 10)
    if args.output != "/dev/null":
        records.astype(np.uint8).tofile(args.output)
    return {"records": args.count, "bytes": args.count * 100, "elapsed_s": 0.1, "cpu_s": 0.1}


def sort(args: argparse.Namespace) -> dict[str, object]:
    data = np.fromfile(args.input[0], np.uint8).reshape(-1, 100)
    spilled = data.nbytes if args.memory < data.nbytes else 0
    if args.plan_only:
        return {
            "block_bytes": 4 << 20,
            "io_bytes": 4 << 20,
            "input_bytes": data.nbytes,
            "expected_spilled_bytes": spilled,
        }
    if os.environ.get("FAKE_AGENT_FAULT") == "die-in-sort":
        say("error", code="VEN-SORT-SPACE", message="no space", where={}, hint="")
        sys.exit(1)
    out = data[np.lexsort(data[:, 9::-1].T)].copy()
    fault = os.environ.get("FAKE_AGENT_FAULT")
    if fault == "swap":
        out[[0, -1]] = out[[-1, 0]]
    if fault == "change":
        out[0, 50] ^= 1
    half = len(out) // 2
    files = []
    for number, part in enumerate((out[:half], out[half:])):
        path = Path(args.output[0]) / f"part-{number}"
        part.tofile(path)
        files.append({"path": str(path), "bytes": part.nbytes, "records": len(part)})
    return {
        "input": {"bytes": data.nbytes, "records": len(data), "files": 1},
        "output": {"bytes": out.nbytes, "records": len(out), "files": files, "manifests": []},
        "regime": "hybrid" if spilled else "in-memory",
        "bytes_read": data.nbytes + spilled,
        "bytes_written": data.nbytes + spilled,
        "cpu": {"user_s": 0.05, "system_s": 0.05},
        "elapsed_s": 0.1,
    }


def disk(args: argparse.Namespace) -> dict[str, object]:
    def rate(mode: str, role: str, bytes_per_s: float) -> dict[str, object]:
        spread = {"mean": bytes_per_s, "min": bytes_per_s, "max": bytes_per_s, "stdev": None}
        iops = {"mean": bytes_per_s / 4096}
        return {
            "mode": mode,
            "role": role,
            "dir": None,
            "bytes_per_s": spread,
            "iops": iops,
            "block_bytes": args.block_bytes,
            "queue_depth": args.queue_depth,
        }

    kinds = {
        "read": [("read", 1e9)],
        "write": [("write", 2e9)],
        "read_write": [("read", 6e8), ("write", 7e8)],
        "random_read": [("read", 4e7)],
    }
    measurements = [
        rate(mode, role, value) for mode in args.mode.split(",") for role, value in kinds[mode]
    ]
    return {"devices": [], "measurements": measurements, "slow": []}


def net(args: argparse.Namespace) -> dict[str, object]:
    rate = {"mean": 4e9, "min": 4e9, "max": 4e9, "stdev": None, "iterations": [4e9]}
    item = {"pattern": "pairwise", "peers": 2, "sockets_per_peer": args.sockets_per_peer}
    return {"label": "loopback", "measurements": [{**item, "bytes_per_s": rate}]}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("verb")
    for name in ("--input", "--output-dir", "--scratch", "--dir"):
        parser.add_argument(name, action="append")
    parser.add_argument("--output", action="append")
    for name in (
        "--count",
        "--threads",
        "--memory",
        "--bytes",
        "--block-bytes",
        "--iterations",
        "--queue-depth",
        "--random-block-bytes",
        "--random-queue-depth",
        "--message-bytes",
        "--loopback",
        "--sockets-per-peer",
        "--interval-ms",
        "--duration-s",
    ):
        parser.add_argument(name, type=int)
    for name in ("--max-seconds", "--min-seconds", "--random-seconds"):
        parser.add_argument(name, type=float)
    for name in ("--mode", "--pattern"):
        parser.add_argument(name)
    for name in ("--ascii", "--overwrite", "--plan-only"):
        parser.add_argument(name, action="store_true")
    args = parser.parse_args()
    identity = {"version": "0", "git_sha": "none", "build_profile": "release", "target_arch": "x"}
    say("started", schema_version=1, command=args.verb, agent=identity, unix_time_s=0)
    if args.verb == "gen":
        args.output = args.output[0]
    verbs = {
        "gen": gen,
        "sort": sort,
        "disk": disk,
        "net": net,
        "validate": lambda args: {"ordered": True},
        "sample": lambda args: {"samples": args.duration_s},
        "memory": lambda args: {"bytes": args.bytes, "second_touch_bytes_per_s": 8e9},
        "facts": lambda args: {"cpu": {"model": "fake"}},
    }
    say("result", data=verbs[args.verb](args))


if __name__ == "__main__":
    main()
