"""Reports as pages of a linked data event stream: what a web server serves of them, a client reads back."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyoxigraph
import pytest

import freshet
from freshet.results.answers import AnswerBatch
from freshet.runtime.ldes_sink import LdesSink
from freshet.spark.live.ldes import LdesReceiver
from freshet.spark.live.spool import Spool, read_documents
from waiting import wait_until

S = "http://example.org/s"
QUERY = """PREFIX : <http://example.org/>
REGISTER STREAM :named AS
CONSTRUCT {{ {template} }}
FROM STREAM :s [RANGE 1s STEP 1s]
WHERE {{ ?s :p ?v }}"""
LINE = "{}\t<http://example.org/a> <http://example.org/p> {} .\n"


def batches(seconds: int, template: str = "?s :v ?v . [] :of ?v") -> list[AnswerBatch]:
    """A report a second, one batch for each."""
    session = freshet.Session()
    session.stream(S)
    made: list[AnswerBatch] = []
    session.register(QUERY.format(template=template), on_batch=made.append)
    for second in range(seconds):
        session.push(S, LINE.format(second * 1000, f'"{second}"'))
    session.finish()
    return made


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *about: object) -> None:
        pass


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "out").mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/out/index.trig"
    server.shutdown()
    server.server_close()


@pytest.fixture
def receiver(served: str, tmp_path: Path) -> Iterator[LdesReceiver]:
    made = LdesReceiver(Spool(tmp_path / "spool"), tmp_path / "spool", url=served, every_seconds=0.05)
    yield made
    made.stop()
    made.spool.close()


def documents(receiver: LdesReceiver) -> list[str]:
    spool = receiver.spool
    read = read_documents(spool.between(0, spool.end), 0, spool.end)
    return [row["line"] for batch in read for row in batch.to_pylist()]


def values(receiver: LdesReceiver) -> list[tuple[int, str]]:
    """The time and the value of each member, in their order."""
    found = []
    for text in documents(receiver):
        times = {int(line.partition("\t")[0]) for line in text.split("\n")}
        [line] = [line for line in text.split("\n") if "<http://example.org/v>" in line]
        assert len(times) == 1
        found.append((times.pop(), line.split('"')[1]))
    return found


def expected(seconds: int) -> list[tuple[int, str]]:
    return [(1000 * second + 1000, str(second)) for second in range(seconds)]


def test_what_is_served_is_read_back_while_it_grows(tmp_path: Path, receiver: LdesReceiver) -> None:
    made = batches(25)
    sink = LdesSink(tmp_path / "out", resume=False, per_page=10)
    receiver.start()
    wait_until(receiver.at_end)
    for batch in made[:14]:
        sink.deliver(batch)
        sink.flush()
    wait_until(lambda: len(documents(receiver)) == 14)
    for batch in made[14:]:
        sink.deliver(batch)
    sink.close()
    wait_until(lambda: len(documents(receiver)) == 25)
    assert values(receiver) == expected(25)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "index.trig", *(f"page-0000{number}.trig" for number in range(3))
    ]  # fmt: skip
    page = (tmp_path / "out/page-00001.trig").read_bytes()
    assert page.endswith(b"<> ldes:immutable true .\n")
    wait_until(lambda: len(receiver._final) == 2)


def test_a_run_that_resumes_repeats_nothing(tmp_path: Path, receiver: LdesReceiver) -> None:
    made = batches(12)
    sink = LdesSink(tmp_path / "out", resume=False, per_page=5)
    for batch in made[:7]:
        sink.deliver(batch)
    sink.close()
    before = (tmp_path / "out/page-00000.trig").read_bytes()
    again = LdesSink(tmp_path / "out", resume=True, per_page=5)
    again.skip(made[4])
    for batch in made[5:]:
        again.deliver(batch)
    again.close()
    assert (tmp_path / "out/page-00000.trig").read_bytes() == before
    receiver.start()
    wait_until(receiver.at_end)
    assert values(receiver) == expected(12)


def test_another_run_begins_another_page(tmp_path: Path, receiver: LdesReceiver) -> None:
    for _ in range(2):
        sink = LdesSink(tmp_path / "out", resume=False)
        for batch in batches(3):
            sink.deliver(batch)
        sink.close()
    receiver.start()
    wait_until(receiver.at_end)
    assert sorted(values(receiver)) == sorted(2 * expected(3))


def test_graphs_of_a_template_are_versions_of_them(tmp_path: Path) -> None:
    sink = LdesSink(tmp_path / "out", resume=False)
    for batch in batches(2, "?s :v ?v . GRAPH :g { ?s :v ?v } GRAPH ?s { ?s :w ?v }"):
        sink.deliver(batch)
    sink.close()
    quads = list(pyoxigraph.parse(path=str(tmp_path / "out/page-00000.trig"), base_iri="http://e/page-00000.trig"))
    versions = [quad.object.value for quad in quads if quad.predicate.value.endswith("isVersionOf")]
    assert sorted(versions) == ["http://example.org/a"] * 2 + ["http://example.org/g"] * 2
    members = {quad.object for quad in quads if quad.predicate.value.endswith("#member")}
    assert members == {quad.graph_name for quad in quads if quad.graph_name != pyoxigraph.DefaultGraph()}
    assert len(members) == 6
