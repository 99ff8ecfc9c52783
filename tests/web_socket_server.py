"""A WebSocket server, which sends its messages from the number that a client asks for, or from where it stands."""

from __future__ import annotations

import threading

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve


class WebSocketServer:
    """Sends each message once, to the newest connection; binary ones as they are."""

    def __init__(self, subscribe: bool = False) -> None:
        self.messages: list[str | bytes] = []
        self.received: list[str | bytes] = []  # what clients sent
        self.headers: list[str | None] = []  # Authorization of each connection
        self.sent = 0
        self.close_code = 1000
        self.cut = threading.Event()
        self._newest: ServerConnection | None = None
        self._subscribe = subscribe
        self._server = serve(self._serve, "127.0.0.1", 0, compression="deflate")
        self.url = f"ws://127.0.0.1:{self._server.socket.getsockname()[1]}/feed"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def _serve(self, connection: ServerConnection) -> None:
        assert connection.request is not None
        self.headers.append(connection.request.headers.get("Authorization"))
        try:
            asked = [connection.recv()] if self._subscribe else []
            self._newest = connection
            self.received += asked
            while not self.cut.wait(0.005):
                while self._newest is connection and self.sent < len(self.messages):
                    connection.send(self.messages[self.sent])
                    self.sent += 1
            connection.close(self.close_code, "bye")
        except ConnectionClosed:
            pass

    def stop(self) -> None:
        self.cut.set()
        self._server.shutdown()
        self._thread.join(timeout=5)
