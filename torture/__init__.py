"""Long rounds of what machines and strangers do to Venturi: kills, failing calls, hostile input.

A round plays many cases; each ends in something that was seen, or in a fault. `make torture` plays
all; the suite plays a few cases of each, with fixed seeds. docs/reliability.md has what was found.
"""
