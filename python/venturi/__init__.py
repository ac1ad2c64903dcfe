"""Venturi: the cost and performance laboratory for data-intensive clusters.

As a library: `venturi.open()` is the repository, with its trials as tables, comparisons and
effects. `__init__.pyi` has the types.
"""

from importlib import import_module


def __getattr__(name: str) -> object:
    # Each is loaded when it is asked for: commands are started often, and need neither.
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415 - rarely needed

        return version("venturi")
    if name in {"open", "Repository"}:
        return getattr(import_module("venturi.python_api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
