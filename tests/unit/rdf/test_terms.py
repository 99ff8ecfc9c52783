"""Keys of terms, above all of those that came with RDF 1.2."""

import pyoxigraph
import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.ntriples import scan_statements, scan_timed
from freshet.rdf.terms import (
    RDF_DIR_LANG_STRING,
    RDF_LANG_STRING,
    BlankNode,
    Iri,
    Literal,
    Term,
    TripleTerm,
    has_blank_node,
    key_text,
    term_from_key,
    term_key,
)

TEXT = st.text(
    st.one_of(st.sampled_from('"\\\n\r\t <>()@^_:-'), st.characters(codec="utf-8", exclude_characters="\x00"))
)
IRIS = st.sampled_from(["http://example.org/a", "urn:b"]).map(Iri)
LITERALS = st.one_of(
    TEXT.map(Literal),
    TEXT.map(lambda text: Literal(text, RDF_LANG_STRING, "en")),
    TEXT.map(lambda text: Literal(text, RDF_DIR_LANG_STRING, "en-gb", "rtl")),
    TEXT.map(lambda text: Literal(text, Iri("http://example.org/type"))),
)
SUBJECTS = st.one_of(IRIS, st.just(BlankNode("f0.b")))
TRIPLE_TERMS = st.recursive(
    st.builds(TripleTerm, SUBJECTS, IRIS, st.one_of(SUBJECTS, LITERALS)),
    lambda inner: st.builds(TripleTerm, SUBJECTS, IRIS, inner),
)


@given(st.one_of(TRIPLE_TERMS, LITERALS))
def test_a_key_gives_its_term_back(term: Term) -> None:
    key = term_key(term)
    assert term_from_key(key) == term
    dictionary = Dictionary()
    assert dictionary.decode(dictionary.encode(term)) == term


@given(TRIPLE_TERMS)
def test_a_triple_term_is_read_as_it_is_written(term: TripleTerm) -> None:
    """The key is N-Triples: pyoxigraph's reader and the scanner give the same term."""
    line = f"<urn:s> <urn:p> {key_text(term_key(term))} ."
    [quad] = pyoxigraph.parse(line.encode(), pyoxigraph.RdfFormat.N_TRIPLES)
    assert isinstance(quad.object, pyoxigraph.Triple)
    dictionary = Dictionary()
    (_, _, objects, _), errors = scan_statements(line.encode(), dictionary, "f", quads=False)
    assert not errors
    assert dictionary.decode(objects[0]) == term


def test_blank_nodes_in_triple_terms_get_their_scope() -> None:
    line = b'5\t_:a <urn:p> <<( _:a <urn:p> <<( _:b <urn:p> "x"@EN--ltr )>> )>> .'
    dictionary = Dictionary()
    elements, errors = scan_timed(line, dictionary, "f", blank_scope="s1")
    assert not errors
    assert dictionary.decode(elements.subjects[0]) == BlankNode("s1.a")
    inner = TripleTerm(BlankNode("s1.b"), Iri("urn:p"), Literal("x", RDF_DIR_LANG_STRING, "en", "ltr"))
    assert dictionary.decode(elements.objects[0]) == TripleTerm(BlankNode("s1.a"), Iri("urn:p"), inner)


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (BlankNode("a"), True),
        (Iri("urn:a"), False),
        (TripleTerm(Iri("urn:a"), Iri("urn:p"), TripleTerm(Iri("urn:a"), Iri("urn:p"), BlankNode("b"))), True),
        (TripleTerm(Iri("urn:a"), Iri("urn:p"), Literal("b")), False),
    ],
)
def test_blank_nodes_are_found_in_triple_terms(term: Term, expected: bool) -> None:
    assert has_blank_node(term) == expected


def test_what_cannot_stand_in_an_iri_is_escaped_in_a_triple_term() -> None:
    term = TripleTerm(Iri("urn:a b>"), Iri("urn:p"), Literal("x"))
    assert term_key(term) == '<<( <urn:a\\u0020b\\u003E> <urn:p> "x" )>>'
    assert term_from_key(term_key(term)) == term
