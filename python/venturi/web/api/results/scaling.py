"""`/api/scaling`: time against nodes, amount of data, or any numeric key; a curve a context."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from venturi.core.statistics.stats import MEDIAN_LEVEL, Interval, Missing
from venturi.core.units import format_bytes_decimal, format_duration
from venturi.core.wording import count_of, joined, percent
from venturi.machines.cost.extensions import MemoryCliff, fit_memory_cliff, memory_cliff_s
from venturi.record.query.checks import require_keys
from venturi.record.query.columns import Column, select_trials
from venturi.record.query.conditions import OF_RECORDS, refused
from venturi.record.query.identifying_keys import note_of
from venturi.record.query.known_keys import keys
from venturi.record.query.trial_columns import (
    DISK_FOLDERS,
    HOST_NAMES,
    WORK,
    TrialColumns,
    check_settings,
    trial_columns,
)
from venturi.record.store.repository import TrialRepository
from venturi.results.compare.names import value_text
from venturi.results.effects.doubling import doubling_sentence, effect_of_doubling
from venturi.results.effects.effects import curve_of
from venturi.results.effects.linked_keys import without_followers
from venturi.results.scaling.cliff import FoundCliff, find_cliff
from venturi.results.scaling.contexts import (
    Context,
    Contexts,
    comparable_first,
    contexts_of,
    distinguishing_keys,
    numbers_of,
)
from venturi.results.scaling.curves import (
    CurveFit,
    Points,
    SharedShape,
    check_beyond,
    fit_curve,
    reaches,
    shared_shape,
)
from venturi.results.scaling.formulas import Meaning
from venturi.results.scaling.meaning import meaning_of
from venturi.web.api.context import SelectionDep, Services
from venturi.web.api.request_arguments import Parameter
from venturi.web.api.results.cells import ByDep, IgnoredKeys, KeepKeys, keys_of, scalar
from venturi.web.api.results.scaling_shapes import (
    Cliff,
    CurvePoint,
    Scaling,
    ScalingEffect,
    ScalingGroup,
    ScalingListed,
    ScalingPoint,
)
from venturi.web.api.results.spreads import spread_of

DRAWN = 6  # curves at a time: that many are distinguishable on a chart
LISTED_MAX = 200
KEYS_NAMED = 4
NAMED = 4  # values in the name of the first curve
FAR = 20.0  # an interval so wide says nothing
CURVE_POINTS = 41
BYTES_SHOWN = 1e9
MISSED_BEYOND = "one in ten public curves is off by over 70% here"
_TWO_LINES = "two lines with a jump between them"
_WORK = ("workload", "engine")
_NAMED_ELSEWHERE = frozenset({"workload_version", "engine_version", "source", "provenance"})


def scaling(
    services: Services,
    selection: SelectionDep,
    *,
    x: Annotated[
        str,
        Parameter(
            min_length=1,
            max_length=200,
            description="hosts, input_bytes or a numeric key.",
            examples=["hosts"],
        ),
    ] = "hosts",
    by: ByDep = None,
    ignore: IgnoredKeys = None,
    leave_out: Annotated[
        list[str] | None, Parameter(max_length=20, description="The former name of `ignore`.")
    ] = None,
    keep: KeepKeys = None,
    skip: Annotated[
        int, Parameter(ge=0, le=1_000_000, description="Number of listed curves to skip.")
    ] = 0,
    to: Annotated[
        float | None,
        Parameter(
            gt=0,
            allow_inf_nan=False,
            description="Predict the time at this x, at most twice the measured range.",
        ),
    ] = None,
) -> Scaling:
    """Medians by x of trials that match in every other setting, and a curve for each set."""
    repository = services.repository
    (key,) = require_keys(repository, (x,))
    check_settings((key,), "x")
    left_out = require_keys(repository, (*(ignore or ()), *(leave_out or ())), also=OF_RECORDS)
    every = trial_columns(repository, selection.query(), require_keys(repository, keep or ()))
    counted = np.flatnonzero(every.counted)
    own = {key: every.column(key)} if key in every.identifying else {}  # such as a time
    columns = select_trials({**every.columns, **own}, counted)
    meaning = meaning_of(key)
    asked = _ScalingQuestion(key, unit_of(key), meaning, to)
    if len(counted) and _unsaid(every, counted, key):
        raise refused(
            f"no trial of the selection has a value of {key}",
            "x",
            "choose a number that they have (`venturi keys` lists the keys), or other trials",
        )
    without = _without_number(repository, columns, key)
    if without == len(counted) > 0:
        raise refused(
            f"no trial of the selection has a number as {x!r}", "x", "`venturi keys` lists the keys"
        )
    if not len(counted):
        return _nothing(asked, "no succeeded trial matches the conditions")
    if key not in columns:
        return _nothing(asked, f"cannot tell: all {len(counted):,} trials have the same {key}")
    named = keys_of(by)
    columns = without_followers(columns, key, named)
    found = contexts_of(columns, every.elapsed_s[counted], key, left_out)
    if named:
        found = comparable_first(found, named)
    warnings = [f"{without:,} trials have no number as {key}"] if without else []
    if identifying := every.identifying.keys() - {key, *left_out}:
        warnings.append(note_of(identifying))
    answer = _answer(asked, found, skip, warnings, named)
    if not (named or skip or to is not None):
        answer = replace(answer, verdict=_of_all(asked, found) or answer.verdict)
    if meaning is Meaning.AMOUNT or key in WORK:
        return answer  # more work takes longer: no amount is the best
    return _with_matched(answer, asked, every, found, left_out)


def _with_matched(
    answer: Scaling,
    asked: _ScalingQuestion,
    every: TrialColumns,
    found: Contexts,
    left_out: Sequence[str],
) -> Scaling:
    """`answer` with the curve over matched settings, and its verdict instead of one of many."""
    grows = asked.x == "hosts" or "hosts" in found.along  # other hosts have other names
    ignored = {*left_out, *((HOST_NAMES, DISK_FOLDERS) if grows else ())}
    matched = curve_of(every, asked.x, frozenset(ignored))
    answer = replace(answer, matched=matched)
    if matched is None or matched.best is None or answer.total == 1 or asked.to is not None:
        return answer
    return replace(answer, verdict=matched.sentence)


def _of_all(asked: _ScalingQuestion, found: Contexts) -> str | None:
    """The verdict on all curves; None for a setting, where doubling means nothing, or one curve."""
    doubled = None if asked.meaning is Meaning.OTHER else effect_of_doubling(found.contexts)
    if doubled is None:
        return None
    return doubling_sentence(asked.x, doubled, len(found.contexts))


def _unsaid(every: TrialColumns, counted: npt.NDArray[np.int64], key: str) -> bool:
    """Whether none of the counted trials has any value of `key`."""
    column = every.column(key)
    return all(column.values[code] is None for code in set(column.codes[counted].tolist()))


def _without_number(repository: TrialRepository, columns: Mapping[str, Column], key: str) -> int:
    """How many of the counted trials have no number as `key`."""
    if key in columns:
        return int(np.isnan(numbers_of(columns[key])[columns[key].codes]).sum())
    # All trials have the same, which is in no column.
    known = {each.key: each.type for each in keys(repository)}
    count = max((len(each.codes) for each in columns.values()), default=0)
    return 0 if known.get(key, "number") in {"number", "mixed"} else count


@dataclass(frozen=True, slots=True)
class _ScalingQuestion:
    x: str
    unit: str
    meaning: Meaning
    to: float | None

    def size(self, value: float) -> str:
        """A value of x for people."""
        if self.unit == "B":
            return format_bytes_decimal(value)
        return f"{value:,.6g}"


def unit_of(x: str) -> str:
    """The unit of x, as far as its name says."""
    if x == "hosts":
        return "hosts"
    ends = {"_bytes": "B", "_s": "s", "_records": "records", "cores": "cores"}
    return next((unit for end, unit in ends.items() if x.endswith(end)), "")


def _nothing(asked: _ScalingQuestion, verdict: str) -> Scaling:
    return Scaling(
        asked.x, asked.unit, asked.meaning.name.lower(), verdict, (), {}, (), (), 0, 0, ()
    )


def _answer(
    asked: _ScalingQuestion,
    found: Contexts,
    skip: int,
    warnings: Sequence[str],
    by: tuple[str, ...],
) -> Scaling:
    contexts = found.contexts
    if not contexts:
        return replace(
            _nothing(asked, _why_none(found)),
            warnings=(*warnings, *_said(found)),
            leave_out=tuple(key.removesuffix(f" per {found.x}") for key in found.confounded),
        )
    skip = skip if skip < len(contexts) else 0  # the conditions may have changed
    drawn = contexts[skip : skip + DRAWN]
    if asked.to is not None:
        check_beyond(drawn[0].points, asked.to)
    differ = distinguishing_keys(drawn)
    all_differ = tuple(dict.fromkeys((*by, *distinguishing_keys(contexts))))
    all_differ = tuple(key for key in all_differ if key in contexts[0].settings)
    groups = tuple(
        _group(asked, each, _name(each, differ), all_differ, job)
        for each, job in zip(drawn, _jobs(contexts, skip, drawn), strict=True)
    )
    same = {
        key: scalar(value)
        for key, value in drawn[0].settings.items()
        if len({str(each.settings[key]) for each in drawn}) == 1 and value is not None
    }
    listed = tuple(
        ScalingListed(
            place,
            tuple(scalar(each.settings[key]) for key in all_differ),
            each.x[0],
            each.x[-1],
            len(each.x),
            each.trials,
        )
        for place, each in enumerate(contexts[:LISTED_MAX])
    )
    # The verdict is on the first curve; its name has all that distinguishes it.
    first, name = groups[0], _name(contexts[skip], all_differ, NAMED)
    told, also, rest = first.verdict.partition("; ")
    verdict = f"{told}{f' for {name}' if name else ''}{also}{rest}"
    return Scaling(
        asked.x,
        asked.unit,
        asked.meaning.name.lower(),
        verdict,
        all_differ,
        same,
        groups,
        listed,
        len(contexts),
        skip,
        (*warnings, *_said(found), *_differences(drawn, differ), *_more(contexts, all_differ)),
    )


def _why_none(found: Contexts) -> str:
    """Why there is no curve, with a hint."""
    x = found.x
    if found.distinct < 2:
        return f"cannot tell: all trials have the same {x}; measure another one"
    if not found.confounded:
        return f"cannot tell: no two trials differ in {x} alone; measure some that do"
    keys = joined(_few(found.confounded))
    return (
        f"cannot tell: {x} changes only together with {keys}; measure with these held equal, or "
        "ignore them and read the curve as the effect of all of them together"
    )


def _few(keys: Sequence[str]) -> tuple[str, ...]:
    more = len(keys) - KEYS_NAMED
    return tuple(keys) if more <= 0 else (*keys[:KEYS_NAMED], f"{more} more")


def _said(found: Contexts) -> list[str]:
    said = []
    if found.left_out:
        said.append(
            f"ignored, as requested: {joined(found.left_out)}; a curve shows {found.x} and these "
            "together"
        )
    if found.along:
        said.append(
            f"{joined(_few(found.along))} grow{'s' if len(found.along) == 1 else ''} in "
            f"proportion to {found.x}"
        )
    if found.single and found.contexts:
        many = count_of(found.single, "further setting")
        said.append(f"{many} without a curve: only one value of {found.x}")
    return said


def _differences(drawn: Sequence[Context], named: Sequence[str]) -> list[str]:
    """Keys that differ besides those by which the curves are named."""
    also = [
        key
        for key in drawn[0].settings
        if key not in named and len({str(each.settings[key]) for each in drawn}) > 1
    ]
    if not also:
        return []
    return [f"the curves differ in {joined(named)} and, along with it, in {joined(_few(also))}"]


def _more(contexts: Sequence[Context], differ: Sequence[str]) -> list[str]:
    """A hint where not all curves are drawn."""
    if len(contexts) <= DRAWN:
        return []
    values = ((key, each.settings[key]) for key in differ for each in contexts)
    ways = (f"; narrow them, such as to {key}={some}" for key, some in values if some is not None)
    return [
        f"{len(contexts):,} curves, {DRAWN} at a time (skip {DRAWN} for the next){next(ways, '')}"
    ]


def _name(context: Context, keys: Sequence[str], most: int = 0) -> str:
    """The values that distinguish a context from others; at most the first `most` (0: all)."""
    told = [key for key in keys if context.settings[key] is not None]
    told = [key for key in told if key not in _NAMED_ELSEWHERE] or list(keys)
    values = [value_text(key, context.settings[key], with_key=False) for key in told]
    if most and len(values) > most:
        values = [*values[:most], f"{len(values) - most} more"]
    return " · ".join(values)


@dataclass(frozen=True, slots=True)
class _JobCurves:
    """The curves of one job, each at its place among the contexts, and their common shape."""

    curves: Mapping[int, Points]
    shared: SharedShape

    def others(self, place: int) -> tuple[list[Points], SharedShape]:
        """The curves except the one at `place`."""
        rest = [points for number, points in self.curves.items() if number != place]
        return rest, self.shared.without(self.curves[place])


def _job(contexts: Sequence[Context], one: Context) -> _JobCurves:
    """The curves of the job of `one`."""
    name = [one.settings.get(key) for key in _WORK]
    curves = {
        place: each.points
        for place, each in enumerate(contexts)
        if [each.settings.get(key) for key in _WORK] == name
    }
    return _JobCurves(curves, shared_shape(list(curves.values())))


def _jobs(
    contexts: Sequence[Context], skip: int, drawn: Sequence[Context]
) -> list[tuple[list[Points], SharedShape]]:
    """For each drawn curve, the others of its job, and their common shape."""
    known: dict[tuple[Any, ...], _JobCurves] = {}
    found = []
    for place, each in enumerate(drawn, skip):
        name = tuple(each.settings.get(key) for key in _WORK)
        if name not in known:
            known[name] = _job(contexts, each)
        found.append(known[name].others(place))
    return found


def _group(
    asked: _ScalingQuestion,
    context: Context,
    name: str,
    keys: Sequence[str],
    job: tuple[Sequence[Points], SharedShape],
) -> ScalingGroup:
    others, shared = job
    mine = context.points
    if asked.to is not None and not reaches(mine, asked.to):
        asked = replace(asked, to=None)  # beyond this curve's range; not the first one's
    xs, medians = mine.x.tolist(), mine.elapsed_s.tolist()
    empty = ScalingGroup(
        name=name,
        key=tuple(scalar(context.settings[key]) for key in keys),
        points=tuple(
            ScalingPoint(at, len(times), spread_of(times))
            for at, times in zip(context.x, context.times, strict=True)
        ),
        curve=(),
        basis=None,
        formula=None,
        error_relative=None,
        cliff=None,
        reason=None,
        verdict="",
        effect=None,
        predicted=None,
    )
    cliff = find_cliff(xs, medians) if asked.meaning is Meaning.AMOUNT else None
    if cliff is not None:
        lines = fit_memory_cliff(xs, medians, cliff.below)
        return _with_cliff(empty, cliff, lines, mine, asked)
    fit = fit_curve(mine, asked.meaning, others, shared)
    if isinstance(fit, Missing):
        return replace(empty, reason=fit.reason, verdict=f"cannot tell: {fit.reason}")
    per, unit = (BYTES_SHOWN, "GB") if asked.unit == "B" else (1.0, "")
    predicted = None if asked.to is None else _points(fit, [asked.to])[0]
    half, effect = fit.half(xs[-1]), _effect(fit, asked.meaning)
    return replace(
        empty,
        curve=_points(fit, _grid(xs, asked.to)),
        basis=_basis(fit, len(others)),
        formula=fit.formula(per, unit),
        error_relative=None if fit.missed is None else math.expm1(fit.missed),
        reason=half.reason if isinstance(half, Missing) else None,
        verdict=_sentence(asked, effect) + _prediction(asked, predicted, fit),
        effect=effect,
        predicted=predicted,
    )


def _grid(xs: Sequence[float], to: float | None) -> list[float]:
    """The x of the drawn curve: the measured range, each point, and up to `to`."""
    low, high = min(xs[0], to or xs[0]), max(xs[-1], to or xs[-1])
    # Evenly in the logarithm: curves like a + b / x bend where x is small.
    return sorted({*xs, *map(float, np.geomspace(low, high, CURVE_POINTS)[1:-1]), low, high})


def _points(fit: CurveFit, xs: Sequence[float]) -> tuple[CurvePoint, ...]:
    """The curve at each x, with the interval of one more trial (`CurveFit.interval`)."""
    made = []
    for at, time in zip(xs, fit.at(xs).tolist(), strict=True):
        half = fit.half(at)
        if isinstance(half, Missing):
            made.append(CurvePoint(at, time, None, None))
        else:
            made.append(CurvePoint(at, time, time * math.exp(-half), time * math.exp(half)))
    return tuple(made)


def _basis(fit: CurveFit, others: int) -> str:
    shape = f"shape from {count_of(others, 'other curve')} of this job"
    if fit.inside.borrowed == fit.ends.borrowed == 1:
        return f"{shape}, its own level"
    names = (
        fit.meaning.value,
        "the same plus the points' deviation from it",
        Meaning.RESOURCE.value,
        shape,
    )
    shares = [
        f"{name}, {percent(inside)}" + f" ({percent(end)} at the ends)" * (inside != end)
        for name, inside, end in zip(names, fit.inside, fit.ends, strict=True)
        if inside or end
    ]
    return "mean of: " + "; ".join(shares)


def _effect(fit: CurveFit, meaning: Meaning) -> ScalingEffect:
    """The effect of more x on the time of a trial."""
    low, high = _pair(fit.points.x.tolist(), meaning)
    first, second = fit.at([low, high]).tolist()
    ratio = second / first
    halves = fit.half_of_median(low), fit.half_of_median(high)
    if isinstance(halves[0], Missing) or isinstance(halves[1], Missing):
        medians = dict(zip(fit.points.x.tolist(), fit.points.elapsed_s.tolist(), strict=True))
        if low in medians and high in medians:  # a curve with an unknown error
            return ScalingEffect(low, high, medians[high] / medians[low], None, True)
        return ScalingEffect(low, high, ratio, None, False)
    half = math.hypot(halves[0], halves[1])
    ends = ratio * math.exp(-half), ratio * math.exp(half)
    return ScalingEffect(low, high, ratio, Interval(*ends, MEDIAN_LEVEL, fit.method), False)


def _sentence(asked: _ScalingQuestion, effect: ScalingEffect) -> str:
    ends = f"{asked.size(effect.x_low)} to {asked.size(effect.x_high)}"
    doubled = math.isclose(effect.x_high, 2 * effect.x_low) and asked.meaning is not Meaning.OTHER
    what = f"twice the {asked.x} ({ends})" if doubled else f"{asked.x} from {ends}"
    take = "take" if doubled and asked.x.endswith("s") else "takes"
    ratio, found = effect.ratio, effect.interval
    if effect.measured:
        return f"{what} took {ratio:.2f} of the time (medians, without an interval)"
    if found is None:
        return f"{what} {take} about {ratio:.2f} of the time, without an interval"
    if found.high > FAR * found.low:
        return f"cannot tell the effect of {what}: the measured times lie too far from any curve"
    if found.low <= 1 <= found.high:
        return (
            f"cannot tell whether {what} {take} less time: ratio {ratio:.2f} "
            f"[{found.low:.2f}, {found.high:.2f}]"
        )
    return f"{what} {take} {ratio:.2f} of the time [{found.low:.2f}, {found.high:.2f}]"


def _pair(xs: Sequence[float], meaning: Meaning) -> tuple[float, float]:
    """The two x of the shown effect: the last measured doubling, else the last half of the range.

    For a setting, the whole range: doubling it means nothing.
    """
    if meaning is Meaning.OTHER or xs[-1] < 2 * xs[0]:
        return xs[0], xs[-1]
    pairs = [(a, b) for a in xs for b in xs if math.isclose(b, 2 * a)]
    return max(pairs) if pairs else (xs[-1] / 2, xs[-1])


def _prediction(asked: _ScalingQuestion, point: CurvePoint | None, fit: CurveFit) -> str:
    if point is None:
        return ""
    at, time = asked.size(point.x), format_duration(point.elapsed_s)
    if point.low_s is not None and point.high_s is not None:
        low, high = format_duration(point.low_s), format_duration(point.high_s)
        return f"; predicted at {at}: {time} (90%: {low} to {high})"
    if fit.points.x[0] <= point.x <= fit.points.x[-1]:
        return f"; predicted at {at}: about {time}, without an interval"
    return f"; at {at}, beyond the measurements: about {time}, without an interval: {MISSED_BEYOND}"


def _with_cliff(
    group: ScalingGroup,
    found: FoundCliff,
    lines: MemoryCliff,
    points: Points,
    asked: _ScalingQuestion,
) -> ScalingGroup:
    """The two lines instead of a curve: each is drawn where it was measured."""
    xs, to = points.x.tolist(), asked.to
    end = xs[-1] if to is None else max(xs[-1], to)
    within = [at for at in xs if at <= found.below]
    beyond = sorted({*(at for at in xs if at > found.below), end})
    below, above = asked.size(found.below), asked.size(found.above)
    evidence = (
        f"up to {below} the times follow a line that predicts "
        f"{format_duration(found.predicted_s)} for {above}, at most "
        f"{format_duration(found.limit_s)} (97.5%); it took {format_duration(found.measured_s)}. "
        f"The best smooth curve is off by {percent(found.misfit)}, two lines by "
        f"{percent(found.left)}"
    )
    per, unit = (BYTES_SHOWN, "[GB]") if asked.unit == "B" else (1.0, "")
    formula = " | ".join(
        f"t = {start:.4g} s + {slope * per:.4g} s * x{unit}"
        for start, slope in (
            (lines.within_s, lines.within_s_per_byte),
            (lines.beyond_s, lines.beyond_s_per_byte),
        )
    )
    at_to = None if to is None else CurvePoint(to, memory_cliff_s(to, lines), None, None)
    told = ""
    if at_to is not None:
        time = format_duration(at_to.elapsed_s)
        told = f"; at {asked.size(at_to.x)}: about {time}, without an interval"
    return replace(
        group,
        curve=tuple(
            CurvePoint(at, memory_cliff_s(at, lines), None, None) for at in (*within, *beyond)
        ),
        basis=_TWO_LINES,
        formula=formula,
        error_relative=found.left,
        cliff=Cliff(found.below, found.above, found.jump, evidence),
        reason="no interval across a cliff: too few points on either side",
        verdict=f"between {below} and {above} the time jumps to {found.jump:.2g} times the value "
        f"expected from smaller ones{told}",
        predicted=at_to,
    )
