"""A small SPARQL endpoint for the example: pyoxigraph behind the HTTP server of the standard library."""

from __future__ import annotations

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import pyoxigraph

RESULTS = "application/sparql-results+json"


class Endpoint(ThreadingHTTPServer):
    """Answers SPARQL queries that are posted to it. Use it with `with`."""

    daemon_threads = True

    def __init__(self, delay_seconds: float = 0.0) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.store = pyoxigraph.Store()
        self.delay_seconds = delay_seconds
        self.requests = 0
        self.host = f"127.0.0.1:{self.server_address[1]}"

    def __enter__(self) -> Endpoint:
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    """One request: a query in the body, as the SPARQL protocol says."""

    server: Endpoint
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        time.sleep(self.server.delay_seconds)  # as if it were far away
        self.server.requests += 1
        found = self.server.store.query(form["query"][0]).serialize(format=pyoxigraph.QueryResultsFormat.JSON)
        self.send_response(200)
        self.send_header("Content-Type", RESULTS)
        self.send_header("Content-Length", str(len(found)))
        self.end_headers()
        self.wfile.write(found)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""
