"""A schema registry on a port of this machine, as far as those who read messages ask one."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class SchemaRegistry:
    """Schemas by the path that asks for them; counts the requests."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.url = ""

    def add(self, number: int, schema: str, kind: str = "AVRO", *, serialized: str = "", **more: Any) -> None:
        self.answers[f"/schemas/ids/{number}"] = {"schema": schema, "schemaType": kind, **more}
        if serialized:
            self.answers[f"/schemas/ids/{number}?format=serialized"] = {"schema": serialized}


@contextmanager
def schema_registry() -> Iterator[SchemaRegistry]:
    """A registry that runs."""
    registry = SchemaRegistry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            registry.asked.append(self.path)
            registry.headers.append({key.lower(): value for key, value in self.headers.items()})
            found = registry.answers.get(self.path)
            body = json.dumps(found if found is not None else {"error_code": 40403}).encode()
            self.send_response(200 if found is not None else 404)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    registry.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()


def framed(number: int, body: bytes) -> bytes:
    """A message with the header that says its schema."""
    return b"\0" + number.to_bytes(4, "big") + body
