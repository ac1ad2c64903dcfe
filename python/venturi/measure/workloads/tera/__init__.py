"""The other two of the TeraSort suite."""
