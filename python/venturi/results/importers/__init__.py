"""The results of others: one format a file, listed in `record.importing.formats`."""
