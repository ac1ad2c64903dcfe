"""Questions about many trials, answered from columns and never by decoding whole records.

A key names a column (`COLUMNS`) or else a configuration key; `configuration.KEY` is always the
latter. Configuration values are compared by `tables.text_of`: 2, 2.0 and "2" are one value; a
range takes every value that writes a number. A key that a trial lacks, or that is None, is missing.

What an exclusion in force covers is left out of every answer, unless a query asks for it.
"""
