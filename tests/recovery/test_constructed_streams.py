"""Answers that are streams are found again after a restart; they are not in the journal."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from freshet import Session
from freshet.native.streams.stream import StreamState

EX = "http://example.org/"
S = EX + "s"
PREFIX = f"PREFIX : <{EX}>\n"
TEXTS = {
    "rspql": (
        "REGISTER {kind} :busy AS CONSTRUCT {{ ?x :busy ?n }} FROM NAMED WINDOW :w ON :s [RANGE PT3S STEP PT1S] "
        "WHERE {{ {{ SELECT ?x (COUNT(*) AS ?n) {{ WINDOW :w {{ ?x :p ?v }} }} GROUP BY ?x }} FILTER (?n > 1) }}"
    ),
    "cqels": "CONSTRUCT {{ ?x :busy ?v }} WHERE {{ STREAM :s [RANGE 2s] {{ ?x :p ?v }} }}",
}
READERS = {
    "sliding": "ON :busy [RANGE PT5S STEP PT2S] WHERE { WINDOW :v { ?x :busy ?n } }",
    "count": "ON :busy [COUNT 4 STEP 3] WHERE { WINDOW :v { ?x :busy ?n } }",
    "joined": "ON :busy [RANGE PT4S STEP PT4S] FROM NAMED WINDOW :u ON :s [RANGE PT4S STEP PT2S] "
    "WHERE { WINDOW :v { ?x :busy ?n } WINDOW :u { ?x :p ?v } }",
}
CHAIN = (
    "REGISTER ISTREAM :later AS CONSTRUCT { ?x :later ?n } FROM NAMED WINDOW :v ON :busy [RANGE PT6S STEP PT3S] "
    "WHERE { WINDOW :v { ?x :busy ?n } }"
)
LAST = (
    "REGISTER DSTREAM :last AS SELECT * FROM NAMED WINDOW :v ON :later [RANGE PT7S STEP PT1S] "
    "WHERE { WINDOW :v { ?x :later ?n } }"
)


def batch(number: int) -> str:
    random = Random(number)
    lines = []
    for at in range(random.randrange(1, 4)):
        time_ms = 400 * number + random.randrange(-300, 300)
        lines.append(f"{time_ms}\t<{EX}x{random.randrange(4)}> <{EX}p> <{EX}v{number}-{at}> .\n")
    return "".join(lines)


class Life:
    """A session from its start to its end, with all that it reports."""

    def __init__(self, folder: Path | None, received: dict, texts: dict[str, str]) -> None:
        self.session = Session(checkpoint=folder, checkpoint_seconds=1e6)
        self.session.stream(S, lateness_ms=500)
        self.received = received
        self.queries = [self.session.register(PREFIX + text, name=name) for name, text in texts.items()]

    def take(self) -> None:
        for query in self.queries:
            for report in query:
                rows = sorted(sorted((name, str(term)) for name, term in row.items()) for row in report.bindings())
                key = (query.name, report.time_ms)
                assert self.received.setdefault(key, rows) == rows

    def push(self, first: int, last: int) -> None:
        for number in range(first, last):
            self.session.push(S, batch(number))
            self.take()

    def kill(self) -> None:
        checkpoint = self.session._durable._checkpoint
        checkpoint._stop.set()
        checkpoint._thread.join()
        checkpoint.journal._close()
        checkpoint._lock_file.release()


def queries(first: str, kind: str) -> dict[str, str]:
    texts = {EX + "busy": TEXTS[first].format(kind=kind)}
    for name, read in READERS.items():
        texts[name] = f"REGISTER ISTREAM :{name} AS SELECT * FROM NAMED WINDOW :v {read}"
    return texts | {"later": CHAIN, "last": LAST}


@pytest.mark.parametrize(("first", "kind"), [("rspql", "RSTREAM"), ("rspql", "ISTREAM"), ("cqels", "")])
@pytest.mark.parametrize("every", [7, 25])
def test_killed_again_and_again(tmp_path, monkeypatch, first, kind, every):
    monkeypatch.setattr("freshet.runtime.checkpoint._MARK_ENTRIES", 2)
    texts = queries(first, kind)
    whole: dict = {}
    undisturbed = Life(None, whole, texts)
    undisturbed.push(0, 150)
    undisturbed.session.finish()
    undisturbed.take()
    received: dict = {}
    for number in range(0, 150, every):
        life = Life(tmp_path / "c", received, texts)
        life.take()
        assert life.session.positions()[S].batches == number
        life.push(number, min(150, number + every))
        life.session.checkpoint()
        life.kill()
    life = Life(tmp_path / "c", received, texts)
    life.session.finish()
    life.take()
    life.session.close()
    assert received == whole
    assert {name for name, _ in whole} >= {EX + "sliding", EX + "count", EX + "joined", EX + "later", EX + "last"}


def test_the_journal_has_what_was_pushed_and_is_cut(tmp_path):
    received: dict = {}
    texts = queries("rspql", "RSTREAM")
    life = Life(tmp_path / "c", received, texts)
    for number in range(400):
        life.push(number, number + 1)
        if number % 50 == 49:
            life.session.checkpoint()
    checkpoint = life.session._durable._checkpoint
    kinds = {entry.header["kind"] for entry in checkpoint.journal.read(checkpoint.journal.first_sequence)}
    assert kinds <= {"push", "received"}
    assert checkpoint.journal.first_sequence > 100
    life.session.close()


def test_streams_that_an_earlier_version_made_with_the_query(tmp_path):
    """They were declared by no entry of their own."""
    text = PREFIX + "REGISTER RSTREAM :q AS SELECT ?x FROM NAMED WINDOW :w ON :s [RANGE PT1S STEP PT1S] "
    session = Session(checkpoint=tmp_path / "c", checkpoint_seconds=1e6)
    session.engine.declare(StreamState(S))  # not in the journal
    session.register(text + "WHERE { WINDOW :w { ?x :p ?v } }")
    session.push(S, batch(3))
    session._durable._checkpoint._stop.set()
    session._durable._checkpoint.journal._close()
    session._durable._checkpoint._lock_file.release()
    again = Session(checkpoint=tmp_path / "c")
    again.stream(S)
    assert again.positions()[S].batches == 1
    again.close()
