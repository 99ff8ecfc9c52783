import pyarrow as pa

import freshet
from declaring import register
from freshet.rdf.terms import XSD, BlankNode, Iri, Literal

S = "http://example.org/s"
ROWS = [
    (Iri("http://example.org/o"), ("uri", "http://example.org/o", None, None)),
    (BlankNode("b"), ("bnode", "s0.b", None, None)),
    (Literal('"'), ("literal", '"', None, None)),
    (Literal("two\nlines"), ("literal", "two\nlines", None, None)),
    (Literal(""), ("literal", "", None, None)),
    (Literal('x"@en'), ("literal", 'x"@en', None, None)),
    (Literal("x", language="en"), ("literal", "x", None, "en")),
    (Literal("1.50", Iri(XSD + "decimal")), ("literal", "1.50", XSD + "decimal", None)),
    (Literal("?", Iri("http://example.org/d")), ("literal", "?", "http://example.org/d", None)),
]


def test_terms_have_the_parts_that_sparql_json_gives_them() -> None:
    session = freshet.Session()
    registered = register(
        session,
        """PREFIX : <http://example.org/>
        REGISTER RSTREAM :q AS SELECT ?o ?nothing FROM NAMED WINDOW :w ON :s [RANGE PT5S STEP PT5S]
        WHERE { WINDOW :w { ?s ?p ?o } }""",
    )
    session.push(S, [(number, Iri("http://a"), Iri("http://p"), term) for number, (term, _) in enumerate(ROWS)])
    session.finish()
    [report] = registered
    batch = session.arrow(report)
    assert isinstance(batch, pa.RecordBatch)
    assert batch.schema.names == ["o", "nothing"]
    names = ("type", "value", "datatype", "language")
    assert [tuple(row[name] for name in names) for row in batch.column("o").to_pylist()] == [row for _, row in ROWS]
    assert batch.column("nothing").to_pylist() == [None] * len(ROWS)
    assert batch.schema.metadata == {b"query": report.query.encode(), b"time": b"5000", b"stream": b"rstream"}


def test_answers_of_one_shot_queries() -> None:
    session = freshet.Session()
    assert session.arrow(session.query("ASK {}")).to_pydict() == {"boolean": [True]}
    empty = session.arrow(session.query("SELECT ?s { ?s ?p ?o }"))
    assert (empty.num_rows, empty.schema.names) == (0, ["s"])
    graph = session.arrow(session.query("CONSTRUCT { <http://a> <http://p> 1 } {}"))
    assert graph.column("object").to_pylist() == [
        {"type": "literal", "value": "1", "datatype": XSD + "integer", "language": None}
    ]


def test_solutions_without_variables_are_counted() -> None:
    session = freshet.Session()
    assert session.arrow(session.query("SELECT * {}")).to_pylist() == [{}]
    assert session.arrow(session.query("SELECT * { <http://a> <http://p> 1 }")).to_pylist() == []
    registered = register(
        session,
        """PREFIX : <http://example.org/>
        REGISTER RSTREAM :q AS SELECT * FROM NAMED WINDOW :w ON :s [RANGE PT5S STEP PT5S]
        WHERE { WINDOW :w { :a :p :b } }""",
    )
    session.push(S, [(1, *(Iri(f"http://example.org/{name}") for name in "apb"))])
    session.finish()
    [report] = registered
    batch = session.arrow(report)
    assert batch.to_pylist() == list(session.bindings(report)) == [{}]
    assert batch.schema.metadata[b"time"] == b"5000"
