"""A server killed at random instants of an upload, which the client then repeats."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import httpx

from torture.instants import Instants
from torture.play import Play, Round, TortureCase
from torture.record.stores import Store, Stores, write_archive
from torture.verbs import VerbRunner
from venturi.record.trial import Trial

_TRIALS = 4
TOKEN = "write-0123456789abcdef"
_START_S = 60.0


def play(round_: Play) -> None:
    """Kill an upload between its beginning and after its end: see `Instants`."""
    archive = round_.folder / "trials.zip"
    wanted = write_archive(archive, [f"sent{number}" for number in range(_TRIALS)])
    stores = Stores(round_)
    instants: dict[str, Instants] = {}
    with VerbRunner(round_.folder / "work") as verbs:
        with stores.one(0) as store:
            server = Server(verbs, store, learn=True)
            server.post(archive)
            server.end(signal.SIGINT)
        for number, kind in enumerate(stores.kinds):
            with stores.one(number) as store:
                server = Server(verbs, store)
                begun_s = time.monotonic()
                server.post(archive)
                instants[kind] = Instants(round_.chance, time.monotonic() - begun_s)
                server.end(signal.SIGINT)
        for case in round_.cases():
            with stores.one(case.number) as store, case:
                delay_s = instants[store.kind].draw_s()
                case.label = f"{store.kind}, killed after {1000 * delay_s:.1f} ms"
                found = _kill(case, verbs, store, archive, wanted, delay_s)
                instants[store.kind].learn(something=found > 0)


class Server:
    """A listening `venturi serve`."""

    def __init__(self, verbs: VerbRunner, store: Store, *, learn: bool = False) -> None:
        self._verbs = verbs
        self._pid = verbs.begin(
            store.settings,
            "serve",
            "--port",
            0,
            end_s=10 * _START_S,
            learn=learn,
            environment={"VENTURI_WRITE_TOKEN": TOKEN},
        )
        deadline_s = time.monotonic() + _START_S
        while not (said := self._said()):
            assert time.monotonic() < deadline_s, "the server does not start"
            time.sleep(0.005)
        self.url = said

    def _said(self) -> str:
        try:
            line = self._verbs.stdout.read_text()
        except OSError:
            return ""
        return line.strip() if line.endswith("\n") else ""

    def post(self, archive: Path) -> list[str]:
        """Return the ids that the server reports; httpx.TransportError without an answer."""
        answer = httpx.post(
            f"{self.url}api/uploads",
            content=archive.read_bytes(),
            timeout=60,
            trust_env=False,
            headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/zip"},
        )
        said = self._verbs.stderr.read_text()
        assert answer.is_success, f"{answer.text} {said}"
        told = answer.json()
        assert not told["refused"], told["refused"]
        return [*told["added"], *told["already_present"]]

    def end(self, by: int) -> None:
        os.kill(self._pid, by)
        self._verbs.end()


def _kill(
    case: TortureCase,
    verbs: VerbRunner,
    store: Store,
    archive: Path,
    wanted: Mapping[str, Trial],
    delay_s: float,
) -> int:
    """Return the number of stored trials."""
    server = Server(verbs, store)
    killer = threading.Timer(delay_s, server.end, (signal.SIGKILL,))
    killer.start()
    try:
        accepted = server.post(archive)
    except httpx.TransportError:
        accepted = []
    killer.join()
    found = store.trials()
    assert found.items() <= wanted.items(), "there is what was not sent"
    assert found.keys() >= set(accepted), "what it said it has is not there"
    server = Server(verbs, store)
    try:
        assert set(server.post(archive)) == wanted.keys()
    finally:
        server.end(signal.SIGINT)
    left = store.mend()
    assert store.trials(tidy=True) == wanted, "the second upload does not complete the first"
    state = "none" if not found else "all" if len(found) == len(wanted) else "some"
    if accepted:
        case.saw("answered before")
    else:
        case.saw(f"killed, {state} stored{', leftovers removed' if left else ''}")
    return len(found)


ROUND = Round(
    name="upload-kills",
    question="A server is killed at a random instant of an upload. Is all acknowledged data "
    "stored, is nothing torn, and does the client's next try complete it?",
    count=1000,
    few=2,
    run=play,
)
