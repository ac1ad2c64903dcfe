"""Machine learning with pyspark.ml: load and count the examples, train, write the model as JSON.

`model.json` has for `kmeans` the clusters' centers, one list each; for `logistic-regression` the
`coefficients` and the `intercept` of the log-odds; for `random-forest` the `trees`, each as lists
with an entry for every node, parents before their children. A node with a `feature` sends an
example to its `left` if that feature is at most `threshold`, or one of `categories`, else to its
`right`; a leaf (its `feature` is null) has the share of label 1 in `positive`. The forest predicts
1 if the mean share of its trees is above one half.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.ml.classification import LogisticRegression, RandomForestClassifier
from pyspark.ml.clustering import KMeans
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DoubleType, StructField, StructType

from venturi.measure.workloads.shared.spark_levels import LEVELS
from venturi.measure.workloads.shared.spark_records import read_as
from venturi.measure.workloads.shared.spark_storage import storage_of

VALUE_BYTES = 8
SEED = 1  # for Spark's random choices: the work is the same in every trial
_DENSE = 1  # a dense vector, in VectorUDT's terms

Train = Callable[[DataFrame, dict[str, Any]], tuple[dict[str, Any], dict[str, Any]]]


def _program(train: Train) -> Callable[[SparkSession, dict[str, Any]], dict[str, Any]]:
    """Return a program that loads the examples, trains with `train` (which returns the model and
    Spark's results), and writes the model.
    """

    def run(spark: SparkSession, task: dict[str, Any]) -> dict[str, Any]:
        parameters = task["parameters"]
        began_s = time.monotonic()
        storage = storage_of(task)
        frame = read_examples(spark, task)
        frame = frame.persist(LEVELS[parameters["storage_level"]])
        records = frame.count()
        loaded_s = time.monotonic()
        model, said = train(frame, parameters)
        trained_s = time.monotonic()
        storage.make(task["output"])
        name = f"{task['output']}/model.json"
        with storage.written(name, f"{name}.part") as write:
            write(memoryview(json.dumps(model).encode()))
        samples = [["load_s", loaded_s - began_s, "s"], ["training_s", trained_s - loaded_s, "s"]]
        if "iterations" in said:
            samples.append(["training_iterations", said["iterations"], "1"])
        return {"samples": samples, "records": records, **said}

    return run


def read_examples(spark: SparkSession, task: dict[str, Any]) -> DataFrame:
    """The examples `task` reads, in the columns `label` and `features` (a dense vector)."""
    schema = StructType([StructField("label", DoubleType()), StructField("features", VectorUDT())])
    record_bytes = VALUE_BYTES * (task["parameters"]["features"] + 1)
    return read_as(spark, task, record_bytes, _vectors, schema)


def _vectors(data: bytes, record_bytes: int) -> pa.RecordBatch:
    """Labels, and vectors as VectorUDT stores them: three times as quick as arrays converted."""
    import numpy as np  # noqa: PLC0415 - only executors

    examples = np.frombuffer(data, "<f8").reshape(-1, record_bytes // VALUE_BYTES)
    count, features = len(examples), examples.shape[1] - 1
    offsets = np.arange(0, (count + 1) * features, features, dtype=np.int32)
    vectors = pa.StructArray.from_arrays(
        [
            pa.array(np.full(count, _DENSE, np.int8)),
            pa.nulls(count, pa.int32()),
            pa.nulls(count, pa.list_(pa.int32())),
            pa.ListArray.from_arrays(offsets, pa.array(examples[:, 1:].ravel())),
        ],
        ["type", "size", "indices", "values"],
    )
    return pa.RecordBatch.from_arrays(
        [pa.array(examples[:, 0].copy()), vectors], ["label", "features"]
    )


def _kmeans(
    examples: DataFrame, parameters: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    estimator = KMeans(k=parameters["k"], maxIter=parameters["iterations"], seed=SEED)
    model = estimator.fit(examples)
    said = {"cost": model.summary.trainingCost, "iterations": model.summary.numIter}
    return {"centres": [centre.tolist() for centre in model.clusterCenters()]}, said


def _logistic_regression(
    examples: DataFrame, parameters: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    model = LogisticRegression(
        maxIter=parameters["iterations"], regParam=parameters["regularisation"], family="binomial"
    ).fit(examples)
    learned = {"coefficients": model.coefficients.toArray().tolist(), "intercept": model.intercept}
    return learned, {"iterations": model.summary.totalIterations}


def _random_forest(
    examples: DataFrame, parameters: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    estimator = RandomForestClassifier(
        numTrees=parameters["trees"],
        maxDepth=parameters["depth"],
        maxBins=parameters["bins"],
        seed=SEED,
    )
    model = estimator.fit(examples.withMetadata("features", _kinds(parameters["features"])))
    return {"trees": [_tree(each._java_obj.rootNode()) for each in model.trees]}, {}


def _kinds(features: int) -> dict[str, Any]:
    """Return the numeric and categorical features in the form of Spark's metadata."""
    # The driver only: workers import this module where Venturi's record is not installed.
    from venturi.measure.workloads.learning.definition import CATEGORIES, categorical_features  # noqa: PLC0415

    binary, categorical = categorical_features(features)
    attributes = {
        "numeric": [{"idx": place} for place in range(binary.start)],
        "binary": [{"idx": place} for place in binary],
        "nominal": [{"idx": place, "num_vals": CATEGORIES} for place in categorical],
    }
    return {"ml_attr": {"attrs": attributes, "num_attrs": features}}


def _tree(root: Any) -> dict[str, list[Any]]:
    """Return a tree's nodes as lists, parents before their children."""
    tree: dict[str, list[Any]] = {
        name: [] for name in ("feature", "threshold", "categories", "left", "right", "positive")
    }

    def add(node: Any) -> int:
        place = len(tree["feature"])
        for values in tree.values():
            values.append(None)
        negatives, positives = node.impurityStats().stats()
        tree["positive"][place] = positives / (negatives + positives)
        if node.subtreeDepth() > 0:
            split = node.split()
            tree["feature"][place] = split.featureIndex()
            if split.getClass().getSimpleName() == "CategoricalSplit":
                tree["categories"][place] = sorted(int(each) for each in split.leftCategories())
            else:
                tree["threshold"][place] = split.threshold()
            tree["left"][place] = add(node.leftChild())
            tree["right"][place] = add(node.rightChild())
        return place

    add(root)
    return tree


PROGRAMS = {
    "kmeans": _program(_kmeans),
    "logistic-regression": _program(_logistic_regression),
    "random-forest": _program(_random_forest),
}
