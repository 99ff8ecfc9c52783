"""A server of server-sent events, which sends what came after the id that a client asks for."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class EventServer:
    """An HTTP server that sends its events from the id that is asked for, a connection at a time."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []  # kind and data
        self.asked: list[str | None] = []  # the last ids
        self.requests: list[tuple[str, str | None, str | None]] = []  # path, Accept, Authorization
        self.status, self.media_type = 200, "text/event-stream; charset=utf-8"
        self.cut = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *about: object) -> None:
                pass

            def do_GET(self) -> None:
                last = self.headers.get("Last-Event-ID")
                server.asked.append(last)
                server.requests.append((self.path, self.headers["Accept"], self.headers["Authorization"]))
                self.send_response(server.status)
                self.send_header("Content-Type", server.media_type)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                sent = int(last or 0)
                while not server.cut.wait(0.01):
                    for kind, data in server.events[sent:]:
                        sent += 1
                        text = f"id: {sent}\nevent: {kind}\ndata: {data}\n\n".encode()
                        self.wfile.write(b"%x\r\n%b\r\n" % (len(text), text))
                self.close_connection = True

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/events?a=1"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        self.cut.set()
        self._server.shutdown()
        self._server.server_close()
