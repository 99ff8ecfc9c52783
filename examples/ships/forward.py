"""Reads a feed of server-sent events, and posts its records to a Freshet server, a second at a time.

It declares the stream with its mapping and registers the queries first. Without `--feed` it starts `feed.py` itself.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from urllib.parse import quote
from urllib.request import Request, urlopen

from feed import Feed

HERE = Path(__file__).parent
STREAM = "http://example.org/ships/positions"
QUERIES = ("where", "speeds", "anchored")


def send(method: str, url: str, body: bytes, content_type: str) -> bytes:
    with urlopen(Request(url, body, {"Content-Type": content_type}, method=method)) as answer:
        return answer.read()


def prepare(server: str) -> None:
    """Declare the stream, and register the queries. To do that again changes nothing."""
    mapping = (HERE / "positions.rml.ttl").read_bytes()
    options = f"iri={quote(STREAM)}&time={quote('$.at')}&lateness=1s&idle=5s"
    send("PUT", f"{server}/streams/positions?{options}", mapping, "text/turtle")
    for name in QUERIES:
        send("PUT", f"{server}/queries/{name}", (HERE / f"{name}.rq").read_bytes(), "application/sparql-query")


def records(feed: str) -> Iterator[dict]:
    """The data of the feed's events."""
    with urlopen(feed) as lines:
        for line in lines:
            if line.startswith(b"data: "):
                yield json.loads(line[6:])


def forward(feed: str, server: str) -> int:
    """Post what the feed sends until it ends; gives how many records that were."""
    count = 0
    for at, seconds in groupby(records(feed), key=lambda record: record["at"]):
        lines = [json.dumps(record) for record in seconds]
        request = Request(f"{server}/streams/positions", "\n".join(lines).encode(), method="POST")
        request.add_header("Content-Type", "application/x-ndjson")
        request.add_header("Idempotency-Key", at)
        urlopen(request).close()
        count += len(lines)
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", default="http://127.0.0.1:7024")
    parser.add_argument("--feed", help="the address of the feed")
    parser.add_argument("--seconds", type=int, help="how long the feed lasts, where it is started here")
    parser.add_argument("--pace", type=float, default=1.0, help="how long a second of it takes")
    chosen = parser.parse_args()
    prepare(chosen.server)
    feed = chosen.feed or Feed(pace=chosen.pace, seconds=chosen.seconds).start().url
    print(f"{forward(feed, chosen.server)} positions")


if __name__ == "__main__":
    main()
