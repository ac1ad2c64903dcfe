"""Threads for computed answers, with a time limit.

Python cannot end a thread. So an answer that takes too long is abandoned, not ended: its client
gets an error, and its thread keeps its place until it is done. There are few such places, and other
requests don't use them. So lists of trials are answered however much is computed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar

from venturi.core.errors import VenturiError
from venturi.web.api.health import ServerState
from venturi.web.api.request_limits import busy

T = TypeVar("T")
LOG = logging.getLogger("venturi.computing")


class Computing:
    """`at_once` threads for `what`; at most `waiting` requests wait for one. An answer may take at
    most `timeout_s`, including the wait.
    """

    def __init__(
        self, what: str, watch: ServerState, *, at_once: int, waiting: int, timeout_s: float
    ) -> None:
        self._what, self._watch = what, watch
        self._at_once, self._most, self._timeout_s = at_once, at_once + waiting, timeout_s
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix=what)
        self._asked: set[Future[Any]] = set()

    async def answer(self, path: str, call: Callable[[], T]) -> T:
        """Run `call` on a thread and return its result; `path` is for the log.

        VEN-API-BUSY if too many wait, VEN-API-TIME if it takes too long.
        """
        if len(self._asked) >= self._most:
            self._watch.refused[self._what] += 1
            raise busy(f"requests that need {self._what}", self._at_once)
        future = self._threads.submit(copy_context().run, _whole, call)
        self._asked.add(future)
        future.add_done_callback(self._asked.discard)
        try:
            async with asyncio.timeout(self._timeout_s) as limit:
                return await asyncio.wrap_future(future)
        except TimeoutError:
            if not limit.expired():
                raise
        if future.running():
            self._watch.overdue.add(future)
            future.add_done_callback(self._watch.overdue.discard)
        self._watch.refused["time"] += 1
        LOG.warning("given up after %g s: %s", self._timeout_s, path)
        raise VenturiError(
            "VEN-API-TIME",
            f"the answer took longer than {self._timeout_s:g} s and was given up",
            hint="ask for less: add conditions, or group by fewer keys; or try again later",
        )


def _whole(call: Callable[[], T]) -> T:
    """Return the result of `call`. A future can't carry a StopIteration, so it becomes a
    RuntimeError.
    """
    try:
        return call()
    except StopIteration as error:
        raise RuntimeError("StopIteration") from error
