"""Venturi's speed compared with its peers and with the physical limit; `python -m benchmarks`."""
