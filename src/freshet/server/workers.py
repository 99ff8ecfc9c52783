"""A bounded number of threads, and of requests that wait for one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from freshet.server.problems import Problem

P = ParamSpec("P")
T = TypeVar("T")


class Workers:
    """Runs what would hold up the event loop. One that finds too many waiting is refused."""

    def __init__(self, threads: int, waiting: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=f"freshet-{name}")
        self._most = threads + waiting
        self._busy = 0

    @property
    def busy(self) -> int:
        """How many calls run or wait."""
        return self._busy

    def submit(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> asyncio.Future[T]:
        """Run a function in a thread."""
        if self._busy >= self._most:
            raise Problem(503, f"the server is busy: {self._busy} requests wait")
        self._busy += 1
        future = asyncio.wrap_future(self._pool.submit(function, *args, **kwargs))
        future.add_done_callback(self._finish)
        return future

    def _finish(self, future: asyncio.Future[T]) -> None:
        self._busy -= 1
        if not future.cancelled():
            future.exception()  # the client may have gone: the error is only marked as seen

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
