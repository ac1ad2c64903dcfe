"""The Spark plugin that names threads after the tasks they run, for traces of block I/O.

Its source is `jvm/task-names`. `crates/blktrace/src/attribute/tasks.rs` reads the names. Python
workers of Venturi's own programs set theirs with `workloads/shared/spark_names.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from venturi.core.errors import UsageError
from venturi.measure.engines.spark import plugins
from venturi.measure.workloads.shared.spark_names import TASKS_SETTING

PLUGIN = "venturi.spark.tasks.TaskNamesPlugin"


def jar() -> Path:
    """The plugin, for every Spark; VEN-ENGINE-MISSING if this installation has none."""
    return plugins.installed("venturi-task-names.jar", "tasks' names")


def is_wanted(settings: Mapping[str, str]) -> bool:
    """Return whether the settings request the plugin; raise VEN-ENGINE-SETTING for an invalid
    value.
    """
    given = settings.get(TASKS_SETTING, "false")
    if given not in {"true", "false"}:
        raise UsageError(
            "VEN-ENGINE-SETTING",
            f"{TASKS_SETTING}={given} is neither true nor false",
            where={"value": given},
            hint="true names threads after their tasks, for --trace",
        )
    return given == "true"


def with_plugin(settings: Mapping[str, str]) -> dict[str, str]:
    """Return `settings`, with the plugin if they request it."""
    return plugins.with_plugin(settings, jar(), PLUGIN) if is_wanted(settings) else dict(settings)
