"""The dictionary is swept while queries with threads of their own rest or wait, and nothing of theirs is lost."""

from __future__ import annotations

import threading
import time

import pytest

from freshet.native.memory.term_collector import TermCollector
from freshet.results.report import Report
from freshet.runtime.session import Session
from service_thread_world import EX, QUICK, STREAM, mention, query_text
from sparql_endpoint import EndpointProcess


def test_the_dictionary_is_swept_between_evaluations(endpoint: EndpointProcess) -> None:
    """One piece of work has forty evaluations here, each of which asks the endpoint and makes new terms."""
    made = 'BIND (CONCAT(STR(?post), "a") AS ?a) BIND (CONCAT(STR(?post), "b") AS ?b) SERVICE'
    text = query_text(endpoint).replace("SERVICE", made).replace("?post ?n", "?a ?b ?n")
    with Session(services=QUICK) as session:
        session.engine.collector = TermCollector(session.dictionary, least=100)
        session.stream(STREAM, held=True)
        generations: list[int] = []
        session.register(text, on_report=lambda report: generations.append(session.dictionary.generation))
        for second in range(1, 400, 10):
            mention(session, second, *range(20), post=f"p{second}-")
        session.engine.drain()
        assert generations == []
        session.advance(STREAM, 400_000)
        session.engine.drain()
    assert len(generations) == 40
    assert generations[-1] > generations[0]


MENTIONED = "?user :isMentionedIn ?post"
SWEPT = (
    "{ ?user :isMentionedIn ?post BIND (CONCAT(STR(?post), 'l') AS ?n) } UNION "
    "{ ?user :isMentionedIn ?post REMOTE BIND (CONCAT(?name, 'r') AS ?n) } UNION "
    "{ ?user :isMentionedIn ?post BIND (CONCAT(STR(?post), 'x') AS ?n) REMOTE }",
    "?user :isMentionedIn ?post BIND (CONCAT(STR(?post), 'l') AS ?n) OPTIONAL { REMOTE }",
    "{ SELECT ?post (GROUP_CONCAT(?name) AS ?n) { ?user :isMentionedIn ?post REMOTE } GROUP BY ?post }",
    "{ SELECT DISTINCT ?user (CONCAT(?name, '!') AS ?n) { ?user :isMentionedIn ?post REMOTE } }",
    "?user :isMentionedIn ?post BIND (<ONE> AS ?where) { BIND (CONCAT('a', 'b') AS ?n) } UNION { REMOTE } ANYWHERE",
    "?user :isMentionedIn ?post BIND (CONCAT(STR(?post), 'l') AS ?n) FILTER EXISTS { REMOTE }",
    "?user :isMentionedIn ?post BIND (CONCAT(STR(?post), 'l') AS ?n) FILTER (?n = 'a' || EXISTS { REMOTE })",
)


@pytest.mark.parametrize("output", ["RSTREAM", "ISTREAM", "DSTREAM"])
def test_sweeps_while_remote_data_are_waited_for_change_nothing(
    endpoint: EndpointProcess, output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All terms are dropped that nothing is known to hold, as soon as they can be."""
    names = " ".join(f"<{EX}u{n}> <{EX}name> 'name {n}' ." for n in range(0, 30, 2))
    endpoint.update(f"INSERT DATA {{ {names} }}")
    endpoint.does(delay_seconds=0.02)
    monkeypatch.setattr(TermCollector, "is_due", lambda self: self._dictionary.can_sweep())
    ended = threading.Event()

    def sweep(session: Session) -> None:
        while not ended.is_set():
            session.engine.collect_terms()
            time.sleep(0.001)

    def answers(*, swept: bool) -> dict[str, list[list[tuple[str, str]]]]:
        found: dict[str, list[list[tuple[str, str]]]] = {}
        with Session(services=QUICK) as session:
            if not swept:
                session.engine.collector = TermCollector(session.dictionary, least=1 << 40)
                session.engine.collector.is_due = lambda: False  # type: ignore[method-assign]
            session.stream(STREAM, held=True)

            def receive(report: Report) -> None:
                rows = [tuple((name, str(term)) for name, term in row.items()) for row in session.bindings(report)]
                found.setdefault(report.query, []).append(sorted(rows))  # type: ignore[arg-type]

            for at, pattern in enumerate(SWEPT):
                remote = f"SERVICE <{endpoint.url}> {{ ?user :name ?name }}"
                pattern = pattern.replace("REMOTE", remote).replace("ANYWHERE", "SERVICE ?where { ?user :name ?name }")
                pattern = pattern.replace("ONE", endpoint.url)
                pattern = pattern.replace(MENTIONED, f"WINDOW <w> {{ {MENTIONED} }}")
                session.register(
                    f"""PREFIX : <{EX}> REGISTER {output} <q{at}> AS SELECT ?user ?post ?n
                    FROM NAMED WINDOW <w> ON <{STREAM}> [RANGE PT20S STEP PT10S] WHERE {{ {pattern} }}""",
                    on_report=receive,
                )
            sweeper = threading.Thread(target=sweep, args=(session,), daemon=True)
            if swept:
                sweeper.start()
            for second in range(1, 80, 10):
                mention(session, second, *(each % 30 for each in range(second, second + 5)), post=f"p{second}-")
            session.advance(STREAM, 100_000)
            session.engine.drain()
            assert not session.failures
            assert bool(session.dictionary.generation) == swept
            ended.set()
            if swept:
                sweeper.join(120)
        return found

    wanted = answers(swept=False)
    ended.clear()
    assert len(wanted) == len(SWEPT)
    assert answers(swept=True) == wanted
