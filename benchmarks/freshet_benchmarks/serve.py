"""`freshet bench serve`: the server from outside, on this machine, beside the same in process and beside Oxigraph.

One-shot queries are sent as SPARQL Protocol over connections that are kept, to `freshet serve` and to `oxigraph serve`
with the same data, and answered as SPARQL JSON. Events go from a POST of one triple to a subscriber of a query that
answers every element, and to a live query over the whole graph. The client is another process: on two cores it takes
its share of the time.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from urllib.parse import urlencode

from freshet.results.write import write_answer
from freshet.runtime.session import Session
from freshet_benchmarks.figures import Baseline, Figure
from freshet_benchmarks.http_load import Connection, EventReader, Listeners, latencies, message, rate
from freshet_benchmarks.peers import peer_python
from freshet_benchmarks.social_queries import QUERIES
from freshet_benchmarks.social_triples import write_social
from freshet_benchmarks.social_vocabulary import DBP, FOAF, SIB, SIOC, VOCABULARY

TRIPLES = 1_000_000
SUBSCRIBERS = (1, 100, 10_000)
_OXIGRAPH = "oxigraph==0.5.13"
_ASKED = ("S1", "S3", "S5")
_TIMES = 200
_REEVALUATIONS = 48
_EVENTS = 300
_FAN_OUTS = 10
_RATE_SECONDS = 2.0
_CONNECTIONS = 8
_STREAM = "http://example.org/s"
_EVERY_ELEMENT = f"SELECT ?s ?o WHERE {{ STREAM <{_STREAM}> [NOW] {{ ?s <http://example.org/p> ?o }} }}"


def serve_figures(triples: int | None = None, subscribers: Sequence[int] = SUBSCRIBERS) -> list[Figure]:
    """All figures; a smaller graph and fewer subscribers for tests."""
    with tempfile.TemporaryDirectory(prefix="freshet-serve-") as folder:
        home = Path(folder)
        figures = _oneshot_figures(home, triples or TRIPLES)
        figures += _event_figures(home, subscribers)
    return figures


# ---- one-shot queries


def _oneshot_figures(home: Path, triples: int) -> list[Figure]:
    data = home / "social.nt"
    write_social(data, triples=triples)
    figures = []
    inside = _in_process(data)
    with _freshet("-d", str(data)) as port, _oxigraph(home, data) as other:
        for name in _ASKED:
            request, same = _ask("/sparql", QUERIES[name]), _ask("/query", QUERIES[name])
            ours = _percentiles(latencies(port, request, _TIMES)[_TIMES // 6 :])
            figures.append(Figure(f"{name}_p50", ours[0], "ms", Baseline("in process", inside[name])))
            theirs = None if other is None else _percentiles(latencies(other, same, _TIMES)[_TIMES // 6 :])
            for at, quantile in enumerate(("p50", "p99")):
                peer = None if theirs is None else Baseline("oxigraph serve", theirs[at])
                figures.append(Figure(f"{name}_http_{quantile}", ours[at], "ms", peer))
            figures.append(_rate(f"{name}_requests_per_second", port, other, [QUERIES[name]]))
            figures.append(_rate(f"{name}_varied_requests_per_second", port, other, _with_other_users(QUERIES[name])))
        figures += _live_figures(port, inside)
    return figures


def _rate(name: str, port: int, other: int | None, queries: Sequence[str]) -> Figure:
    """Requests a second, here and there."""
    found = rate(port, [_ask("/sparql", query) for query in queries], _RATE_SECONDS, _CONNECTIONS)
    peer = None
    if other is not None:
        same = [_ask("/query", query) for query in queries]
        peer = Baseline("oxigraph serve", rate(other, same, _RATE_SECONDS, _CONNECTIONS))
    return Figure(name, found, "requests/s", peer)


def _with_other_users(query: str) -> list[str]:
    """The same for other users: more than a server keeps of parsed queries."""
    return [re.sub(r"\b(u|p)[0-9]+\b", rf"\g<1>{user}", query) for user in range(1, 2001)]


def _in_process(data: Path) -> dict[str, float]:
    """Milliseconds from the text to SPARQL JSON."""
    session = Session()
    session.load(data)
    found = {}
    for name in _ASKED:
        found[name] = _percentiles(_answer_times(session, QUERIES[name], _TIMES)[_TIMES // 6 :])[0]
    for live in LIVE:
        found[live.name] = _percentiles(_answer_times(session, live.query, _REEVALUATIONS)[_REEVALUATIONS // 6 :])[0]
    return found


def _answer_times(session: Session, query: str, times: int) -> list[float]:
    """Seconds of each of some answers to a query, written as JSON."""
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        write_answer(session.query(query), session.dictionary, "json")
        seconds.append(time.perf_counter() - began)
    return seconds


def _ask(path: str, query: str) -> bytes:
    return message("GET", f"{path}?{urlencode({'query': query})}", Accept="application/sparql-results+json")


# ---- live queries


@dataclass(frozen=True, slots=True)
class LiveQuestion:
    """A query that stays, what is posted before it, and the triple that changes its answer each time."""

    name: str
    query: str
    before: str
    triple: str


_NEW = "http://example.org/live/"
LIVE = (
    LiveQuestion(
        "live_S3",
        QUERIES["S3"],
        f"<{_NEW}a> <{SIOC}account_of> <{SIB}person/p984> . <{_NEW}a> <{FOAF}knows> <{_NEW}b> .",
        f"<{_NEW}b> <{SIOC}creator_of> <{_NEW}made{{}}> .",
    ),
    LiveQuestion(
        "live_S6",
        QUERIES["S6"],
        f"<{_NEW}a> <{FOAF}based_near> <{DBP}Peoples_Republic_of_China> ; <{SIOC}creator_of> <{_NEW}post> . "
        f"<{_NEW}b> <{VOCABULARY}like> <{_NEW}post> ; <{FOAF}based_near> <{DBP}United_States> .",
        f'<{_NEW}post> <{VOCABULARY}hashtag> "{{}}" .',
    ),
    LiveQuestion(
        "live_count",
        f"SELECT ?country (COUNT(?made) AS ?n) {{ ?maker <{FOAF}based_near> ?country ; <{SIOC}creator_of> ?made }} "
        "GROUP BY ?country",
        f"<{_NEW}c> <{FOAF}based_near> <{DBP}United_States> .",
        f"<{_NEW}c> <{SIOC}creator_of> <{_NEW}counted{{}}> .",
    ),
)


def _live_figures(port: int, inside: dict[str, float]) -> list[Figure]:
    """From a POST of one triple to the event of a live query over the whole graph, beside asking the query again."""
    feeding = Connection(port)
    assert feeding.request(message("PUT", "/streams/live?iri=http://example.org/streams/live&absorb=all"))[0] == 201
    figures = []
    for live in LIVE:
        assert feeding.request(_post_live(live.before))[0] == 200
        reader = EventReader(port, f"/sparql?{urlencode({'query': live.query})}")
        reader.next_event(b"answer")
        seconds = []
        for number in range(_EVENTS + 20):
            began = time.perf_counter()
            feeding.socket.sendall(_post_live(live.triple.format(number)))
            reader.next_event(b"change")
            seconds.append(time.perf_counter() - began)
            assert feeding.answer()[0] == 200
        reader.close()
        again = Baseline("asked again in process", inside[live.name])
        p50, p99 = _percentiles(seconds[20:])
        figures += [Figure(f"{live.name}_p50", p50, "ms", again), Figure(f"{live.name}_p99", p99, "ms")]
    feeding.close()
    return figures


def _post_live(turtle: str) -> bytes:
    return message("POST", "/streams/live?time=1", turtle.encode(), Content_Type="text/turtle")


# ---- events


def _event_figures(home: Path, subscribers: Sequence[int]) -> list[Figure]:
    figures = []
    for kept in (False, True):
        with _freshet(*(["--checkpoint", str(home / "checkpoint")] if kept else [])) as port:
            _prepare(port)
            seconds = _post_to_subscriber(port)
            name = "event_with_checkpoint" if kept else "event"
            figures += [
                Figure(f"{name}_{quantile}", value, "ms")
                for quantile, value in zip(("p50", "p99"), _percentiles(seconds), strict=True)
            ]
    for count in subscribers:
        with _freshet() as port:
            _prepare(port)
            figures += _fan_out(port, count)
    return figures


def _prepare(port: int) -> None:
    connection = Connection(port)
    for request in (
        message("PUT", f"/streams/s?iri={_STREAM}"),
        message("PUT", "/queries/every?dialect=cqels", _EVERY_ELEMENT.encode()),
    ):
        status, body = connection.request(request)
        assert status == 201, body
    connection.close()


def _post(number: int) -> bytes:
    body = f'{number}\t<http://example.org/{number}> <http://example.org/p> "{number}" .\n'.encode()
    return message("POST", f"/streams/s?watermark={number + 1}", body, Content_Type="text/plain")


def _post_to_subscriber(port: int) -> list[float]:
    """Seconds from a POST to its event at one subscriber."""
    listeners, feeding = Listeners(port, "/queries/every/answers", 1), Connection(port)
    found = []
    for number in range(1, _EVENTS + 51):
        began = time.perf_counter()
        feeding.socket.sendall(_post(number))
        [seconds] = listeners.next_event(began)
        assert feeding.answer()[0] == 200
        found.append(seconds)
    listeners.close()
    feeding.close()
    return found[50:]


def _fan_out(port: int, count: int) -> list[Figure]:
    """How long an event takes to reach all subscribers, and what each costs the server."""
    listeners, feeding = Listeners(port, "/queries/every/answers", count), Connection(port)
    process = _FRESHET_PROCESSES[port]
    firsts, lasts = [], []
    cpu = 0.0
    for number in range(1, _FAN_OUTS + 4):
        if number == 4:
            cpu = _cpu_seconds(process)
        began = time.perf_counter()
        feeding.socket.sendall(_post(number))
        seconds = listeners.next_event(began)
        assert feeding.answer()[0] == 200
        if number >= 4:
            firsts.append(median(seconds))
            lasts.append(max(seconds))
    cost = (_cpu_seconds(process) - cpu) / _FAN_OUTS / count
    listeners.close()
    feeding.close()
    return [
        Figure(f"subscribers_{count}_median", median(firsts) * 1000, "ms"),
        Figure(f"subscribers_{count}_last", median(lasts) * 1000, "ms"),
        Figure(f"subscribers_{count}_server_cpu", cost * 1e6, "us per event and subscriber"),
    ]


# ---- servers

_FRESHET_PROCESSES: dict[int, int] = {}  # process ids by port


@contextmanager
def _freshet(*arguments: str) -> Iterator[int]:
    """`freshet serve` on a free port."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    command = [sys.executable, "-m", "freshet", "serve", "--listen", "127.0.0.1:0", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            lines = []
            for line in process.stderr:
                lines.append(line)
                if found := re.search(r"listening on http://127\.0\.0\.1:([0-9]+)", line):
                    break
            else:
                raise RuntimeError("".join(lines))
            port = int(found[1])
            _FRESHET_PROCESSES[port] = process.pid
            yield port
        finally:
            process.terminate()
            process.wait(120)  # with thousands of connections, on a busy machine
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def _oxigraph(home: Path, data: Path) -> Iterator[int | None]:
    """`oxigraph serve` on a free port with the same data; None where it cannot be had."""
    python = peer_python(_OXIGRAPH)
    if python is None:
        yield None
        return
    program, store = python.with_name("oxigraph"), str(home / "oxigraph")
    subprocess.run([program, "load", "--location", store, "--file", data], check=True, capture_output=True)
    port = _free_port()
    command = [str(program), "serve-read-only", "--location", store, "--bind", f"127.0.0.1:{port}"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _wait_for(port)
            yield port
        finally:
            process.terminate()


def _free_port() -> int:
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _wait_for(port: int) -> None:
    for _ in range(200):
        try:
            Connection(port).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"nothing listens on {port}")


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _percentiles(seconds: Sequence[float]) -> tuple[float, float]:
    """The median and the 99th percentile, in milliseconds."""
    ordered = sorted(seconds)
    return median(ordered) * 1000, ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))] * 1000
