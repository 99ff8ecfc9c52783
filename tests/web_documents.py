"""A web server on a free port of this machine, with documents that a test puts there."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import parse_qs


class Document(NamedTuple):
    body: bytes
    headers: Mapping[str, str] = MappingProxyType({})
    status: int = 200


class Request(NamedTuple):
    path: str
    headers: dict[str, str]
    query: str | None


class WebServer:
    """`documents` by path; one may be a function of the request. `requests` are those that came."""

    def __init__(self) -> None:
        self.documents: dict[str, Document | Callable[[Request], Document]] = {}
        self.requests: list[Request] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *about: object) -> None:
                pass

            def do_GET(self) -> None:
                self.answer(None)

            def do_POST(self) -> None:
                text = self.rfile.read(int(self.headers["Content-Length"])).decode()
                is_update = self.headers["Content-Type"] == "application/sparql-update"
                self.answer(text if is_update else parse_qs(text)["query"][0])

            def answer(self, query: str | None) -> None:
                request = Request(self.path, {name.lower(): value for name, value in self.headers.items()}, query)
                server.requests.append(request)
                found = server.documents.get(self.path, Document(b"", {}, 404))
                document = found if isinstance(found, Document) else found(request)
                self.send_response(document.status)
                for name, value in {"Content-Length": str(len(document.body)), **document.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(document.body)

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self._http.server_address[1]}"
        self.url = f"http://{self.host}"
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@contextlib.contextmanager
def web_server() -> Iterator[WebServer]:
    server = WebServer()
    try:
        yield server
    finally:
        server.stop()
