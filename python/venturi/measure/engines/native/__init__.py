"""The native engine: the agent's own sort, and its small commands."""

from venturi.measure.engines.kind import EngineKind

KIND = EngineKind(
    "native",
    f"{__name__}.engine:Native",
    order=1,
    flags=frozenset({"indy", "verify"}),
    records_defaults=False,
    records_stages=True,
    modelled=frozenset({"sort"}),
)
