"""Every system call of verbs that keep data fails once, at each place where it is made.

strace is attached to a verb that has everything imported and begins now, so that its start is not
counted. The next case begins with a new copy of the repository.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from torture.agent import counted, strace
from torture.play import Play, Round, TortureCase, UnavailableError
from torture.record.import_kills import write_results
from torture.record.stores import Store, Stores, write_archive
from torture.verbs import VerbResult, VerbRunner
from venturi.core.settings import Settings
from venturi.record.importing.exchange import import_archive
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import State, Trial

ERRORS: Mapping[str, tuple[str, ...]] = {
    "openat": ("EMFILE", "EIO"),
    "read": ("EIO",),
    "pread64": ("EIO",),
    "write": ("ENOSPC", "EIO"),
    "pwrite64": ("ENOSPC", "EIO"),
    "lseek": ("EIO",),
    "fallocate": ("ENOSPC",),
    "ftruncate": ("EIO",),
    "fsync": ("EIO",),
    "fdatasync": ("EIO",),
    "rename": ("EIO", "ENOSPC"),
    "link": ("EIO",),
    "unlink": ("EIO",),
    "mkdir": ("ENOSPC",),
    "rmdir": ("EIO",),
    "chmod": ("EPERM",),
    "fchmod": ("EPERM",),
    "getdents64": ("EIO",),
    "flock": ("ENOLCK",),
    "fcntl": ("ENOLCK",),
    "mmap": ("ENOMEM",),
    "socket": ("EMFILE",),
    "connect": ("ECONNREFUSED",),
    # Not sendto: where it fails the other side is gone, and libpq waits to read that it is.
    "recvfrom": ("ECONNRESET",),
    "clone3": ("EAGAIN",),
    "pipe2": ("EMFILE",),
}
_ROWS = 20


@dataclass(frozen=True, slots=True)
class _Task:
    """A verb, and the check of its promise after a success."""

    name: str
    number: int
    arguments: tuple[object, ...]
    kept: Callable[[dict[str, Trial]], bool]
    output: Path | None = None


def play(round_: Play) -> None:
    """Play all sites, or a random sample of the requested size."""
    tracer = strace()
    if tracer is None:
        raise UnavailableError("needs strace (Debian: strace)")
    stores = Stores(round_)
    with VerbRunner(round_.folder / "work") as verbs:
        tasks = _tasks(round_.folder, verbs.folder, len(stores.kinds))
        if round_.count < len(tasks):  # to find the sites of a verb takes as long as two cases
            tasks = round_.chance.sample(tasks, 2)
        sites = [
            (task, call, nth, error)
            for task in tasks
            for counts in (_calls_of(tracer, verbs, stores, task),)
            for call, errors in ERRORS.items()
            for error in errors
            for nth in range(1, counts[call] + 1)
        ]
        round_.say(f"{len(sites)} sites")
        round_.chance.shuffle(sites)
        for case, (task, call, nth, error) in zip(round_.cases(), sites, strict=False):
            with stores.one(task.number) as store, case:
                case.label = f"{task.name}, {store.kind}, {call} {nth} fails with {error}"
                inject = f"inject={call}:error={error}:when={nth}"
                # Threads of libraries wake one another by a write that cannot fail, into no file;
                # those of the agent are failed in sort_calls.
                follow = () if call == "write" else ("-f",)
                told = ("-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", inject)
                trace = (tracer, *follow, *told)
                _one(case, verbs, store, task, trace)


def _tasks(folder: Path, work: Path, kinds: int) -> list[_Task]:
    table, archive, export = folder / "CP_sort.csv", folder / "trials.zip", work / "made.zip"
    write_results(table, _ROWS)
    wanted = write_archive(archive, ["arrived0", "arrived1"])
    tasks = []
    for number in range(kinds):
        tasks += [
            _Task("import of a table", number, ("import", table), lambda t: len(t) == _ROWS),
            _Task("import of an archive", number, ("import", archive), lambda t: t == wanted),
        ]
    data = work / "data"
    run = ("run", "terasort", "--bytes", "96kB", "--repeat", 1, "--warm-up", 0, "--dir", data)
    return [
        *tasks,
        _Task("export", 0, ("export", "--all", "-o", export), lambda t: not t, output=export),
        _Task("check", 0, ("repository", "check", "--mend"), lambda t: not t),
        _Task("run", 0, run, _has_succeeded),
    ]


def _has_succeeded(trials: dict[str, Trial]) -> bool:
    return [each.state for each in trials.values()] == [State.SUCCEEDED]


def _calls_of(tracer: str, verbs: VerbRunner, stores: Stores, task: _Task) -> Counter[str]:
    """Return each call's highest count in one thread of the verb or its children."""
    log = verbs.folder / "trace"
    with stores.one(task.number) as store:
        verbs.learn(store.settings, *task.arguments)
        _remove(task.output)
    with stores.one(task.number) as store:
        trace = (tracer, "-f", "-qq", "-o", str(log), "-e", f"trace={','.join(ERRORS)}")
        ran = verbs.run(store.settings, *task.arguments, trace=trace)
        _remove(task.output)
    if not log.exists() or not log.stat().st_size:
        raise UnavailableError("strace may not attach to a process here")
    assert ran.status == 0, ran.stderr
    return counted(log)


def _remove(path: Path | None) -> None:
    if path is not None:
        path.unlink(missing_ok=True)


def _one(
    case: TortureCase, verbs: VerbRunner, store: Store, task: _Task, trace: tuple[str, ...]
) -> None:
    ran = verbs.run(store.settings, *task.arguments, trace=trace)
    found = store.trials()
    well = ran.status == 0
    assert not well or task.kept(found), "it ended well, and what it promises is not there"
    if task.output is not None:
        assert not well or _is_archive(task.output, verbs.folder / "read", store.foreign), (
            "it ended well without its file"
        )
        task.output.unlink(missing_ok=True)
    _require_word(ran)
    store.mend()
    assert store.trials(tidy=True) == found, "mending changes what there is"
    if not well:
        again = verbs.run(store.settings, *task.arguments)
        assert again.status == 0, f"afterwards: {again.stderr[:300]}"
        _remove(task.output)
        verbs.run(store.settings, "repository", "check", "--mend")
    elsewhere = verbs.folder / "data"
    left = verbs.left(elsewhere)
    shutil.rmtree(elsewhere, ignore_errors=True)
    assert not left, f"left: {left}"
    if well:
        case.saw("worked without it")
    elif ran.status < 0:
        case.saw(f"ended by signal {-ran.status}")
    else:
        case.saw("reported the failure")


def _require_word(ran: VerbResult) -> None:
    lines = ran.stderr.splitlines()
    if "Traceback (most recent call last):" in lines:
        raise AssertionError(f"a traceback: {' <- '.join(lines[-1:-6:-1])}")
    # Refused trials have a code each, on stdout; what is wrong with a repository is data.
    told = "[VEN-" in ran.stdout + ran.stderr or " wrong\n" in ran.stderr
    assert ran.status <= 0 or told, f"status {ran.status} without a code: {ran.stderr[:300]}"


def _is_archive(path: Path, home: Path, wanted: Mapping[str, Trial]) -> bool:
    """Return whether all of `wanted` can be imported from it."""
    try:
        with TrialRepository.open(Settings(home, None, None, allow_debug=False)) as repository:
            return import_archive(repository, path).added == len(wanted)
    finally:
        shutil.rmtree(home)


ROUND = Round(
    name="store-calls",
    question="Each system call of import, export, check or run fails in turn. Does the command "
    "end, with a true message, and does the repository keep all accepted data?",
    count=100_000,  # as many as there are
    few=3,
    run=play,
)
