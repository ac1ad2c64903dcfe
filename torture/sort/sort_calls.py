"""Every system call of sort, gen and validate fails once, at each place where it is made.

strace makes the n-th call of a kind fail in each thread; a run without faults lists the calls.
Calls that the kernel completes by itself (io_uring) are not included: `crates/rawio` has tests of
its own for them.
"""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from torture.agent import AGENT, counted, run, strace
from torture.play import Play, Round, TortureCase, UnavailableError
from torture.sort.sort_kills import MIB, Folders
from torture.sort.sort_state import RECORD

ERRORS: Mapping[str, tuple[str, ...]] = {
    "openat": ("EMFILE", "EACCES", "EIO"),
    "read": ("EIO", "EINTR"),
    "pread64": ("EIO",),
    "preadv2": ("EIO", "EAGAIN"),
    "write": ("ENOSPC", "EPIPE"),
    "pwrite64": ("ENOSPC", "EFBIG"),
    "pwritev2": ("ENOSPC",),
    "lseek": ("EINVAL",),
    "fallocate": ("ENOSPC", "EOPNOTSUPP"),
    "ftruncate": ("ENOSPC",),
    "fsync": ("EIO",),
    "fdatasync": ("EIO",),
    "rename": ("EIO",),
    "renameat2": ("EIO", "ENOSPC"),
    "link": ("EIO",),
    "linkat": ("EIO", "EXDEV"),
    "unlink": ("EIO",),
    "unlinkat": ("EIO",),
    "mkdir": ("ENOSPC",),
    "statx": ("EIO",),
    "fstat": ("EIO",),
    "newfstatat": ("EIO",),
    "statfs": ("EIO",),
    "fstatfs": ("EIO",),
    "getdents64": ("EIO",),
    "flock": ("ENOLCK",),
    "fcntl": ("EINVAL",),
    "mmap": ("ENOMEM",),
    "madvise": ("ENOMEM",),
    "clone3": ("EAGAIN",),
    "io_uring_setup": ("EPERM", "ENOMEM"),
    "io_uring_register": ("ENOMEM",),
    "io_uring_enter": ("EAGAIN", "EBUSY", "EIO"),
    "pipe2": ("EMFILE",),
    "eventfd2": ("EMFILE",),
    "poll": ("ENOMEM",),
    "getrandom": ("EINTR",),
    "sched_getaffinity": ("EPERM",),
    "prctl": ("EINVAL",),
    "close": ("EIO",),
}


@dataclass(frozen=True, slots=True)
class CallSite:
    """The `nth` call of a kind in each thread, and how it fails."""

    task: str
    call: str
    nth: int
    error: str

    @property
    def inject(self) -> str:
        return f"inject={self.call}:error={self.error}:when={self.nth}"


def play(round_: Play) -> None:
    """Play all sites, or a random sample of the requested size."""
    tracer = strace()
    if tracer is None:
        raise UnavailableError("needs strace (Debian: strace)")
    folders = Folders(round_.folder, 30_000 * RECORD)
    generated = round_.folder / "generated"
    whole = round_.folder / "whole"
    whole.mkdir()
    assert run(["sort", "--input", folders.input, "--output", whole]).result
    tasks: dict[str, list[object]] = {
        "sort in two passes": folders.sort(folders.input, 4 * MIB),
        "sort in memory": folders.sort(folders.input, 64 * MIB),
        "gen": ["gen", "--count", 20_000, "--output", generated],
        "validate": ["validate", "--input", whole],
    }
    sites = []
    for task, arguments in tasks.items():
        counts = calls_of(tracer, arguments, round_.folder / "trace")
        generated.unlink(missing_ok=True)
        sites += [
            CallSite(task, call, nth, error)
            for call, errors in ERRORS.items()
            for error in errors
            for nth in range(1, counts[call] + 1)
        ]
    round_.say(f"{len(sites)} sites")
    round_.chance.shuffle(sites)
    earlier = folders.mend()
    for case, site in zip(round_.cases(), sites, strict=False):
        with case:
            case.label = f"{site.task}, {site.call} {site.nth} fails with {site.error}"
            prefix = (tracer, "-f", "-qq", "--seccomp-bpf", "-o", "/dev/null", "-e", site.inject)
            _one(case, folders, tasks[site.task], prefix, earlier, generated)
            earlier = folders.mend()


def calls_of(tracer: str, arguments: Sequence[object], log: Path) -> Counter[str]:
    """How often each call is made at most in one thread of the agent's run."""
    names = ",".join(ERRORS)
    done = subprocess.run(
        [
            tracer,
            "-f",
            "-qq",
            "-o",
            str(log),
            "-e",
            f"trace={names}",
            str(AGENT),
            *map(str, arguments),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if not log.exists() or not log.stat().st_size:
        raise UnavailableError(f"may not trace here: {done.stderr.strip()[:200]}")
    assert done.returncode == 0, done.stderr
    return counted(log)


def _one(
    case: TortureCase,
    folders: Folders,
    arguments: Sequence[object],
    prefix: Sequence[str],
    earlier: bytes,
    generated: Path,
) -> None:
    ended = run(arguments, prefix=prefix)
    state = folders.check(earlier)
    well = ended.status == 0
    if arguments[0] == "sort":
        assert not well or state == "new", f"it ended well and left {state}"
    elif arguments[0] == "gen":
        whole = generated.exists() and generated.stat().st_size == 20_000 * RECORD
        assert not well or whole, "it ended well without its file"
        assert whole or not generated.exists(), "half a file under its final name"
        generated.unlink(missing_ok=True)
        for left in folders.output.parent.glob(".venturi*"):
            left.unlink()
    else:
        assert state == "old", f"validate left {state}"
    assert well or ended.code or ended.status < 0 or ended.status == 127 or ended.stderr, (
        f"status {ended.status} without a word"
    )
    # The loader's memory, outside our code's control.
    assert ended.status >= 0 or not ended.events, f"signal {-ended.status} ended what had begun"
    if well:
        case.saw("worked without it")
    elif ended.code:
        case.saw("reported the failure")
    elif ended.status < 0:
        case.saw(f"ended by signal {-ended.status} before it began")
    else:
        case.saw("could not start" if ended.status == 127 else "reported on stderr only")


ROUND = Round(
    name="sort-calls",
    question="Each system call of sort, gen or validate fails in turn. Does the command end, "
    "with a true message?",
    count=100_000,  # as many as there are
    few=25,
    run=play,
)
