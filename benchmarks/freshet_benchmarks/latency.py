"""`freshet bench latency`: from the arrival of a record to its answer, through `freshet run`.

A stream of JSON records is mapped, and a query answers each of them. The records come at 400 and at 20,000 a second
from Kafka, a TCP socket and a folder; the broker is a real one that the benchmark starts. `freshet run` is another
process, with a checkpoint, so that records are in the journal before they are answered. It writes its answers into a
file, which this process looks at every millisecond.

A record says when it was sent, and its answer repeats that. The time is taken before it is sent, or before its file is
written: so latencies have in them what the broker, the socket or the folder takes. Records happen one after the other,
evenly over a second; an instant is answered when a later record has come. What comes in the first seconds of each rate
is not counted: plans are made then and code is compiled.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import orjson
from confluent_kafka import Producer

from freshet.rdf.errors import FreshetError
from freshet_benchmarks.figures import Figure
from freshet_benchmarks.local_servers import PATIENCE, KafkaBroker
from freshet_benchmarks.ndw_streams import Ids

RATES = (400, 20_000)
WARM_SECONDS, MEASURED_SECONDS = 25.0, 20.0
_PAUSE_SECONDS = 0.2  # between records that are sent until the first is answered
_LOOK_SECONDS = 0.001
_MOST_SILENT_SECONDS = 180

_STREAM = "http://example.org/readings"
_QUERY = f"""PREFIX ex: <http://example.org/>
SELECT ?reading ?sent ?room WHERE {{ STREAM <{_STREAM}> [NOW] {{ ?reading ex:sent ?sent ; ex:room ?room }} }}
"""
_MAPPING = """@prefix rml: <http://w3id.org/rml/> .
@prefix ex: <http://example.org/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<#Reading> rml:logicalSource [ rml:source "anywhere" ; rml:referenceFormulation rml:JSONPath ; rml:iterator "$" ] ;
  rml:subjectMap [ rml:template "http://example.org/reading/{n}" ] ;
  rml:predicateObjectMap
    [ rml:predicate ex:sent ; rml:objectMap [ rml:reference "sent" ; rml:datatype xsd:integer ] ] ,
    [ rml:predicate ex:room ; rml:objectMap [ rml:template "http://example.org/room/{room}" ] ] ,
    [ rml:predicate ex:value ; rml:objectMap [ rml:reference "value" ; rml:datatype xsd:decimal ] ] .
"""
_PIPELINE = """streams:
  readings:
    iri: {stream}
    source: {source}
    mapping: mapping.ttl
    time: {{reference: at, as: epoch_ms}}
queries:
  each: {{file: each.rq, sinks: [{{files: out}}]}}
checkpoint: checkpoint
rejects: rejects
"""


class Feed(Protocol):
    """A source that records are sent to. Each batch of records comes after `every_seconds`."""

    every_seconds: float

    @property
    def section(self) -> str:
        """The `source` of a pipeline's stream."""

    def send(self, records: Sequence[bytes]) -> None: ...

    def close(self) -> None: ...


class KafkaFeed:
    """A topic of a broker that runs."""

    every_seconds = 0.005

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._broker = KafkaBroker(folder)
        self._broker.start()
        self._topic = self._broker.topic("readings")
        self._producer = Producer({"bootstrap.servers": self._broker.address, "linger.ms": 0, "log_level": 0})

    @property
    def section(self) -> str:
        return f"{{kafka: {{brokers: ['{self._broker.address}'], topic: {self._topic}}}, format: json}}"

    def send(self, records: Sequence[bytes]) -> None:
        for record in records:
            self._producer.produce(self._topic, record)
        self._producer.poll(0)

    def close(self) -> None:
        self._producer.flush(PATIENCE)
        self._broker.stop()


class SocketFeed:
    """A TCP server with one client."""

    every_seconds = 0.005

    def __init__(self, folder: Path) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(PATIENCE)
        self._client: socket.socket | None = None

    @property
    def section(self) -> str:
        return f"{{socket: {{host: 127.0.0.1, port: {self._listener.getsockname()[1]}}}, format: json}}"

    def send(self, records: Sequence[bytes]) -> None:
        if self._client is None:
            self._client, _ = self._listener.accept()
        self._client.sendall(b"".join(record + b"\n" for record in records))

    def close(self) -> None:
        for each in (self._client, self._listener):
            if each is not None:
                each.close()


class FolderFeed:
    """A folder in which a file of lines appears ten times a second."""

    every_seconds = 0.1

    def __init__(self, folder: Path) -> None:
        self._folder, self._written = folder / "in", folder / "written"
        for each in (self._folder, self._written):
            each.mkdir(parents=True)
        self._files = 0

    @property
    def section(self) -> str:
        return f"{{folder: '{self._folder}', format: json}}"

    def send(self, records: Sequence[bytes]) -> None:
        self._files += 1
        file = self._written / f"{self._files:06}.json"
        file.write_bytes(b"".join(record + b"\n" for record in records))
        os.replace(file, self._folder / file.name)

    def close(self) -> None:
        """Files stay until the folder goes."""


FEEDS: dict[str, Callable[[Path], Feed]] = {"kafka": KafkaFeed, "socket": SocketFeed, "folder": FolderFeed}


class Answered(NamedTuple):
    """When records were sent, and how much later their answers were seen; of a rate, without its first seconds."""

    sent_ms: Ids
    latencies_ms: Ids


def latency_figures(
    rate: int | None = None,
    *,
    feeds: Sequence[str] = tuple(FEEDS),
    warm_seconds: float = WARM_SECONDS,
    measured_seconds: float = MEASURED_SECONDS,
) -> Sequence[Figure]:
    """Run the benchmark, at one rate or at all."""
    rates = RATES if rate is None else (rate,)
    figures: list[Figure] = []
    for name in feeds:
        with tempfile.TemporaryDirectory(prefix="freshet-latency-") as folder:
            found = _through(FEEDS[name], Path(folder), rates, warm_seconds, measured_seconds)
        for one, answered in zip(rates, found, strict=True):
            of_feed = _figures(f"latency_{name}_{one}", answered, measured_seconds)
            for figure in of_feed:
                print(f"{figure.name} {figure.value:.6g} {figure.unit}", file=sys.stderr, flush=True)
            figures += of_feed
    return figures


def _figures(name: str, answered: Answered, seconds: float) -> list[Figure]:
    median, most = np.percentile(answered.latencies_ms, (50, 99))
    return [
        Figure(f"{name}_p50", float(median), "ms"),
        Figure(f"{name}_p99", float(most), "ms"),
        Figure(f"{name}_answers_per_second", len(answered.sent_ms) / seconds, "answers/s"),
    ]


def _through(
    feed: Callable[[Path], Feed], home: Path, rates: Sequence[int], warm_seconds: float, measured_seconds: float
) -> list[Answered]:
    """What a run answers at each rate."""
    with ExitStack() as closing:
        source = feed(home / "feed")
        closing.callback(source.close)
        _lay_out(home, source)
        sizes = closing.enter_context(_running(home))
        sender = _Sender(source)
        sender.send_until(lambda: bool(sizes.seen), sizes.check)
        measured = [sender.send_at(rate, warm_seconds, measured_seconds) for rate in rates]
        time.sleep(_PAUSE_SECONDS)
        sender.send_one()  # which ends the last instant, and is not answered itself
        sizes.wait_for(sender.count - 1)
    sent, latencies = _latencies(home, sizes.seen)
    return [
        Answered(sent[within], latencies[within])
        for first_ms, end_ms in measured
        for within in [(first_ms <= sent) & (sent < end_ms)]
    ]


def _lay_out(home: Path, source: Feed) -> None:
    (home / "mapping.ttl").write_text(_MAPPING, encoding="utf-8")
    (home / "each.rq").write_text(_QUERY, encoding="utf-8")
    pipeline = _PIPELINE.format(stream=_STREAM, source=source.section)
    (home / "pipeline.yaml").write_text(pipeline, encoding="utf-8")


class _Sender:
    """Sends records at a rate. `count` are sent."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self.count = 0

    def _send(self, first_ms: float, apart_ms: float, size: int) -> None:
        """Send records, of which the first happened at a time and the others after it."""
        now_ms, first = int(time.time() * 1000), self.count
        self._feed.send(
            [
                b'{"n":%d,"room":%d,"value":%d.5,"at":%d,"sent":%d}'
                % (first + at, at % 50, at % 90, first_ms + at * apart_ms, now_ms)
                for at in range(size)
            ]
        )
        self.count += size

    def send_one(self) -> None:
        """Send a record of now."""
        self._send(time.time() * 1000, 0, 1)

    def send_until(self, answered: Callable[[], bool], check: Callable[[], None]) -> None:
        """Send a record from time to time until one is answered."""
        while not answered():
            check()
            self.send_one()
            time.sleep(_PAUSE_SECONDS)

    def send_at(self, rate: int, warm_seconds: float, measured_seconds: float) -> tuple[int, int]:
        """Send records at a rate; gives from when and until when they count. A sender that falls behind catches up."""
        began = time.time()
        every, sent = self._feed.every_seconds, 0
        for tick in range(1, round((warm_seconds + measured_seconds) / every) + 1):
            time.sleep(max(began + tick * every - time.time(), 0))
            due = int(tick * every * rate)
            if due > sent:
                self._send(began * 1000 + sent * 1000 / rate, 1000 / rate, due - sent)
                sent = due
        first_ms = int((began + warm_seconds) * 1000)
        return first_ms, int(time.time() * 1000) + 1


class _Sizes:
    """How long the file of answers was at which moments. A thread looks, as another sends."""

    def __init__(self, home: Path, process: subprocess.Popen[bytes]) -> None:
        self._out, self._process = home / "out" / "part-00000.ndjson", process
        self._log = home / "run.log"
        self.seen: list[tuple[float, int]] = []
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        going = True
        while going:  # once more after the end
            going = not self._stopped.wait(_LOOK_SECONDS)
            try:
                size = self._out.stat().st_size
            except FileNotFoundError:
                continue
            if size > (self.seen[-1][1] if self.seen else 0):
                self.seen.append((time.time() * 1000, size))

    def check(self) -> None:
        """An error where the run has ended."""
        if self._process.poll() is not None:
            raise FreshetError(f"freshet run has ended: {self._log.read_text()[-2000:]}")

    def wait_for(self, count: int) -> None:
        """Wait until that number of records is answered; raise an error if answers stop coming."""
        found, last, end = 0, -1, 0.0
        while found < count:
            self.check()
            if found != last:
                last, end = found, time.monotonic() + _MOST_SILENT_SECONDS
            if time.monotonic() > end:
                raise FreshetError(f"{count} records were sent, and {found} answered")
            time.sleep(1)
            found = _count_answers(self._out)

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()


@contextmanager
def _running(home: Path) -> Iterator[_Sizes]:
    """`freshet run` in a process of its own."""
    command = [sys.executable, "-m", "freshet", "run", "pipeline.yaml"]
    with (home / "run.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=home, stdout=log, stderr=log)
    sizes = _Sizes(home, process)
    try:
        yield sizes
    finally:
        sizes.stop()
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _count_answers(file: Path) -> int:
    return file.read_bytes().count(b'"reading"')


def _latencies(home: Path, seen: Sequence[tuple[float, int]]) -> tuple[Ids, Ids]:
    """When each record was sent, and after how many milliseconds its answer was whole in the file: of those that were
    answered before the last look."""
    times, sizes = (np.array(column) for column in zip(*seen, strict=True))
    sent, ends, end = [], [], 0
    with (home / "out" / "part-00000.ndjson").open("rb") as lines:
        for line in lines:
            end += len(line)
            if end > sizes[-1]:
                break
            for row in orjson.loads(line)["bindings"]:
                sent.append(int(row["sent"]["value"]))
                ends.append(end)
    sent_ms = np.array(sent, np.int64)
    return sent_ms, times[np.searchsorted(sizes, ends)] - sent_ms
