"""Windows over streams that keep graphs hold the same after a restart."""

from random import Random

import pytest

from freshet import Session
from short_lives import IRI, begun, killed

FROM = (
    "PREFIX : <http://e/> REGISTER RSTREAM <q> AS SELECT * FROM NAMED WINDOW <w> ON :s [{0}] WHERE {{ WINDOW <w> {1} }}"
)
QUERIES = {
    "range": FROM.format("RANGE PT2S STEP PT1S", "{ GRAPH ?g { ?s :p ?o ; :q ?v } }"),
    "count": FROM.format("COUNT 12 STEP 5", "{ ?g :p ?x . GRAPH ?g { ?s ?p ?o } }"),
    "one graph": FROM.format("RANGE PT1S STEP PT0.5S", "{ GRAPH :g1 { ?s :p ?o } }"),
}


def batches(random: Random) -> list[str]:
    made, now_ms = [], 0
    for _ in range(60):
        now_ms += random.choice([0, 40, 120, 400])
        lines = []
        for _ in range(random.choice([0, 1, 3, 6])):
            triple = f'<http://e/g{random.randrange(3)}> <http://e/{random.choice("pq")}> "{random.randrange(9)}"'
            graph = random.choice(["", "<http://e/g0>", "<http://e/g1>", "_:b"])
            lines.append(f"{now_ms + random.choice([0, 3, -80])}\t{triple} {graph} .")
        made.append("\n".join(lines))
    return made


def rows_by_time(session: Session, query, received: dict[int, list[str]]) -> None:
    for report in query:
        rows = sorted(str(sorted(row.items())) for row in session.bindings(report))
        assert received.setdefault(report.time_ms, rows) == rows


@pytest.mark.parametrize("kind", QUERIES)
def test_the_same_after_a_restart(tmp_path, monkeypatch, kind):
    monkeypatch.setattr("freshet.runtime.checkpoint._MARK_SECONDS", 0)
    random = Random(kind)
    sent = batches(random)

    def start(session: Session):
        session.stream(IRI, lateness_ms=100, graphs=True)
        return session, session.register(QUERIES[kind], name="q")

    expected: dict[int, list[str]] = {}
    whole, query = start(Session())
    for batch in sent:
        whole.push(IRI, batch)
    whole.finish()
    rows_by_time(whole, query, expected)
    received: dict[int, list[str]] = {}
    session, query = start(begun(tmp_path))
    for batch in sent:
        session.push(IRI, batch)
        rows_by_time(session, query, received)
        if random.random() < 0.3:
            session.checkpoint()
        if random.random() < 0.15:
            killed(session)
            session, query = start(begun(tmp_path))
            rows_by_time(session, query, received)
    session.finish()
    rows_by_time(session, query, received)
    session.close()
    assert len(expected) > 3
    assert received == expected
