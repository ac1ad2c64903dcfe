"""Venturi: the cost and performance laboratory for data-intensive clusters."""


def __getattr__(name: str) -> str:
    # Reading the package's metadata takes longer than most commands: only when asked for.
    if name == "__version__":
        from importlib.metadata import version

        return version("venturi")
    raise AttributeError(name)
