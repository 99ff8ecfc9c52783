"""Columns of ids, read by kernels and term by term."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshet.kernels.typed_columns import (
    DOUBLES,
    NO_DECIMALS,
    NOT_ALIKE,
    NOT_KNOWN,
    OTHERS,
    find_texts,
    number_terms,
    read_decimals,
    read_doubles,
    read_integers,
    write_texts,
)
from freshet.rdf.arrow import read_only
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import RDF_LANG_STRING, XSD, BlankNode, Iri, Literal, Term, term_key
from freshet.rdf.values import value_table

DICTIONARY = Dictionary()


def ids_of(texts: list[str | None], datatype: str) -> np.ndarray:
    return np.array([0 if text is None else DICTIONARY.encode(Literal(text, Iri(XSD + datatype))) for text in texts])


def decimals(ids: np.ndarray) -> tuple[int, list[Decimal]]:
    words = np.empty((len(ids), 2), np.int64)
    digits = int(read_decimals(DICTIONARY.arrays, read_only(ids), words))
    return digits, [(Decimal(int(high) * 2**64 + int(low) % 2**64)).scaleb(-digits) for low, high in words.tolist()]


NUMBER = st.from_regex(r"[+-]?(\d{1,18}(\.\d{0,18})?|\.\d{1,18})", fullmatch=True, alphabet="+-.0123456789")


@given(st.lists(st.one_of(st.none(), NUMBER), min_size=1, max_size=20))
def test_decimals_are_what_their_texts_say(texts: list[str | None]) -> None:
    digits, found = decimals(ids_of(texts, "decimal"))
    values = [DICTIONARY.decode(int(each)) if each else None for each in ids_of(texts, "decimal")]
    lexical = [value.lexical if isinstance(value, Literal) else "0" for value in values]
    assert found == [Decimal(text) for text in lexical]
    assert digits == max(len(text.partition(".")[2]) for text in lexical)


@pytest.mark.parametrize("text", ["", ".", "-", "1.2.3", "x", "1e5", "1234567890123456789", "0." + "1" * 19])
def test_what_is_no_decimal_or_has_many_digits_is_left_to_others(text: str) -> None:
    assert decimals(ids_of(["1.5", text], "decimal"))[0] == NO_DECIMALS


@pytest.mark.parametrize("datatype", ["integer", "double", "string"])
def test_other_terms_are_no_decimals(datatype: str) -> None:
    assert decimals(ids_of(["15"], datatype))[0] == NO_DECIMALS


def test_integers_are_read_from_a_row_on() -> None:
    ids, values = ids_of(["7", "-1", "5", None], "integer"), np.zeros(4, np.int64)
    assert read_integers(read_only(ids), 1, 3, values)
    assert values.tolist() == [0, -1, 5, 0]
    assert not read_integers(read_only(ids), 1, 4, values)


@given(st.lists(st.integers(-5, 5), max_size=60), st.integers(1, 12))
def test_terms_are_numbered_as_far_as_there_is_room(column: list[int], room: int) -> None:
    ids, numbers = np.array(column, np.int64), np.zeros(len(column), np.int32)
    table, sizes, distinct = np.zeros(64, np.int64), np.zeros(1, np.int64), np.empty(room, np.int64)
    stopped = number_terms(table, sizes, read_only(ids), 0, len(column), numbers, distinct)
    known = list(dict.fromkeys(each for each in column[:stopped] if each))
    assert distinct[: sizes[0]].tolist() == known
    assert numbers[:stopped].tolist() == [known.index(each) if each else -1 for each in column[:stopped]]
    assert stopped == len(column) or (column[stopped] not in [0, *known] and len(known) == room)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
KINDS = st.sampled_from(
    [
        lambda text: Iri(f"http://example.org/{text}"),
        Literal,
        lambda text: Literal(text, RDF_LANG_STRING, "en"),
        lambda text: Literal(text, Iri(f"{XSD}token")),
    ]
)


def texts_of(terms: list[Term], like: Term) -> list[str] | None:
    """What the kernels read of terms, if all of them are like one."""
    head, tail = head_and_tail(term_key(like))
    ids, tail_bytes = np.array([DICTIONARY.encode(term) for term in terms], np.int64), np.frombuffer(tail, np.uint8)
    records, offsets = np.empty(len(ids), np.int64), np.empty(len(ids) + 1, np.int64)
    size = find_texts(DICTIONARY.arrays, ids, head, read_only(tail_bytes), records)
    if size == NOT_ALIKE:
        return None
    data, half = np.empty(size, np.uint8), len(ids) // 2
    offsets[0] = 0
    for first, some in ((0, records[:half]), (half, records[half:])):
        write_texts(DICTIONARY.arrays.heap, some, len(tail), data, offsets, first)
    return [data[start:end].tobytes().decode() for start, end in pairwise(offsets.tolist())]


def head_and_tail(key: str) -> tuple[int, bytes]:
    return ord(key[0]), (">" if key[0] == "<" else key[key.rindex('"') :]).encode()


@given(st.lists(TEXTS, min_size=1, max_size=200), KINDS)
def test_texts_are_those_of_the_keys(texts: list[str], kind: Callable[[str], Term]) -> None:
    terms = [kind(text) for text in texts]
    found = texts_of(terms, terms[0])
    assert found == [f"http://example.org/{text}" if isinstance(terms[0], Iri) else text for text in texts]


@given(TEXTS, TEXTS, KINDS, KINDS)
def test_terms_of_two_kinds_are_not_alike(
    text: str, other: str, kind: Callable[[str], Term], other_kind: Callable[[str], Term]
) -> None:
    terms = [kind(text), other_kind(other)]
    assert (texts_of(terms, terms[0]) is not None) == (kind is other_kind)
    assert texts_of([*terms, Literal("1", Iri(f"{XSD}integer"))], terms[0]) is None
    assert texts_of([*terms, BlankNode("b")], terms[0]) is None


def test_doubles_are_read_where_a_table_has_them() -> None:
    ids = ids_of(["1.5", None, "1e300", "12345678901234567"], "double")
    table, reals = value_table(DICTIONARY), np.empty(4)
    assert (ids > 0).any()
    assert read_doubles(table.known, read_only(ids), reals) == NOT_KNOWN
    table.values(DICTIONARY, ids)
    assert read_doubles(table.known, read_only(ids), reals) == DOUBLES
    assert reals.tolist() == [1.5, 0.0, 1e300, 12345678901234567.0]
    others = np.concatenate((ids, ids_of(["7"], "integer")))
    assert read_doubles(table.known, read_only(others), np.empty(5)) == OTHERS
