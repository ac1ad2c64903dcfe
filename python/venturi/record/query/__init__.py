"""Questions about many trials, answered from columns and never by decoding whole records.

A key names a column (`COLUMNS`) or else a configuration key; `configuration.KEY` is always the
latter. Configuration values are compared by `tables.text_of`: 2, 2.0 and "2" are one value; a range
covers every value that writes a number. A key is missing if a trial lacks it or has None.

Answers leave out the trials that an exclusion in force covers, unless a query includes them.
"""
