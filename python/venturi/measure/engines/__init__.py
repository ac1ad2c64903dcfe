"""Engines a workload can run on: an explicit list."""

from venturi.measure.engines import native

ENGINES = (native.NAME,)
