"""Triple terms and base directions come through checkpoints and journals as they went in."""

import pytest

from freshet import InputError, Iri, Literal, Session, TripleTerm
from freshet.rdf.terms import RDF_DIR_LANG_STRING, RDF_REIFIES, BlankNode, Term

STREAM = "http://e/s"
SAID = TripleTerm(Iri("http://e/a"), Iri("http://e/p"), Literal('x "y" )>>\\\n', RDF_DIR_LANG_STRING, "ar", "rtl"))
NESTED = TripleTerm(BlankNode("b"), Iri("http://e/says"), SAID)
QUERY = """PREFIX : <http://e/> PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
    REGISTER RSTREAM <q> AS SELECT ?r ?x ?y
    FROM NAMED WINDOW :w ON :s [RANGE PT10S STEP PT5S]
    WHERE { WINDOW :w { ?r rdf:reifies <<( :a ?x ?y )>> } }"""


def stored(session: Session) -> set[Term]:
    return {row["t"] for row in session.query("SELECT ?t { ?r ?p ?t }").bindings()}


def test_a_session_comes_back_with_its_triple_terms(tmp_path) -> None:
    with Session(checkpoint=tmp_path / "c") as session:
        session.stream(STREAM, absorb=True)
        session.register(QUERY)
        session.push(
            STREAM, [(1000, Iri("http://e/r1"), RDF_REIFIES, SAID), (2000, BlankNode("b"), RDF_REIFIES, NESTED)]
        )
        before = stored(session)
        session.update('INSERT DATA { <http://e/u> <http://e/p> <<( <http://e/a> <http://e/p> "z"@he--rtl )>> }')
    assert SAID in before
    with Session(checkpoint=tmp_path / "c") as session:
        session.stream(STREAM, absorb=True)
        query = session.register(QUERY)
        assert before < stored(session)
        session.push(STREAM, [(6000, Iri("http://e/r2"), RDF_REIFIES, SAID)])
        session.push(STREAM, [(11_000, Iri("http://e/r3"), RDF_REIFIES, Iri("http://e/a"))])
        reports = query.take()
    rows = [list(report.bindings()) for report in reports]
    assert [sorted(row["r"].value for row in each) for each in rows] == [
        ["http://e/r1"],
        ["http://e/r1", "http://e/r2"],
    ]
    assert {row["y"] for each in rows for row in each} == {SAID.object}


@pytest.mark.parametrize(
    ("term", "words"),
    [
        (TripleTerm(Literal("x"), RDF_REIFIES, SAID), "subject of a triple term"),
        (TripleTerm(Iri("http://e/a b"), RDF_REIFIES, SAID), "has ' ' in it"),
        (Literal("x", direction="ltr"), "base direction"),
        (Literal("x", RDF_DIR_LANG_STRING, "en", "up"), "base direction"),
    ],
)
def test_what_is_no_term_is_not_pushed(term: Term, words: str) -> None:
    session = Session()
    session.stream(STREAM)
    with pytest.raises(InputError, match=words):
        session.push(STREAM, [(1, Iri("http://e/r"), RDF_REIFIES, term)])
