"""Graphs as N-Triples and Turtle, read back by pyoxigraph."""

from __future__ import annotations

import numpy as np
import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.oxigraph import parsed_key
from freshet.rdf.terms import RDF_TYPE, BlankNode, Iri, Literal, Term, term_from_key
from freshet.results.report import GraphAnswer
from freshet.results.write import write_answer
from result_tables import TERMS

SUBJECTS: list[Term] = [Iri("http://example.org/s"), Iri("http://example.org/é#x"), BlankNode("f0.b1"), BlankNode("b2")]
PREDICATES: list[Term] = [Iri("http://example.org/p"), RDF_TYPE]
FORMATS = {"nt": pyoxigraph.RdfFormat.N_TRIPLES, "ttl": pyoxigraph.RdfFormat.TURTLE}
Triple = tuple[Term, Term, Term]


def graph_of(triples: list[Triple], dictionary: Dictionary) -> GraphAnswer:
    ids = np.array([[dictionary.encode(term) for term in triple] for triple in triples], np.int64).reshape(-1, 3)
    return GraphAnswer(ids[:, 0], ids[:, 1], ids[:, 2])


def read_back(data: bytes, form: str) -> set[Triple]:
    quads = pyoxigraph.parse(data, FORMATS[form], lenient=True)
    return {tuple(term_from_key(parsed_key(term, "")) for term in (q.subject, q.predicate, q.object)) for q in quads}


@settings(max_examples=100, deadline=None)
@given(
    st.sets(st.tuples(*map(st.sampled_from, (SUBJECTS, PREDICATES, TERMS + SUBJECTS))), max_size=12),
    st.sampled_from(list(FORMATS)),
)
def test_another_reader_gets_the_same_graph(triples: set[Triple], form: str) -> None:
    dictionary = Dictionary()
    assert read_back(write_answer(graph_of(list(triples), dictionary), dictionary, form), form) == triples


def test_ntriples() -> None:
    dictionary = Dictionary()
    graph = graph_of([(SUBJECTS[2], PREDICATES[0], Literal('a "b"\n'))], dictionary)
    assert write_answer(graph, dictionary, "nt") == b'_:f0.b1 <http://example.org/p> "a \\"b\\"\\n" .\n'


def test_turtle_is_the_default_and_groups() -> None:
    dictionary = Dictionary()
    s, t = SUBJECTS[:2]
    p, a = PREDICATES
    graph = graph_of([(s, p, Literal("1")), (t, a, s), (s, a, t), (s, p, Literal("2"))], dictionary)
    text = write_answer(graph, dictionary).decode()
    assert text.count("<http://example.org/p>") == 1
    assert text.count("\n<http://") + text.startswith("<http://") == 2


@pytest.mark.parametrize("form", FORMATS)
def test_nothing(form: str) -> None:
    dictionary = Dictionary()
    assert read_back(write_answer(graph_of([], dictionary), dictionary, form), form) == set()


def test_what_no_iri_should_have_does_not_break_the_line() -> None:
    dictionary = Dictionary()
    odd = Iri("http://example.org/a b>\n")
    data = write_answer(graph_of([(SUBJECTS[0], PREDICATES[0], odd)], dictionary), dictionary, "nt")
    assert data.endswith(b" <http://example.org/a\\u0020b\\u003E\\u000A> .\n")
