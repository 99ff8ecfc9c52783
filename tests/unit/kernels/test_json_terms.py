from itertools import pairwise

import numpy as np
import orjson
from hypothesis import example, given, settings
from hypothesis import strategies as st

from freshet.kernels.json_terms import json_terms
from freshet.rdf.terms import BlankNode, Iri, Literal, Term, term_key

TEXT = st.text(
    st.one_of(st.sampled_from('"\\\x00\x08\x0c\n\r\t\x1f \x7f@^<>é\U0001f600'), st.characters(codec="utf-8"))
)
TERMS = st.one_of(
    TEXT.map(lambda text: Iri(f"http://example.org/{text}")),
    st.sampled_from(["b", "a-long-label-0"]).map(BlankNode),
    TEXT.map(Literal),
    TEXT.map(lambda text: Literal(text, language="en-GB")),
    TEXT.map(lambda text: Literal(text, Iri("http://example.org/type"))),
    st.none(),
)


def naive(term: Term | None) -> dict[str, str] | None:
    match term:
        case Iri(value):
            return {"type": "uri", "value": value}
        case BlankNode(label):
            return {"type": "bnode", "value": label}
        case Literal(lexical, language=str(language)):
            return {"type": "literal", "value": lexical, "xml:lang": language}
        case Literal(lexical, Iri("http://example.org/type")):
            return {"type": "literal", "value": lexical, "datatype": "http://example.org/type"}
        case Literal(lexical):
            return {"type": "literal", "value": lexical}
    return None


@settings(deadline=None)
@example([Literal("".join(map(chr, range(0x81))))])
@given(st.lists(TERMS, max_size=6))
def test_equals_a_json_library(terms: list[Term | None]) -> None:
    keys = [b"" if term is None else term_key(term).encode() for term in terms]
    data = np.frombuffer(bytearray(b"".join(keys)), np.uint8)
    cells, offsets = json_terms(data, np.cumsum([0, *map(len, keys)]))
    found = [cells[start:end].tobytes() for start, end in pairwise(offsets.tolist())]
    expected = [b"" if each is None else orjson.dumps(each) for each in map(naive, terms)]
    assert found == expected
    assert cells.size == offsets[-1]
