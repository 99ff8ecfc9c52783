"""Linked data event streams: pages are followed, members come once and in order of time, also after a restart."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from freshet.spark.live.ldes import LdesReceiver
from freshet.spark.live.spool import Spool, read_documents
from freshet.spark.live.spooled import status
from waiting import wait_until

PREFIXES = """@prefix ldes: <https://w3id.org/ldes#> . @prefix tree: <https://w3id.org/tree#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix ex: <http://example.org/> .
"""


class PageServer:
    """Pages by path, each with its headers; tags and conditions as servers have them."""

    def __init__(self) -> None:
        self.pages: dict[str, tuple[str, dict[str, str]]] = {}
        self.asked: list[tuple[str, str | None, int]] = []  # path, If-None-Match, and the answer
        self.status: dict[str, int] = {}
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *about: object) -> None:
                pass

            def do_GET(self) -> None:
                text, headers = server.pages.get(self.path, ("", {}))
                tag, wanted = f'"{hash(text)}"', self.headers.get("If-None-Match")
                answer = server.status.get(self.path, 304 if wanted == tag else 200 if text else 404)
                server.asked.append((self.path, wanted, answer))
                body = text.encode() if answer == 200 else b""
                self.send_response(answer)
                for name, value in {"Content-Type": "text/turtle", "ETag": tag, **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def put(self, path: str, body: str, **headers: str) -> None:
        self.pages[path] = (PREFIXES + body, {name.replace("_", "-"): value for name, value in headers.items()})

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def member(name: str, second: int | None, more: str = "") -> str:
    at = "" if second is None else f'; ex:at "2024-01-01T00:00:{second:02d}Z"^^xsd:dateTime '
    return f"<#stream> tree:member ex:{name} . ex:{name} ex:value 1 {at}{more}.\n"


def relation(kind: str, target: str, second: int | None = None) -> str:
    value = "" if second is None else f'; tree:path ex:at ; tree:value "2024-01-01T00:00:{second:02d}Z"^^xsd:dateTime'
    return f"<> tree:relation [ a tree:{kind}Relation ; tree:node <{target}> {value} ] .\n"


def since(target: str, second: int) -> str:
    return relation("GreaterThanOrEqualTo", target, second)


ROOT = "<#stream> a ldes:EventStream ; ldes:timestampPath ex:at ; tree:view <> .\n"
Start = Callable[..., LdesReceiver]


@pytest.fixture
def server() -> Iterator[PageServer]:
    made = PageServer()
    yield made
    made.stop()


@pytest.fixture
def start(server: PageServer, tmp_path: Path) -> Iterator[Start]:
    made: list[LdesReceiver] = []

    def begin(**options: object) -> LdesReceiver:
        for each in made[-1:]:
            each.stop()
            each.spool.close()
        given = {"url": f"{server.url}/root", "every_seconds": 0.05, **options}
        made.append(LdesReceiver(Spool(tmp_path), tmp_path, **given))
        made[-1].start()
        return made[-1]

    yield begin
    made[-1].stop()
    made[-1].spool.close()


def documents(receiver: LdesReceiver) -> list[str]:
    spool = receiver.spool
    batches = read_documents(spool.between(0, spool.end), 0, spool.end)
    return [row["line"] for batch in batches for row in batch.to_pylist()]


def names(receiver: LdesReceiver) -> list[str]:
    return [text.split("example.org/")[1].split(">")[0] for text in documents(receiver)]


def test_members_are_their_statements_with_their_time(server: PageServer, start: Start) -> None:
    more = '; ex:result [ ex:unit "m" ; ex:of [ ex:deep 1 ] ] ; ex:by ex:other '
    server.put("/root", ROOT + member("a", 1, more) + "ex:other ex:not ex:followed . _:x ex:not ex:followed .")
    receiver = start()
    wait_until(receiver.at_end)
    [text] = documents(receiver)
    lines = text.split("\n")
    assert {line.split("\t")[0] for line in lines} == {"1704067201000"}
    assert len(lines) == 7
    assert "followed" not in text
    assert len({word for word in text.split() if word.startswith("_:")}) == 2


def test_pages_are_read_in_order_of_time(server: PageServer, start: Start) -> None:
    """However they are found: the root leads to the newest first, and that to older ones."""
    server.put("/root", ROOT + relation("GreaterThanOrEqualTo", "new", 20) + relation("LessThan", "old", 20))
    server.put("/new", member("c", 25) + member("b", 21))
    server.put("/old", member("z", 5) + relation("Relation", "older"))
    server.put("/older", member("y", 3) + member("untimed", None))
    receiver = start()
    wait_until(receiver.at_end)
    assert names(receiver) == ["untimed", "y", "z", "b", "c"]
    assert "\t" not in documents(receiver)[0]


def test_a_chain_is_handed_on_page_by_page(server: PageServer, start: Start) -> None:
    server.put("/root", ROOT + member("a", 1) + relation("Relation", "next"))
    server.status["/next"] = 503
    receiver = start()
    wait_until(lambda: "/next: the server answers 503" in status(receiver._folder))
    assert names(receiver) == []  # `next` has nothing from before `root`, and may have something of its first second
    server.put("/next", member("b", 2) + member("a", 1))
    del server.status["/next"]
    wait_until(receiver.at_end)
    assert names(receiver) == ["a", "b"]


def test_the_last_page_is_asked_for_again(server: PageServer, start: Start) -> None:
    server.put("/root", ROOT + since("done", 0) + since("last", 10))
    server.put("/done", member("a", 1), Cache_Control="max-age=600, immutable")
    server.put("/last", member("b", 11))
    receiver = start()
    wait_until(lambda: names(receiver) == ["a", "b"])
    wait_until(lambda: any(path == "/last" and answer == 304 for path, _, answer in server.asked))
    server.put("/last", member("b", 11) + member("c", 12))
    wait_until(lambda: names(receiver) == ["a", "b", "c"])
    assert [path for path, *_ in server.asked].count("/done") == 1


def test_cache_headers_say_when(server: PageServer, start: Start) -> None:
    server.put("/root", ROOT + member("a", 1), Cache_Control="public, max-age=600")
    receiver = start()
    wait_until(receiver.at_end)
    assert 590 < receiver._pages[f"{server.url}/root"].due - time.monotonic() <= 600


def test_a_restart_reads_no_final_page_and_repeats_no_member(server: PageServer, start: Start) -> None:
    server.put("/root", ROOT + since("done", 0) + since("last", 10))
    server.put("/done", member("a", 1) + "<> ldes:immutable true .")
    server.put("/last", member("b", 11))
    first = start()
    wait_until(first.at_end)
    server.asked.clear()
    server.put("/last", member("b", 11) + member("c", 12))
    second = start()
    wait_until(second.at_end)
    assert names(second) == ["a", "b", "c"]
    assert "/done" not in {path for path, *_ in server.asked}
    (second._folder / "members").unlink()  # as if the run was killed before it was written
    third = start()
    wait_until(third.at_end)
    assert names(third) == ["a", "b", "c"]


def test_a_page_that_is_gone_and_one_that_is_broken(server: PageServer, start: Start, tmp_path: Path) -> None:
    server.put("/root", ROOT + since("gone", 0) + since("bad", 10))
    server.status["/gone"] = 410
    server.put("/bad", "this is no Turtle")
    receiver = start()
    wait_until(lambda: "/bad: " in status(tmp_path))
    server.put("/bad", member("a", 11))
    wait_until(receiver.at_end)
    assert names(receiver) == ["a"]


def test_the_predicate_of_times_can_be_given(server: PageServer, start: Start) -> None:
    server.put("/root", member("a", 1) + "ex:a ex:other 5000 .")
    receiver = start(time_path="http://example.org/other")
    wait_until(receiver.at_end)
    assert documents(receiver)[0].startswith("5000\t")


def test_what_is_no_rdf(server: PageServer, start: Start, tmp_path: Path) -> None:
    server.put("/root", "", Content_Type="text/html")
    start()
    wait_until(lambda: "the server sends text/html, which is no RDF" in status(tmp_path))
