"""Parses a plan's TOML file strictly, and reports all mistakes together, each with its line."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from venturi.core.errors import CODES, FailureClass, VenturiError
from venturi.core.toml_file import (
    Bytes,
    Count,
    KeyPath,
    Mistake,
    Seconds,
    Strict,
    Text,
    parse,
    refused,
)
from venturi.core.units import parse_bytes
from venturi.core.wording import did_you_mean
from venturi.measure.clusters.cluster_file import PriceOf
from venturi.measure.engines.kind import MOST_INSTANCES
from venturi.measure.engines.registry import (
    DEFAULT,
    many_at_once,
    own_name,
    split_spec,
    starts_daemons,
)
from venturi.measure.engines.spark import tiers as of_spark
from venturi.measure.studies.plan_clusters import ClusterReference, clusters_of, doubtful_places
from venturi.measure.studies.study import LOCAL, OF_WORKLOAD, RETRYABLE, Combination, Order, Plan
from venturi.measure.workloads.definition import SCALES
from venturi.measure.workloads.registry import WORKLOADS, size_of_bytes, workload
from venturi.record.job_account import TIERS_SETTING, has_tiers
from venturi.record.trial import DISK_ROLES, Scalar

MAX_PLACES = 100_000


@dataclass(frozen=True, slots=True)
class EngineWords:
    """An engine's words in a file: its workloads, the prefixes of its settings, its deployments,
    and the prefix of a running master's URL.
    """

    workloads: frozenset[str]
    prefixes: tuple[str, ...]
    deployments: tuple[str, ...] = ()
    urls: str = ""


def _code(name: str) -> str:
    """Validate a warning's code. The agent's own codes are unknown here, but have other
    families.
    """
    families = {code.rpartition("-")[0] for code in CODES}
    if name not in CODES and (name.rpartition("-")[0] in families or not name.startswith("VEN-")):
        raise ValueError(f"there is no warning {name!r}; {did_you_mean(name, CODES)}")
    return name


def _validated(check: Callable[[str], str]) -> AfterValidator:
    """Turn a `check` of a text into a validator: its error becomes a mistake in the file."""

    def checked(text: str) -> str:
        try:
            return check(text)
        except VenturiError as error:
            raise ValueError(f"{error.message}; {error.hint}") from None

    return AfterValidator(checked)


# Factors that are a setting of Spark's.
_SPARK_SETTINGS = {"tiers": TIERS_SETTING, "reserves": of_spark.RESERVES_SETTING}
_Some = Field(default=(), min_length=1)


class _Factors(Strict):
    workload: tuple[Text, ...] = Field(min_length=1, description="names of `venturi workloads`")
    engine: tuple[Text, ...] = Field(
        default=(DEFAULT,),
        min_length=1,
        description="engines, including `spark:yarn` and other deployments",
    )
    scale: Annotated[tuple[Text, ...], Field(description="sizes by name; alternative: bytes")] = (
        _Some
    )
    bytes: Annotated[tuple[Bytes, ...], Field(description="sizes of the input")] = _Some
    threads: Annotated[
        tuple[Annotated[int, Field(ge=1, strict=True)], ...], Field(description="threads")
    ] = _Some
    memory: Annotated[tuple[Bytes, ...], Field(description="memory budgets")] = _Some
    disk: Annotated[tuple[Text, ...], Field(description="names of tables [disks.NAME]")] = _Some
    cluster: Annotated[
        tuple[Text, ...],
        Field(description="names of tables [clusters.NAME]; local: the machine Venturi runs on"),
    ] = _Some
    instances: Annotated[
        tuple[Annotated[int, Field(ge=1, le=MOST_INSTANCES, strict=True)], ...],
        Field(description="concurrent copies of the workload (Spark)"),
    ] = _Some
    workers: Annotated[
        tuple[Annotated[int, Field(ge=1, strict=True)], ...],
        Field(description="worker daemons of clusters"),
    ] = _Some
    tiers: Annotated[
        tuple[Annotated[Text, _validated(of_spark.checked)], ...],
        Field(description="tiers of Spark's local folders (`ssd 50GB`); none: like stock Spark"),
    ] = _Some
    reserves: Annotated[
        tuple[Annotated[Text, _validated(of_spark.checked_reserves)], ...],
        Field(
            description="space on tiers that a kind of files leaves to others (`spill 5GB`); none"
        ),
    ] = _Some
    settings: dict[str, Annotated[tuple[str | int | float | bool, ...], Field(min_length=1)]] = (
        Field(default={}, description="lists of values for engine settings")
    )
    parameters: dict[str, Annotated[tuple[str | int | float, ...], Field(min_length=1)]] = Field(
        default={}, description="lists of values for workload parameters"
    )

    @property
    def chosen_settings(self) -> Mapping[str, tuple[str | int | float | bool, ...]]:
        """Return the engines' settings by their own names, including tiers and reserves."""
        named = {setting: getattr(self, name) for name, setting in _SPARK_SETTINGS.items()}
        return {**self.settings, **{setting: some for setting, some in named.items() if some}}


class _Cluster(Strict):
    lab: Annotated[
        Text | None, Field(description="a lab file; the lab is up only during its trials")
    ] = None
    file: Annotated[Text | None, Field(description="a cluster file, for existing hosts")] = None


class _Budget(Strict):
    time: Annotated[Seconds | None, Field(description="time budget of one session")] = None
    space: Annotated[Bytes | None, Field(description="disk space at the peak")] = None


class _Failure(Strict):
    retry: dict[str, Count] = Field(
        default={}, description="number of retries per class of failure"
    )
    warnings: Annotated[
        tuple[Annotated[str, AfterValidator(_code)], ...],
        Field(description="warnings that turn a success into a failure"),
    ] = ()


class PlanFile(Strict):
    """All keys of a plan file."""

    name: Annotated[str, Field(description="name of the plan")] = ""
    repeats: Annotated[
        Annotated[int, Field(ge=1, le=10_000, strict=True)],
        Field(description="trials of each combination, warm-ups included"),
    ] = 6
    warm_ups: Annotated[
        Count, Field(description="number of first repetitions that don't count")
    ] = 1
    order: Annotated[
        Order, Field(description="order of the trials: random, blocked, split-plot or written")
    ] = "random"
    seed: Annotated[Count, Field(description="seed of the order")] = 0
    timeout: Annotated[Seconds | None, Field(description="timeout of one trial")] = None
    trace: Annotated[
        bool,
        Field(strict=True, description="record every request to the disks of this machine's data"),
    ] = False
    factors: Annotated[_Factors, Field(description="factors: every combination is measured")]
    clusters: dict[str, _Cluster] = Field(
        default={}, description="clusters by name, each with either a lab or a file"
    )
    disks: dict[str, dict[str, tuple[Text, ...]]] = Field(
        default={}, description="folders by role: input, scratch, output, replica"
    )
    exclude: Annotated[
        tuple[dict[str, Any], ...],
        Field(description="combinations to exclude: those that match all keys of a table"),
    ] = ()
    budget: Annotated[_Budget, Field(description="limits of the whole plan")] = _Budget()
    failure: Annotated[_Failure, Field(description="behavior after a failure")] = _Failure()


Read = Callable[[Path], str]
"""Returns the text of a file; raises VEN-PLAN-FILE if it can't be read."""


def plan_of(
    text: str,
    file: Path,
    engines: Mapping[str, EngineWords],
    default_dir: Path,
    read: Read,
    *,
    price_of: PriceOf | None = None,
) -> Plan:
    """Parse the plan in the `text` of `file`, for the available `engines`; VEN-PLAN-FILE with every
    mistake in it. Without disks its data are in `default_dir`; `read` returns files that it names,
    and `price_of` the prices of hosts with a type (as in `cluster_of`).
    """
    plan, mistakes = parse_plan(
        text, engines, file.absolute().parent, default_dir, read, price_of=price_of
    )
    if plan is None:
        hint = "`venturi plan check FILE` checks it again; see docs/guide/measure/plans.md"
        raise refused("VEN-PLAN-FILE", "the plan", file, mistakes, hint)
    return plan


def parse_plan(
    text: str,
    engines: Mapping[str, EngineWords],
    folder: Path,
    default_dir: Path,
    read: Read,
    *,
    price_of: PriceOf | None = None,
) -> tuple[Plan | None, tuple[Mistake, ...]]:
    """The plan in `text`, or every mistake in it.

    Files and folders in it are seen from `folder`, the files `read`; without disks its data are in
    `default_dir`.
    """
    given, lines, mistakes = parse(PlanFile, text, "a plan", {"clusters": "a cluster of a plan"})
    if given is None:
        return None, mistakes
    clusters, doubts = clusters_of(_named(given), lines, folder, read, price_of)
    mistakes = lines.sorted(itertools.chain(_doubts(given, engines), doubts))
    if mistakes:
        return None, mistakes
    found, idle = _kept(given, engines)
    misplaced = doubtful_places(found, given.disks, clusters)
    mistakes = lines.sorted(itertools.chain(idle, _unfit(given, found, engines), misplaced))
    if mistakes:
        return None, mistakes
    disks = {
        name: {role: tuple(folder / each for each in dirs) for role, dirs in roles.items()}
        for name, roles in given.disks.items()
    }
    return Plan(
        name=given.name,
        combinations=found,
        disks={name: disks[name] for name in given.factors.disk},
        default_dir=default_dir,
        repeats=given.repeats,
        warm_ups=given.warm_ups,
        order=given.order,
        seed=given.seed,
        timeout_s=given.timeout,
        traced=given.trace,
        time_budget_s=given.budget.time,
        space_budget_bytes=given.budget.space,
        retries={FailureClass(name): times for name, times in given.failure.retry.items()},
        failing_warnings=frozenset(given.failure.warnings),
        clusters={name: clusters[name] for name in given.factors.cluster if name in clusters},
    ), ()


def _named(given: PlanFile) -> dict[str, ClusterReference]:
    return {name: ClusterReference(each.lab, each.file) for name, each in given.clusters.items()}


def _doubts(given: PlanFile, engines: Mapping[str, EngineWords]) -> Iterator[tuple[KeyPath, str]]:
    """Yield the mistakes in single keys, independent of their combinations."""
    factors = given.factors
    for name, values in _factors(given).items():
        twice = {str(value) for value in values if values.count(value) > 1}
        if twice:
            yield _at(name, given), f"{name}: {', '.join(sorted(twice))} is given twice"
    yield from _strangers("workload", factors.workload, [each.name for each in WORKLOADS])
    yield from _strangers("engine", factors.engine, _specs(engines, factors.engine))
    yield from _strangers("scale", factors.scale, SCALES)
    yield from _strangers("disk", factors.disk, given.disks)
    yield from _strangers("cluster", factors.cluster, (LOCAL, *given.clusters))
    if factors.scale and factors.bytes:
        yield ("factors", "bytes"), "give either scale or bytes"
    for name, setting in _SPARK_SETTINGS.items():
        if getattr(factors, name) and setting in factors.settings:
            yield ("factors", name), f"give either {name} or {setting}"
    if factors.reserves and TIERS_SETTING not in factors.chosen_settings:
        yield ("factors", "reserves"), "reserves need tiers"
    if given.trace and any(each != LOCAL for each in factors.cluster):
        yield ("trace",), "trace: only records disks of this machine, so omit clusters"
    if given.warm_ups >= given.repeats:
        yield (
            ("warm_ups",),
            f"warm_ups: with {given.warm_ups}, none of {given.repeats} repeats counts",
        )
    names = {split_spec(spec)[0] for spec in factors.engine} & engines.keys()
    prefixes = [prefix for name in names for prefix in engines[name].prefixes]
    for setting in factors.chosen_settings:
        if not setting.startswith(tuple(prefixes)):
            yield _at(setting, given), f"no engine of this plan has a setting {setting}"
    yield from _doubtful_parameters(factors)
    for name in given.failure.retry:
        if name not in RETRYABLE:
            known = ", ".join(RETRYABLE)
            yield ("failure", "retry", name), f"{name!r} cannot be retried (only: {known})"
    yield from _doubtful_disks(given)
    yield from _doubtful_exclusions(given)


def _doubtful_parameters(factors: _Factors) -> Iterator[tuple[KeyPath, str]]:
    known = {each.name: each for each in WORKLOADS}
    for name, values in factors.parameters.items():
        takers = [
            parameter
            for each in factors.workload
            if each in known
            for parameter in known[each].parameters
            if parameter.name == name
        ]
        if not takers:
            yield (
                ("factors", "parameters", name),
                f"no workload of this plan has a parameter {name}",
            )
        for value in values:
            for parameter in takers:
                try:
                    parameter.value(value)
                except ValueError as error:
                    yield ("factors", "parameters", name), f"{name}: {error}"


def _specs(engines: Mapping[str, EngineWords], wanted: Sequence[str]) -> Iterator[str]:
    """Yield the valid names of engines; of running masters only the `wanted` ones."""
    for name, words in engines.items():
        yield name
        yield from (f"{name}:{deployment}" for deployment in words.deployments)
        if words.urls:
            yield from (spec for spec in wanted if spec.startswith(f"{name}:{words.urls}"))


def _doubtful_disks(given: PlanFile) -> Iterator[tuple[KeyPath, str]]:
    for disk, roles in given.disks.items():
        for role, dirs in roles.items():
            if role not in DISK_ROLES:
                yield (
                    ("disks", disk, role),
                    f"{role} is not a role (one of: {', '.join(DISK_ROLES)})",
                )
            elif not dirs:
                yield ("disks", disk, role), f"{role} has no folder"
        if lacking := {"input", "scratch", "output"} - set(roles):
            yield ("disks", disk), f"disk {disk} lacks {', '.join(sorted(lacking))}"


def _doubtful_exclusions(given: PlanFile) -> Iterator[tuple[KeyPath, str]]:
    values_of = _factors(given)
    for index, rule in enumerate(given.exclude):
        if not rule:
            yield ("exclude", index), "an exclusion needs a condition"
        for name, wanted in rule.items():
            at = ("exclude", index, name)
            if _own_name(name) not in values_of:
                yield at, f"{name} is not a factor of this plan"
                continue
            for value in _wanted(name, wanted):
                if value not in values_of[_own_name(name)]:
                    yield at, f"{name} never is {value!r} in this plan"


def _unfit(
    given: PlanFile, found: Sequence[Combination], engines: Mapping[str, EngineWords]
) -> Iterator[tuple[KeyPath, str]]:
    """Yield the mistakes in the combinations."""
    if not found:
        yield ("exclude",), "the exclusions leave no combination"
    if len(found) * given.repeats > MAX_PLACES:
        yield ("factors",), f"{len(found) * given.repeats} trials are more than {MAX_PLACES}"
    pairs = dict.fromkeys((each.engine, each.workload) for each in found)
    for engine, name in pairs:
        if name not in engines[split_spec(engine)[0]].workloads:
            yield (
                ("factors", "engine"),
                f"{engine} cannot run {name}: exclude it "
                f'([[exclude]] engine = "{engine}", workload = "{name}")',
            )
    sizes = ((c.workload, c.bytes, tuple(c.parameters.items())) for c in found)
    for name, size, parameters in dict.fromkeys(sizes):
        if size is None:
            continue
        try:
            if size_of_bytes(workload(name), size, dict(parameters)).records == 0:
                yield ("factors", "bytes"), f"{size} bytes are too few for a record of {name}"
        except VenturiError as error:
            yield ("factors", "bytes"), error.message


def _factors(given: PlanFile) -> dict[str, tuple[Any, ...]]:
    """The factors that vary or are fixed by the file, settings among them, as in `values()`."""
    factors = given.factors
    plain = {name: getattr(factors, name) for name in type(factors).model_fields}
    parameters = plain.pop("parameters")
    for of_engines in ("settings", *_SPARK_SETTINGS):
        plain.pop(of_engines)
    if not factors.scale and not factors.bytes:
        plain["scale"] = ("tiny",)
    chosen = {name: values for name, values in plain.items() if values}
    chosen |= {key: tuple(map(_setting, each)) for key, each in factors.chosen_settings.items()}
    return chosen | {f"{OF_WORKLOAD}{name}": each for name, each in parameters.items()}


def _kept(
    given: PlanFile, engines: Mapping[str, EngineWords]
) -> tuple[tuple[Combination, ...], list[tuple[KeyPath, str]]]:
    """The combinations that no rule excludes, and the rules that exclude nothing."""
    kept: list[Combination] = []
    idle = set(range(len(given.exclude)))
    for combination in _combinations(given, engines):
        values = combination.values()
        covering = {at for at, rule in enumerate(given.exclude) if _covers(rule, values)}
        idle -= covering
        if not covering:
            kept.append(combination)
    return tuple(kept), [
        (("exclude", at), "this excludes nothing: no combination matches it") for at in sorted(idle)
    ]


def _combinations(given: PlanFile, engines: Mapping[str, EngineWords]) -> Iterator[Combination]:
    """Every combination, once; settings go to the engines that know them."""
    factors = _factors(given)
    seen: set[tuple[tuple[str, Scalar], ...]] = set()
    for chosen in itertools.product(*factors.values()):
        values = dict(zip(factors, chosen, strict=True))
        name, _ = split_spec(values["engine"])
        prefixes = engines[name].prefixes
        known = {each.name: each for each in workload(values["workload"]).parameters}
        parameters = {name: values.pop(f"{OF_WORKLOAD}{name}") for name in given.factors.parameters}
        values["parameters"] = {
            name: known[name].value(value) for name, value in parameters.items() if name in known
        }
        if not many_at_once(values["engine"]):
            values.pop("instances", None)
        if not starts_daemons(values["engine"]):
            values.pop("workers", None)
        settings = {
            key: values.pop(key) for key in given.factors.chosen_settings if key in values
        }  # settings of other engines are dropped, with the duplicates that they cause
        settings = {k: v for k, v in settings.items() if k.startswith(prefixes)}
        if not has_tiers(settings):
            settings.pop(of_spark.RESERVES_SETTING, None)
        values["settings"] = settings
        combination = Combination(**values)
        key = tuple(sorted(combination.values().items()))
        if key not in seen:
            seen.add(key)
            yield combination


def _covers(rule: Mapping[str, Any], values: Mapping[str, Scalar]) -> bool:
    return all(
        values.get(_own_name(name)) in _wanted(name, wanted) for name, wanted in rule.items()
    )


def _own_name(factor: str) -> str:
    """As combinations have it."""
    return _SPARK_SETTINGS.get(factor, factor)


def _wanted(name: str, wanted: Any) -> list[Any]:
    values = wanted if isinstance(wanted, list) else [wanted]
    if name in {"memory", "bytes"}:
        return [_parsed_size(value) for value in values]
    if name in _Factors.model_fields or name.startswith(OF_WORKLOAD):
        return values
    return [_setting(value) for value in values]


def _parsed_size(value: Any) -> Any:
    try:
        return parse_bytes(value) if isinstance(value, str) else value
    except VenturiError:
        return value


def _setting(value: Any) -> str:
    """A setting as the engines' own files write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _strangers(
    name: str, values: Iterable[str], known: Iterable[str]
) -> Iterator[tuple[KeyPath, str]]:
    words = list(known)
    for value in values:
        if value not in words:
            hint = did_you_mean(own_name(value), words, "one of")
            yield ("factors", name), f"there is no {name} {value!r}; {hint}"


def _at(factor: str, given: PlanFile) -> KeyPath:
    for name, setting in _SPARK_SETTINGS.items():
        if factor == setting and getattr(given.factors, name):
            return ("factors", name)
    if factor in given.factors.settings:
        return ("factors", "settings", factor)
    if (name := factor.removeprefix(OF_WORKLOAD)) in given.factors.parameters:
        return ("factors", "parameters", name)
    return ("factors", factor)
