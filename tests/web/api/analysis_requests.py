"""Run times to analyze, and requests for analyses over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import numpy as np

from venturi.record.trial import Trial, Workload

MakeTrial = Callable[..., Trial]
Add = Callable[..., None]
WORK = Workload("terasort", "v1", "large", 10**11)


def around(middle: float, n: int = 8, spread: float = 0.03, seed: int = 1) -> list[float]:
    rng = np.random.default_rng([seed, n, round(middle * 1000)])
    return [round(float(t), 6) for t in middle * np.exp(rng.normal(0, spread, n))]


def ask(client: httpx.Client, path: str, **parameters: Any) -> Any:
    answer = client.get(path, params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(client: httpx.Client, path: str, **parameters: Any) -> Any:
    answer = client.get(path, params=parameters)
    assert answer.status_code in {404, 422}, answer.text
    return answer.json()
