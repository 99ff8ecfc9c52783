"""The network side of an MQTT client, in its own thread.

paho's own loop waits with select(), which cannot wait for a file numbered 1,024 or more: where a process has that many
open, no client could connect. This one waits with poll().
"""

from __future__ import annotations

import select
import socket
import threading
from contextlib import suppress

from paho.mqtt.client import Client
from paho.mqtt.enums import MQTTErrorCode

_LOOK_MS = 1000  # whether to send the broker a ping


class MqttNetwork:
    """Reads and writes for a client that has connected, until the connection ends. Callbacks come in its thread."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._woken, self._waking = socket.socketpair()
        self._woken.setblocking(False)
        self._waking.setblocking(False)
        # With it, what another thread sends is only put into the client's queue, and this is called.
        client.on_socket_register_write = lambda client, data, peer: self._wake()
        self._thread = threading.Thread(target=self._run, name="freshet-mqtt", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def ended(self) -> bool:
        return not self._thread.is_alive()

    def leave(self) -> None:
        """Take leave of the broker, and end; with a broker that does not take it, when it has been silent too long."""
        self._client.disconnect()
        self._thread.join()
        self._waking.close()

    def _wake(self) -> None:
        with suppress(OSError):  # it is awake, or has ended
            self._waking.send(b"\0")

    def _run(self) -> None:
        waiting = select.poll()
        waiting.register(self._woken, select.POLLIN)
        with self._woken:
            while self._step(waiting) == MQTTErrorCode.MQTT_ERR_SUCCESS:
                pass

    def _step(self, waiting: select.poll) -> MQTTErrorCode:
        """Wait for something to do, and do it."""
        client, peer = self._client, self._client.socket()
        if peer is None:
            return MQTTErrorCode.MQTT_ERR_NO_CONN
        waiting.register(peer, select.POLLIN | select.POLLOUT if client.want_write() else select.POLLIN)
        kept = getattr(peer, "pending", int)()  # what TLS has read and not given out yet
        ready = dict(waiting.poll(0 if kept else _LOOK_MS))
        if self._woken.fileno() in ready:
            self._woken.recv(4096)
        done = MQTTErrorCode.MQTT_ERR_SUCCESS
        if kept or ready.get(peer.fileno(), 0) & ~select.POLLOUT:
            done = client.loop_read()
        if done == MQTTErrorCode.MQTT_ERR_SUCCESS and client.want_write():
            done = client.loop_write()
        return client.loop_misc() if done == MQTTErrorCode.MQTT_ERR_SUCCESS else done
