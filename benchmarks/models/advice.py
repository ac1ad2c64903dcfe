"""Time `advise hardware` on a large catalog: `python -m benchmarks.models.advice [--profile]`.

1,363 synthetic types with every fact, three durability classes, fifty node counts each; the bar is
2 s. The catalog is made beforehand, the best of five counts.
"""

from __future__ import annotations

import cProfile
import pstats
import random
import sys
import time
from datetime import date

from venturi.core.quantity import ValueKind
from venturi.machines import catalog
from venturi.machines.advice.hardware import Advice, advise
from venturi.machines.advice.question import HardwareRequest
from venturi.machines.catalog import Catalog, Fact, InstanceType
from venturi.machines.cost.choices import Durability
from venturi.machines.cost.job import sort_job

TYPES, DAY = 1363, date(2026, 1, 1)


def synthetic_catalog(types: int = TYPES, seed: int = 1) -> Catalog:
    """Return types of random sizes with all facts known."""
    draw = random.Random(seed)
    made = {}
    for number in range(types):
        size = draw.choice((1, 2, 4, 8, 16))
        values: dict[str, float] = {
            "price": 0.2 * size * draw.uniform(0.7, 1.5),
            "vcpus": 4.0 * size,
            "memory": 16.0 * size,
            "disk_count": float(draw.randint(1, 8)),
            "disk_size": draw.choice((950.0, 1900.0, 3750.0)),
            "storage_rate": 200.0 * size * draw.uniform(0.7, 1.3),
            "network_rate": 150.0 * size * draw.uniform(0.7, 1.3),
            "network_rate_at_scale": 100.0 * size,
            "volume_read_rate": 60.0 * size,
            "volume_write_rate": 55.0 * size,
            "volume_price": 0.08,
            "billing_granularity": 1.0,
            "billing_minimum": 60.0,
        }
        facts = {
            name: Fact(value, catalog.ATTRIBUTES[name][0], ValueKind.MEASURED, "synthetic", DAY, "")
            for name, value in values.items()
        }
        made[f"t{number}.x{size}"] = InstanceType(f"t{number}.x{size}", facts)
    return Catalog("synthetic", made)


def question(types: Catalog) -> Advice:
    """The advice that is timed."""
    request = HardwareRequest(sort_job(100e12), durabilities=tuple(Durability), today=DAY)
    return advise(request, [types])


def main() -> None:
    """Prints the seconds of each of five repetitions, or a profile."""
    types = synthetic_catalog()
    if "--profile" in sys.argv:
        profile = cProfile.Profile()
        profile.runcall(question, types)
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)
        return
    elapsed_s = []
    for _ in range(5):
        begun = time.perf_counter()
        answer = question(types)
        elapsed_s.append(time.perf_counter() - begun)
    options = [len(each.ranked) for each in answer.classes]
    frontier = [len(each.frontier) for each in answer.classes]
    print(f"best {min(elapsed_s):.2f} s of {', '.join(f'{s:.2f}' for s in elapsed_s)}")
    print(f"{TYPES} types x 3 classes x 50 counts: {options} options, {frontier} on the frontier")


if __name__ == "__main__":
    main()
