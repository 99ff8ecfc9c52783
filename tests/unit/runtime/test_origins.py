"""Which record an element of a pipeline came from."""

from __future__ import annotations

import pyarrow as pa
import pytest

from freshet import Iri, Session
from freshet.rdf.batch import ORIGIN, Layout
from freshet.runtime.batch_sources import BatchSources
from freshet.runtime.intake import StreamIntake
from freshet.runtime.origins import TextOrigin, line_shifts

S = "http://e/s"
QUERY = f"""PREFIX : <http://e/> REGISTER RSTREAM <q> AS SELECT ?x ?y FROM NAMED WINDOW <w> ON <{S}>
[RANGE PT10S STEP PT10S] WHERE {{ WINDOW <w> {{ ?x :p ?y . ?x :q ?z }} }}"""
LAYOUT = Layout(((0, Iri("http://e/p"), 1), (0, Iri("http://e/q"), 2)), (("<http://e/", ">"), ('"', '"'), ('"', '"')))


def explained(table: pa.Table) -> set[tuple[str, ...]]:
    session = Session()
    session.stream(S)
    query = session.register(QUERY)
    intake = StreamIntake("posts", S, LAYOUT, "posts")
    BatchSources([intake]).take(session.engine, intake, 4, table, None)
    session.finish()
    report = query.take()[0]
    return {query.why(report, row).records for row in range(len(report.rows))}


def table_of(**more) -> pa.Table:
    return pa.table(
        {
            "time": pa.array([3000, 1000, 2000], pa.int64()),
            "arrived": pa.array([0, 0, 0], pa.int64()),
            "text_0": ["c", "a", "b"],
            "text_1": [["1", "2"], ["3"], None],
            "text_2": ["x", "y", "z"],
            **more,
        }
    )


def test_every_element_has_the_record_that_made_it():
    places = [f"kafka:t/0/{offset}" for offset in (30, 10, 20)]
    assert explained(table_of(**{ORIGIN: places})) == {("kafka:t/0/30",), ("kafka:t/0/10",)}


def test_without_origins_it_is_the_batch():
    assert explained(table_of()) == {("batch:posts/4",)}


@pytest.mark.parametrize(
    ("text", "count", "lines"),
    [
        (b"a\nb\nc", 3, [1, 2, 3]),
        (b"a\nb\n", 2, [1, 2]),
        (b"\n\na\n# x\nb\r\n\r\nc", 3, [3, 5, 7]),
    ],
)
def test_lines(text, count, lines):
    origin = TextOrigin("push", None, line_shifts(text, count))
    assert [origin.record(1, row) for row in range(count)] == [f"push:1/{line}" for line in lines]


def test_what_is_not_a_line_each_has_no_line():
    assert TextOrigin("push", None, line_shifts(b"<a> <b> 1, 2 .", 2)).record(3, 1) == "push:3"


def test_origins_go_through_the_journal():
    for origin in (TextOrigin(), TextOrigin("post", "k", ((2, 1),)), TextOrigin("post", None, None)):
        assert TextOrigin.of(origin.describe()) == origin


def test_the_lines_of_a_named_file():
    text = "# a day\n1000\t<http://e/a> <http://e/p> <http://e/b> .\n\n2000\t<http://e/a> <http://e/q> <http://e/c> .\n"
    for push in (Session.push, Session.push_text):
        session = Session()
        session.stream(S)
        query = session.register(QUERY)
        push(session, S, text, file="day.tnt")
        session.finish()
        report = query.take()[0]
        assert query.why(report, 0).records == ("file:day.tnt#L2", "file:day.tnt#L4")
