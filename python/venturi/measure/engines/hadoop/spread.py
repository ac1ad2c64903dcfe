"""Validates the records that a job left in HDFS on all hosts of its cluster.

    HDFS --- a part of its files each ---> a folder of each worker, where its agent validates them

All links transfer the data concurrently, and all hosts' disks hold it, instead of the one link and
the disks of the client's host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path, PurePosixPath

from venturi.core.errors import VenturiError
from venturi.measure.clusters.connect import on_each
from venturi.measure.engines.hadoop.cluster import ENGINE, Client, HadoopCluster, OwnCluster
from venturi.measure.hosts.owned_folders import COPY_PREFIX, temporary
from venturi.measure.trial.programs import run
from venturi.measure.workloads.checking import Portion
from venturi.measure.workloads.programs import Task

FETCH_S = 24 * 3600.0
_SHELL = "org.apache.hadoop.fs.FsShell"


def spreads(cluster: HadoopCluster, task: Task) -> bool:
    """Return whether the workers validate the output of `task`: temporary records of fixed length,
    with a number and an order that can be checked host by host.
    """
    made = task.definition.job in {"sort", "teragen"} and task.definition.format != "kv"
    return made and not task.keep and isinstance(cluster, OwnCluster) and bool(cluster.clients)


def portions(
    cluster: HadoopCluster, task: Task, output: str
) -> AbstractContextManager[tuple[Portion, ...] | None]:
    """The files of `task` in the folder `output` in HDFS on the workers, in their order, if it
    `spreads`; gone afterwards, in HDFS, too.
    """
    return _on_workers(cluster, output) if spreads(cluster, task) else nullcontext()


@contextmanager
def _on_workers(cluster: HadoopCluster, output: str) -> Iterator[tuple[Portion, ...]]:
    assert isinstance(cluster, OwnCluster)
    sizes = {
        name: size for name, size in cluster.hdfs.files(output) if name.startswith("part-") and size
    }
    shared = shared_out(list(sizes.items()), len(cluster.clients))
    shares = dict(zip(cluster.clients, shared, strict=False))
    with ExitStack() as stack:
        stack.callback(_unless_it_fails, lambda: cluster.hdfs.remove(output))
        folders = {
            name: stack.enter_context(
                _folder(cluster.clients[name], output, sum(sizes[each] for each in share))
            )
            for name, share in shares.items()
        }

        def fetched(name: str) -> Portion:
            paths = [f"{output}/{each}" for each in shares[name]]
            return _fetched(cluster.clients[name], folders[name], paths)

        yield tuple(on_each(shares, fetched, timeout_s=FETCH_S).all().values())


@contextmanager
def _folder(client: Client, output: str, size_bytes: int) -> Iterator[Path]:
    """Yield a folder for a part of `output`: a temporary one if there is enough room, else one on a
    disk of the cluster, which may be slow and has to write all of it once more.
    """
    files = client.node.host.files
    if files.free_bytes(files.temporaries) > 2 * size_bytes:
        with temporary(files, COPY_PREFIX) as folder:
            yield folder
        return
    folder = client.disk / PurePosixPath(output).name
    files.mkdir(folder)
    try:
        yield folder
    finally:
        # On a lost host it is removed with the cluster's own folders.
        _unless_it_fails(lambda: files.remove(folder))


def _unless_it_fails(act: Callable[[], object]) -> None:
    with suppress(OSError, VenturiError):
        act()


def shared_out(files: Sequence[tuple[str, int]], hosts: int) -> list[list[str]]:
    """Divide `files`, given with their bytes, between `hosts`: names in order, of about the same
    total size; fewer shares if there are fewer files.
    """
    total = sum(size for _, size in files)
    shares: list[list[str]] = []
    last = -1
    before = 0
    for name, size in files:
        place = (2 * before + size) * hosts // (2 * total)
        if not shares or place > last:
            shares.append([])
            last = place
        shares[-1].append(name)
        before += size
    return shares


def _fetched(client: Client, folder: Path, paths: Sequence[str]) -> Portion:
    node = client.node
    run(
        node.host,
        [*client.command, _SHELL, "-get", *paths, folder],
        engine=ENGINE,
        log=client.place / f"get-{folder.name}.log",
        cwd=client.place,
        env=client.env,
        timeout_s=None,
    )
    names = (PurePosixPath(path).name for path in paths)
    return Portion(node.name, node.host, folder, tuple(folder / name for name in names))
