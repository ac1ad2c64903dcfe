"""Many attempts in separate processes, with limits on memory and time.

A module of attempts has `attempts(folder)`, which returns a function of a random generator that
returns its observation. The seed of a case depends on its number and the round's seed alone,
whichever process plays it: `python -m torture.worker MODULE FOLDER SEED NUMBER` plays one again.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import mmap
import os
import random
import shutil
import struct
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from torture.play import FAULTS_MAX, Play
from venturi.record.store.table_check import bound_memory

ROOT = Path(__file__).resolve().parents[1]
MEMORY_BYTES = 1 << 30
"""Memory that an attempt may use in addition to that before the first."""
HANG_S = 10.0
"""Of processor time: on a loaded machine, all take longer by the clock."""
ASLEEP_S = 120.0
"""Limit by the clock, for a process that waits without working."""
_NOW = struct.Struct("<qdd")  # the case that is played, since when, and the processor time then
_CASES_A_PORTION = 500
AttemptFunction = Callable[[random.Random], str]


def play(round_: Play, module: str, workers: int | None = None) -> None:
    """Play all cases of `module`, divided between as many processes as cores."""
    n = min(workers or len(os.sched_getaffinity(0)), -(-round_.count // _CASES_A_PORTION))
    those = [_Worker(round_, module, place, n) for place in range(n)]
    said_s = time.monotonic()
    try:
        playing = those
        while playing := [each for each in playing if each.goes_on()]:
            if len(round_.faults) >= FAULTS_MAX:
                round_.say(f"ended after {round_.done}: {FAULTS_MAX} faults")
                return
            if time.monotonic() - said_s > 30:
                said_s = time.monotonic()
                round_.say(f"{round_.done:,} of {round_.count:,}, {len(round_.faults)} faults")
            time.sleep(0.02)
    finally:
        for each in those:
            each.end()


class _Worker:
    """A process that plays every n-th case; another follows it if it hangs or dies."""

    def __init__(self, round_: Play, module: str, place: int, step: int) -> None:
        self._round, self._module = round_, module
        self._next, self._step = place, step
        self._skip: list[int] = []
        self._folder = round_.folder / f"worker-{place}"
        self._clock = self._folder.with_suffix(".now")
        self._told = b""
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir()
        self._clock.write_bytes(_NOW.pack(-1, time.monotonic(), 0.0))
        numbers = [self._round.seed, self._next, self._step, self._round.count, *self._skip]
        command = [sys.executable, "-m", "torture.worker", self._module, self._folder, *numbers]
        with self._folder.with_suffix(".err").open("wb") as said:
            process = subprocess.Popen(
                list(map(str, command)), cwd=ROOT, stdout=subprocess.PIPE, stderr=said
            )
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        self._told = b""
        return process

    def goes_on(self) -> bool:
        """Read its output; return whether there may be more."""
        status = self._process.poll()
        self._take_in()
        if status == 0:
            self.end()
            return False
        number, since_s, worked_s = _NOW.unpack(self._clock.read_bytes())
        # While it is written it may be read; what is written last is never 0.
        hung = (number >= 0 and worked_s > 0.0) and (
            time.monotonic() - since_s > ASLEEP_S or self._processor_s() - worked_s > HANG_S
        )
        if status is None and not hung:
            return True
        hung = status is None
        self.end()
        said = self._folder.with_suffix(".err").read_text("utf-8", "replace").splitlines()
        if number < 0:
            raise RuntimeError(f"no case was played: {said}")
        why = f"hung for {HANG_S:.0f} s" if hung else f"the process died ({status}): {said[-1:]}"
        self._round.done += 1
        self._round.fault(f"seed {self._round.seed}, case {number}: {why}")
        self._skip.append(number)
        self._process = self._start()
        return True

    def _processor_s(self) -> float:
        """Return the CPU seconds of all its threads so far; 0 if it has ended."""
        try:
            stat = Path(f"/proc/{self._process.pid}/stat").read_text("ascii")
        except OSError:
            return 0.0
        user, system = stat.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def _take_in(self) -> None:
        assert self._process.stdout is not None
        while not self._process.stdout.closed and (part := self._process.stdout.read(1 << 16)):
            self._told += part
        *lines, self._told = self._told.split(b"\n")
        for line in lines:
            told = json.loads(line)
            self._next = told["next"]
            self._round.done += told["done"]
            self._round.seen.update(told["seen"])
            for fault in told["faults"]:
                self._round.fault(fault)

    def end(self) -> None:
        """End it; the next worker repeats cases without a result."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._take_in()
        assert self._process.stdout is not None
        self._process.stdout.close()


def _work(module: str, folder: Path, seed: int, numbers: range, skip: set[int]) -> None:
    clock_file = folder.with_suffix(".now").open("r+b")
    clock = mmap.mmap(clock_file.fileno(), _NOW.size)
    attempt = importlib.import_module(module).attempts(folder)
    bound_memory(MEMORY_BYTES)
    chance, seen, faults = random.Random(), Counter[str](), []
    portion_s = time.monotonic()
    done = 0
    for number in numbers:
        if number not in skip:
            _NOW.pack_into(clock, 0, number, time.monotonic(), time.process_time())
            chance.seed(case_seed(seed, number))
            try:
                seen[attempt(chance)] += 1
            except Exception as error:
                faults.append(f"seed {seed}, case {number}: {_place(error)}")
            done += 1
        if done >= _CASES_A_PORTION or faults or time.monotonic() - portion_s > 1:
            _print_progress(number + numbers.step, done, seen, faults)
            portion_s, done, seen, faults = time.monotonic(), 0, Counter(), []
    _print_progress(numbers.stop, done, seen, faults)


def case_seed(seed: int, number: int) -> int:
    return (seed << 40) + number


def _print_progress(following: int, done: int, seen: Counter[str], faults: list[str]) -> None:
    told = {"next": following, "done": done, "seen": seen, "faults": faults}
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


def _place(error: Exception) -> str:
    """Return the error, and its place in Venturi."""
    calls = traceback.extract_tb(error.__traceback__)
    ours = [call for call in calls if "/venturi/" in call.filename] or calls
    name = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}"
    return f"{type(error).__name__}: {str(error)[:200]} ({name})"


def _main(module: str, folder: str, *given: str) -> None:
    numbers = [int(each) for each in given]
    if len(numbers) > 2:
        seed, first, step, count, *skip = numbers
        _work(module, Path(folder), seed, range(first, count, step), set(skip))
        return
    seed, number = numbers
    Path(folder).mkdir(exist_ok=True)
    attempt = importlib.import_module(module).attempts(Path(folder))
    sys.stdout.write(attempt(random.Random(case_seed(seed, number))) + "\n")


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        _main(*sys.argv[1:])
