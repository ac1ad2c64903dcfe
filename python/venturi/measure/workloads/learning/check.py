"""Checks a learned model's file against populations with known truth.

A classifier gets examples that no engine has seen; the best possible accuracy is computed from the
population. `MARGIN` standard deviations are left to chance.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from venturi.measure.hosts.host import Files
from venturi.measure.workloads.learning.data import (
    F64,
    HOLD_OUT,
    Clusters,
    Population,
    TwoClasses,
    Witnesses,
    examples,
)
from venturi.measure.workloads.learning.definition import (
    CATEGORIES,
    VALUE_BYTES,
    record_bytes,
    whole,
)

if TYPE_CHECKING:
    from venturi.measure.workloads.checking import CheckInput

MODEL = "model.json"
MARGIN = 4.0
ROUNDING = 1e-6  # relative, of sums over all examples in another order
READ_BYTES = 2**30  # of the input, to compute a cost: evenly spread stretches of it
STRETCH_BYTES = 2**20
# Unseen examples: many only if they are small, but enough that chance alone (`MARGIN`) hides
# neither a right model nor a constant answer.
HOLD_OUT_BYTES = 2**26
HOLD_OUT_EXAMPLES = (4_000, 20_000)
# A missed cluster costs about 1/k of the variance that the centers explain. Local optima of Lloyd's
# iterations miss some: Spark has missed up to three of 20.
EXPLAINED = 0.6
# Accuracy lost by a logistic regression because of too few examples: this much times the square
# root of (features + OTHERS) / examples, minus chance, bounds the loss of scikit-learn on 1,000
# examples with 1 to 100 features, and a regularization from 0 to 0.2. With more features it is
# more, and with more of either a constant predictor comes near: `learning` refuses them.
TOO_FEW = 0.15
OTHERS = 30  # the intercept, and how many examples of each class there happen to be
# Accuracy that a single tree grown to its depth may lose by learning noise; the vote of
# many lessens it as the mean of as many does.
OVERGROWN = 0.1
MOST_QUESTIONS = 5


class RefusedError(Exception):
    """Why a model is wrong."""


def check(checking: CheckInput) -> str | None:
    """Why the model is wrong; None: it is right."""
    loaded = checking.answer.get("records")
    if loaded != checking.size.records:
        return f"{loaded} examples were loaded, not {checking.size.records}"
    try:
        model = json.loads(checking.files.read(checking.output / MODEL))
        if not isinstance(model, dict):
            return f"{MODEL} is not a model"
        _CHECKS[checking.definition.job](checking, model)
    except RefusedError as refused:
        return str(refused)
    except ValueError as error:
        return f"{MODEL} cannot be read: {error}"
    return None


def _kmeans(checking: CheckInput, model: Mapping[str, Any]) -> None:
    """Check a k-means model. Lloyd's iterations never raise the cost; the engine reports the cost
    before the last one.
    """
    parameters, said = checking.size.parameters, checking.answer
    k, features = whole(parameters, "k"), whole(parameters, "features")
    centres = _numbers(model, "centres", (k, features))
    truth = Clusters(_seed(checking), features, k).centres
    squares, total, reached, possible = 0.0, np.zeros(features), _Mean(), _Mean()
    for chunk in _stored(checking.files, checking.given.files, record_bytes(parameters)):
        values = chunk[:, 1:]
        squares += float(np.einsum("ij,ij->", values, values))
        total += values.sum(axis=0)
        reached.add(distances(values, centres))
        possible.add(distances(values, truth))
    seen = reached.count
    cost = said["cost"]
    assert isinstance(cost, float)
    told = cost / checking.size.records
    chance = MARGIN * reached.error if seen < checking.size.records else 0.0
    if not reached.mean <= told * (1 + ROUNDING) + chance:
        raise RefusedError(
            f"the centers cost {reached.mean:.6g} an example, the engine said {told:.6g}"
        )
    variance = (squares - float(total @ total) / seen) / seen
    explained = (variance - reached.mean) / (variance - possible.mean)
    if not explained >= EXPLAINED:
        raise RefusedError(
            f"the centers explain {explained:.1%} of the variance that the true ones "
            f"explain, less than {EXPLAINED:.0%}"
        )


def distances(values: F64, centres: F64) -> F64:
    """Return each example's squared distance from its nearest center."""
    products = values @ centres.T
    nearest: F64 = ((centres**2).sum(axis=1) - 2 * products).min(axis=1)
    nearest += np.einsum("ij,ij->i", values, values)
    return nearest


def _logistic_regression(checking: CheckInput, model: Mapping[str, Any]) -> None:
    parameters = checking.size.parameters
    features = whole(parameters, "features")
    coefficients = _numbers(model, "coefficients", (features,))
    intercept = float(_numbers(model, "intercept", ()))
    regularisation = parameters["regularisation"]
    assert isinstance(regularisation, float)
    _classifies(
        checking,
        TwoClasses(_seed(checking), features),
        lambda values: values @ coefficients + intercept > 0,
        possible=attainable_accuracy(features, regularisation),
        allowed=TOO_FEW * math.sqrt((features + OTHERS) / checking.size.records),
        constant=1 - TwoClasses.NEGATIVES,
    )


def attainable_accuracy(features: int, regularisation: float) -> float:
    """Return the accuracy on TwoClasses of a logistic regression trained on infinitely many
    examples.

    It minimizes the mean logistic loss + regularisation / 2 x the sum of squares of the
    coefficients of features scaled to a standard deviation of 1. Because all features are
    equivalent, the unknowns are the weight of their signed sum, and the intercept. Without
    regularization this is the Bayes classifier.
    """
    from scipy.optimize import minimize

    negatives, distance = TwoClasses.NEGATIVES, TwoClasses.DISTANCE
    nodes, weights = np.polynomial.hermite_e.hermegauss(64)
    weights /= weights.sum()
    scale = 1 + negatives * (1 - negatives) * distance**2 / features

    def loss(line: F64) -> float:
        weight, intercept = line
        wrong = np.logaddexp(0, weight * (nodes - distance / 2) + intercept) @ weights
        right = np.logaddexp(0, -weight * (nodes + distance / 2) - intercept) @ weights
        penalty = regularisation * scale * weight**2 / 2
        return float(negatives * wrong + (1 - negatives) * right + penalty)

    bayes = np.array([distance, math.log(1 / negatives - 1)])
    weight, intercept = minimize(loss, bayes, method="BFGS").x
    below = NormalDist().cdf
    shift = intercept / max(weight, 1e-12)
    return negatives * below(distance / 2 - shift) + (1 - negatives) * below(distance / 2 + shift)


def _random_forest(checking: CheckInput, model: Mapping[str, Any]) -> None:
    parameters = checking.size.parameters
    features, depth = whole(parameters, "features"), whole(parameters, "depth")
    trees, wanted = model.get("trees"), whole(parameters, "trees")
    if not isinstance(trees, list) or len(trees) != wanted:
        raise RefusedError(f"{MODEL} does not have {wanted} trees")
    forest = [Tree(each, features) for each in trees]
    _classifies(
        checking,
        Witnesses(_seed(checking), features),
        lambda values: (
            np.sum([t.positive_shares(values, depth) for t in forest], axis=0) > wanted / 2
        ),
        possible=accuracy_of_vote(min(depth, features, MOST_QUESTIONS)),
        allowed=OVERGROWN / math.sqrt(wanted),
        constant=0.5,
    )


def accuracy_of_vote(questions: int) -> float:
    """Return the share of Witnesses' labels that a majority of `questions` features gets right.

    One tree of that depth can ask them; an even number is no better than one less.
    """
    odd, trust = questions - 1 + questions % 2, Witnesses.TRUST
    told = sum(
        math.comb(odd, right) * trust**right * (1 - trust) ** (odd - right)
        for right in range(odd // 2 + 1, odd + 1)
    )
    return told * (1 - Witnesses.WRONG_LABELS) + (1 - told) * Witnesses.WRONG_LABELS


class Tree:
    """A decision tree from lists, see `spark_programs.learning`; or RefusedError."""

    def __init__(self, lists: Mapping[str, Any], features: int) -> None:
        try:
            feature, left, right = (lists[name] for name in ("feature", "left", "right"))
            nodes = len(feature)
            self._leaf = np.array([each is None for each in feature])
            self._feature = _places(feature)
            self._children = np.array([_places(right), _places(left)])
            self._positive = np.array(lists["positive"], dtype=np.float64)
            self._threshold = np.array(lists["threshold"], dtype=np.float64)  # None: NaN
            self._chosen = np.zeros((nodes, CATEGORIES), dtype=np.bool_)
            for place, categories in enumerate(lists["categories"]):
                self._chosen[place, categories or []] = True
            sizes = {len(each) for each in (left, right, self._positive, self._threshold)}
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise RefusedError(f"a tree in {MODEL} is malformed: {error!r}") from error
        inner = ~self._leaf
        after = self._children[:, inner] > np.flatnonzero(inner)
        known = (self._feature >= 0) & (self._feature < features)
        if sizes != {nodes} or not (after.all() and known.all() and (self._children < nodes).all()):
            raise RefusedError(f"a tree in {MODEL} has nodes without their children or a feature")

    def positive_shares(self, values: F64, depth: int) -> F64:
        """For each example (a row of features): the share of label 1 in its leaf."""
        at = np.zeros(len(values), dtype=np.int64)
        for _ in range(depth):
            rows = np.flatnonzero(~self._leaf[at])
            nodes = at[rows]
            asked = values[rows, self._feature[nodes]]
            ordered = asked <= self._threshold[nodes]
            category = np.clip(asked, 0, CATEGORIES - 1).astype(np.int64)
            goes_left = np.where(
                np.isnan(self._threshold[nodes]), self._chosen[nodes, category], ordered
            )
            at[rows] = self._children[goes_left.astype(np.int64), nodes]
        if not self._leaf[at].all():
            raise RefusedError(f"a tree is deeper than {depth} levels")
        shares: F64 = self._positive[at]
        return shares


def _places(values: Sequence[int | None]) -> npt.NDArray[np.int64]:
    return np.array([0 if each is None else each for each in values], dtype=np.int64)


def _classifies(
    checking: CheckInput,
    source: Population,
    positive: Callable[[F64], npt.NDArray[np.bool_]],
    *,
    possible: float,
    allowed: float,
    constant: float,
) -> None:
    """Raise RefusedError if `positive` is right less often than `possible`, minus `allowed`.

    Or not more often than `constant`, the share of the more frequent class.
    """
    fewest, most = HOLD_OUT_EXAMPLES
    count = HOLD_OUT_BYTES // record_bytes(checking.size.parameters)
    count = min(max(count, fewest), most)
    right = 0
    for chunk in examples(source, _seed(checking), HOLD_OUT, 0, count):
        right += int((positive(chunk[:, 1:]) == (chunk[:, 0] > 0.5)).sum())
    least = max(
        possible - allowed - MARGIN * math.sqrt(possible * (1 - possible) / count),
        constant + MARGIN * math.sqrt(constant * (1 - constant) / count),
    )
    if not right / count >= least:
        raise RefusedError(
            f"{right / count:.1%} of {count} unseen examples are classified correctly, less "
            f"than {least:.1%}"
        )


def _seed(checking: CheckInput) -> int:
    assert checking.given.answer is not None
    return int(checking.given.answer["seed"])


def _numbers(model: Mapping[str, Any], name: str, shape: tuple[int, ...]) -> F64:
    try:
        values: F64 = np.array(model[name], dtype=np.float64)
    except (KeyError, TypeError, ValueError) as error:
        raise RefusedError(f"{MODEL} has no {name}: {error!r}") from error
    if values.shape != shape or not np.isfinite(values).all():
        raise RefusedError(f"{name} in {MODEL} are not finite numbers of the shape {shape}")
    return values


@dataclass
class _Mean:
    """A mean of values that arrive in pieces."""

    count: int = 0
    total: float = 0.0
    squares: float = 0.0

    def add(self, values: F64) -> None:
        self.count += len(values)
        self.total += float(values.sum())
        self.squares += float(values @ values)

    @property
    def mean(self) -> float:
        return self.total / self.count

    @property
    def error(self) -> float:
        """Its standard error."""
        return math.sqrt(max(self.squares / self.count - self.mean**2, 0.0) / self.count)


def _stored(files: Files, paths: Sequence[Path], size_bytes: int) -> Iterator[F64]:
    """Yield the examples of `size_bytes` each in `paths`, or as many ranges of them as the limit
    allows.
    """
    stretch = max(1, STRETCH_BYTES // size_bytes)
    stored = {path: files.stat(path).bytes // size_bytes for path in paths}
    step = stretch * max(1, -(-sum(stored.values()) * size_bytes // READ_BYTES))
    for path, count in stored.items():
        with files.open(path) as file:
            for first in range(0, count, step):
                rows = min(stretch, count - first)
                file.seek(first * size_bytes)
                values = np.frombuffer(file.read(rows * size_bytes), "<f8")
                yield values.reshape(rows, size_bytes // VALUE_BYTES)


_CHECKS: Mapping[str, Callable[[CheckInput, Mapping[str, Any]], None]] = MappingProxyType(
    {
        "kmeans": _kmeans,
        "logistic-regression": _logistic_regression,
        "random-forest": _random_forest,
    }
)
