"""Tiers with executors that end: others find the files on any tier, and files are deleted.

Shuffle data are on the slow disk and their indexes on the fast one, whatever the free space.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from this_host import HOST
from venturi.measure.engines.registry import engine
from venturi.measure.engines.spark import tiers
from venturi.measure.hosts import daemons
from venturi.record.job_account import TIERS_SETTING

pytestmark = pytest.mark.engines
PROGRAM = Path(__file__).with_name("executors_go_program.py")
ALL_ROWS, ALL_BYTES, CACHED = 40_000, 3_777_800, 1_000
DISKS = ("hdd0", "hdd1", "ssd")
RDD = "spark.shuffle.service.fetch.rdd.enabled"
SETTINGS = {
    "spark.cores.max": "2",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.executorIdleTimeout": "1s",
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.plugins": tiers.PLUGIN,
    "spark.pyspark.python": sys.executable,
    "spark.shuffle.compress": "false",
    "spark.shuffle.service.enabled": "true",
    RDD: "true",
    "spark.shuffle.service.removeShuffle": "true",
    # Fail when files are missing instead of recomputing them.
    "spark.stage.maxConsecutiveAttempts": "1",
    "spark.ui.enabled": "false",
    TIERS_SETTING: "ssd 0B",
    f"{TIERS_SETTING}.reserves": "shuffle 1000TB",
}


@dataclass(frozen=True)
class Service:
    """A Master and a Worker with three disks, and with its shuffle service."""

    folder: Path
    master: str
    port: int
    jar: Path

    @property
    def disks(self) -> list[Path]:
        return [self.folder / name for name in DISKS]

    def run(self, settings: Mapping[str, str]) -> dict[str, Any]:
        """Return the job's observations; at its end no files are left on any disk."""
        whole = {
            **SETTINGS,
            "spark.jars": str(self.jar),
            "spark.local.dir": str(self.folder),
            "spark.master": self.master,
            "spark.shuffle.service.port": str(self.port),
            **settings,
        }
        done = subprocess.run(
            [sys.executable, PROGRAM, json.dumps(whole), self.folder / "saw.json", *self.disks],
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
            env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        )
        assert done.returncode == 0, done.stderr
        deadline = time.monotonic() + 60
        while left := [each for disk in self.disks for each in disk.rglob("*") if each.is_file()]:
            assert time.monotonic() < deadline, left
            time.sleep(0.1)
        saw = json.loads((self.folder / "saw.json").read_bytes())
        assert saw["stored"] == ([CACHED, CACHED] if saw["cached"] else [])
        assert saw["shuffled"] == [ALL_BYTES, ALL_BYTES]
        assert saw["mapped"] == ALL_ROWS
        assert saw["cached"] == (CACHED if whole[RDD] == "true" else 0)
        return dict(saw)


@contextmanager
def service(folder: Path, jar: Path, environment: Mapping[str, str]) -> Iterator[Service]:
    """`environment` is added for the daemons."""
    for name in DISKS:
        (folder / name).mkdir(parents=True)
    port, of_service = daemons.free_ports(HOST, 2)
    options = {
        "spark.master.rest.enabled": "false",
        "spark.shuffle.service.enabled": "true",
        RDD: "true",
        "spark.shuffle.service.port": str(of_service),
        "java.io.tmpdir": str(folder),
    }
    given = {
        **os.environ,
        "SPARK_DAEMON_JAVA_OPTS": " ".join(f"-D{key}={value}" for key, value in options.items()),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_LOCAL_DIRS": ",".join(str(folder / name) for name in DISKS),
        "SPARK_LOCAL_IP": "127.0.0.1",
        **environment,
    }
    home = engine("spark", HOST, home=Path(), environ=os.environ).available().parts["home"]
    made = Service(folder, f"spark://127.0.0.1:{port}", of_service, jar)
    here = ["--host", "127.0.0.1", "--webui-port", "0"]
    worker = ["--cores", "2", "--memory", "1g", "--work-dir", str(folder / "work"), made.master]
    with ExitStack() as stack:
        for name, more in (("master.Master", ["--port", str(port)]), ("worker.Worker", worker)):
            log = stack.enter_context((folder / f"{name}.log").open("wb"))
            program = [f"{home}/bin/spark-class", f"org.apache.spark.deploy.{name}", *here, *more]
            daemon = subprocess.Popen(program, env=given, cwd=folder, stdout=log, stderr=log)
            stack.callback(daemon.wait, 60)
            stack.callback(daemon.terminate)
            if name == "master.Master":
                _wait_until_it_listens(port, daemon)  # who finds none asks again after 20 s
        yield made


def _wait_until_it_listens(port: int, daemon: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 100
    while True:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        assert daemon.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture(scope="module")
def with_our_class(
    spark: None, tiers_jar: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """Daemons that have the class of tiers for their service."""
    environment = {"SPARK_DAEMON_CLASSPATH": str(tiers.service_jar())}
    with service(tmp_path_factory.mktemp("service"), tiers_jar, environment) as made:
        yield made


@pytest.mark.parametrize(
    "has_class",
    [
        pytest.param(False, marks=pytest.mark.long, id="stock"),
        pytest.param(True, id="with our class"),
    ],
)
def test_all_executors_are_released(
    spark: None, tiers_jar: Path, with_our_class: Service, tmp_path: Path, has_class: bool
) -> None:
    """Stock services find everything, and leave some of it to the end of the application."""
    settings = {
        # The service returns encrypted cached blocks without decrypting them.
        "spark.io.encryption.enabled": str(has_class).lower(),
        RDD: str(not has_class).lower(),
        "spark.cores.max": "1",
        "spark.shuffle.readHostLocalDisk": str(has_class).lower(),
    }
    if has_class:
        saw = with_our_class.run(settings)
    else:
        with service(tmp_path, tiers_jar, {}) as stock:
            saw = stock.run(settings)
    released, removed = saw["gone"], saw["removed"]
    assert sum(n for what, n in released.items() if what.endswith("shuffle.data")) == 8
    assert released["ssd shuffle.index"] == 8
    assert "ssd shuffle.data" not in released
    assert sum(n for what, n in released.items() if what.endswith(" link")) >= 8
    left = sum(n for what, n in removed.items() if " shuffle" in what)
    assert (left == 0) == has_class


def test_an_executor_is_decommissioned(with_our_class: Service) -> None:
    """It first sends its blocks, on any tier, to the other executor; nothing is recomputed."""
    saw = with_our_class.run(
        {
            "spark.decommission.enabled": "true",
            "spark.dynamicAllocation.enabled": "false",
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.shuffle.service.enabled": "false",
            "spark.storage.decommission.enabled": "true",
            "spark.storage.decommission.rddBlocks.enabled": "true",
            # How often it looks whether all is sent; by default every 30 s.
            "spark.storage.decommission.replicationReattemptInterval": "1s",
            "spark.storage.decommission.shuffleBlocks.enabled": "true",
        }
    )
    assert saw["executors"] == 2
    assert saw["gone"]["ssd shuffle.index"] >= 8
    assert "ssd shuffle.data" not in saw["gone"]
