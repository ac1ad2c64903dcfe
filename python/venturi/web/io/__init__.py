"""A trial's block I/O as pages show it."""
