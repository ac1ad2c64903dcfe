"""Imports into PostgreSQL that lose their connection on the way."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace

from torture.instants import Instants
from torture.play import Play, Round
from torture.postgresql import Postgresql
from torture.record.import_kills import write_results
from torture.record.stores import Store, Stores
from torture.verbs import VerbResult, VerbRunner
from torture.web.proxy import Proxy
from venturi.core.settings import Settings
from venturi.record.trial import Trial

_ROWS = 100
_SOON_S = 15.0
"""An import takes a tenth of this, also on a loaded machine."""
_HOW = ("reset", "reset", "terminated", "killed", "idle")


def play(round_: Play) -> None:
    """Reset the connection after any number of bytes, or end it by the server at any instant of the
    import.
    """
    server = round_.postgresql()
    stores = Stores(round_)
    number = stores.kinds.index("postgresql")
    table = round_.folder / "CP_sort.csv"
    write_results(table, _ROWS)
    with VerbRunner(round_.folder / "work") as verbs, Proxy(server.socket) as proxy:
        with stores.one(number) as store:
            verbs.learn(_through(store, proxy), "import", table)
        with stores.one(number) as store:
            proxy.carry(None)
            ran = verbs.run(_through(store, proxy), "import", table)
            assert ran.status == 0, ran.stderr
            whole_bytes, wanted = proxy.carried_bytes, store.trials()
        instants = Instants(round_.chance, ran.elapsed_s)
        for case in round_.cases():
            how = _HOW[case.number % len(_HOW)]
            reset_after_bytes = round_.chance.randrange(whole_bytes) if how == "reset" else None
            delay_s = instants.draw_s()
            case.label = f"{how} after {reset_after_bytes:,} bytes" if reset_after_bytes else how
            case.label += f", {1000 * delay_s:.1f} ms"
            proxy.carry(reset_after_bytes)
            with stores.one(number) as store, case:
                with nullcontext() if how == "reset" else _ended(server, store, how, delay_s):
                    ran = verbs.run(_through(store, proxy), "import", table)
                assert ran.elapsed_s < _SOON_S, f"it took {ran.elapsed_s:.0f} s to end"
                found = store.trials()
                _check(ran, found, wanted)
                again = verbs.run(store.settings, "import", table)
                assert again.status == 0, again.stderr
                assert store.trials(tidy=True) == wanted, "the second import does not complete it"
                instants.learn(something=bool(found))
                state = "all there" if found else "none there"
                case.saw(f"{how}, {state}" if ran.status else f"{how}, done")


def _check(ran: VerbResult, found: Mapping[str, Trial], wanted: Mapping[str, Trial]) -> None:
    """Check for all or nothing; a failure has its code."""
    assert found in ({}, wanted), f"half a table: {len(found)} trials"
    if ran.status == 0:
        assert found == wanted, "it ended well, and what it promises is not there"
    else:
        assert ran.status == 1, f"status {ran.status}"
        assert "[VEN-RECORD-DATABASE]" in ran.stderr, ran.stderr[:300]


def _through(store: Store, proxy: Proxy) -> Settings:
    """The same database by way of `proxy`."""
    name = (store.settings.database_url or "").partition("@/")[2].partition("?")[0]
    url = f"postgresql+psycopg://venturi@127.0.0.1:{proxy.port}/{name}"
    return replace(store.settings, database_url=url)


@contextmanager
def _ended(server: Postgresql, store: Store, how: str, delay_s: float) -> Iterator[None]:
    """Let the server end the connections to the database of `store` after a delay; `idle`: whenever
    one has waited for a millisecond within a transaction.
    """
    url = store.settings.database_url or ""
    if how == "idle":
        server.end_idle(url)
        yield
        server.bear_idle(url)
        return
    by = signal.SIGKILL if how == "killed" else signal.SIGTERM
    ending = threading.Timer(delay_s, server.end_connections, (url, by))
    ending.start()
    try:
        yield
    finally:
        ending.join()


ROUND = Round(
    name="connection-cuts",
    question="The server resets or ends the connection of an import to PostgreSQL. Does the "
    "import end soon with a code, is all or nothing stored, and does a second import "
    "complete it?",
    count=1000,
    few=2,
    run=play,
)
