"""Machine learning: populations with a known truth, Spark's models, and checks that refuse others.

At the scale `tiny` Spark's models are held against scikit-learn's from the same bytes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine_runs import run
from this_host import FILES, STEP
from venturi.core.errors import VenturiError
from venturi.measure.workloads import outputs as checks
from venturi.measure.workloads.checking import CheckInput
from venturi.measure.workloads.definition import MB, SCALES, Definition, Size
from venturi.measure.workloads.inputs import InputData
from venturi.measure.workloads.learning import check as learning_check
from venturi.measure.workloads.learning import data as learning_data
from venturi.measure.workloads.learning import definition as learning
from venturi.record.trial import Scalar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFINITIONS = {each.name: each for each in learning.WORKLOADS}
SEED = 7
Examples = npt.NDArray[np.float64]
Model = dict[str, Any]


def made(definition: Definition, size: Size, folder: Path, seed: int = SEED) -> InputData:
    folder.mkdir(parents=True)
    answer = learning_data.write(FILES, definition, folder, size, seed, tick=lambda _: None)
    files = tuple(sorted(folder.iterdir()))
    return InputData(files, size.bytes or 0, size.records, answer=answer)


def read(data: InputData, size: Size) -> tuple[Examples, Examples]:
    """Labels, and features, one example a row."""
    stored = np.concatenate([np.fromfile(file, "<f8") for file in data.files])
    rows = stored.reshape(size.records, -1)
    return rows[:, 0], rows[:, 1:]


def unseen(definition: Definition, size: Size, count: int = 20_000) -> tuple[Examples, Examples]:
    source = learning_data.population(definition.job, SEED, size.parameters)
    parts = learning_data.examples(source, SEED, learning_data.HOLD_OUT, 0, count)
    rows = np.concatenate(list(parts))
    return rows[:, 0], rows[:, 1:]


@pytest.mark.parametrize("name", DEFINITIONS)
def test_sizes_are_examples_of_so_many_features(name: str) -> None:
    definition = DEFINITIONS[name]
    sizes = [learning.size(definition, scale, {}) for scale in range(len(SCALES))]
    for size in sizes:
        features = size.parameters["features"]
        assert isinstance(features, int)
        assert size.bytes == size.records * 8 * (features + 1)
    assert sizes == sorted(sizes, key=lambda size: size.bytes or 0)
    wide = learning.size(definition, 0, {"features": 64})
    assert (wide.records, wide.bytes) == (sizes[0].records, sizes[0].records * 8 * 65)
    by_bytes = learning.size_of_bytes(definition, 10 * MB + 7, {"features": 64})
    assert by_bytes.records == (10 * MB + 7) // (8 * 65)


def test_too_few_examples_are_none() -> None:
    kmeans = DEFINITIONS["kmeans"]
    assert learning.size_of_bytes(kmeans, 999 * 8 * 21, {}).bytes == 0
    assert learning.size_of_bytes(kmeans, 1000 * 8 * 21, {}).records == 1000
    assert learning.size_of_bytes(kmeans, 1000 * 8 * 21, {"k": 101}).records == 0


def test_more_features_than_a_check_can_judge_are_refused() -> None:
    logistic = DEFINITIONS["logistic-regression"]
    record_bytes = 8 * 301
    assert learning.size_of_bytes(logistic, 3_000 * record_bytes, {"features": 300}).records == 3000
    for chosen, parameter in (
        ({"features": 300}, "features"),
        ({"features": 300, "regularisation": 0.3}, "regularisation"),
    ):
        with pytest.raises(VenturiError, match="constant predictor") as raised:
            learning.size_of_bytes(logistic, 2_999 * record_bytes, chosen)
        assert raised.value.code == "VEN-MEASURE-WORKLOAD"
        assert raised.value.where["parameter"] == parameter
        assert raised.value.hint
    forest = learning.size_of_bytes(DEFINITIONS["random-forest"], 8 * 2_001_000, {"features": 2000})
    assert forest.records == 1000


def a_model(
    name: str, size: Size, folder: Path, model: Model | None
) -> Callable[[int], checks.Verdict]:
    """Return a function that checks a model as an engine's result."""
    (folder / "out").mkdir(parents=True)
    if model is not None:
        (folder / "out" / learning_check.MODEL).write_text(json.dumps(model))

    def verdict(seed: int) -> checks.Verdict:
        data = InputData((), size.bytes or 0, size.records, answer={"seed": seed})
        said: dict[str, Scalar] = {"records": size.records}
        return checks.check(CheckInput(STEP, DEFINITIONS[name], size, data, folder / "out", said))

    return verdict


# The fewest examples with this number of features, and the ends of the ranges of parameters.
CORNERS: list[tuple[int, dict[str, Scalar]]] = [
    (examples, {"features": features, "regularisation": regularisation})
    for examples, features in ((1_000, 1), (1_000, 10), (1_000, 100), (4_000, 400))
    for regularisation in (0.0, 0.1, 0.2)
]


@pytest.mark.slow
@pytest.mark.parametrize(("examples", "chosen"), CORNERS)
def test_a_right_regression_is_told_from_a_constant_answer(
    examples: int, chosen: dict[str, Scalar], tmp_path: Path
) -> None:
    from sklearn.linear_model import LogisticRegression

    definition, features = DEFINITIONS["logistic-regression"], cast(int, chosen["features"])
    regularisation = cast(float, chosen["regularisation"])
    size = learning.size_of_bytes(definition, examples * 8 * (features + 1), chosen)
    for seed in (1, 2, 3):
        label, values = read(made(definition, size, tmp_path / f"in-{seed}", seed), size)
        scale = values.std(axis=0, ddof=1)
        inverse = 1 / (regularisation * examples) if regularisation else np.inf
        found = LogisticRegression(C=inverse, max_iter=1_000).fit(values / scale, label)
        learned = {
            "coefficients": (found.coef_[0] / scale).tolist(),
            "intercept": float(found.intercept_[0]),
        }
        right = a_model(definition.name, size, tmp_path / f"right-{seed}", learned)
        assert right(seed).invalid is None
    constant = {"coefficients": [0.0] * features, "intercept": 1.0}
    problem = a_model(definition.name, size, tmp_path / "constant", constant)(1).invalid
    assert problem is not None
    assert "classified correctly" in problem


@pytest.mark.parametrize("features", [4, 100, 2_000])
@pytest.mark.parametrize(("trees", "depth"), [(1, 1), (1, 5), (10, 1), (10, 30)])
def test_a_constant_forest_is_refused(
    features: int, trees: int, depth: int, tmp_path: Path
) -> None:
    definition = DEFINITIONS["random-forest"]
    chosen: dict[str, Scalar] = {"features": features, "trees": trees, "depth": depth}
    size = learning.size_of_bytes(definition, 1_000 * 8 * (features + 1), chosen)
    leaf = {name: [None] for name in ("feature", "left", "right", "threshold", "categories")}
    model = {"trees": [{**leaf, "positive": [0.9]}] * trees}
    problem = a_model(definition.name, size, tmp_path, model)(SEED).invalid
    assert problem is not None
    assert "classified correctly" in problem


@pytest.mark.parametrize("name", DEFINITIONS)
def test_a_model_that_is_not_there_makes_the_trial_invalid(name: str, tmp_path: Path) -> None:
    size = learning.size(DEFINITIONS[name], 0, {})
    problem = a_model(name, size, tmp_path, None)(SEED).invalid
    assert problem is not None
    assert "model.json: No such file" in problem


@pytest.mark.parametrize(
    "chosen", [{"storage_level": "ELSEWHERE"}, {"features": 0}, {"k": 1}, {"iterations": 1}]
)
def test_parameters_that_are_refused(chosen: Mapping[str, Scalar]) -> None:
    with pytest.raises(VenturiError, match=r"storage_level|less than"):
        learning.size(DEFINITIONS["kmeans"], 0, chosen)


@settings(max_examples=20, deadline=None)
@given(
    name=st.sampled_from(list(DEFINITIONS)),
    features=st.integers(4, 30),
    partitions=st.integers(1, 9),
    seed=st.integers(0, 2**63),
)
def test_the_input_is_of_the_stated_size_however_it_is_cut(
    tmp_path_factory: pytest.TempPathFactory, name: str, features: int, partitions: int, seed: int
) -> None:
    definition = DEFINITIONS[name]
    chosen: dict[str, Scalar] = {"features": features, "partitions": partitions}
    folder = tmp_path_factory.mktemp("examples")
    size = learning.size_of_bytes(definition, 300_000, chosen)
    data = made(definition, size, folder / "cut", seed)
    whole = made(definition, replace(size, parts=1), folder / "whole", seed)
    text = b"".join(file.read_bytes() for file in data.files)
    assert [file.name for file in data.files] == [f"part-{n:05d}" for n in range(partitions)]
    assert len(text) == size.bytes == size.records * 8 * (features + 1)
    assert text == whole.files[0].read_bytes()
    other = made(definition, size, folder / "other", seed + 1)
    assert b"".join(file.read_bytes() for file in other.files) != text


@settings(max_examples=20, deadline=None)
@given(first=st.integers(0, 500), count=st.integers(0, 500))
def test_any_stretch_of_the_examples_can_be_had(first: int, count: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learning_data, "CHUNK_BYTES", 4_096)
        source = learning_data.Clusters(SEED, 6, 3)

        def stretch(first: int, last: int, region: int = learning_data.TRAINING) -> Examples:
            parts = list(learning_data.examples(source, SEED, region, first, last))
            return np.concatenate([np.empty((0, 7)), *parts])

        whole = stretch(0, 1000)
        np.testing.assert_array_equal(stretch(first, first + count), whole[first : first + count])
        hold_out = stretch(0, 1000, learning_data.HOLD_OUT)
    assert len(np.intersect1d(whole[:, 1], hold_out[:, 1])) == 0


def test_a_classifier_that_knows_the_truth_reaches_what_is_possible() -> None:
    definition = DEFINITIONS["logistic-regression"]
    size = learning.size(definition, 0, {})
    label, features = unseen(definition, size)
    shift = learning_data.TwoClasses(SEED, 20).shift
    right = (features @ shift + math.log(0.7 / 0.3) > 0) == (label > 0)
    possible = learning_check.attainable_accuracy(20, 0.0)
    assert possible == pytest.approx(0.86125, abs=1e-5)  # 0.7 Phi(1 + t) + 0.3 Phi(1 - t)
    assert right.mean() == pytest.approx(possible, abs=0.01)
    assert 0.7 < learning_check.attainable_accuracy(20, 0.1) < possible
    assert learning_check.attainable_accuracy(20, 10.0) == pytest.approx(0.7)  # it says 1


def test_witnesses_tell_the_class_three_times_out_of_four() -> None:
    definition = DEFINITIONS["random-forest"]
    label, features = unseen(definition, learning.size(definition, 0, {}))
    source = learning_data.Witnesses(SEED, 20)
    codes = np.argsort(source.codes, axis=1)
    told = np.concatenate(
        [
            features[:, :10] * source.sign > 0,
            (features[:, 10:15] > 0) ^ source.flipped,
            np.array([codes[i][features[:, 15 + i].astype(int)] >= 10 for i in range(5)]).T,
        ],
        axis=1,
    )
    alone = (told == label[:, np.newaxis]).mean(axis=0)
    np.testing.assert_allclose(alone, learning_check.accuracy_of_vote(1), atol=0.02)
    for places in ([0, 11, 16], [0, 1, 12, 13, 19]):
        majority = told[:, places].mean(axis=1) > 0.5
        vote = learning_check.accuracy_of_vote(len(places))
        assert (majority == label).mean() == pytest.approx(vote, abs=0.01)
    assert learning_check.accuracy_of_vote(4) == learning_check.accuracy_of_vote(3)


@dataclass(frozen=True)
class Trained:
    """A program's results, and the model as Spark has it."""

    checking: CheckInput
    own: Any
    samples: dict[str, float]

    @property
    def model(self) -> Model:
        model: Model = json.loads((self.checking.output / learning_check.MODEL).read_text())
        return model

    def problem(self, model: Model, **answer: Scalar) -> str | None:
        """Return the check's verdict on `model` instead of Spark's."""
        output = self.checking.output.parent / "changed"
        output.mkdir(exist_ok=True)
        (output / learning_check.MODEL).write_text(json.dumps(model))
        said = {**self.checking.answer, **answer}
        return learning_check.check(replace(self.checking, output=output, answer=said))


@pytest.fixture(scope="module")
def trained(
    spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Trained]]:
    """Trains each workload once, in one Spark."""
    folder = tmp_path_factory.mktemp("learning")
    done: dict[str, Trained] = {}
    with pytest.MonkeyPatch.context() as patch:
        from pyspark.ml import Estimator

        from venturi.measure.workloads.learning import on_spark as programs

        own: list[Any] = []
        fit = Estimator.fit
        patch.setattr(
            Estimator, "fit", lambda *given: own.append((fit(*given), given[1])) or own[-1][0]
        )

        def train(name: str) -> Trained:
            if name not in done:
                definition, output = DEFINITIONS[name], folder / name / "out"
                size = learning.size(definition, 0, {"partitions": 3})
                data = made(definition, size, folder / name / "in")
                task = {
                    "input": str(folder / name / "in"),
                    "output": str(output),
                    "hdfs": None,
                    "parameters": dict(size.parameters),
                }
                answer = programs.PROGRAMS[name](spark_session, task)
                samples = {metric: value for metric, value, _ in answer.pop("samples")}
                checking = CheckInput(STEP, definition, size, data, output, answer)
                done[name] = Trained(checking, own[-1], samples)
            return done[name]

        yield train


Trainer = Callable[[str], Trained]


@pytest.mark.engines
@pytest.mark.parametrize("name", DEFINITIONS)
def test_what_spark_learned_is_right(name: str, trained: Trainer) -> None:
    found = trained(name)
    assert learning_check.check(found.checking) is None
    assert min(found.samples["load_s"], found.samples["training_s"]) > 0
    assert found.problem(found.model, records=0) == (
        f"0 examples were loaded, not {found.checking.size.records}"
    )
    assert found.problem(cast(Model, "a text")) == "model.json is not a model"
    with pytest.raises(FileNotFoundError):
        learning_check.check(replace(found.checking, output=Path("/nowhere")))


@pytest.mark.engines
def test_wrong_centres_are_refused(trained: Trainer, monkeypatch: pytest.MonkeyPatch) -> None:
    found = trained("kmeans")
    centres = np.array(found.model["centres"])
    cost = found.checking.answer["cost"]
    assert isinstance(cost, float)

    def problem(changed: Examples, **answer: Scalar) -> str:
        return found.problem({"centres": changed.tolist()}, **answer) or "right"

    assert problem(centres[::-1]) == "right"
    assert "shape (20, 3)" in problem(centres[1:])
    assert "shape (20, 3)" in problem(np.full((20, 3), np.nan))
    assert "the engine said" in problem(np.vstack([centres[1:], centres[1]]))
    assert "the engine said" in problem(centres[:, ::-1])
    assert "the engine said" in problem(centres, cost=cost * 0.99)
    assert "of the variance" in problem(centres[:3].repeat(7, axis=0)[:20], cost=cost * 10)
    monkeypatch.setattr(learning_check, "READ_BYTES", 100_000)
    monkeypatch.setattr(learning_check, "STRETCH_BYTES", 10_000)
    assert problem(centres) == "right"
    assert "the engine said" in problem(centres + 0.5)


@pytest.mark.engines
def test_wrong_coefficients_are_refused(trained: Trainer) -> None:
    found = trained("logistic-regression")
    model = found.model
    coefficients = np.array(model["coefficients"])
    worse = "unseen examples are classified correctly"
    for changed, problem in (
        ({"coefficients": (2 * coefficients).tolist(), "intercept": 2 * model["intercept"]}, None),
        ({"coefficients": np.roll(coefficients, 1).tolist()}, worse),
        ({"coefficients": (-coefficients).tolist()}, worse),
        ({"coefficients": (0 * coefficients).tolist()}, worse),
        ({"intercept": model["intercept"] + 1.5}, worse),
        ({"coefficients": coefficients[1:].tolist()}, "shape (20,)"),
        ({"intercept": None}, "no"),
    ):
        said = found.problem({**model, **changed})
        assert said is None if problem is None else said is not None and problem in said, changed


@pytest.mark.engines
def test_wrong_trees_are_refused(trained: Trainer) -> None:
    found = trained("random-forest")
    trees = found.model["trees"]

    def problem(change: Callable[[Model], Model]) -> str:
        return found.problem({"trees": [change(dict(tree)) for tree in trees]}) or "right"

    worse = "unseen examples are classified correctly"
    leaf = {name: [None] for name in trees[0]}
    values, children = [0] * 6 + [None], [*range(1, 7), None]  # a chain of six questions
    deep = {
        "feature": values,
        "threshold": values,
        "categories": [None] * 7,
        "left": children,
        "right": children,
        "positive": [1.0] * 7,
    }
    assert problem(lambda tree: tree) == "right"
    assert worse in problem(lambda tree: {**tree, "left": tree["right"], "right": tree["left"]})
    assert worse in problem(lambda tree: {**tree, "positive": [1 - p for p in tree["positive"]]})
    assert worse in problem(lambda tree: {**tree, "positive": tree["positive"][::-1]})
    assert worse in problem(lambda _: {**leaf, "positive": [0.9]})
    assert "deeper than 5 levels" in problem(lambda _: deep)
    assert "without their children" in problem(
        lambda tree: {**tree, "left": [0, *tree["left"][1:]]}
    )
    assert "without their children" in problem(lambda tree: {**tree, "positive": [0.5]})
    assert "malformed" in problem(lambda tree: {"feature": tree["feature"]})
    assert found.problem({"trees": trees[1:]}) == "model.json does not have 10 trees"


@pytest.mark.engines
def test_the_forest_on_file_is_the_one_spark_has(trained: Trainer) -> None:
    found = trained("random-forest")
    model, frame = found.own
    rows = model.transform(frame).select("label", "features", "probability").take(500)
    values = np.array([row["features"].toArray() for row in rows])
    forest = [learning_check.Tree(tree, values.shape[1]) for tree in found.model["trees"]]
    shares = np.mean([tree.positive_shares(values, 5) for tree in forest], axis=0)
    assert shares == pytest.approx([row["probability"][1] for row in rows], abs=1e-12)
    label, features = read(found.checking.given, found.checking.size)
    np.testing.assert_array_equal(values, features[:500])
    np.testing.assert_array_equal([row["label"] for row in rows], label[:500])


@pytest.mark.engines
def test_centres_are_as_good_as_those_of_scikit_learn(trained: Trainer) -> None:
    from sklearn.cluster import KMeans

    found = trained("kmeans")
    _, values = read(found.checking.given, found.checking.size)
    reference = KMeans(20, n_init=1, max_iter=20, random_state=1).fit(values)
    cost = learning_check.distances(values, np.array(found.model["centres"])).sum()
    assert cost == pytest.approx(reference.inertia_, rel=0.03)


@pytest.mark.engines
def test_coefficients_are_those_of_scikit_learn(trained: Trainer) -> None:
    from sklearn.linear_model import LogisticRegression

    found = trained("logistic-regression")
    label, values = read(found.checking.given, found.checking.size)
    scale = values.std(axis=0, ddof=1)  # Spark regularises the coefficients of scaled features,
    strength = 0.1 * len(values)  # and the mean of the losses, not their sum
    reference = LogisticRegression(C=1 / strength, tol=1e-8).fit(values / scale, label)
    assert found.model["coefficients"] == pytest.approx(reference.coef_[0] / scale, abs=1e-4)
    assert found.model["intercept"] == pytest.approx(reference.intercept_[0], abs=1e-4)


@pytest.mark.engines
def test_a_forest_is_as_good_as_that_of_scikit_learn(trained: Trainer) -> None:
    from sklearn.ensemble import RandomForestClassifier

    found = trained("random-forest")
    definition, size = found.checking.definition, found.checking.size
    codes = np.argsort(learning_data.Witnesses(SEED, 20).codes, axis=1)

    def ordered(values: Examples) -> Examples:
        """Replace categorical values, which scikit-learn lacks, by their rank in the order that
        separates them.
        """
        sorted_ = values.copy()
        for place in range(5):
            sorted_[:, 15 + place] = codes[place][values[:, 15 + place].astype(int)]
        return sorted_

    label, values = read(found.checking.given, size)
    reference = RandomForestClassifier(10, max_depth=5, random_state=1).fit(ordered(values), label)
    label, values = unseen(definition, size)
    forest = [learning_check.Tree(tree, 20) for tree in found.model["trees"]]
    said = np.mean([tree.positive_shares(values, 5) for tree in forest], axis=0) > 0.5
    accuracy = float((said == label).mean())
    assert accuracy == pytest.approx(reference.score(ordered(values), label), abs=0.02)


@pytest.mark.engines
@pytest.mark.usefixtures("spark")
@pytest.mark.long  # other programs are, and its training is above
def test_kmeans_from_the_command_line(tmp_path: Path, mark: str) -> None:
    status, done, err = run(
        tmp_path / "home",
        mark,
        "kmeans",
        "--engine",
        "spark",
        "--scale",
        "tiny",
        "--repeat",
        1,
        "--param",
        "storage_level=DISK_ONLY",
        "--param",
        "iterations=5",
        "--param",
        "partitions=2",
    )
    assert status == 0, err
    (trial,) = done["data"]
    assert trial["state"] == "succeeded"
    assert (trial["workload"]["input_bytes"], trial["workload"]["input_records"]) == (
        960_000,
        30_000,
    )
    assert trial["configuration"]["workload.features"] == 3
    assert trial["configuration"]["workload.storage_level"] == "DISK_ONLY"
    samples = {sample["metric"]: sample["value"] for sample in trial["samples"]}
    assert samples["training_iterations"] == 5
    assert 0 < samples["load_s"] + samples["training_s"] < trial["elapsed_s"]
