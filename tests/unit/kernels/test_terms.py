"""The kernels of inline ids against the scalar twin in `freshet.rdf.ids`."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from freshet.kernels import terms
from freshet.kernels.lexical import LONGEST_KEY, write_inline
from freshet.rdf import ids
from freshet.rdf.terms import Literal, term_key
from lexical_forms import EDGE_LITERALS, literals


def kernel_id(key: str, before: bytes = b"", after: bytes = b"") -> int:
    data = np.frombuffer(before + key.encode() + after, np.uint8)
    return int(terms.inline_id(data, len(before), data.size - len(after)))


def kernel_key(term_id: int) -> str:
    out = np.full(LONGEST_KEY + 2, 255, np.uint8)
    end = write_inline(out, 1, np.int64(term_id))
    assert out[0] == 255
    assert (out[end:] == 255).all()
    return out[1:end].tobytes().decode()


def assert_same(literal: Literal) -> None:
    key = term_key(literal)
    expected = ids.inline_id(literal)
    assert kernel_id(key) == expected, literal
    assert kernel_id(key, b'12"', b"34") == expected, literal
    if expected:
        assert kernel_key(expected) == key


def test_on_either_side_of_every_rule() -> None:
    for literal in EDGE_LITERALS:
        assert_same(literal)
    inline = sum(ids.inline_id(literal) != 0 for literal in EDGE_LITERALS)
    assert 60 < inline < len(EDGE_LITERALS) / 2  # both sides are there


@settings(max_examples=800, deadline=None)
@given(literals)
def test_any_literal(literal: Literal) -> None:
    assert_same(literal)


@settings(deadline=None)
@given(st.text(max_size=60))
@example('"')
@example('">')
@example('"^^<http://www.w3.org/2001/XMLSchema#integer>')
@example('"5"^^<http://www.w3.org/2001/XMLSchema#integer')
@example('x5"^^<http://www.w3.org/2001/XMLSchema#integer>')
@example('"5"@en')
@example("<http://www.w3.org/2001/XMLSchema#integer>")
@example('"5"^^<http://www.w3.org/2001/XMLSchema#integer>"')
def test_what_is_no_typed_literal_is_not_inline(key: str) -> None:
    assert kernel_id(key) == 0
