"""The micro workloads of the field."""
