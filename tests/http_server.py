"""A real server on a port of this machine: in a thread of this process, or `freshet serve` in a process of its own."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import urllib3

from freshet import Session
from freshet.server.served import Served, serve_session
from freshet.server.serving import serve
from freshet.server.settings import ServerSettings

_PATIENCE = 60  # seconds, for which only a failure waits


class Client:
    """Requests to one server."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._pool = urllib3.PoolManager(maxsize=64, retries=False, timeout=_PATIENCE)

    def send(self, method: str, path: str, body: Any = None, *, stream: bool = False, **headers: str) -> Any:
        """The response; names of headers are written with `_`."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self._pool.request(
            method, self.url + path, body=body, headers=named, preload_content=not stream, redirect=False
        )

    def get(self, path: str, **headers: str) -> Any:
        return self.send("GET", path, **headers)

    def ask(self, query: str, **headers: str) -> Any:
        """The answer to a query by GET."""
        return self.get(f"/sparql?{urlencode({'query': query})}", **headers)


class ThreadServer(Client):
    """A server of a session of this process."""

    def __init__(self, session: Session, settings: ServerSettings) -> None:
        self.session = session
        self.shared: Served = serve_session(session, settings)
        self._failed: BaseException | None = None
        started, found = threading.Event(), []

        def run() -> None:
            try:
                serve(self.shared, lambda url: (found.append(url), started.set()))
            except BaseException as error:
                self._failed = error
            finally:
                started.set()

        self._thread = threading.Thread(target=run, name="server", daemon=True)
        self._thread.start()
        assert started.wait(_PATIENCE)
        if self._failed is not None:
            raise self._failed
        super().__init__(found[0])

    def stop(self) -> None:
        self.shared.end()
        self._thread.join(_PATIENCE)
        assert not self._thread.is_alive()
        self.shared.close()


@contextlib.contextmanager
def server(session: Session | None = None, **settings: Any) -> Iterator[ThreadServer]:
    """A server of a session, on any free port, until the end of the block."""
    running = ThreadServer(session or Session(), ServerSettings(**{"port": 0, **settings}))
    try:
        yield running
    finally:
        running.stop()


class ServerProcess(Client):
    """`freshet serve` in a process of its own."""

    def __init__(self, *arguments: str | Path, port: int = 0, env: dict[str, str] | None = None) -> None:
        command = [sys.executable, "-m", "freshet", "serve", "--listen", f"127.0.0.1:{port}", *map(str, arguments)]
        self.process = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, encoding="utf-8", env={**os.environ, **(env or {})}
        )
        self.lines: list[str] = []
        url = ""
        for line in self.process.stderr:
            self.lines.append(line)
            if found := re.search(r"listening on (https?://[^\s\"]+)", line):
                url = found[1]
                break
        assert url, "".join(self.lines)
        threading.Thread(target=self._read, daemon=True).start()
        super().__init__(url)

    def _read(self) -> None:
        self.lines.extend(self.process.stderr)

    def kill(self) -> None:
        """As a loss of power of the process: nothing is closed."""
        self.process.kill()
        self.process.wait(_PATIENCE)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to stop, and wait; gives its status."""
        self.process.send_signal(number)
        return self.process.wait(_PATIENCE)

    def __enter__(self) -> ServerProcess:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.kill()
