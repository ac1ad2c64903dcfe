"""The description of a two-pass job: any dataflow that reads, shuffles, sorts and writes.

Sizes are those of the whole cluster. A job file is TOML; `parse_job` reads it and names every
fault by its field.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from venturi.core.domain import invalid, need_rate, need_size
from venturi.core.errors import VenturiError
from venturi.core.units import decimal_size, parse_bytes, parse_duration_s
from venturi.core.wording import near
from venturi.machines.cost.choices import Durability, Exchange

# Beyond these a figure is a slip, and the arithmetic of node counts and seconds would overflow.
MOST: Mapping[str, float] = {
    "input_bytes": 1e21,
    "intermediate_bytes": 1e21,
    "output_bytes": 1e21,  # a zettabyte
    "map_core_s_per_byte": 1.0,
    "reduce_core_s_per_byte": 1.0,
    "startup_s": 1e9,  # 30 years
}
MOST_SKEW = 1e6


@dataclass(frozen=True, slots=True)
class Job:
    """A two-pass job.

    `copies` remote copies of each output file are written when `durability` is REPLICATED. CPU
    costs are core-seconds per input byte of map and shuffle, and per intermediate byte of sort and
    reduce; `core_s_range` are the factors of their lowest and highest. `startup_s` passes once,
    before the first byte, and its range is `startup_range_s` where that is known. Each node fails
    `failures_per_node_hour` times in an hour, and a failure repeats the job. `partition_skew` is
    the largest node's share of the intermediate data over the mean share. `retained_share` of every
    node's memory keeps intermediate data, which is then neither written nor read again.
    Disks are filled to `filled_share` at most. `exchange`: how much of the shuffle crosses the
    network. `notes`: assumptions about the job.
    """

    name: str
    input_bytes: float
    intermediate_bytes: float
    output_bytes: float
    durability: Durability = Durability.TWO_IO
    copies: int = 1
    map_core_s_per_byte: float = 0.0
    reduce_core_s_per_byte: float = 0.0
    core_s_range: tuple[float, float] = (1.0, 1.0)
    cpu_is_assumed: bool = False
    startup_s: float = 0.0
    startup_range_s: tuple[float, float] | None = None
    failures_per_node_hour: float = 0.0
    partition_skew: float = 1.0
    retained_share: float = 0.0
    filled_share: float = 1.0
    exchange: Exchange = Exchange.REMOTE
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        need_rate("input_bytes", self.input_bytes)
        for name, most in MOST.items():
            value = getattr(self, name)
            need_size(name, value)
            if value > most:
                raise invalid(name, value, f"at most {most:g}")
        if self.copies < 1:
            raise invalid("copies", self.copies, "at least 1")
        if not 1 <= self.partition_skew <= MOST_SKEW:
            raise invalid("partition_skew", self.partition_skew, f"from 1 to {MOST_SKEW:g}")
        if not 0 <= self.retained_share < 1:
            raise invalid("retained_share", self.retained_share, "from 0 to below 1")

    def computing(self, core_s: float) -> Job:
        """This job with `core_s` core-seconds in all, half in each pass if there are two."""
        half = core_s / 2 if self.intermediate_bytes else core_s
        return replace(
            self,
            map_core_s_per_byte=half / self.input_bytes,
            reduce_core_s_per_byte=half / self.intermediate_bytes
            if self.intermediate_bytes
            else 0.0,
        )

    @property
    def remote_copies(self) -> int:
        """Copies of the output that cross the network."""
        return self.copies if self.durability is Durability.REPLICATED else 0

    @property
    def local_bytes(self) -> float:
        """The peak of the bytes on the cluster's local disks.

        Input, intermediate and output data (SoCC 2015, section 4.2: 300 TB for a 100 TB sort), with
        each copy of the output; with volumes, only the intermediate data. Amounts that scale with
        partition sizes count `partition_skew` times, because the fullest node must hold its share.
        """
        if self.durability in (Durability.VOLUMES, Durability.OBJECTS):
            return self.partition_skew * self.intermediate_bytes
        copied_bytes = self.output_bytes * self.remote_copies  # other nodes take equal parts
        skewed_bytes = self.partition_skew * (self.intermediate_bytes + self.output_bytes)
        return self.input_bytes + skewed_bytes + copied_bytes

    @property
    def volume_bytes(self) -> float:
        """Bytes that network volumes must hold where input and output lie on them."""
        return self.input_bytes + self.output_bytes


def sort_job(
    data_bytes: float,
    durability: Durability = Durability.TWO_IO,
    exchange: Exchange = Exchange.REMOTE,
) -> Job:
    """A sort: as many bytes come out of each pass as go in."""
    name = f"sort of {decimal_size(data_bytes)}"
    return Job(name, data_bytes, data_bytes, data_bytes, durability, exchange=exchange)


def nodes_for_capacity(total_bytes: int, node_capacity_bytes: int, copies: int = 3) -> int:
    """Fewest nodes that hold the data: ceil(copies * D_total / capacity), in exact integers.

    `copies` is 3 when input, intermediate and output are local (section 4.2), 1 when only the
    intermediate data is.
    """
    need_size("total_bytes", total_bytes)
    if node_capacity_bytes <= 0:
        raise invalid("node_capacity_bytes", node_capacity_bytes, "above 0")
    if copies < 1:
        raise invalid("copies", copies, "at least 1")
    return max(1, -(-copies * total_bytes // node_capacity_bytes))


def _parsed(parse: Callable[[str], float]) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        if isinstance(value, bool):
            raise ValueError("true and false are not quantities")
        if not isinstance(value, str):
            return value
        try:
            return float(parse(value))
        except VenturiError as error:
            raise ValueError(f"{error.message}; {error.hint}") from error

    return convert


_Bytes = Annotated[float, BeforeValidator(_parsed(parse_bytes)), Field(ge=0, allow_inf_nan=False)]
_Seconds = Annotated[
    float, BeforeValidator(_parsed(parse_duration_s)), Field(ge=0, allow_inf_nan=False)
]


class JobFile(BaseModel):
    """The content of a job file. Sizes are text with a unit (`100TB`) or bytes."""

    model_config = ConfigDict(extra="forbid", strict=False)

    name: Annotated[str, Field(description="name of the job in answers")] = "job"
    input: Annotated[_Bytes, Field(gt=0, description="data read from the disks")]
    intermediate: Annotated[
        _Bytes | None, Field(description="shuffled data; default: same as input")
    ] = None
    output: Annotated[
        _Bytes | None, Field(description="data written at the end; default: same as intermediate")
    ] = None
    durability: Annotated[
        Durability, Field(description="2-io, replicated or volumes: see Durability in the glossary")
    ] = Durability.TWO_IO
    copies: Annotated[
        int, Field(ge=1, le=16, description="remote copies of the output, if replicated")
    ] = 1
    map_core_s_per_gb: Annotated[
        float,
        Field(ge=0, allow_inf_nan=False, description="core-seconds per GB of input in pass 1"),
    ] = 0.0
    reduce_core_s_per_gb: Annotated[
        float,
        Field(
            ge=0,
            allow_inf_nan=False,
            description="core-seconds per GB of intermediate data in pass 2",
        ),
    ] = 0.0
    startup: Annotated[_Seconds, Field(description="time before the first byte, such as 20s")] = 0.0
    partition_skew: Annotated[
        float,
        Field(ge=1, allow_inf_nan=False, description="largest partition relative to the mean"),
    ] = 1.0
    retained_share: Annotated[
        float,
        Field(
            ge=0, lt=1, description="share of memory that keeps intermediate data between passes"
        ),
    ] = 0.0
    exchange: Annotated[
        Exchange,
        Field(description="share of the shuffle that crosses the network: remote, (N-1)/N; all"),
    ] = Exchange.REMOTE


def _bad_field(file: str, error: ValidationError) -> VenturiError:
    # A misspelt field comes first: it is why another one is missing.
    first = min(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
    field = ".".join(str(part) for part in first["loc"]) or "file"
    where: dict[str, object] = {"file": file, "field": field}
    fields = "fields: " + ", ".join(JobFile.model_fields)
    if first["type"] == "missing":
        problem, hint = "is missing", f'write it like {field} = "100TB"; {fields}'
    elif first["type"] == "extra_forbidden":
        problem, hint = "is not a field of a job", fields
        if close := near(field, JobFile.model_fields, 1):
            hint = f"did you mean {close[0]}? {fields}"
    else:
        problem = first["msg"].replace("Input should be", "must be").removeprefix("Value error, ")
        hint = f"write sizes as text with a unit or as a number of bytes; {fields}"
    if first["type"] != "missing":
        where["value"] = str(first["input"])[:80]
    return VenturiError("VEN-JOB-FORMAT", f"{file}: {field}: {problem}", where=where, hint=hint)


def parse_job(text: str, file: str = "job.toml") -> Job:
    """The job in a TOML `text`.

    Fields: `input` (needed), `intermediate` (default: as the input), `output` (default: as the
    intermediate data), `durability`, `copies`, `map_core_s_per_gb`, `reduce_core_s_per_gb`,
    `startup`, `partition_skew`, `retained_share`, `exchange`, `name`.
    """
    try:
        given = JobFile.model_validate(tomllib.loads(text))
    except ValidationError as error:
        raise _bad_field(file, error) from error
    except (ValueError, RecursionError) as error:  # also numbers of thousands of digits
        raise VenturiError(
            "VEN-JOB-FORMAT",
            f"{file} is not TOML: {str(error)[:200]}",
            where={"file": file},
            hint='a line such as input = "100TB" is enough',
        ) from error
    intermediate = given.input if given.intermediate is None else given.intermediate
    return Job(
        name=given.name,
        input_bytes=given.input,
        intermediate_bytes=intermediate,
        output_bytes=intermediate if given.output is None else given.output,
        durability=given.durability,
        copies=given.copies,
        map_core_s_per_byte=given.map_core_s_per_gb / 1e9,
        reduce_core_s_per_byte=given.reduce_core_s_per_gb / 1e9,
        startup_s=given.startup,
        partition_skew=given.partition_skew,
        retained_share=given.retained_share,
        exchange=given.exchange,
    )
