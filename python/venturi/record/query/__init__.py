"""Questions about many trials, answered from columns and never by decoding whole records.

A key names a column (`COLUMNS`) or else a configuration key; `configuration.KEY` is always the
latter. Configuration values are compared by `tables.text_of`: 2, 2.0 and "2" are one value; a
range takes every value that writes a number. A key that a trial lacks, or that is None, is missing.

What an exclusion in force covers is left out of every answer, unless a query asks for it.
"""

from venturi.record.query.conditions import (
    COLUMNS,
    CONDITION_VALUES_MAX,
    Condition,
    Op,
    Value,
    parse_condition,
)
from venturi.record.query.counting import (
    FACET_KEYS_MAX,
    FACET_VALUES_MAX,
    Facet,
    count,
    excluded_count,
    facets,
)
from venturi.record.query.grouping import (
    GROUP_KEYS_MAX,
    GROUPS_MAX,
    Group,
    TooManyGroupsError,
    group_by,
)
from venturi.record.query.known_keys import KeyInfo, keys
from venturi.record.query.paging import Page, TrialRow, rows
from venturi.record.query.repeats import Settings, chosen_of, stored_order
from venturi.record.query.selection import CONDITIONS_MAX, PAGE_ROWS_MAX, Query

__all__ = [
    "COLUMNS",
    "CONDITIONS_MAX",
    "CONDITION_VALUES_MAX",
    "FACET_KEYS_MAX",
    "FACET_VALUES_MAX",
    "GROUPS_MAX",
    "GROUP_KEYS_MAX",
    "PAGE_ROWS_MAX",
    "Condition",
    "Facet",
    "Group",
    "KeyInfo",
    "Op",
    "Page",
    "Query",
    "Settings",
    "TooManyGroupsError",
    "TrialRow",
    "Value",
    "chosen_of",
    "count",
    "excluded_count",
    "facets",
    "group_by",
    "keys",
    "parse_condition",
    "rows",
    "stored_order",
]  # fmt: skip
