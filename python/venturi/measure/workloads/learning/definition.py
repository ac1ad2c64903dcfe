"""Machine learning on examples kept in memory, as far as they fit.

An example is a record of little-endian float64, a label and then the features: the input has
exactly examples x 8 x (features + 1) bytes. Generating it is not timed; loading and training are
separate samples (`load_s`, `training_s`), and `training_s` is the figure usually published.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from venturi.core.errors import UsageError
from venturi.measure.workloads.definition import STORAGE_LEVELS, Definition, Size, WorkloadParameter
from venturi.record.trial import Scalar

VALUE_BYTES = 8
CATEGORIES = 20  # values of a categorical feature that is not binary, as spark-perf has them
# With fewer examples, or fewer per cluster, good and bad models are indistinguishable.
FEWEST_EXAMPLES = 1000
FEWEST_OF_CLUSTER = 10
# With fewer examples per feature, or more regularization, accuracy can't distinguish a right
# logistic regression from a constant predictor (always the same answer). Forests can be checked at
# any size.
FEWEST_OF_FEATURE = 10
MOST_REGULARISATION = 0.2


def _shared(features: int, least: int) -> tuple[WorkloadParameter, ...]:
    return (
        WorkloadParameter(
            "features", features, "of an example; a scale has its own", least, 500_000
        ),
        WorkloadParameter(
            "partitions", 8, "input files; over 128 MiB one is read in several", 1, 100_000
        ),
        WorkloadParameter(
            "storage_level",
            "MEMORY_AND_DISK",
            "where Spark keeps the loaded examples; NONE: training reads them again",
            words=STORAGE_LEVELS,
        ),
    )


WORKLOADS = (
    Definition(
        name="kmeans",
        summary="Find the centers of Gaussian clusters (k-means|| and Lloyd's iterations)",
        job="kmeans",
        format="fixed",
        generator="clusters",
        record_bytes=0,
        key_bytes=0,
        validation=(
            "k centers; their cost is at most the engine's; they explain at least 60 % of "
            "the variance that the true centers explain"
        ),
        parameters=(
            WorkloadParameter("k", 20, "number of clusters in the data, and to find", 2, 10_000),
            WorkloadParameter("iterations", 20, "at most", 5),
            *_shared(features=20, least=1),
        ),
    ),
    Definition(
        name="logistic-regression",
        summary="Separate two overlapping classes (logistic regression by L-BFGS)",
        job="logistic-regression",
        format="fixed",
        generator="two-classes",
        record_bytes=0,
        key_bytes=0,
        validation=(
            "on unseen examples, as accurate as the best model with this regularization, "
            "within the tolerance for sample size and chance"
        ),
        parameters=(
            WorkloadParameter("iterations", 20, "at most", 10),
            WorkloadParameter("regularisation", 0.1, "weight of the coefficients' squares / 2", 0),
            *_shared(features=100, least=1),
        ),
    ),
    Definition(
        name="random-forest",
        summary="Classify by many decision trees; half of the features are categorical",
        job="random-forest",
        format="fixed",
        generator="witnesses",
        record_bytes=0,
        key_bytes=0,
        validation=(
            "the requested number of trees, none too deep; on unseen examples, as accurate "
            "as a vote of the features one tree can use, within the tolerance for chance"
        ),
        parameters=(
            WorkloadParameter("trees", 10, "number of trees", 1, 10_000),
            WorkloadParameter("depth", 5, "maximum depth of a tree", 1, 30),
            WorkloadParameter("bins", 32, "number of bins per feature", CATEGORIES, 10_000),
            *_shared(features=100, least=4),
        ),
    ),
)

# Examples and features, scale by scale. K-means has HiBench's. HiBench's logistic regression and
# random forest have (far) more features than examples, so no check could find a wrong model; here
# are spark-perf's defaults (logistic regression `huge`, random forest `large`), those of VMware's
# all-flash study for "1 TB" and "3 TB" (`gigantic`, `bigdata`), and ours below.
_SHAPES: Mapping[str, tuple[tuple[int, int], ...]] = MappingProxyType(
    {
        "kmeans": (
            (30_000, 3),
            (3_000_000, 20),
            (20_000_000, 20),
            (100_000_000, 20),
            (200_000_000, 20),
            (1_200_000_000, 20),
        ),
        "logistic-regression": (
            (20_000, 20),
            (200_000, 200),
            (400_000, 1_000),
            (1_000_000, 10_000),
            (5_000_000, 11_500),
            (5_000_000, 34_500),
        ),
        "random-forest": (
            (10_000, 20),
            (200_000, 200),
            (1_000_000, 500),
            (1_000_000, 5_000),
            (5_000_000, 15_000),
            (5_000_000, 45_000),
        ),
    }
)


def whole(parameters: Mapping[str, Scalar], name: str) -> int:
    """The parameter `name`, a whole number."""
    value = parameters[name]
    assert isinstance(value, int)
    return value


def record_bytes(parameters: Mapping[str, Scalar]) -> int:
    """Return the size of an example with its label."""
    return VALUE_BYTES * (whole(parameters, "features") + 1)


def categorical_features(features: int) -> tuple[range, range]:
    """Return the positions of the binary features of a forest's example, then of those with
    CATEGORIES values.

    As in spark-perf, half of the features are categorical, and half of these are binary.
    """
    first, second = features - features // 2, features - features // 4
    return range(first, second), range(second, features)


def size(definition: Definition, scale: int, chosen: Mapping[str, Scalar]) -> Size:
    """The size at `scale`, a place in SCALES; chosen features keep the number of examples."""
    examples, features = _SHAPES[definition.name][scale]
    return _size(definition, examples, {"features": features, **chosen})


def size_of_bytes(definition: Definition, size_bytes: int, chosen: Mapping[str, Scalar]) -> Size:
    """The size of an input of (at most) `size_bytes`, in whole examples."""
    return _size(definition, size_bytes // record_bytes(_values(definition, chosen)), chosen)


def _size(definition: Definition, examples: int, chosen: Mapping[str, Scalar]) -> Size:
    values = _values(definition, chosen)
    clusters = whole(values, "k") if "k" in values else 0
    if examples < max(FEWEST_EXAMPLES, FEWEST_OF_CLUSTER * clusters):
        examples = 0
    features = whole(values, "features")
    if "regularisation" in values and 0 < examples < FEWEST_OF_FEATURE * features:
        raise UsageError(
            "VEN-MEASURE-WORKLOAD",
            f"of {examples:,} examples with {features:,} features each no logistic "
            "regression is distinguishable from a constant predictor, which gives every "
            "example the same answer",
            where={"workload": definition.name, "parameter": "features"},
            hint=f"at least {FEWEST_OF_FEATURE} examples for each feature: choose fewer features, "
            "or more bytes",
        )
    return Size(examples * record_bytes(values), examples, whole(values, "partitions"), values)


def _values(definition: Definition, chosen: Mapping[str, Scalar]) -> dict[str, Scalar]:
    values = definition.parameter_values(chosen)
    regularisation = values.get("regularisation", 0.0)
    assert isinstance(regularisation, float)
    if regularisation > MOST_REGULARISATION:
        raise UsageError(
            "VEN-MEASURE-WORKLOAD",
            f"with a regularization of {regularisation:g} the best logistic regression is "
            "hardly better than a constant predictor, so no check can distinguish them",
            where={"workload": definition.name, "parameter": "regularisation"},
            hint=f"at most {MOST_REGULARISATION:g}",
        )
    return values
