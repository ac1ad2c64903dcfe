"""The configuration of a job: masks secrets, and separates chosen settings from defaults."""

from __future__ import annotations

import re
from collections.abc import Mapping

from venturi.jobs.logs.columnar import word

MASK = "*********(redacted)"
"""Spark's own replacement for a secret."""

# Source: the default of spark.redaction.regex, and Hadoop's hadoop.security.sensitive-config-keys.
_SECRET = re.compile(r"secret|passw|token|credential|access[.]?key|api[.]?key", re.IGNORECASE)
_ENTRIES = 20_000
_CHARACTERS = 4_000
# Spark properties that name this one execution, not a choice.
_SPARK_IDENTITY = re.compile(
    r"spark\.app\.(id|name|startTime|submitTime|attempt\.id|initial\..*)"
    r"|spark\.driver\.(host|port|bindAddress|appUIAddress)|spark\.executor\.id"
    r"|spark\.(repl|submit|yarn\.app|yarn\.historyServer|ui|eventLog)\..*"
    r"|spark\.org\.apache\..*|spark\.sql\.warehouse\.dir|spark\.(jars|files|archives)"
)
_HADOOP_IDENTITY = re.compile(
    r"mapreduce\.job\.(id|name|user\.name|dir|jar|submithostname|submithostaddress"
    r"|working\.dir|cache\..*|classpath\..*|local-fs.*|end-notification.*|token.*|credentials.*)"
    r"|mapreduce\.(input|output)\.fileoutputformat\..*|mapreduce\.input\.fileinputformat\.inputdir"
    r"|mapreduce\.output\.fileoutputformat\.outputdir|mapreduce\.job\.application\.attempt\.id"
    r"|mapreduce\.client\.output.*|yarn\.resourcemanager\..*|yarn\.nodemanager\..*|fs\.defaultFS"
    r"|hadoop\.tmp\.dir|user\.name"
)
_HADOOP_DEFAULTS = re.compile(r".*-default\.xml")


def masked(properties: object) -> dict[str, str]:
    """The texts among `properties`, sorted by key, with the values of secrets masked."""
    if not isinstance(properties, Mapping):
        return {}
    found = {
        name: MASK if _SECRET.search(name) else word(value, _CHARACTERS) or ""
        for key, value in properties.items()
        if (name := word(key, 200)) and isinstance(value, str)
    }
    return dict(sorted(found.items())[:_ENTRIES])


def spark_chosen(configuration: Mapping[str, str]) -> tuple[str, ...]:
    """The keys that distinguish executions; Spark records no defaults."""
    return tuple(key for key in configuration if not _SPARK_IDENTITY.fullmatch(key))


def hadoop_chosen(
    configuration: Mapping[str, str], sources: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...]:
    """The keys that did not come from Hadoop's own default files (`sources`: where from)."""
    return tuple(
        key
        for key in configuration
        if sources.get(key)
        and not any(_HADOOP_DEFAULTS.fullmatch(source) for source in sources[key])
        and not _HADOOP_IDENTITY.fullmatch(key)
    )
