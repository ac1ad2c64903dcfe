"""The micro workloads of the field: words, lines, pi."""
