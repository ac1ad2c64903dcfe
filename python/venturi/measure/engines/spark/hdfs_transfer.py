"""The data of Spark's applications in the HDFS of a cluster: uploaded before, and fetched after."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from venturi.measure.engines.hadoop.cluster import HadoopCluster
from venturi.measure.engines.hadoop.conf import BLOCK_SIZE, block_bytes
from venturi.measure.engines.hadoop.spread import portions, spreads
from venturi.measure.hosts.hdfs import Hdfs
from venturi.measure.hosts.host import Files
from venturi.measure.workloads.checking import Portion
from venturi.measure.workloads.programs import Task


@dataclass(frozen=True, slots=True)
class DataLocations:
    """Input and output of a program: paths or URIs. `hdfs`: their HDFS, for Python workers"""

    input: str
    output: str
    hdfs: Mapping[str, Any] | None = None


class HdfsTransfer:
    """Input that is uploaded once, and output."""

    def __init__(self, files: Files, cluster: HadoopCluster) -> None:
        self._files = files
        self._cluster = cluster
        self._brought: object = None

    def data(self, task: Task) -> DataLocations:
        """Return the program's locations of the data of `task`."""
        hdfs, fs = self._cluster.hdfs, self._cluster.fs
        known = {"namenode": hdfs.namenode, "user": hdfs.user, "addresses": dict(hdfs.addresses)}
        return DataLocations(f"{fs}{self._input()}", f"{fs}{self._output(task)}", known)

    def bring(self, task: Task) -> None:
        """Upload the input, unless HDFS already has it."""
        hdfs, files = self._cluster.hdfs, self._files
        hdfs.remove(self._output(task))
        given = [each for each in files.find(task.input, "**/*") if each.kind == "file"]
        content = [(str(files.resolve(each.path)), each.bytes, each.modified_ns) for each in given]
        size_bytes = block_bytes(task.configuration.get(f"spark.hadoop.{BLOCK_SIZE}"))
        if self._brought != (size_bytes, content):
            self._brought = None
            hdfs.remove(self._input())
            paths = [each.path for each in given]
            root = self._input()
            sources = {f"{root}/{path.relative_to(task.input)}": path for path in paths}
            hdfs.put_all(files, sources, block_bytes=size_bytes)
            self._brought = (size_bytes, content)

    def fetch(self, task: Task) -> None:
        """Move the output to the host's own files, unless workers validate it."""
        hdfs, output = self._cluster.hdfs, self._output(task)
        if not spreads(self._cluster, task) and hdfs.exists(output):
            _fetch(self._files, hdfs, output, task.output)
            hdfs.remove(output)

    def portions(self, task: Task) -> AbstractContextManager[tuple[Portion, ...] | None]:
        """The output on the workers that read it again; None: it was fetched."""
        return portions(self._cluster, task, self._output(task))

    def _input(self) -> str:
        return f"{self._cluster.root}/input"

    def _output(self, task: Task) -> str:
        return f"{self._cluster.root}/{task.output.name}"


def _fetch(files: Files, hdfs: Hdfs, path: str, folder: Path) -> None:
    files.mkdir(folder)
    names = [name for name, _ in hdfs.files(path)]
    hdfs.get_all(files, {f"{path}/{name}": folder / name for name in names})
    for name in hdfs.folders(path):
        _fetch(files, hdfs, f"{path}/{name}", folder / name)
