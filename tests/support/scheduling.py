"""Which tests run together on one worker, and in which order: the longest groups first.

A group is a file, or several files with tests that share an expensive fixture. The time of each
group comes from tests/durations.json, which `pytest --store-durations` writes.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

TESTS = Path(__file__).parents[1]
DURATIONS = TESTS / "durations.json"
UNKNOWN_S = 5.0
"""Assumed time of a group without a record."""
SPARK_PROGRAMS = "programs on Spark"
SHARED = {
    "tests/e2e/test_pages": "pages",  # one run of Chromium
    # One Spark in the tests' process.
    "tests/measure/workloads/test_graph_workloads": SPARK_PROGRAMS,
    "tests/measure/workloads/test_learning": SPARK_PROGRAMS,
    "tests/measure/workloads/test_sql_workloads": SPARK_PROGRAMS,
}
# Labs change the addresses of this machine, and Chromium then drops its requests.
AFTER_PAGES = ("tests/measure/lab/", "tests/measure/probes/test_cluster_lab")


def group_of(nodeid: str) -> str:
    """The group of a test."""
    file = nodeid.partition("::")[0]
    return next((name for start, name in SHARED.items() if file.startswith(start)), file)


def recorded_s() -> dict[str, float]:
    """The recorded seconds of each group."""
    found: dict[str, float] = json.loads(DURATIONS.read_text()) if DURATIONS.exists() else {}
    return found


class GroupScheduling(LoadScopeScheduling):
    """Gives each worker the next group; labs wait for the pages."""

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)

    def _assign_work_unit(self, node: object) -> None:
        free = (group for group in self.workqueue if not self._waits(group))
        if first := next(free, None):
            self.workqueue.move_to_end(first, last=False)
        super()._assign_work_unit(node)

    def _waits(self, group: str) -> bool:
        pages = [work["pages"] for work in self.assigned_work.values() if "pages" in work]
        is_open = "pages" in self.workqueue or not all(all(each.values()) for each in pages)
        return is_open and group.startswith(AFTER_PAGES)


class Durations:
    """Records how long each group takes."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[group_of(report.nodeid)] += report.duration  # type: ignore[assignment]

    def pytest_sessionfinish(self) -> None:
        found = recorded_s() | {each: round(took, 1) for each, took in self.seconds.items()}
        lines = sorted(found.items(), key=lambda item: (-item[1], item[0]))
        DURATIONS.write_text(json.dumps(dict(lines), indent=1) + "\n")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--store-durations",
        action="store_true",
        help="write how long each group of tests took to tests/durations.json",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--store-durations") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Durations())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> GroupScheduling:
    return GroupScheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest groups begin first."""
    took_s = recorded_s()
    items.sort(key=lambda item: -took_s.get(group_of(item.nodeid), UNKNOWN_S))
