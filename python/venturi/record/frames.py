"""Polars, imported so that Ctrl-C still ends whatever this process waits for.

Polars puts a handler of its own before Python's, with SA_RESTART: a blocking read would go on after
SIGINT, and Python's handler wait until it ends. It is imported from here and nowhere else.
"""

from __future__ import annotations

import signal

import polars as pl

__all__ = ["pl"]

signal.siginterrupt(signal.SIGINT, True)
