"""Long rounds of faults that machines and strangers cause: kills, failing calls, hostile input.

A round plays many cases; each ends in an observation or a fault. `make torture` plays all; the test
suite plays a few cases of each, with fixed seeds. docs/reliability.md has the results.
"""
