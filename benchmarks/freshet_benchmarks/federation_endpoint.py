"""A SPARQL endpoint on this machine in a process of its own, slow on purpose: pyoxigraph behind HTTP.

`python -m freshet_benchmarks.federation_endpoint` reads Turtle from its input and prints its port. POST /sparql
answers, POST /update takes SPARQL Update, POST /delay the milliseconds that an answer is held back; GET /seen gives
the number of queries so far.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import IO, Any
from urllib.parse import parse_qs

import pyoxigraph
import urllib3

_JSON = "application/sparql-results+json"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    delay_seconds = 0.0
    seen = 0

    def __init__(self, store: pyoxigraph.Store) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.store = store


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._reply(str(self.server.seen).encode(), "text/plain")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.path == "/delay":
            self.server.delay_seconds, self.server.seen = int(body) / 1000, 0
            self._reply(b"", "text/plain")
        elif self.path == "/update":
            self.server.store.update(body)
            self._reply(b"", "text/plain")
        else:
            self.server.seen += 1
            time.sleep(self.server.delay_seconds)
            found = self.server.store.query(parse_qs(body)["query"][0])
            assert isinstance(found, pyoxigraph.QuerySolutions)
            self._reply(found.serialize(format=pyoxigraph.QueryResultsFormat.JSON) or b"", _JSON)

    def _reply(self, data: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class SlowEndpoint:
    """The process, and its controls. Close it."""

    def __init__(self, turtle: str) -> None:
        command = [sys.executable, "-m", __name__]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._pipe(self._process.stdin).write(turtle)
        self._pipe(self._process.stdin).close()
        self._host = f"http://127.0.0.1:{int(self._pipe(self._process.stdout).readline())}"
        self._pool = urllib3.PoolManager()
        self.url = f"{self._host}/sparql"

    def delay(self, milliseconds: int) -> None:
        self._post("delay", str(milliseconds))

    def update(self, text: str) -> None:
        self._post("update", text)

    @property
    def seen(self) -> int:
        """The queries since the delay was set."""
        return int(self._pool.request("GET", f"{self._host}/seen").data)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()

    def _post(self, path: str, body: str) -> None:
        self._pool.request("POST", f"{self._host}/{path}", body=body)

    @staticmethod
    def _pipe(pipe: IO[str] | None) -> IO[str]:
        assert pipe is not None
        return pipe


def _end_with(parent: int) -> None:
    """End when the process that started this one has ended, which would stop it."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(0)


def main() -> None:
    store = pyoxigraph.Store()
    store.load(sys.stdin.buffer.read(), pyoxigraph.RdfFormat.TURTLE)
    server = _Server(store)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
