"""Readers of imported results: a file for each format, found by `record.importing.formats`."""
