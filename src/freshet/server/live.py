"""Live SPARQL: a query at /sparql whose client takes events stays as long as its connection.

Every client is a follower of its query in the session, where equal queries share a plan and a change is written once.
Changes come in the thread that brings them about; the event loop hands them to the queues of the clients.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from freshet.rdf.deadline import Deadline
from freshet.results.live_change import LiveChange
from freshet.server.holders import Holder, check_size
from freshet.server.queries import check_room
from freshet.server.subscribers import EVENTS, Subscriber, Subscription

if TYPE_CHECKING:
    from freshet.server.protocol_request import ProtocolRequest
    from freshet.server.served import Served


class LiveClient:
    """One connection: its subscriber, and what came before its first answer was written."""

    __slots__ = ("_early", "name", "subscriber")

    def __init__(self, name: str, subscriber: Subscriber) -> None:
        self.name = name
        self.subscriber = subscriber
        self._early: deque[bytes] | None = deque()

    def put(self, text: bytes, put_event: Callable[[Subscriber, bytes], None]) -> None:
        """A change, which comes after the first answer."""
        if self._early is None:
            put_event(self.subscriber, text)
        else:
            self._early.append(text)

    def begin(self, answer: bytes, put_event: Callable[[Subscriber, bytes], None]) -> None:
        """The first answer is there. It is not held against the client that it takes long to read."""
        self.subscriber.put_text(answer)
        self.subscriber.most_bytes += len(answer)
        early, self._early = self._early or (), None
        for text in early:
            put_event(self.subscriber, text)


class LiveClients:
    """The live queries of a server. What is called here is called by the event loop, but for `_post`."""

    def __init__(self, shared: Served) -> None:
        self._shared = shared
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opened = 0
        self._opening: dict[str, asyncio.Future[bytes]] = {}  # the first answers of those that are there
        self._waiting: deque[tuple[LiveClient, bytes]] = deque()
        self._is_due = False  # whether the event loop is to look at what waits
        self._dropping: set[asyncio.Task[None]] = set()

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    async def open(
        self,
        operation: ProtocolRequest,
        deadline: Deadline,
        unless_gone: Callable[[asyncio.Future[bytes]], Awaitable[bytes]],
        holder: Holder,
    ) -> Subscription:
        """Have a query answered for a client from now on."""
        check_room(self._shared, holder)
        subscribers = self._shared.standing.subscribers
        self._opened += 1
        name = f"live query {self._opened}"
        client = LiveClient(name, subscribers.enter(name, EVENTS))
        try:
            future = self._opening[name] = self._shared.asking.submit(self._first, client, operation, deadline)
            first = await unless_gone(future)
            check_size(len(first), holder.limits.answer_bytes)
            client.begin(first, subscribers.put_event)
        except BaseException:
            deadline.cancel()
            subscribers.remove(client.subscriber)
            raise
        return Subscription(subscribers, client.subscriber)

    def drop_unsubscribed(self, name: str) -> bool:
        """A query has lost its last subscriber; whether it was a live one, which goes then."""
        future = self._opening.pop(name, None)
        if future is None or self._loop is None:
            return False
        task = self._loop.create_task(self._drop(name, future))
        self._dropping.add(task)
        task.add_done_callback(self._dropping.discard)
        return True

    async def _drop(self, name: str, future: asyncio.Future[bytes]) -> None:
        await asyncio.wait([future])
        await self._shared.changing.submit(self._unfollow, name)

    def _unfollow(self, name: str) -> None:
        session = self._shared.session
        if name in session.engine.live:  # else it has failed
            session.unregister(name)

    def _first(self, client: LiveClient, operation: ProtocolRequest, deadline: Deadline) -> bytes:
        """In a thread: the first answer as an event."""
        found: list[LiveChange] = []
        limits = self._shared.settings.limits

        def on_change(change: LiveChange) -> None:
            if change.is_answer:
                found.append(change)  # it may be long, and others wait for this thread
            else:
                self._post(client, change.event)

        self._shared.session.follow(
            operation.text,
            on_change,
            name=client.name,
            default_graphs=operation.default_graphs,
            named_graphs=operation.named_graphs,
            deadline=deadline,
            limit_seconds=limits.live_seconds,
            limit_bytes=limits.query_bytes,
        )
        return found[0].event

    def _post(self, client: LiveClient, text: bytes) -> None:
        """In the thread of a change: the event loop is woken once for all clients."""
        self._waiting.append((client, text))
        if not self._is_due and self._loop is not None:
            self._is_due = True
            self._loop.call_soon_threadsafe(self._hand_out)

    def _hand_out(self) -> None:
        self._is_due = False
        put_event = self._shared.standing.subscribers.put_event
        while self._waiting:
            client, text = self._waiting.popleft()
            client.put(text, put_event)
