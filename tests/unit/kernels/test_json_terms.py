from itertools import pairwise
from typing import Any

import numpy as np
import orjson
from hypothesis import example, given, settings
from hypothesis import strategies as st

from freshet.kernels.json_terms import json_terms
from freshet.rdf.terms import RDF_DIR_LANG_STRING, BlankNode, Iri, Literal, Term, TripleTerm, term_key

TEXT = st.text(
    st.one_of(st.sampled_from('"\\\x00\x08\x0c\n\r\t\x1f \x7f@^<>é\U0001f600'), st.characters(codec="utf-8"))
)
TERMS = st.one_of(
    TEXT.map(lambda text: Iri(f"http://example.org/{text}")),
    st.sampled_from(["b", "a-long-label-0"]).map(BlankNode),
    TEXT.map(Literal),
    TEXT.map(lambda text: Literal(text, language="en-GB")),
    TEXT.map(lambda text: Literal(text, Iri("http://example.org/type"))),
    TEXT.map(lambda text: Literal(text, RDF_DIR_LANG_STRING, "en", "rtl")),
    st.none(),
)
TRIPLE_TERMS = st.recursive(
    TERMS.filter(bool),
    lambda inner: st.builds(
        TripleTerm, TEXT.map(lambda text: Iri(f"http://example.org/{text}")), st.just(Iri("urn:p")), inner
    ),
)


def naive(term: Term | None) -> dict[str, Any] | None:
    match term:
        case Iri(value):
            return {"type": "uri", "value": value}
        case BlankNode(label):
            return {"type": "bnode", "value": label}
        case TripleTerm(subject, predicate, object_):
            parts = {"subject": subject, "predicate": predicate, "object": object_}
            return {"type": "triple", "value": {role: naive(part) for role, part in parts.items()}}
        case Literal(lexical, language=str(language), direction=str(direction)):
            return {"type": "literal", "value": lexical, "xml:lang": language, "its:dir": direction}
        case Literal(lexical, language=str(language)):
            return {"type": "literal", "value": lexical, "xml:lang": language}
        case Literal(lexical, Iri("http://example.org/type")):
            return {"type": "literal", "value": lexical, "datatype": "http://example.org/type"}
        case Literal(lexical):
            return {"type": "literal", "value": lexical}
    return None


def written(terms: list[Term | None]) -> list[bytes]:
    keys = [b"" if term is None else term_key(term).encode() for term in terms]
    data = np.frombuffer(bytearray(b"".join(keys)), np.uint8)
    cells, offsets = json_terms(data, np.cumsum([0, *map(len, keys)]))
    assert cells.size == offsets[-1]
    return [cells[start:end].tobytes() for start, end in pairwise(offsets.tolist())]


@settings(deadline=None)
@example([Literal("".join(map(chr, range(0x81))))])
@given(st.lists(TERMS, max_size=6))
def test_equals_a_json_library(terms: list[Term | None]) -> None:
    assert written(terms) == [b"" if each is None else orjson.dumps(each) for each in map(naive, terms)]


@settings(deadline=None)
@given(st.lists(TRIPLE_TERMS, max_size=6))
def test_triple_terms_are_objects_of_objects(terms: list[Term | None]) -> None:
    """Escapes of IRIs in them are not those that a JSON library writes, but mean the same."""
    assert list(map(orjson.loads, written(terms))) == list(map(naive, terms))
