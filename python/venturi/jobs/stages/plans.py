"""Operators and counts of SQL queries by stage, and the stage's purpose.

An operator belongs to the stages that updated its metrics. One without metrics belongs to the
stages of the adjacent operators: rows leave a stage only through an exchange, which writes in one
stage and is read in the next.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from venturi.record.job_account import JobAccount
from venturi.record.plan_texts import without_numbers

Key = tuple[int, int]
ROWS = "number of output rows"
"""The metric that counts an operator's rows."""
SCAN = re.compile(r"(?:File|Batch)?Scan\b")
"""How the names and texts of operators begin that read tables."""
_PER_UNIT = {"ms": 1e-3, "ns": 1e-9}
_BORDER = re.compile(
    r"Exchange|BroadcastExchange|ReusedExchange|Subquery|SubqueryBroadcast|AdaptiveSparkPlan"
)
PYTHON = re.compile(
    r"(?:Batch|Arrow)EvalPython(?:UDTF)?|Arrow(?:Aggregate|Window)Python\w*"
    r"|\w*In(?:Pandas|Arrow|PySpark)\w*"
)
"""Operators that hand rows to functions in Python."""
# A stage is named after its most specific operators, first match first.
_WHAT = (
    (re.compile(r"SortMergeJoin|ShuffledHashJoin"), "join"),
    (re.compile(r"BroadcastHashJoin"), "join with a broadcast"),
    (re.compile(r"CartesianProduct|BroadcastNestedLoopJoin"), "join without a key"),
    (re.compile(r"Window"), "window"),
    (PYTHON, "Python"),
    (re.compile(r"(?:Hash|Sort|ObjectHash)Aggregate"), "aggregate"),
    (re.compile(r"Sort"), "sort"),
    (re.compile(r"Generate"), "explode"),
    (re.compile(r"Scan .*|FileScan.*|BatchScan.*"), "scan"),
    (re.compile(r"InMemoryTableScan"), "read cached data"),
    (re.compile(r"Range"), "make rows"),
)
# Operators that only wait for timed work: they compute, or pass rows on.
_COMPUTES = re.compile(
    r"WholeStageCodegen.*|InputAdapter|AdaptiveSparkPlan|(?:Shuffle|Broadcast|Result|TableCache)QueryStage"
    r"|(?:AQE|Custom)Shuffle\w+|(?:Reused|Broadcast)?Exchange|SubqueryBroadcast"
    r"|(?:Hash|Sort|ObjectHash)Aggregate|SortMergeJoin|ShuffledHashJoin|CartesianProduct"
    r"|Broadcast(?:Hash|NestedLoop)Join|Window(?:GroupLimit)?|(?:Partial)?Sort|Project|Filter"
    r"|Expand|Generate|Sample|Union|Coalesce|(?:Local|Global|Collect)Limit|TakeOrderedAndProject"
    r"|Range|LocalTableScan|ColumnarToRow|RowToColumnar"
)
CACHED = "InMemoryTableScan"
"""Reads a cached table; below it is the plan that fills the cache, if the log has it."""
# Operators with waits that `causes` has a part for: file reads and writes. Python's are separate.
_TIMED = re.compile(
    r"Scan (?:parquet|orc|csv|json|text)\b.*|InMemoryTableScan|WriteFiles"
    r"|Execute InsertIntoHadoopFsRelationCommand"
)
_JDBC, _FETCH = "Scan JDBC", "JDBC remote data fetch and translation time"  # since Spark 4.0
# A function in Scala or Java that its program gave no name; it may wait for anything.
_UNNAMED_FUNCTION = re.compile(r"\bUDF\(")
_JDBC_TABLE = re.compile(r"Scan JDBCRelation\((.*?)\)(?: \[numPartitions=|$| )")
_NOWHERE = "NoopWrite"  # the sink of the format "noop"
# Call sites inside Spark and PySpark, which say nothing of the program.
_OF_SPARK = re.compile(r"NativeMethodAccessorImpl|CompletableFuture|\$anonfun|ThreadPoolExecutor")
_KEYS = re.compile(r"\[([^\]]*)\]")
_SKEW_JOIN = "(skew=true)"  # suffix of the name of a join with split hot partitions
SHUFFLED_JOINS = ("SortMergeJoin", "ShuffledHashJoin")
"""Joins that shuffle both sides, unless they are partitioned already."""
_SHOWN_KEYS = 40


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator of the plan that ran; `counted` has bytes and counts, `timed` seconds."""

    query_id: int
    node: int
    parent: int | None
    name: str
    text: str
    counted: Mapping[str, int]
    timed: Mapping[str, float]
    stages: frozenset[Key]


class Plans:
    """The operators of all queries of an application, empty where its log has no plan."""

    def __init__(self, account: JobAccount) -> None:
        self.operators: dict[tuple[int, int], Operator] = {}
        self.children: dict[tuple[int, int], list[Operator]] = {}
        self._of_stages: dict[Key, list[Operator]] = {}
        self._timed_in: dict[tuple[int, int, Key], dict[str, float]] = {}
        self._rows_in: dict[tuple[int, int], dict[Key, int]] = {}
        if account.operators is None or account.operator_metrics is None:
            return
        counted: dict[tuple[int, int], dict[str, int]] = {}
        timed: dict[tuple[int, int], dict[str, float]] = {}
        stages: dict[tuple[int, int], set[Key]] = {}
        for query, node, *stage, name, unit, value in account.operator_metrics.rows():
            place = query, node
            if stage[0] is not None:
                stages.setdefault(place, set()).add((stage[0], stage[1]))
            if unit in _PER_UNIT:
                times = timed.setdefault(place, {})
                times[name] = times.get(name, 0.0) + value * _PER_UNIT[unit]
                if stage[0] is not None:
                    here = self._timed_in.setdefault((*place, (stage[0], stage[1])), {})
                    here[name] = here.get(name, 0.0) + value * _PER_UNIT[unit]
            else:
                counts = counted.setdefault(place, {})
                counts[name] = counts.get(name, 0) + value
                if name == ROWS and stage[0] is not None:
                    rows_in = self._rows_in.setdefault(place, {})
                    rows_in[stage[0], stage[1]] = rows_in.get((stage[0], stage[1]), 0) + value
        rows = account.operators.sort("query_id", "node").rows()
        for query, node, above, name, text in rows:
            place = query, node
            # Untrusted tables may hold cycles: an operator stands below an earlier one, or below
            # none.
            parent = above if (query, above) in self.operators else None
            self.operators[place] = Operator(
                query,
                node,
                parent,
                name.removesuffix(_SKEW_JOIN),
                text or name,
                counted.get(place, {}),
                timed.get(place, {}),
                frozenset(stages.get(place, ())),
            )
        for each in self.operators.values():
            if each.parent is not None:
                self.children.setdefault((each.query_id, each.parent), []).append(each)
        self._place_in_stages()

    def _place_in_stages(self) -> None:
        """Puts the operators between exchanges into the stages of any of them."""
        region: dict[tuple[int, int], tuple[int, int]] = {}
        for place, each in self.operators.items():
            above = None if each.parent is None else (each.query_id, each.parent)
            starts = above is None or _BORDER.fullmatch(self.operators[above].name)
            # An exchange itself is of both sides: it is put where its metrics are.
            region[place] = place if starts or above is None else region[above]
        of_regions: dict[tuple[int, int], set[Key]] = {}
        for place, each in self.operators.items():
            if not _BORDER.fullmatch(each.name):
                of_regions.setdefault(region[place], set()).update(each.stages)
        for place, each in self.operators.items():
            border = _BORDER.fullmatch(each.name)
            for key in each.stages if border else of_regions[region[place]]:
                self._of_stages.setdefault(key, []).append(each)

    def of_stage(self, key: Key) -> Sequence[Operator]:
        """The operators that a stage ran, each before those that it takes rows from."""
        return self._of_stages.get(key, ())

    def timed_in(self, operator: Operator, key: Key) -> Mapping[str, float]:
        """Seconds that `operator` timed in one stage; an exchange writes in one and reads in
        another.
        """
        return self._timed_in.get((operator.query_id, operator.node, key), {})

    def rows_in(self, operator: Operator) -> Mapping[Key, int]:
        """The rows that leave `operator` in each stage that counted any."""
        return self._rows_in.get((operator.query_id, operator.node), {})

    def fully_explained(self) -> frozenset[Key]:
        """The stages for which the log, as far as plans go, records all waits of their tasks.

        Each of their operators computes, or has its wait recorded or attributed. An unknown
        operator (third-party source or sink, typed function of the program, cache) excludes its
        stages, or all stages of its query if it has no metrics.
        """
        told = {
            place: _is_explained(each) and (each.name != CACHED or bool(self.children_of(each)))
            for place, each in self.operators.items()
        }
        stages = {
            key: [(each.query_id, each.node) for each in there]
            for key, there in self._of_stages.items()
        }
        placed = {place for there in stages.values() for place in there}
        vague = {place[0] for place in told.keys() - placed if not told[place]}
        return frozenset(
            key
            for key, there in stages.items()
            if all(told[place] and place[0] not in vague for place in there)
        )

    def children_of(self, operator: Operator) -> Sequence[Operator]:
        """The operators that it takes rows from: of a join left and right."""
        return self.children.get((operator.query_id, operator.node), ())

    def rows_of(self, operator: Operator) -> int | None:
        """The rows that leave `operator`: its own count, or its child's if it passes them on."""
        while ROWS not in operator.counted:
            if "records read" in operator.counted:
                return operator.counted["records read"]
            children = self.children_of(operator)
            if len(children) != 1:
                return None
            operator = children[0]
        return operator.counted[ROWS]

    def above(self, operator: Operator, names: Sequence[str]) -> Operator | None:
        """The nearest of those called `names` that takes the rows of `operator` alone, before they
        leave their stage."""
        while operator.parent is not None:
            operator = self.operators[operator.query_id, operator.parent]
            if operator.name in names:
                return operator
            if _BORDER.fullmatch(operator.name) or len(self.children_of(operator)) != 1:
                return None
        return None

    def broadcast_by(self, key: Key) -> Operator | None:
        """Return the broadcast exchange that a stage collects rows for, None if it's none."""
        for each in self.of_stage(key):
            above = None if each.parent is None else self.operators[each.query_id, each.parent]
            if above is not None and above.name == "BroadcastExchange":
                return above
        return None

    def exchanges(self, join: Operator) -> list[Operator | None]:
        """For each side of a join the exchange of its rows; None if it has none of its own."""
        return [self._exchange(side) for side in self.children_of(join)]

    def _exchange(self, operator: Operator) -> Operator | None:
        """The exchange that feeds `operator` alone, if nothing is joined in between."""
        while operator.name != "Exchange":
            children = self.children_of(operator)
            if len(children) != 1:
                return None
            operator = children[0]
        return operator

    def name(self, key: Key, call_site: str) -> str:
        """A name for a stage: its purpose, and the line of the program that caused it."""
        does = self.does(key)
        if does is None:
            return call_site
        return does if not call_site or _OF_SPARK.search(call_site) else f"{does}; {call_site}"

    def does(self, key: Key) -> str | None:
        """The purpose of a stage in a few words: "join on k", "scan parquet, aggregate"."""
        there = self.of_stage(key)
        if not there:
            return None
        said: list[str] = []
        for pattern, word in _WHAT:
            found = next((each for each in there if pattern.fullmatch(each.name)), None)
            if found is not None:
                said.append(_with_keys(word, found))
        writes = any("number of written files" in each.counted for each in there)
        if any(each.name.startswith("Execute InsertInto") for each in there) or writes:
            said.append("write files")
        return ", ".join(said[:3]) or None


def _is_explained(operator: Operator) -> bool:
    """Whether all that it waits for is computing, or has a cause of its own."""
    if _NOWHERE in operator.text:
        return True
    if operator.name.startswith(_JDBC):
        return _FETCH in operator.timed
    known = any(kind.fullmatch(operator.name) for kind in (_COMPUTES, _TIMED, PYTHON))
    return known and not _UNNAMED_FUNCTION.search(operator.text)


def _with_keys(word: str, operator: Operator) -> str:
    keys = _KEYS.search(operator.text)
    if word == "join" and keys and keys[1]:
        return f"join on {without_numbers(keys[1])[:_SHOWN_KEYS]}"
    if word == "scan":
        kind, _, table = operator.name.partition(" ")
        if found := _JDBC_TABLE.match(operator.name):
            table = f"JDBC table {found[1]}"
        return f"{kind.lower()} {table}".strip()[:_SHOWN_KEYS]
    if word == "aggregate" and (found := re.search(r"keys=\[([^\]]+)\]", operator.text)):
        return f"aggregate by {without_numbers(found[1])[:_SHOWN_KEYS]}"
    return word
