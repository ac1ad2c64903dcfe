"""The command line: the only place where stages are wired together."""
