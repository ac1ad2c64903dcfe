"""Examples to learn from, drawn from populations with known truth.

An example is a record of little-endian float64: its label, then its features. Chunk i of a region
depends on (seed, region, i) alone, so any range of the examples can be generated separately: those
for training, written to files, and a hold-out that no engine ever sees.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from statistics import NormalDist
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from venturi.measure.hosts.host import Files
from venturi.measure.workloads.definition import Definition, Size
from venturi.measure.workloads.learning.definition import (
    CATEGORIES,
    VALUE_BYTES,
    categorical_features,
    whole,
)
from venturi.record.trial import Scalar

# Regions of a seed; a workload's truth (centers, directions, codes) is drawn from the first.
TRUTH, TRAINING, HOLD_OUT = range(3)
CHUNK_BYTES = 2**20

F64 = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


class Population(Protocol):
    """A population from which examples are drawn."""

    features: int

    def draw(self, rng: np.random.Generator, count: int) -> F64:
        """`count` examples, one a row: label, then features."""


class Clusters:
    """Gaussian clusters of equal weight; the label is the number of the cluster."""

    # Standard deviation of the centers, in those of a cluster. With few features, clusters overlap
    # and keep Lloyd's iterations busy; with a smaller spread, k-means|| misses many clusters if
    # features are many.
    SPREAD = 1.0

    def __init__(self, seed: int, features: int, clusters: int) -> None:
        self.features = features
        self.centres = self.SPREAD * _rng(seed, TRUTH).standard_normal((clusters, features))

    def draw(self, rng: np.random.Generator, count: int) -> F64:
        label = rng.integers(len(self.centres), size=count)
        examples = np.empty((count, self.features + 1))
        examples[:, 0] = label
        examples[:, 1:] = rng.standard_normal((count, self.features))
        examples[:, 1:] += self.centres[label]
        return examples


class TwoClasses:
    """Two Gaussian classes of one covariance: the odds are exactly logistic in the features.

    The means are `DISTANCE` standard deviations apart; every feature contributes as much.
    """

    NEGATIVES = 0.3  # share of label 0; spark-perf's "per-negative"
    NOISE = 1.0  # standard deviation of a feature; spark-perf's "feature-noise"
    DISTANCE = 2.0

    def __init__(self, seed: int, features: int) -> None:
        self.features = features
        sign = _rng(seed, TRUTH).choice((-1.0, 1.0), features)
        self.shift = sign * (self.DISTANCE * self.NOISE / math.sqrt(features))

    def draw(self, rng: np.random.Generator, count: int) -> F64:
        label = rng.random(count) >= self.NEGATIVES
        examples = np.empty((count, self.features + 1))
        examples[:, 0] = label
        examples[:, 1:] = rng.standard_normal((count, self.features))
        examples[:, 1:] *= self.NOISE
        examples[:, 1:] += np.multiply.outer(label - 0.5, self.shift)
        return examples


class Witnesses:
    """Features that are witnesses of a hidden class; the label is that class, sometimes wrong.

    Each feature alone, with the best yes-no question, predicts the class with the probability
    `TRUST`, independently of the others. Some are categorical: `categorical_features`.
    """

    TRUST = 0.75
    WRONG_LABELS = 0.1

    def __init__(self, seed: int, features: int) -> None:
        self.features = features
        self.binary, self.categorical = categorical_features(features)
        rng = _rng(seed, TRUTH)
        self.sign = rng.choice((-1.0, 1.0), self.binary.start)
        self.flipped = rng.random(len(self.binary)) < 0.5
        codes = np.tile(np.arange(CATEGORIES), (len(self.categorical), 1))
        # One row per feature: the values that indicate class 0, then those for class 1.
        self.codes = rng.permuted(codes, axis=1)

    def draw(self, rng: np.random.Generator, count: int) -> F64:
        hidden = rng.random(count) < 0.5
        examples = np.empty((count, self.features + 1))
        examples[:, 0] = hidden ^ (rng.random(count) < self.WRONG_LABELS)
        continuous, binary, categorical = np.split(
            examples[:, 1:], (self.binary.start, self.binary.stop), axis=1
        )
        shift = NormalDist().inv_cdf(self.TRUST)
        continuous[:] = rng.standard_normal(continuous.shape)
        continuous += np.multiply.outer(np.where(hidden, shift, -shift), self.sign)
        binary[:] = self._told(rng, hidden, len(self.binary)) ^ self.flipped
        told = self._told(rng, hidden, len(self.categorical))
        place = told * (CATEGORIES // 2) + rng.integers(CATEGORIES // 2, size=told.shape)
        categorical[:] = self.codes[np.arange(len(self.categorical)), place]
        return examples

    def _told(self, rng: np.random.Generator, hidden: Bools, witnesses: int) -> Bools:
        lies = rng.random((len(hidden), witnesses)) >= self.TRUST
        told: Bools = hidden[:, np.newaxis] ^ lies
        return told


def population(job: str, seed: int, parameters: Mapping[str, Scalar]) -> Population:
    """Return the population for a workload with this `job`."""
    features = whole(parameters, "features")
    if job == "kmeans":
        return Clusters(seed, features, whole(parameters, "k"))
    if job == "logistic-regression":
        return TwoClasses(seed, features)
    return Witnesses(seed, features)


def examples(source: Population, seed: int, region: int, first: int, last: int) -> Iterator[F64]:
    """Yield examples `first` to `last` (exclusive) of a region, chunk by chunk."""
    step = max(1, CHUNK_BYTES // (VALUE_BYTES * (source.features + 1)))
    for number in range(first // step, -(-last // step)):
        begin = number * step
        chunk = source.draw(_rng(seed, region, number), step)
        yield chunk[max(first - begin, 0) : last - begin]


def write(
    files: Files,
    definition: Definition,
    folder: Path,
    size: Size,
    seed: int,
    *,
    tick: Callable[[int], None],
) -> Mapping[str, Any]:
    """Write the training examples to `part-00000`, ... in `folder`; return their seed."""
    source = population(definition.job, seed, size.parameters)
    parts = size.parts or 1
    done_bytes = 0
    for part, (first, last) in enumerate(
        pairwise(size.records * part // parts for part in range(parts + 1))
    ):
        with files.create(folder / f"part-{part:05d}") as file:
            for chunk in examples(source, seed, TRAINING, first, last):
                done_bytes += file.write(chunk.astype("<f8", copy=False).data)
                tick(done_bytes)
    return {"seed": seed}


def _rng(*key: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(key))
