"""SELECT without a window in a session: reports that wait, callbacks, and what a checkpoint keeps of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from freshet import InputError, Iri, Report, Session

STREAM = "http://e/s"
COUNTS = "PREFIX : <http://e/> SELECT ?x (COUNT(*) AS ?n) { ?x :p ?y } GROUP BY ?x"


def make_session(checkpoint: Path | None = None) -> Session:
    session = Session(checkpoint=checkpoint)
    session.stream(STREAM, absorb=True)
    return session


def push(session: Session, subject: str, time_ms: int, predicate: str = "p") -> None:
    session.push(STREAM, f'{time_ms}\t<http://e/{subject}> <http://e/{predicate}> "{time_ms}" .')


def shown(report: Report) -> tuple[str, int, list[list[str]]]:
    rows = [[getattr(term, "lexical", str(term)) for term in row.values()] for row in report.bindings()]
    return str(report.stream), report.time_ms, rows


def test_reports_wait_to_be_taken() -> None:
    session = make_session()
    query = session.register(COUNTS, name="counts")
    assert [shown(report) for report in query.take()] == [("rstream", 0, [])]
    push(session, "a", 5)
    push(session, "a", 7)
    assert [shown(report) for report in query.take()] == [
        ("istream", 5, [["<http://e/a>", "1"]]),
        ("dstream", 7, [["<http://e/a>", "1"]]),
        ("istream", 7, [["<http://e/a>", "2"]]),
    ]
    assert session.registered("counts") is query
    assert session.queries() == [query]
    session.unregister("counts")
    push(session, "a", 9)
    assert query.take() == []
    assert session.queries() == []


def test_reports_as_arrow_and_as_json() -> None:
    session = make_session()
    query = session.register(COUNTS)
    push(session, "a", 5)
    lines: list[bytes] = []
    session.register(COUNTS, name="json", on_batch=lambda batch: lines.append(session.ndjson(batch)))
    push(session, "a", 7)
    assert query.take_arrow().column("n").to_pylist() == [1, 1, 2]
    assert [line.split(b',"bindings"')[0] for line in lines] == [
        b'{"query":"json","time":5,"stream":"rstream"',
        b'{"query":"json","time":7,"stream":"dstream"',
        b'{"query":"json","time":7,"stream":"istream"',
    ]


def test_a_callback_may_unregister_its_query_between_the_parts_of_a_change() -> None:
    session = make_session()
    streams: list[str] = []

    def take(report: Report) -> None:
        streams.append(str(report.stream))
        if report.stream.value == "dstream":
            session.unregister("counts")

    session.register(COUNTS, name="counts", on_report=take)
    push(session, "a", 5)
    push(session, "a", 7)
    assert streams == ["rstream", "istream", "dstream"]


def test_bindings_are_constants() -> None:
    session = make_session()
    query = session.register("SELECT ?y { ?x <http://e/p> ?y }", bindings={"x": Iri("http://e/a")})
    push(session, "a", 5)
    push(session, "b", 6)
    assert [shown(report) for report in query.take()] == [("rstream", 0, []), ("istream", 5, [["5"]])]


def test_explain_shows_how_it_is_kept_answered() -> None:
    session = make_session()
    query = session.register(COUNTS, measure=True)
    push(session, "a", 5)
    text = str(query.explain())
    assert "kept answered by, with what each operator did" in text
    assert "Pattern ?x :p ?y in the stored graph    [1 came, 0 went in 2 steps" in text


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"report": "change"}, "'report' says nothing of a live query"),
        ({"every_ms": 5}, "'every_ms' says nothing of a live query"),
        ({"accuracy": 0.5}, "'accuracy' says nothing of a live query"),
    ],
)
def test_options_of_windows_are_refused(options: dict[str, object], says: str) -> None:
    with pytest.raises(InputError, match=says):
        make_session().register(COUNTS, **options)  # type: ignore[arg-type]


def test_register_in_the_text_needs_a_window() -> None:
    with pytest.raises(InputError, match="the query q has no window, which REGISTER needs"):
        make_session().register("REGISTER ISTREAM <q> AS SELECT * WHERE { ?s ?p ?o }")


def test_a_checkpoint_does_not_keep_it(tmp_path: Path) -> None:
    with make_session(tmp_path) as session:
        query = session.register(COUNTS, name="counts")
        push(session, "a", 5)
        assert [shown(report)[0] for report in query.take()] == ["rstream", "istream"]
        assert session.registered("counts") is query
        assert session.queries() == [query]
    with make_session(tmp_path) as session:
        assert session.queries() == []
        query = session.register(COUNTS, name="counts")
        push(session, "a", 7)
        assert [shown(report)[2] for report in query.take()] == [
            [["<http://e/a>", "1"]],
            [["<http://e/a>", "1"]],
            [["<http://e/a>", "2"]],
        ]
        session.unregister("counts")


def test_windows_of_the_same_push_report_first() -> None:
    session = make_session()
    order: list[str] = []
    session.register(COUNTS, name="live", on_report=lambda report: order.append("live"))
    session.register(
        "REGISTER RSTREAM <w> AS SELECT ?x FROM NAMED WINDOW <u> ON <http://e/s> [RANGE PT1S STEP PT1S] "
        "WHERE { WINDOW <u> { ?x ?p ?y } }",
        on_report=lambda report: order.append("window"),
    )
    push(session, "a", 5)
    push(session, "a", 1005)
    assert order == ["live", "live", "window", "live", "live"]
