"""Plans of studies as text, and the files that they name."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, settings

from venturi.core.errors import VenturiError
from venturi.measure.clusters.cluster_file import PriceOf
from venturi.measure.studies.plan_file import EngineWords, Mistake, parse_plan
from venturi.measure.studies.study import (
    Plan,
)

QUICK = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
WORDS = {
    "native": EngineWords(frozenset({"terasort", "wordcount"}), ()),
    "spark": EngineWords(
        frozenset({"terasort", "wordcount", "pi", "kmeans", "logistic-regression"}),
        ("spark.",),
        ("local", "yarn"),
        urls="spark://",
    ),
}


FILES = {
    "lab.toml": """
name = "ether"
dilation = 20
[network]
rate = "1Gbit/s"
[disks.ssd]
size = "1GiB"
rate = "400MB/s"
[[hosts]]
name = "m"
roles = ["master"]
[[hosts]]
name = "w"
count = 2
disks = { ssd = 2 }
""",
    "hosts.toml": """
[[hosts]]
name = "one"
roles = ["master", "worker"]
disks = { ssd = ["/data"] }
[[hosts]]
name = "two"
disks = { ssd = ["/data"] }
""",
    "rented.toml": "[[hosts]]\nname = 'h'\nroles = ['master', 'worker']\ntype = 'big'\n"
    "disks = { ssd = ['/data'] }\n",
    "odd.toml": "name = 'odd'\nhots = 1\n[[hosts]]\nname = 'h'\n",
    "idle.toml": "[[hosts]]\nname = 'h'\nroles = ['master']\n",
}


def read(file: Path) -> str:
    try:
        return FILES[file.name]
    except KeyError:
        raise VenturiError("VEN-PLAN-FILE", f"{file} cannot be read: no such file") from None


def parsed(text: str, price_of: PriceOf | None = None) -> tuple[Plan | None, tuple[Mistake, ...]]:
    return parse_plan(text, WORDS, Path("/plans"), Path("/here"), read, price_of=price_of)


def plan(text: str) -> Plan:
    found, mistakes = parsed(text)
    assert found is not None, mistakes
    return found


def require_mistake(text: str, line: int, says: str) -> None:
    """The text is no plan, for a mistake in this line."""
    found, mistakes = parsed(text)
    assert found is None
    assert any(says in each.message for each in mistakes), mistakes
    assert line in {each.line for each in mistakes if says in each.message}
