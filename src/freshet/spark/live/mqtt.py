"""Documents from an MQTT broker, at quality of service 1 with a persistent session.

A message is acknowledged once it is in the spool. A broker sends what it has no acknowledgement for again, under the
same packet number and marked as a duplicate: what is in the spool already is then skipped.
"""

from __future__ import annotations

import hashlib
import queue
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from paho.mqtt.client import Client, ConnectFlags, DisconnectFlags, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from freshet.spark.live.documents import text_of
from freshet.spark.live.mqtt_network import MqttNetwork
from freshet.spark.live.spool import Document, Spool
from freshet.spark.live.spooled import Receiver, SpooledSource

_LOOK_SECONDS = 0.1
_SUBSCRIBED = "subscribed"
_MOST_AT_ONCE = 10_000
_REMEMBERED = 65_535  # as many as there are packet numbers: a broker may have them all under way


class MqttReceiver(Receiver):
    """Takes the messages of a topic filter. `client` is the name of the session; without it nothing outlives a run."""

    def __init__(
        self,
        spool: Spool,
        folder: Path,
        *,
        host: str,
        port: int,
        topic: str,
        quality: int,
        client: str,
        login: tuple[str, str | None] | None,
        tls: bool,
        quiet_ms: int,
    ) -> None:
        super().__init__(spool, folder)
        self._host, self._port, self._topic, self._quality = host, port, topic, quality
        self._name, self._login, self._tls, self._quiet_ms = client, login, tls, quiet_ms
        self._messages: queue.SimpleQueue[MQTTMessage] = queue.SimpleQueue()
        self._lost = ""
        self._listening = False
        self._last_message = 0.0
        self._came = self._done = 0
        self._taken: dict[str, str] = {}  # packet number -> what it held
        for token in spool.tokens()[-_REMEMBERED:]:
            self._remember(token)

    def receive(self) -> None:
        self._lost, self._listening = "", False
        self._messages, self._came, self._done = queue.SimpleQueue(), 0, 0
        client = self._client()
        try:
            client.connect(self._host, self._port, keepalive=30)
        except OSError as error:
            raise OSError(f"cannot connect to {self._place}: {error.strerror or error}") from error
        network = MqttNetwork(client)
        network.start()
        try:
            while not self.stopped.is_set():
                self._keep(client, self._waiting())
                if self._lost or network.ended:
                    raise ConnectionError(self._lost or f"the connection to {self._place} was lost")
        finally:
            network.leave()

    def at_end(self) -> bool:
        quiet = time.monotonic() - self._last_message
        return self._listening and quiet * 1000 >= self._quiet_ms and self._came == self._done

    @property
    def _place(self) -> str:
        return f"the MQTT broker {self._host}:{self._port}"

    @property
    def _subscription(self) -> str:
        return f"{self._quality} {self._topic}"

    def _client(self) -> Client:
        client = Client(
            CallbackAPIVersion.VERSION2,
            client_id=self._name,
            clean_session=not self._name,
            manual_ack=True,
            reconnect_on_failure=False,
        )
        if self._login is not None:
            client.username_pw_set(*self._login)
        if self._tls:
            client.tls_set()
        client.on_connect = self._on_connect
        client.on_subscribe = self._on_subscribe
        client.on_disconnect = self._on_disconnect
        client.on_message = self._on_message
        return client

    def _on_connect(
        self, client: Client, data: Any, flags: ConnectFlags, reason: ReasonCode, properties: Properties | None
    ) -> None:
        if reason.is_failure:
            self._lost = f"{self._place} refuses the connection: {reason}"
            return
        before = self.read_note(_SUBSCRIBED) if flags.session_present else ""
        if before == self._subscription:
            self._begin()  # it is still there; to subscribe again would bring retained messages again
            return
        if before:
            client.unsubscribe(before.partition(" ")[2])
        client.subscribe(self._topic, self._quality)  # the session may be there without it, or with another one

    def _on_subscribe(
        self, client: Client, data: Any, number: int, reasons: list[ReasonCode], properties: Properties | None
    ) -> None:
        if any(reason.is_failure for reason in reasons):
            self._lost = f"{self._place} refuses the topic {self._topic}: {reasons[0]}"
        else:
            self.note(_SUBSCRIBED, self._subscription)
            self._begin()

    def _on_message(self, client: Client, data: Any, message: MQTTMessage) -> None:
        self._came += 1
        self._messages.put(message)

    def _begin(self) -> None:
        self._last_message, self._listening = time.monotonic(), True
        self.note_connected()

    def _on_disconnect(
        self, client: Client, data: Any, flags: DisconnectFlags, reason: ReasonCode, properties: Properties | None
    ) -> None:
        self._lost = self._lost or f"the connection to {self._place} was lost: {reason}"

    def _waiting(self) -> list[MQTTMessage]:
        """The messages that have come; waits a little where there is none."""
        found: list[MQTTMessage] = []
        try:
            found.append(self._messages.get(timeout=_LOOK_SECONDS))
            while len(found) < _MOST_AT_ONCE:
                found.append(self._messages.get_nowait())
        except queue.Empty:
            pass
        return found

    def _keep(self, client: Client, messages: list[MQTTMessage]) -> None:
        """Into the spool, then acknowledge."""
        now = int(time.time() * 1000)
        first = self.spool.end
        kept: list[Document] = []
        for message in messages:
            token = _token(message)
            if message.dup and self._taken.get(str(message.mid)) == token:
                continue
            place = f"mqtt:{message.topic}/{first + len(kept)}"
            kept.append(Document(text_of(bytes(message.payload)), place, now, token))
        if kept:
            self.keep(kept)
            for document in kept:
                self._remember(document.token)
        for message in messages:
            client.ack(message.mid, message.qos)
        if messages:
            self._last_message = time.monotonic()
            self._done += len(messages)

    def _remember(self, token: str) -> None:
        number = token.partition(":")[0]
        self._taken.pop(number, None)
        self._taken[number] = token
        if len(self._taken) > _REMEMBERED:
            del self._taken[next(iter(self._taken))]


def _token(message: MQTTMessage) -> str:
    """The packet number and what the packet holds."""
    held = hashlib.blake2b(message.payload, digest_size=12, key=message.topic.encode()[:64])
    return f"{message.mid}:{held.hexdigest()}"


class MqttDataSource(SpooledSource):
    """Options: host, port, topic, quality, client, user, password, tls, quietMs, spool."""

    @classmethod
    def name(cls) -> str:
        return "freshet-mqtt"

    def receiver(self, spool: Spool, folder: Path) -> Receiver:
        options = self.options
        user = options.get("user")
        return MqttReceiver(
            spool,
            folder,
            host=options["host"],
            port=int(options["port"]),
            topic=options["topic"],
            quality=int(options["quality"]),
            client=options.get("client", ""),
            login=None if user is None else (user, options.get("password")),
            tls=options.get("tls") == "true",
            quiet_ms=int(options.get("quietMs", "1000")),
        )


def client_name(parts: Iterable[str]) -> str:
    """A session's name: the same for the same stream and checkpoint, and short enough for every broker."""
    return "f" + hashlib.blake2b("\n".join(parts).encode(), digest_size=11).hexdigest()
