"""What came with SPARQL 1.2: triple terms, reified triples, annotations, base directions, VERSION."""

import pytest

from freshet.algebra.expressions import Call, Constant, Variable
from freshet.algebra.nodes import BGP, Extend, Filter, Project, TriplePattern
from freshet.algebra.updates import Modify
from freshet.rdf.deadline import QueryStoppedError
from freshet.rdf.errors import QuerySyntaxError
from freshet.rdf.terms import RDF_DIR_LANG_STRING, RDF_REIFIES, Iri, Literal, TripleTerm
from freshet.runtime.session import Session
from freshet.syntax.parser import parse_query, parse_update

SUBJECT, PREDICATE, OBJECT = Iri("urn:s"), Iri("urn:p"), Iri("urn:o")
PROLOGUE = "PREFIX : <urn:> PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> "
DATA = """PREFIX : <urn:> PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
:a :p :b {| :q 3 |} ~ :r1 {| :q 1 |} ~ :r2 {| :q 2 |} .
:r4 rdf:reifies <<( :a :p <<( :c :p 2 )>> )>> ; :q 4 .
:r5 rdf:reifies <<( :a :p :a )>> ; :q 5 .
:r6 rdf:reifies :a ; :q 6 .
:c :p :b .
"""


def test_a_triple_term_without_variables_is_a_term() -> None:
    query = parse_query("SELECT ?r { ?r <urn:says> <<( <urn:s> <urn:p> <urn:o> )>> }")
    assert isinstance(query.root, Project)
    assert query.root.child == BGP(
        (TriplePattern(Variable("r"), Iri("urn:says"), TripleTerm(SUBJECT, PREDICATE, OBJECT)),)
    )


def test_one_with_variables_is_a_condition() -> None:
    root = parse_query("SELECT * { ?r <urn:says> <<( ?s <urn:p> ?s )>> }").root
    assert isinstance(root, Project)
    assert {each.name for each in root.variables} == {"r", "s"}
    assert isinstance(root.child, Extend)
    assert root.child.variable == Variable("s")
    assert isinstance(root.child.child, Filter)
    assert isinstance(root.child.child.child, BGP)


def test_an_annotation_is_a_reifier() -> None:
    root = parse_query("SELECT ?q { <urn:s> <urn:p> <urn:o> ~ <urn:r> {| <urn:q> ?q |} }").root
    assert isinstance(root, Project)
    assert root.child == BGP(
        (
            TriplePattern(SUBJECT, PREDICATE, OBJECT),
            TriplePattern(Iri("urn:r"), RDF_REIFIES, TripleTerm(SUBJECT, PREDICATE, OBJECT)),
            TriplePattern(Iri("urn:r"), Iri("urn:q"), Variable("q")),
        )
    )


def test_triple_terms_in_expressions_and_data() -> None:
    root = parse_query("SELECT (<<( <urn:s> a ?o )>> AS ?t) (<<( <urn:s> <urn:p> 1 )>> AS ?u) {}").root
    assert isinstance(root, Project)
    assert isinstance(root.child, Extend)
    assert isinstance(root.child.expression, Constant)
    assert isinstance(root.child.child, Extend)
    assert isinstance(root.child.child.expression, Call)
    assert root.child.child.expression.function == "TRIPLE"
    assert parse_query("ASK { VALUES ?t { <<( <urn:s> <urn:p> <<( <urn:s> <urn:p> <urn:o> )>> )>> } }")


@pytest.mark.parametrize("text", ['"x"@AR--rtl', "'x'@ar--rtl"])
def test_base_directions(text: str) -> None:
    expected = Literal("x", RDF_DIR_LANG_STRING, "ar", "rtl")
    assert parse_query(f"ASK {{ <urn:s> <urn:p> {text} }}").root == BGP((TriplePattern(SUBJECT, PREDICATE, expected),))
    values = parse_query(f"SELECT ?x {{ VALUES ?x {{ {' '.join([text] * 500)} }} }}").root
    assert isinstance(values, Project)
    assert set(values.child.rows) == {(expected,)}


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT * { ?s <urn:p>|<urn:q> ?o {| <urn:r> 1 |} }", "property path"),
        ("SELECT * { <<( ?s ?p ?o )>> . }", "predicate"),
        ('SELECT * { ?s ?p "x"@en--up }', "expected"),
        ("VERSION 1.2 SELECT * {}", "string"),
        ('VERSION """1.2""" SELECT * {}', "version"),
        ("SELECT (TRIPLE(1, 2) AS ?t) {}", "TRIPLE takes 3 arguments"),
        ('SELECT * { VALUES ?x { <<( "x" <urn:p> 1 )>> } }', "found"),
    ],
)
def test_errors(query: str, words: str) -> None:
    with pytest.raises(QuerySyntaxError, match=words):
        parse_query(query)


def test_updates() -> None:
    [operation] = parse_update("INSERT DATA { << <urn:s> <urn:p> _:o ~ <urn:r> >> <urn:q> 1 }").operations
    assert isinstance(operation, Modify)
    assert isinstance(operation.pattern, Extend)
    with pytest.raises(QuerySyntaxError, match="no blank nodes"):
        parse_update("DELETE { ?s <urn:p> ?o {| <urn:q> 1 |} } WHERE { ?s <urn:p> ?o }")


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("SELECT ?q { :a :p :b {| :q ?q |} }", {1, 2, 3}),
        ("SELECT ?q { << :a :p :b ~ :r2 >> :q ?q }", {2}),
        ("SELECT ?q { ?r rdf:reifies <<( ?x :p ?x )>> ; :q ?q }", {5}),
        ("SELECT ?q { ?r rdf:reifies <<( :a :p <<( ?c ?p 2 )>> )>> ; :q ?q . ?c :p :b }", {4}),
        ("SELECT ?q { ?r :q ?q ; rdf:reifies ?t FILTER (?t = <<( :a :p <<( :c :p 2.0 )>> )>>) }", {4}),
        ("SELECT ?q { ?r :q ?q ; rdf:reifies ?t FILTER (sameTerm(?t, <<( :a :p <<( :c :p 2.0 )>> )>>)) }", set()),
        ("SELECT ?q { ?r :q ?q ; rdf:reifies ?t FILTER (?t != <<( :a :p :b )>>) }", {4, 5, 6}),
        ("SELECT ?q { ?r :q ?q ; rdf:reifies ?t FILTER (isTRIPLE(OBJECT(?t))) }", {4}),
        ("SELECT ?q { ?r :q ?q ; rdf:reifies ?t FILTER (TRIPLE(:a, :p, :a) IN (?t)) }", {5}),
        ("SELECT ?q { ?r :q ?q ; rdf:reifies ?t } ORDER BY DESC(?t) LIMIT 1", {4}),
        ("SELECT ?q { ?r :q ?q ; rdf:reifies ?t FILTER (!isTRIPLE(?t) && isIRI(?t)) }", {6}),
    ],
)
def test_one_shot_answers(pattern: str, found: set[int], tmp_path) -> None:
    (tmp_path / "data.ttl").write_text(DATA)
    session = Session()
    session.load(tmp_path / "data.ttl")
    rows = session.query(PROLOGUE + pattern).bindings()
    assert {int(row["q"].lexical) for row in rows} == found


def nested(levels: int) -> str:
    return "<<( :s :p " * levels + ":o" + " )>>" * levels


@pytest.mark.parametrize(
    "text", ["INSERT DATA {{ :a :p {} }}", "INSERT {{ ?s :p {} }} WHERE {{ ?s :p ?o }}", "DELETE WHERE {{ :a :p {} }}"]
)
def test_an_update_has_as_many_within_one_another_as_documents(text: str) -> None:
    session = Session()
    session.update(PROLOGUE + text.format(nested(100)))
    with pytest.raises(QuerySyntaxError, match="more than 100 triple terms within one another"):
        session.update(PROLOGUE + text.format(nested(101)))


@pytest.mark.parametrize("text", ["ASK {{ :a :p {} }}", "SELECT ({} AS ?t) {{}}", "ASK {{ VALUES ?t {{ {} }} }}"])
def test_a_query_has_as_many_too(text: str) -> None:
    Session().query(PROLOGUE + text.format(nested(100)))
    with pytest.raises(QuerySyntaxError, match="more than 100 triple terms within one another"):
        Session().query(PROLOGUE + text.format(nested(101)))


def test_no_triple_term_is_a_subject() -> None:
    session = Session()
    term = "<<( :s :p :o )>>"
    session.update(
        PROLOGUE
        + f"INSERT DATA {{ :a :p 1 . {term} :q :r }} ; "
        f"INSERT {{ ?t :q 1 . :b :p ?t }} WHERE {{ :a :p 1 BIND ({term} AS ?t) }}"
    )
    assert session.query(PROLOGUE + f"ASK {{ :b :p {term} }}").value
    assert not session.query(PROLOGUE + "ASK { ?s :q ?o }").value


def test_the_parts_of_triple_terms_count_as_memory() -> None:
    session = Session()
    terms = (nested(60).replace(":o", f":o{at}") for at in range(300))
    session.update(PROLOGUE + "INSERT DATA { " + " ".join(f":a :p {term} ." for term in terms) + " }")
    query = PROLOGUE + "SELECT ?t { ?s :p ?t } ORDER BY ?t"
    assert len(session.query(query).rows) == 300
    with pytest.raises(QueryStoppedError, match="more memory than its limit"):
        session.query(query, memory_bytes=1 << 20)


def test_updates_with_triple_terms() -> None:
    session = Session()
    session.update(
        PROLOGUE
        + """INSERT DATA { :a :p 1 {| :q 2 |} . :b :says <<( _:x :p _:x )>>, _:x } ;
        INSERT { ?s :was <<( ?s :p ?o )>> } WHERE { ?s :p ?o } ;
        DELETE { ?s :p ?o } WHERE { ?s :was <<( ?s :p ?o )>> }"""
    )
    found = session.query(PROLOGUE + "SELECT ?o ?q { :a :was <<( :a :p ?o )>> . << :a :p ?o >> :q ?q }").bindings()
    assert [{name: term.lexical for name, term in row.items()} for row in found] == [{"o": "1", "q": "2"}]
    assert not session.query(PROLOGUE + "ASK { :a :p 1 }").value
    assert session.query(PROLOGUE + "ASK { :b :says ?x , <<( ?x :p ?x )>> FILTER isBLANK(?x) }").value


def test_delete_where() -> None:
    session = Session()
    session.update(
        PROLOGUE + "INSERT DATA { :a :p 1 {| :q 2 |} . GRAPH :g { :a :p 2 . :r rdf:reifies <<( :a :p 2 )>> } }"
    )
    session.update(PROLOGUE + "DELETE WHERE { ?s :p ?o . ?r rdf:reifies <<( ?s :p ?o )>> }")
    session.update(PROLOGUE + "DELETE WHERE { GRAPH ?g { ?r rdf:reifies <<( ?s ?p 2 )>> } }")
    rows = session.query("SELECT ?o { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }").bindings()
    assert [row["o"].lexical for row in rows] == ["2", "2"]


def test_construct_with_triple_terms() -> None:
    query = "CONSTRUCT { :a :says <<( _:x :p ?v )>>, _:x } { VALUES ?v { 1 2 } }"
    graph = [row["object"] for row in Session().query(PROLOGUE + query).bindings()]
    triples = [term for term in graph if isinstance(term, TripleTerm)]
    assert {term.subject for term in triples} == {term for term in graph if not isinstance(term, TripleTerm)}
    assert len({term.subject for term in triples}) == 2
