"""Distributions of the simulated rates, their text form, and those of a catalog.

Values are above zero: bytes per second, or factors. A distribution draws an array of the shape
(trials, count); parameters that are themselves uncertain are drawn once per trial.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from venturi.core.domain import invalid
from venturi.core.errors import VenturiError
from venturi.core.quantity import Quantity
from venturi.core.statistics.quantiles import normal_quantiles
from venturi.core.units import parse_rate, unit_error
from venturi.machines.catalog import InstanceType
from venturi.machines.cost.choices import NetworkChoice
from venturi.machines.cost.node import node_of, rate_of

Array = npt.NDArray[np.float64]
MOST_DEVICES = 1000  # of one node: each is drawn for itself
LEAST_NODES = 20  # a minimum of fewer nodes says next to nothing of their spread
_LEAST_EXTREME = 0.1  # in standard deviations: less among LEAST_NODES has a chance below 1e-5


def _need_above_zero(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise invalid(name, value, "above 0 and finite")


def _need_spread(name: str, value: float) -> None:
    if not (math.isfinite(value) and value >= 0):
        raise invalid(name, value, "at least 0 and finite")


class Distribution(Protocol):
    """A distribution of rates."""

    @property
    def typical(self) -> float:
        """The figure that one would quote for it."""
        ...

    def draw(self, rng: np.random.Generator, trials: int, count: int) -> Array:
        """Values above zero, in the shape (trials, count)."""
        ...


@dataclass(frozen=True, slots=True)
class Constant:
    """Always `value`."""

    value: float

    def __post_init__(self) -> None:
        _need_above_zero("value", self.value)

    @property
    def typical(self) -> float:
        return self.value

    def draw(self, rng: np.random.Generator, trials: int, count: int) -> Array:
        return np.full((trials, count), self.value)

    def __str__(self) -> str:
        return _figure(self.value)


@dataclass(frozen=True, slots=True)
class Uniform:
    """Equally likely anywhere from `low` to `high`."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _need_above_zero("low", self.low)
        _need_above_zero("high", self.high)
        if self.low > self.high:
            raise invalid("low", self.low, f"at most the upper end, {self.high}")

    @property
    def typical(self) -> float:
        return (self.low + self.high) / 2

    def draw(self, rng: np.random.Generator, trials: int, count: int) -> Array:
        return rng.uniform(self.low, self.high, (trials, count))

    def __str__(self) -> str:
        return f"uniform({_figure(self.low)},{_figure(self.high)})"


@dataclass(frozen=True, slots=True)
class Normal:
    """Normal with `mean` and standard deviation `sd`, cut at zero: drawn again if not above it."""

    mean: float
    sd: float

    def __post_init__(self) -> None:
        _need_above_zero("mean", self.mean)
        _need_spread("sd", self.sd)

    @property
    def typical(self) -> float:
        return self.mean

    def draw(self, rng: np.random.Generator, trials: int, count: int) -> Array:
        return _normal_above_zero(rng, self.mean, np.full((trials, 1), self.sd), count)

    def __str__(self) -> str:
        return f"normal({_figure(self.mean)},{100 * self.sd / self.mean:.3g}%)"


@dataclass(frozen=True, slots=True)
class LogNormal:
    """Lognormal with `mean` and coefficient of variation `cv` (standard deviation over mean)."""

    mean: float
    cv: float

    def __post_init__(self) -> None:
        _need_above_zero("mean", self.mean)
        _need_spread("cv", self.cv)

    @property
    def typical(self) -> float:
        return self.mean

    def draw(self, rng: np.random.Generator, trials: int, count: int) -> Array:
        variance = math.log1p(self.cv**2)
        return self.mean * rng.lognormal(-variance / 2, math.sqrt(variance), (trials, count))

    def __str__(self) -> str:
        return f"lognormal({_figure(self.mean)},{100 * self.cv:.3g}%)"


@dataclass(frozen=True, slots=True)
class Empirical:
    """Each of the measured `samples` equally likely, drawn with replacement."""

    samples: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.samples:
            raise invalid("samples", "empty", "at least one")
        for sample in self.samples:
            _need_above_zero("samples", sample)

    @property
    def typical(self) -> float:
        return float(np.median(self.samples))

    def draw(self, rng: np.random.Generator, trials: int, count: int) -> Array:
        return np.asarray(self.samples)[rng.integers(len(self.samples), size=(trials, count))]

    def __str__(self) -> str:
        low, high = _figure(min(self.samples)), _figure(max(self.samples))
        return f"{len(self.samples)} samples from {low} to {high}"


@dataclass(frozen=True, slots=True)
class Mixture:
    """One of several distributions, each with its chance: (chance, distribution)."""

    parts: tuple[tuple[float, Distribution], ...]

    def __post_init__(self) -> None:
        chances = [chance for chance, _ in self.parts]
        if not chances or min(chances) < 0 or not math.isclose(sum(chances), 1.0):
            raise invalid("chances", chances, "at least 0 each and 1 together")

    @property
    def typical(self) -> float:
        return max(self.parts, key=lambda part: part[0])[1].typical

    def draw(self, rng: np.random.Generator, trials: int, count: int) -> Array:
        below = np.cumsum([chance for chance, _ in self.parts])[:-1]
        chosen = np.searchsorted(below, rng.random((trials, count)), side="right")
        values = self.parts[0][1].draw(rng, trials, count)
        for index, (_, part) in enumerate(self.parts[1:], start=1):
            values = np.where(chosen == index, part.draw(rng, trials, count), values)
        return values

    def __str__(self) -> str:
        match self.parts:
            case ((_, Constant() as usual), (slow_share, Constant() as slow)):
                return f"bimodal({usual},{slow},{100 * slow_share:.3g}%)"
        return " or ".join(f"{100 * chance:.3g}% {part}" for chance, part in self.parts)


def bimodal(usual: float, slow: float, slow_share: float) -> Mixture:
    """`slow` with the chance `slow_share`, else `usual`."""
    return Mixture(((1 - slow_share, Constant(usual)), (slow_share, Constant(slow))))


@dataclass(frozen=True, slots=True)
class SlowestOf:
    """Normal, known by its mean and by the slowest of `nodes` nodes; its spread is uncertain.

    One observed minimum is itself a draw: (mean - slowest) / sd is distributed as the maximum Z of
    n standard normals for any mean and sd. So each trial takes sd = (mean - slowest) / Z with its
    own Z, which has the distribution function Phi(z)^n (David and Nagaraja 2003, section 2.1; the
    pivot argument is Fisher's). The mean is taken as known. Truncated at zero like `Normal`.
    """

    mean: float
    slowest: float
    nodes: int

    def __post_init__(self) -> None:
        _need_above_zero("mean", self.mean)
        _need_above_zero("slowest", self.slowest)
        if self.slowest >= self.mean:
            raise invalid("slowest", self.slowest, f"below the mean, {self.mean}")
        if self.nodes < LEAST_NODES:
            raise invalid("nodes", self.nodes, f"at least {LEAST_NODES}")

    @property
    def typical(self) -> float:
        return self.mean

    def draw(self, rng: np.random.Generator, trials: int, count: int) -> Array:
        extreme = normal_quantiles(rng.random((trials, 1)) ** (1 / self.nodes))
        sd = (self.mean - self.slowest) / np.maximum(extreme, _LEAST_EXTREME)
        return _normal_above_zero(rng, self.mean, sd, count)

    def __str__(self) -> str:
        return f"slowest({_figure(self.mean)},{_figure(self.slowest)},{self.nodes})"


@dataclass(frozen=True, slots=True)
class RateDistribution:
    """The simulated rate of one resource of every node.

    A node's rate is `cluster` (drawn once per trial: the day, the fabric) times `node` (drawn for
    each node): one of them is in bytes per second, the other a factor. With `devices`, each node
    has as many, `node` is one device's rate, and data lie in equal parts on all: the node is as
    fast as `devices` times its slowest. `nominal` is the rate in bytes per second that the `Node`
    states.
    """

    nominal: float
    node: Distribution = Constant(1.0)
    cluster: Distribution = Constant(1.0)
    devices: int = 1

    def __post_init__(self) -> None:
        _need_above_zero("nominal", self.nominal)
        if not 1 <= self.devices <= MOST_DEVICES:
            raise invalid("devices", self.devices, f"from 1 to {MOST_DEVICES}")

    def speeds(self, rng: np.random.Generator, trials: int, nodes: int) -> Array:
        """Rates over `nominal`, shape (trials, nodes), or (trials, 1) if all nodes are equal."""
        shared = self.cluster.draw(rng, trials, 1)
        if isinstance(self.node, Constant):
            return self.devices * self.node.value * shared / self.nominal
        drawn = self.node.draw(rng, trials, nodes)
        for _ in range(self.devices - 1):
            np.minimum(drawn, self.node.draw(rng, trials, nodes), out=drawn)
        return self.devices * drawn * shared / self.nominal

    def __str__(self) -> str:
        plain = Constant(1.0)
        parts = [] if self.node == plain else [str(self.node)]
        if self.devices > 1:
            parts = [f"{self.devices} devices, each {parts[0]}"]
        if self.cluster != plain:
            parts.append(f"the whole cluster {self.cluster}")
        return " times ".join(parts)


def within_range(quantity: Quantity) -> RateDistribution:
    """Uniform in the quantity's range, the same for the whole cluster."""
    if quantity.low == quantity.high:
        return RateDistribution(quantity.value, node=Constant(quantity.value))
    return RateDistribution(quantity.value, cluster=Uniform(quantity.low, quantity.high))


def distributions_of(
    instance_type: InstanceType, network: NetworkChoice = NetworkChoice.AT_SCALE
) -> dict[str, RateDistribution]:
    """Distributions of a type's rates from a catalog, by resource.

    Storage: `SlowestOf` if the mean and the slowest of many nodes are known. Everything else is
    drawn once per trial for the whole cluster, uniformly within the range that `node_of` gives the
    rate: a cluster's network lies between the rates of two nodes and of the slowest of many.
    Unknown and unlimited rates are left out.
    """
    machine = node_of(instance_type, network)
    stated = {
        "storage": machine.storage or machine.local_write or machine.local_read,
        "network": machine.network,
        "volumes": machine.volume_read or machine.volume_write,
    }
    rates = {
        resource: within_range(quantity)
        for resource, quantity in stated.items()
        if quantity is not None and math.isfinite(quantity.value)
    }
    slowest = rate_of(instance_type.fact("storage_rate_slowest"), "storage")
    nodes = instance_type.number("storage_nodes")
    mean = machine.storage.value if machine.storage else 0.0
    # Where all are equally fast, or a path caps them all, there is no spread to draw from.
    if slowest and slowest.value < mean and nodes and nodes >= LEAST_NODES:
        rates["storage"] = RateDistribution(mean, node=SlowestOf(mean, slowest.value, round(nodes)))
    return rates


def parse_share(text: str) -> float:
    """The fraction in `text`, such as `5%` or `0.05`."""
    number = text.strip().removesuffix("%")
    try:
        value = float(number)
    except ValueError:
        raise _bad(text, "a share", "5% or 0.05") from None
    return value / 100 if text.strip().endswith("%") else value


def _spread(text: str, mean: float) -> float:
    return parse_share(text) * mean if "/" not in text else parse_rate(text)


# name -> (what it takes, how many arguments or None for any, how it is made of them)
_FORMS: Mapping[str, tuple[str, int | None, Callable[[Sequence[str]], Distribution]]] = {
    "normal": ("MEAN,SD", 2, lambda a: Normal(parse_rate(a[0]), _spread(a[1], parse_rate(a[0])))),
    "lognormal": ("MEAN,CV", 2, lambda a: LogNormal(parse_rate(a[0]), parse_share(a[1]))),
    "uniform": ("LOW,HIGH", 2, lambda a: Uniform(parse_rate(a[0]), parse_rate(a[1]))),
    "slowest": (
        "MEAN,SLOWEST,NODES",
        3,
        lambda a: SlowestOf(parse_rate(a[0]), parse_rate(a[1]), _count(a[2])),
    ),
    "bimodal": (
        "USUAL,SLOW,SHARE",
        3,
        lambda a: bimodal(parse_rate(a[0]), parse_rate(a[1]), parse_share(a[2])),
    ),
    "samples": ("RATE,...", None, lambda a: Empirical(tuple(parse_rate(text) for text in a))),
}
FORMS = ("900MB/s", *(f"{name}({takes})" for name, (takes, _, _) in _FORMS.items()))


def parse_distribution(text: str) -> Distribution:
    """The distribution of rates that `text` names, such as `normal(1738MB/s,5%)`; see `FORMS`."""
    match = re.fullmatch(r"\s*([a-z]+)\s*\(([^()]*)\)\s*", text)
    if match is None:
        return Constant(parse_rate(text))
    name, arguments = match.group(1), [part.strip() for part in match.group(2).split(",")]
    if name not in _FORMS:
        raise _bad(text, "a distribution", " or ".join(FORMS))
    takes, wanted, make = _FORMS[name]
    if wanted is not None and len(arguments) != wanted:
        raise _bad(text, "a distribution", f"{name}({takes})")
    return make(arguments)


def parse_rates(text: str) -> RateDistribution:
    """A node's rate in `text`: a distribution, `K:DIST` for K devices a node, or `shared:DIST`.

    `shared` draws once a trial for the whole cluster.
    """
    prefix, colon, rest = text.partition(":")
    drawn = parse_distribution(rest if colon else text)
    if not colon:
        return RateDistribution(drawn.typical, node=drawn)
    if prefix.strip() == "shared":
        return RateDistribution(drawn.typical, cluster=drawn)
    devices = _count(prefix)
    return RateDistribution(devices * drawn.typical, node=drawn, devices=devices)


def _count(text: str) -> int:
    if not (text.strip().isdecimal() and len(text) < 20):
        raise _bad(text, "a number of nodes or devices", "178")
    return int(text)


def _bad(text: str, what: str, examples: str) -> VenturiError:
    return unit_error(text, f"is not {what}", f"write it like {examples}")


def _figure(value: float) -> str:
    """A rate with its unit; factors, which are near 1, without."""
    return f"{value / 1e6:.6g}MB/s" if value >= 1000 else f"{value:g}"


def _normal_above_zero(rng: np.random.Generator, mean: float, sd: Array, count: int) -> Array:
    """Normals above zero, which half are at least: it ends. `sd` has the shape (trials, 1)."""
    values = mean + sd * rng.standard_normal((sd.shape[0], count))
    while (low := values <= 0).any():
        again = np.broadcast_to(sd, values.shape)[low]
        values[low] = mean + again * rng.standard_normal(again.size)
    return values
