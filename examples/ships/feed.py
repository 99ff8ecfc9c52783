"""A feed of ship positions as server-sent events, such as AIS receivers publish: one event a ship and second.

The ships are made up, and so is their harbour. `python feed.py --port 8090` serves them on this machine.
"""

from __future__ import annotations

import argparse
import json
import math
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
SHIPS = range(211_000_001, 211_000_013)
LATITUDE, LONGITUDE = 54.0, 8.0  # of the harbour, in degrees


def position(mmsi: int, second: int) -> dict[str, str | int | float]:
    """Where a ship is. They go round the harbour, each on its circle; every fourth lies at anchor."""
    number = mmsi - SHIPS.start
    knots = 0.3 if number % 4 == 3 else 6.0 + number
    radius = 0.02 + 0.005 * number
    angle = number * 2 * math.pi / len(SHIPS) + knots * second / (radius * 200_000)
    return {
        "id": f"{mmsi}-{second}",
        "mmsi": mmsi,
        "at": (START + timedelta(seconds=second)).isoformat(),
        "lat": round(LATITUDE + radius * math.sin(angle), 5),
        "lon": round(LONGITUDE + radius * math.cos(angle) * 1.7, 5),
        "sog": round(knots + 0.2 * math.sin(second / 5 + number), 1),
    }


def events(pace: float, seconds: int | None) -> Iterator[bytes]:
    """The events, a round of all ships at a time; `pace` is how long a second of the feed takes."""
    second = 0
    while seconds is None or second < seconds:
        for mmsi in SHIPS:
            yield f"id: {mmsi}-{second}\ndata: {json.dumps(position(mmsi, second))}\n\n".encode()
        second += 1
        time.sleep(pace)


class Feed(ThreadingHTTPServer):
    """The feed at a port of this machine; 0 is any that is free."""

    daemon_threads = True

    def __init__(self, port: int = 0, *, pace: float = 1.0, seconds: int | None = None) -> None:
        self.pace, self.seconds = pace, seconds
        super().__init__(("127.0.0.1", port), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/positions"

    def start(self) -> Feed:
        """Serve from a thread of its own."""
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self


class _Handler(BaseHTTPRequestHandler):
    server: Feed

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        try:
            for event in events(self.server.pace, self.server.seconds):
                self.wfile.write(event)
        except OSError:
            return  # the client has gone

    def log_message(self, format: str, *arguments: object) -> None:
        """Requests are not logged."""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8090)
    parser.add_argument("--pace", type=float, default=1.0, help="how long a second of the feed takes")
    chosen = parser.parse_args()
    Feed(chosen.port, pace=chosen.pace).serve_forever()
