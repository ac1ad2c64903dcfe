"""Limits of a stored trial: the one check that every record passes.

The limits hold for measured, imported, uploaded and migrated trials. So every stored trial can be
listed, shown, grouped, exported and migrated, on SQLite and on PostgreSQL. A trial from elsewhere
beyond a limit is rejected (`check`); a measurement or an engine's log is truncated with a warning
(`fitted`). `settings.TrialLimits` has the limits that settings change. No setting changes:

- Timestamps lie between 1990 and 2100 in UTC: no trial is older, and every calendar has them.
- Seconds are not negative and at most as many as that, so that sums are meaningful.
- Counts are not negative and below 2^53, so that they are exact as floating-point numbers, too.
- Other numbers are within 1e100, so that sums of squares are finite.
- Text has no control characters: terminals interpret them, and PostgreSQL and XML can't store them.
  Prose may have tabs and line ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from venturi.core.errors import VenturiError
from venturi.core.settings import TrialLimits, variable_of
from venturi.record.trial import (
    Artifact,
    Clock,
    Cluster,
    Engine,
    Failure,
    Host,
    Link,
    Owner,
    Phase,
    PriceQuote,
    Provenance,
    Rack,
    Sample,
    Scalar,
    Software,
    Trial,
    TrialWarning,
    Workload,
)

T = TypeVar("T")
U = TypeVar("U")

CUT = "VEN-RECORD-CUT"
"""The code of the warning about a trial that was cut to the limits."""
EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
LATEST = datetime(2100, 1, 1, tzinfo=UTC)
SECONDS_MAX = (LATEST - EARLIEST).total_seconds()
COUNT_MAX = 2**53
NUMBER_MAX = 1e100
DEPTH_MAX = 12  # of a host's facts; the agent's have four

UNPRINTABLE = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that control terminals or that no file can hold, except tabs and line ends."""
_NOT_IN_NAMES = re.compile(f"[\t\n{UNPRINTABLE.pattern[1:]}")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_SHOWN_CHARACTERS = 80
_NAMED_MAX = 3


@dataclass(frozen=True, slots=True)
class Excess:
    """A value beyond a limit: its field, its text (shortened), and the limit in words.

    `setting` is the field of `TrialLimits` with the limit, if any; `cut` says whether the trial is
    usable without the excess.
    """

    field: str
    value: str
    reason: str
    setting: str = ""
    cut: bool = True


Seen = dict[int, object]
"""Values that fit and that many trials share, such as hosts, by identity: each is checked once."""


def check(trial: Trial, limits: TrialLimits, seen: Seen | None = None) -> None:
    """Raise VEN-RECORD-LIMIT, with field, value and limit, if `trial` exceeds the limits.

    For many trials, pass the same `seen`, empty at first.
    """
    fitting = _RecordFitter(limits, seen)
    fitting.record(trial)
    if fitting.beyond:
        raise refused(trial.id, fitting.beyond[0], len(fitting.beyond) - 1)


def check_size(id_: str, record: str, limits: TrialLimits) -> None:
    """VEN-RECORD-LIMIT if `record`, trial `id_` as JSON, has too many bytes."""
    if (size_bytes := _size_bytes(record, limits)) is not None:
        raise refused(id_, _too_large(size_bytes, limits))


def fitted(trial: Trial, limits: TrialLimits) -> Trial:
    """Return `trial` cut to the limits, with a warning (VEN-RECORD-CUT) that lists the cuts.

    VEN-RECORD-LIMIT for values that can't be cut; these are all chosen or known before a trial
    begins.
    """
    from venturi.record.trial_json import encode  # noqa: PLC0415 - loads pydantic

    fitting = _RecordFitter(limits)
    made = fitting.record(trial)
    beyond = list(fitting.beyond)
    for each in beyond:
        if not each.cut:
            raise refused(trial.id, each)
    tight = limits
    while (size_bytes := _size_bytes(encode(made), limits)) is not None:
        beyond = [*fitting.beyond, _too_large(size_bytes, limits)]
        if _halved(tight) == tight:
            raise refused(trial.id, beyond[-1])
        tight = _halved(tight)
        made = _RecordFitter(tight).record(made)
    if not beyond:
        return trial
    named = [_sentence(each) for each in beyond[:_NAMED_MAX]]
    rest = len(beyond) - len(named)
    more = f"; and {rest:,} more" if rest else ""
    said = TrialWarning(CUT, f"truncated to the size limits: {'; '.join(named)}{more}")
    return replace(made, warnings=(*made.warnings[: limits.warnings - 1], said))


def _halved(limits: TrialLimits) -> TrialLimits:
    """Return `limits` with half as many measured values; limits of chosen values stay the same."""
    many = ("text_characters", "entries", "phases", "samples", "warnings")
    return replace(limits, **{name: -(-getattr(limits, name) // 2) for name in many})


def _size_bytes(record: str, limits: TrialLimits) -> int | None:
    """The bytes of `record` if they are more than possible."""
    most = limits.record_bytes
    if len(record) <= most // 4:  # a character has at most four
        return None
    size_bytes = len(record.encode())
    return size_bytes if size_bytes > most else None


def _too_large(size_bytes: int, limits: TrialLimits) -> Excess:
    reason = f"longer than {limits.record_bytes:,} bytes as JSON"
    return Excess("the record", f"{size_bytes:,} bytes", reason, "record_bytes")


def refused(trial: str, excess: Excess, more: int = 0) -> VenturiError:
    """The error for a value beyond a limit."""
    others = f" (and {more:,} more)" if more else ""
    hint = "nothing was stored; correct it at its source"
    if excess.setting:
        hint = f"nothing was stored; {variable_of(excess.setting)} sets the limit"
    return VenturiError(
        "VEN-RECORD-LIMIT",
        f"{_sentence(excess)}{others}",
        where={
            "trial": trial,
            "field": excess.field,
            "value": excess.value,
            "limit": excess.reason,
        },
        hint=hint,
    )


def _sentence(excess: Excess) -> str:
    return f"{excess.field} is {excess.value}, {excess.reason}"


def shown(value: object) -> str:
    """At most 80 characters of `value`, fit for a terminal; collections by their size."""
    if isinstance(value, Mapping | tuple | list):
        return f"{len(value):,} entries"
    text = _written(value) if isinstance(value, int) else str(value)
    text = text[:_SHOWN_CHARACTERS] + ("…" if len(text) > _SHOWN_CHARACTERS else "")
    return text.encode("unicode_escape").decode() if _NOT_IN_NAMES.search(text) else text


class _RecordFitter:
    """Walks through a record and returns the parts that fit; `beyond` lists the excesses.

    A value that fits is returned itself. Each rule notes an excess under the last part of the
    field's name; its caller adds the parts before it.
    """

    def __init__(self, limits: TrialLimits, seen: Seen | None = None) -> None:
        self.limits = limits
        self._seen = {} if seen is None else seen
        self.beyond: list[Excess] = []

    def record(self, value: T) -> T:
        changes: dict[str, Any] = {}
        most = self.limits.name_characters
        for name, rule in _RULES[type(value)]:
            old = getattr(value, name)
            # Most are plain names, and a call takes longer than to look at one.
            if not old or (rule is _NAME and len(old) <= most and old.isprintable()):
                continue
            before = len(self.beyond)
            new = rule(self, old)
            if len(self.beyond) > before:
                self._under(before, name)
                changes[name] = new
        return replace(value, **changes) if changes else value  # type: ignore[type-var]

    def _under(self, before: int, name: str) -> None:
        """Prefix `name` to the fields of excesses that were noted since `before`."""
        for place in range(before, len(self.beyond)):
            each = self.beyond[place]
            joint = "." if each.field and not each.field.startswith("[") else ""
            self.beyond[place] = replace(each, field=f"{name}{joint}{each.field}")

    def note(
        self, value: object, reason: str, setting: str = "", *, cut: bool = True, field: str = ""
    ) -> None:
        self.beyond.append(Excess(field, shown(value), reason, setting, cut))

    def name(self, text: str) -> str:
        return self._text(text, "name_characters", _NOT_IN_NAMES)

    def prose(self, text: str) -> str:
        return self._text(text, "text_characters", UNPRINTABLE)

    def _text(self, text: str, setting: str, refused: re.Pattern[str]) -> str:
        most = getattr(self.limits, setting)
        if len(text) > most:
            self.note(text, f"longer than {most:,} characters", setting)
            text = f"{text[: most - 1]}…"
        if not text.isprintable() and (found := refused.search(text)):
            self.note(text, f"with the control character U+{ord(found[0]):04X}")
            text = refused.sub(_REPLACEMENT, text)
        return text

    def count(self, value: int) -> int:
        if not 0 <= value < COUNT_MAX:
            self.note(value, "not from 0 to 2^53 - 1", cut=False)
        return value

    def size(self, value: int) -> int | None:
        """A count that need not be known."""
        if not 0 <= value < COUNT_MAX:
            self.note(value, "not from 0 to 2^53 - 1")
            return None
        return value

    def seconds(self, value: float) -> float:
        if not 0 <= value <= SECONDS_MAX:
            self.note(value, f"not from 0 to {SECONDS_MAX:.0f} s", cut=False)
        return value

    def offset(self, value: float) -> float:
        """Seconds from a trial's start; where clocks differ, before it."""
        if not -SECONDS_MAX <= value <= SECONDS_MAX:
            self.note(value, f"not within ±{SECONDS_MAX:.0f} s", cut=False)
        return value

    def instant(self, value: datetime) -> datetime:
        # Compared, not converted: near the years 1 and 9999 an offset leads out of the calendar.
        if not EARLIEST <= value < LATEST:
            self.note(value.isoformat(), "not between 1990 and 2100 in UTC", cut=False)
        return value

    def scalar(self, value: Scalar) -> Scalar:
        if isinstance(value, str):
            return self.prose(value)
        if value is None or isinstance(value, bool):
            return value
        if not -NUMBER_MAX <= value <= NUMBER_MAX:
            self.note(_written(value), f"not within ±{NUMBER_MAX:g}")
            return _written(value)
        return value

    def mapping(
        self,
        found: Mapping[str, T],
        rule: Callable[[_RecordFitter, T], T],
        setting: str = "entries",
    ) -> Mapping[str, T]:
        most = getattr(self.limits, setting)
        entries: Iterable[tuple[str, T]] = found.items()
        start = len(self.beyond)
        if len(found) > most:
            self.note(found, f"more than {most:,} entries", setting)
            entries = list(entries)[:most]
        made = {}
        for key, value in entries:
            before = len(self.beyond)
            fit = self.name(key)
            made[fit] = value if value is None else rule(self, value)
            if len(self.beyond) > before:
                self._under(before, fit)
        return made if len(self.beyond) > start else found

    def scalars(
        self, found: Mapping[str, Scalar], setting: str = "entries"
    ) -> Mapping[str, Scalar]:
        fits = len(found) <= getattr(self.limits, setting) and self._plain(found)
        return found if fits else self.mapping(found, _RecordFitter.scalar, setting)

    def _plain(self, found: Mapping[str, Scalar]) -> bool:
        """A quick check whether all of `found` fits. False is inconclusive."""
        texts = [each for each in found.values() if isinstance(each, str)]
        return (
            "".join(found).isprintable()
            and "".join(texts).isprintable()
            and max(map(len, found), default=0) <= self.limits.name_characters
            and max(map(len, texts), default=0) <= self.limits.text_characters
            and all(
                each is None or -NUMBER_MAX <= each <= NUMBER_MAX
                for each in found.values()
                if not isinstance(each, str)
            )
        )

    def shared(self, value: T, rule: Callable[[_RecordFitter, T], T]) -> T:
        """Return the result of `rule` for `value`, computed once for all trials that share it."""
        if self._seen.get(id(value)) is value:
            return value
        made = rule(self, value)
        if made is value:
            self._seen[id(value)] = value
        return made

    def path(self, text: str) -> str:
        fit = self.prose(text)
        if "\n" in fit or "\t" in fit:
            self.note(text, "with a tab or line end in it")
            fit = fit.replace("\n", _REPLACEMENT).replace("\t", _REPLACEMENT)
        return fit

    def items(
        self, found: tuple[T, ...], rule: Callable[[_RecordFitter, T], U], setting: str
    ) -> tuple[U, ...]:
        most = getattr(self.limits, setting)
        start = len(self.beyond)
        kept: Sequence[T] = found
        if len(found) > most:
            self.note(found, f"more than {most:,} entries", setting)
            kept = _most_important(found, most)
        made: list[U] = []
        for place, each in enumerate(kept):
            before = len(self.beyond)
            made.append(rule(self, each))
            if len(self.beyond) > before:
                self._under(before, f"[{place}]")
        return tuple(made) if len(self.beyond) > start else found  # type: ignore[return-value]

    def phases(self, found: tuple[Phase, ...]) -> tuple[Phase, ...]:
        made = self.items(found, _RecordFitter.phase, "phases")
        return tuple(each for each in made if each is not None)

    def phase(self, found: Phase) -> Phase | None:
        """Drop a phase with an impossible time."""
        before = len(self.beyond)
        made = self.record(found)
        timed = all(each.cut for each in self.beyond[before:])
        self.beyond[before:] = [replace(each, cut=True) for each in self.beyond[before:]]
        return made if timed else None

    def sample(self, found: Sample) -> Sample:
        made = self.record(found)
        if made.value is not None and abs(made.value) > NUMBER_MAX:
            reason = f"not within ±{NUMBER_MAX:g}"
            self.note(made.value, reason, field="value")
            return replace(made, value=None, missing_reason=f"{made.value:g} is {reason}")
        return made

    def artifact_size(self, value: int) -> int:
        most = self.limits.artifact_bytes
        if not 0 <= value <= most:
            self.note(value, f"not from 0 to {most:,} bytes", "artifact_bytes", cut=False)
        return value

    def facts(self, found: Mapping[str, Any]) -> Mapping[str, Any]:
        made = self.tree(found, 0)
        assert isinstance(made, Mapping)
        return made

    def tree(self, value: Any, depth: int) -> Any:
        if isinstance(value, str | int | float):
            return self.scalar(value)
        if value is None:
            return value
        if depth >= DEPTH_MAX:
            self.note(value, f"nested deeper than {DEPTH_MAX}")
            return None
        if isinstance(value, Mapping):
            return self.mapping(value, lambda fit, each: fit.tree(each, depth + 1))
        if isinstance(value, list | tuple):
            start = len(self.beyond)
            made = self.items(tuple(value), lambda fit, each: fit.tree(each, depth + 1), "entries")
            return list(made) if len(self.beyond) > start else value
        return value


def _written(value: float) -> str:
    """A number as text; whole ones of many digits, which Python does not write, by their size."""
    if isinstance(value, int) and value.bit_length() > 1_000:
        return f"{'-' if value < 0 else ''}2^{value.bit_length() - 1} or more"
    return repr(value)


def _most_important(found: tuple[T, ...], most: int) -> Sequence[T]:
    """The longest phases, in their order; for other items, the first."""
    places = range(len(found))
    if isinstance(found[0], Phase):
        longest = sorted(places, key=lambda place: -found[place].elapsed_s)  # type: ignore[attr-defined]
        return [found[place] for place in sorted(longest[:most])]
    return found[:most]


_Rule = Callable[[_RecordFitter, Any], Any]
_NAME, _PROSE, _COUNT, _SIZE = (
    _RecordFitter.name,
    _RecordFitter.prose,
    _RecordFitter.count,
    _RecordFitter.size,
)
_SECONDS, _SCALARS, _RECORD = _RecordFitter.seconds, _RecordFitter.scalars, _RecordFitter.record


def _each(rule: _Rule, setting: str = "entries") -> _Rule:
    """Return the rule of a tuple: `rule` for each value, and at most `setting` values."""
    return lambda fit, found: fit.items(found, rule, setting)


def _by_name(rule: _Rule) -> _Rule:
    """Return the rule of a mapping: `rule` for each value."""
    return lambda fit, found: fit.mapping(found, rule)


def _shared(rule: _Rule) -> _Rule:
    """Return `rule` for a value that many trials share."""
    return lambda fit, found: fit.shared(found, rule)


_FOLDERS = _by_name(_each(_RecordFitter.path))


def _rules(**rules: _Rule) -> tuple[tuple[str, _Rule], ...]:
    return tuple(rules.items())


# A test holds these to the fields of the record: what has no rule has few values, such as a state.
_RULES: Mapping[type, tuple[tuple[str, _Rule], ...]] = {
    Trial: _rules(
        workload=_RECORD,
        engine=_RECORD,
        cluster=_RECORD,
        configuration=lambda fit, found: fit.scalars(found, "configuration_keys"),
        software=_shared(_RECORD),
        provenance=_RECORD,
        started_at=_RecordFitter.instant,
        experiment=_NAME,
        repetition=_COUNT,
        seed=_SIZE,
        elapsed_s=_SECONDS,
        phases=_RecordFitter.phases,
        samples=_each(_RecordFitter.sample, "samples"),
        artifacts=_each(_RECORD, "artifacts"),
        warnings=_each(_RECORD, "warnings"),
        failure=_RECORD,
        owner=_RECORD,
        labels=_by_name(_NAME),
    ),
    Workload: _rules(
        name=_NAME, version=_NAME, scale=_NAME, input_bytes=_SIZE, input_records=_SIZE
    ),
    Engine: _rules(name=_NAME, version=_NAME),
    Cluster: _rules(
        hosts=_shared(_each(_RECORD, "hosts")),
        disks_by_role=_FOLDERS,
        instance_type=_NAME,
        network=_NAME,
        price=_RECORD,
        name=_NAME,
        racks=_each(_RECORD),
        dilation=_RecordFitter.scalar,
    ),
    Host: _rules(
        name=_NAME,
        facts=_RecordFitter.facts,
        roles=_each(_NAME),
        links=_by_name(_RECORD),
        rack=_NAME,
        disks=_FOLDERS,
        clock=_RECORD,
    ),
    Link: _rules(
        address=_NAME, bytes_per_s=_RecordFitter.scalar, flow_bytes_per_s=_RecordFitter.scalar
    ),
    Clock: _rules(offset_s=_RecordFitter.offset, error_s=_SECONDS),
    Rack: _rules(name=_NAME, within=_NAME, uplink_bytes_per_s=_RecordFitter.scalar),
    PriceQuote: _rules(
        amount=_RecordFitter.scalar, currency=_NAME, per=_NAME, source=_NAME, as_of=_NAME
    ),
    Software: _rules(
        venturi_version=_NAME,
        git_sha=_NAME,
        build_profile=_NAME,
        kernel=_NAME,
        others=_by_name(_PROSE),
    ),
    Provenance: _rules(source=_NAME, digest=_NAME),
    Sample: _rules(metric=_NAME, unit=_NAME, phase=_NAME, labels=_SCALARS, missing_reason=_PROSE),
    Phase: _rules(name=_NAME, started_s=_RecordFitter.offset, elapsed_s=_SECONDS),
    Artifact: _rules(
        name=_NAME, path=_RecordFitter.path, size_bytes=_RecordFitter.artifact_size, sha256=_NAME
    ),
    TrialWarning: _rules(code=_NAME, message=_PROSE),
    Failure: _rules(kind=_NAME, code=_NAME, message=_PROSE),
    Owner: _rules(host=_NAME, boot_id=_NAME, pid=_COUNT, process_started_ticks=_COUNT),
}
