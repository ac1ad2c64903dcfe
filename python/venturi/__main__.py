"""`python -m venturi`, the same as `venturi`."""

from venturi.cli.main import program

program()
