"""SPARQL Update: what each form means, and what is refused where."""

import pytest

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import BGP, Graph, Join, QuadPattern, TriplePattern
from freshet.algebra.updates import Clear, Create, GraphKind, Load, Modify, Transfer, TransferKind, Update
from freshet.rdf.errors import QuerySyntaxError
from freshet.rdf.terms import BlankNode, Iri, Literal
from freshet.syntax.parser import parse_update

S, P, OTHER = map(Iri, ("http://e/s", "http://e/p", "http://e/o"))
G, H = Iri("http://e/g"), Iri("http://e/h")
X = Variable("x")
EMPTY = BGP(())
PREFIX = "PREFIX : <http://e/> "


def only(text):
    (operation,) = parse_update(PREFIX + text).operations
    return operation


def test_data():
    triple = TriplePattern(S, P, OTHER)
    assert only("INSERT DATA { :s :p :o . GRAPH :g { :s :p :o } :s :p 1 }") == Modify(
        (),
        (
            QuadPattern(None, triple),
            QuadPattern(G, triple),
            QuadPattern(None, TriplePattern(S, P, Literal("1", Iri("http://www.w3.org/2001/XMLSchema#integer")))),
        ),
        EMPTY,
    )
    assert only("DELETE DATA { :s :p :o }") == Modify((QuadPattern(None, triple),), (), EMPTY)


def test_a_label_is_one_node_in_all_graphs_of_a_template():
    inserted = only("INSERT DATA { GRAPH :g { _:a :p :o } GRAPH :h { _:a :p :o } }").inserted
    assert [quad.triple.subject for quad in inserted] == [BlankNode("a")] * 2


def test_delete_where_is_its_template_as_a_pattern():
    first, second = TriplePattern(X, P, OTHER), TriplePattern(X, P, S)
    assert only("DELETE WHERE { ?x :p :o, :s . GRAPH :g { ?x :p :o } }") == Modify(
        (QuadPattern(None, first), QuadPattern(None, second), QuadPattern(G, first)),
        (),
        Join(BGP((first, second)), Graph(G, BGP((first,)))),
    )


def test_modify():
    template = (QuadPattern(X, TriplePattern(S, P, X)),)
    pattern = BGP((TriplePattern(S, P, X),))
    inside = "{ GRAPH ?x { :s :p ?x } }"
    text = f"WITH :g DELETE {inside} INSERT {inside} USING :g USING NAMED :h WHERE {{ :s :p ?x }}"
    assert only(text) == Modify(template, template, pattern, G, (G,), (H,))
    assert only("INSERT {} WHERE { :s :p ?x }") == Modify((), (), pattern)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("LOAD :s", Load(S, None, False)),
        ("LOAD SILENT :s INTO GRAPH :g", Load(S, G, True)),
        ("CLEAR GRAPH :g", Clear(G, False, False)),
        ("CLEAR SILENT ALL", Clear(GraphKind.ALL, True, False)),
        ("DROP DEFAULT", Clear(GraphKind.DEFAULT, False, True)),
        ("DROP SILENT NAMED", Clear(GraphKind.NAMED, True, True)),
        ("CREATE GRAPH :g", Create(G, False)),
        ("CREATE SILENT GRAPH :g", Create(G, True)),
        ("ADD :g TO DEFAULT", Transfer(TransferKind.ADD, G, None, False)),
        ("COPY SILENT DEFAULT TO GRAPH :h", Transfer(TransferKind.COPY, None, H, True)),
        ("move graph :g to :h", Transfer(TransferKind.MOVE, G, H, False)),
    ],
)
def test_graphs(text, expected):
    assert only(text) == expected


def test_a_prologue_holds_for_what_follows():
    text = "BASE <http://e/> CREATE GRAPH <g> ; PREFIX : <http://f/> CREATE GRAPH :x ; CREATE GRAPH :y ;"
    operations = parse_update(text).operations
    assert [each.graph.value for each in operations] == ["http://e/g", "http://f/x", "http://f/y"]
    assert parse_update(PREFIX) == Update(())


def test_words_of_updates_are_names_elsewhere():
    assert only("INSERT {} WHERE { ?data :copy ?add }").pattern == BGP(
        (TriplePattern(Variable("data"), Iri("http://e/copy"), Variable("add")),)
    )


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("INSERT DATA { ?x <p> 1 }", (1, 15), "data have no variables, and ?x is one"),
        ("DELETE DATA {\n _:a <p> 1 }", (2, 2), "what is deleted has no blank nodes"),
        ("DELETE { ?s <p> [] } WHERE {}", (1, 17), "what is deleted has no blank nodes"),
        ("DELETE WHERE { ?s <p> (1) }", (1, 23), "what is deleted has no blank nodes"),
        ("DELETE WHERE { ?s <p>+ 1 }", (1, 19), "a template cannot have property paths"),
        ("INSERT DATA { _:a <p> 1 } ; INSERT DATA { _:a <p> 1 }", (1, 43), "is used in another INSERT DATA already"),
        ("INSERT { <a> <b> 1 }", (1, 21), "expected USING or WHERE"),
        ("INSERT DATA { GRAPH <g> { GRAPH <h> {} } }", (1, 27), "but found 'GRAPH'"),
        ("INSERT DATA { GRAPH _:g { <a> <b> 1 } }", (1, 21), "a graph of an update is an IRI or a variable"),
        ("CLEAR ALL CLEAR ALL", (1, 11), "expected the end of the update or ';'"),
        ("SELECT * {}", (1, 1), "expected an update (INSERT, DELETE, LOAD, ...)"),
        ("INSERT {} WHERE { WINDOW <w> { ?s ?p ?o } }", (1, 19), "WINDOW is RSP-QL"),
        ("INSERT {} WHERE { STREAM <s> [NOW] { ?s ?p ?o } }", (1, 19), "STREAM is CQELS-QL"),
    ],
)
def test_refused(text, place, message):
    with pytest.raises(QuerySyntaxError, match=r".*") as caught:
        parse_update(text, file="u.ru")
    error = caught.value
    assert message in str(error)
    assert (error.file, error.line, error.column) == ("u.ru", *place)
