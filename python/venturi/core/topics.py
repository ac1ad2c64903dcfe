"""The five topics, and the question that each of them answers.

Folders, verbs, pages and guides are grouped by these topics, in this order.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

TOPICS: Mapping[str, str] = MappingProxyType(
    {
        "measure": "What can these machines do? How long does this workload take?",
        "results": "Which is better, by how much, and is it real?",
        "jobs": "Why is this job slow, what do I change, what would it take elsewhere?",
        "machines": "Which machines, how many, and how much do they cost?",
        "share": "How do others see it?",
    }
)
"""Topic -> question."""


def heading(topic: str) -> str:
    """Return the topic with its question, as help texts and documents print it."""
    return f"{topic.capitalize()}: {TOPICS[topic]}"
