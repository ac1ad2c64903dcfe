"""The TeraSort suite."""
