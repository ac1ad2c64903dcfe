"""The trials that stand for a repeat group where groups are compared."""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import sqlalchemy as sa

from venturi.core.errors import VenturiError
from venturi.core.wording import count_of
from venturi.record.access.exclusions import covering
from venturi.record.query.conditions import COLUMNS, PREFIX, Condition, Op
from venturi.record.query.identifying_keys import identifies
from venturi.record.query.paging import rows, whole_trials
from venturi.record.query.selection import Query
from venturi.record.query.trial_columns import DISK_FOLDERS, trial_columns
from venturi.record.store.repository import TrialRepository
from venturi.record.store.tables import CONFIGURATION
from venturi.record.trial import Scalar, State, Trial


@dataclass(frozen=True, slots=True)
class RepeatGroup:
    """The trials of a group that count, and how many exclusions leave out.

    The trials may differ in the keys `identifying`, which are unique per trial.
    """

    trials: tuple[Trial, ...]
    left_out: int
    identifying: tuple[str, ...]


def repeat_group(
    repository: TrialRepository,
    name: str,
    *where: Condition,
    ignored: Collection[str] = (),
    keep: Collection[str] = (),
) -> RepeatGroup:
    """The group with the key `name`, else that of the trial that `name` means: of its trials those
    that meet all of `where`. Groups that differ from it only in settings that are `ignored`, or
    that are unique per trial and not in `keep`, belong to it.

    VEN-RECORD-UNKNOWN where there is neither, VEN-COMPARE-GROUPS where `where` or exclusions leave
    out all.
    """
    key = _key(repository, name)
    trials = whole_trials(repository, Condition.equal("group", key), *where)
    identifying = _identifying(repository, key, keep)
    if ignored := {*ignored, *identifying}:
        trials = _without_ignored(repository, key, where, ignored)
    if not trials:
        raise VenturiError(
            "VEN-COMPARE-GROUPS",
            f"no trial of {name} matches --where",
            where={"name": name},
            hint=f"`venturi ls --where group={key}` lists the group's trials",
        )
    excluded = covering(repository, [trial.id for trial in trials])
    kept = tuple(trial for trial in trials if trial.id not in excluded)
    if not kept:
        raise VenturiError(
            "VEN-COMPARE-GROUPS",
            f"exclusions cover all of {name} ({count_of(len(trials), 'trial')})",
            where={"name": name},
            hint="`venturi exclude ls` lists them with reasons",
        )
    return RepeatGroup(kept, len(excluded), identifying)


def _identifying(repository: TrialRepository, key: str, keep: Collection[str]) -> tuple[str, ...]:
    """The keys that are unique per trial among the trials of the group's work, but for `keep`."""
    (one,) = whole_trials(repository, Condition.equal("group", key), most=1)
    work = Query((Condition.equal("workload", one.workload.name),))
    found = trial_columns(repository, work, keep).identifying
    return tuple(sorted(each.removeprefix(PREFIX) for each in found))


def _without_ignored(
    repository: TrialRepository, key: str, where: Sequence[Condition], ignored: Collection[str]
) -> list[Trial]:
    """The trials that meet all of `where` and differ from those of the group `key` at most in
    settings that are `ignored`; they are left out, so that the trials are of one group.
    """
    (one,) = whole_trials(repository, Condition.equal("group", key), most=1)
    # Texts are enough to look at few trials; a setting may be called like a column.
    same = [Condition.equal("workload", one.workload.name)]
    same += [
        Condition.equal(name, each)
        for name, each in one.configuration.items()
        if isinstance(each, str) and name not in {*ignored, *COLUMNS}
    ]
    wanted = without_settings(one, ignored).group_key
    found = (without_settings(trial, ignored) for trial in whole_trials(repository, *same, *where))
    return [trial for trial in found if trial.group_key == wanted]


def without_settings(trial: Trial, ignored: Collection[str]) -> Trial:
    """Return `trial` without its settings `ignored`: keys of the configuration and columns."""
    if not ignored:
        return trial
    workload, engine, cluster = trial.workload, trial.engine, trial.cluster
    if "workload" in ignored:
        workload = replace(workload, name="any")
    if "workload_version" in ignored:
        workload = replace(workload, version="any")
    if "engine" in ignored:
        engine = replace(engine, name="any")
    if {"engine", "engine_version"} & set(ignored):
        engine = replace(engine, version="any")
    if DISK_FOLDERS in ignored:
        cluster = replace(cluster, disks_by_role={})
    if {"instance_type", "hosts", "host_names"} & set(ignored):
        cluster = replace(cluster, hosts=())
    if "instance_type" in ignored:
        cluster = replace(cluster, instance_type=None)
    if "network" in ignored:
        cluster = replace(cluster, network=None)
    kept = {
        name: each
        for name, each in trial.configuration.items()
        if not {name, f"{PREFIX}{name}"} & set(ignored)
    }
    return replace(trial, workload=workload, engine=engine, cluster=cluster, configuration=kept)


def identifying_settings(trials: Sequence[Trial]) -> set[str]:
    """The settings of `trials` that are unique per trial."""
    stated: dict[str, list[Scalar]] = {}
    for trial in trials:
        for key, value in trial.configuration.items():
            if value is not None:
                stated.setdefault(key, []).append(value)
        if folders := trial.cluster.disks_by_role:
            text = json.dumps({role: list(each) for role, each in folders.items()})
            stated.setdefault(DISK_FOLDERS, []).append(text)
    return {
        key for key, values in stated.items() if identifies(key, dict.fromkeys(values), len(values))
    }


def newest_group_of_same_work(repository: TrialRepository, trial: Trial) -> str | None:
    """Return the group of the newest trial that did the same work in another setting."""
    work = trial.workload
    size = work.input_bytes
    alike = Query(
        (
            Condition.equal("workload", work.name),
            Condition.equal("workload_version", work.version),
            Condition("input_bytes", Op.MISSING)
            if size is None
            else Condition.equal("input_bytes", size),
            Condition.equal("state", State.SUCCEEDED.value),
        ),
        limit=200,
    )
    found = (row.group for row in rows(repository, alike).rows)
    return next((group for group in found if group != trial.group_key), None)


def _key(repository: TrialRepository, name: str) -> str:
    """`name` itself if it is a group's key, else that of the trial's group."""
    if whole_trials(repository, Condition.equal("group", name), most=1):
        return name
    try:
        return repository.get(name).group_key
    except VenturiError as error:
        if error.code != "VEN-RECORD-UNKNOWN" or name.startswith("last"):
            raise
        raise VenturiError(
            "VEN-RECORD-UNKNOWN",
            f"{name} is neither a repeat group nor the id of one trial",
            where={"name": name},
            hint=_instead(repository, name),
        ) from error


def _instead(repository: TrialRepository, name: str) -> str:
    """Return how to compare settings, if `name` is the value of one, else how to find trials."""
    found = sa.select(CONFIGURATION.c.key).where(CONFIGURATION.c.text == name).limit(1)
    with repository.reading() as connection:
        key = connection.execute(found).scalar()
    if key is None:
        return "`venturi ls` lists trials; `venturi rank --by KEY` compares the values of a key"
    option = shlex.quote(name)
    return (
        f"{name} is a value of {key}: `venturi rank --by {key}` ranks its values, and "
        f"`venturi effect {key} --baseline {option}` compares the others with {name}"
    )
