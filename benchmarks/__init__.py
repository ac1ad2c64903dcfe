"""Venturi's speed beside its peers' and beside the physical limit; `python -m benchmarks`."""
