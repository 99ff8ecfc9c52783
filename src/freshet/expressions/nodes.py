"""Functions of terms (SPARQL 1.1, 17.4.2): what kind a term is, its parts, and new terms out of parts."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from freshet.expressions.columns import Column, ColumnBatch, Keys, Truths
from freshet.expressions.distinct import apply, encode, keys_of, read, truths_of
from freshet.expressions.lexical import iri, literal, simple, simple_key
from freshet.kernels import term_text, values
from freshet.kernels.comparison import ERROR, FALSE, TRUE
from freshet.rdf.arrow import key_ranges
from freshet.rdf.terms import DIRECTIONS, RDF_DIR_LANG_STRING, RDF_LANG_STRING, XSD_STRING
from freshet.rdf.values import Ids
from freshet.syntax.iris import resolve, split_iri

_LANGUAGE_TAG = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*")
_NOT_IN_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\]')
LABELLED_NODE = ".LABELLED_NODE"  # no query can call it
_HEX_DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)
_UUID_DASHES = (8, 13, 18, 23)


def _kinds(*kinds: int) -> Callable[..., Truths]:
    """A test whether a term is of one of the kinds."""
    outcomes = np.full(values.KINDS, FALSE, np.uint8)
    outcomes[values.NOTHING] = ERROR
    outcomes[list(kinds)] = TRUE
    return lambda batch, argument: Truths(outcomes[batch.values(argument).kinds])


def _rewrite(function: int, batch: ColumnBatch, argument: Column) -> Ids:
    """LANG and DATATYPE, which have few results."""
    distinct, places = encode(batch.ids(argument))
    keys = term_text.rewrite_keys(function, *key_ranges(batch.dictionary.keys(distinct)))
    return batch.dictionary.intern_keys(*keys)[places]


def _text_of(key: str) -> str | None:
    parts = literal(key)
    lexical = iri(key) if parts is None else parts[0]
    return None if lexical is None else simple_key(lexical)


def _str(batch: ColumnBatch, argument: Column) -> Keys:
    return keys_of(read(batch, argument, _text_of))


def _iri_or_text(key: str) -> str | None:
    lexical = iri(key)
    return simple(key) if lexical is None else lexical


def _iri(batch: ColumnBatch, argument: Column) -> Keys:
    base = batch.context.base if batch.context is not None else None

    def resolved(text: str) -> str | None:
        if _NOT_IN_IRI.search(text):
            return None
        if split_iri(text).scheme is not None:
            return f"<{text}>"
        return None if base is None else f"<{resolve(base, text)}>"

    return keys_of(apply(resolved, read(batch, argument, _iri_or_text)))


def _typed(lexical: str, datatype: str) -> str | None:
    if datatype in (RDF_LANG_STRING.value, RDF_DIR_LANG_STRING.value):  # a language tag would be missing
        return None
    return simple_key(lexical) if datatype == XSD_STRING.value else f'"{lexical}"^^<{datatype}>'


def _strdt(batch: ColumnBatch, lexical: Column, datatype: Column) -> Keys:
    return keys_of(apply(_typed, read(batch, lexical, simple), read(batch, datatype, iri)))


def _lang_literal(lexical: str, tag: str) -> str | None:
    return f'"{lexical}"@{tag.lower()}' if _LANGUAGE_TAG.fullmatch(tag) else None


def _strlang(batch: ColumnBatch, lexical: Column, tag: Column) -> Keys:
    return keys_of(apply(_lang_literal, read(batch, lexical, simple), read(batch, tag, simple)))


def _directed_literal(lexical: str, tag: str, direction: str) -> str | None:
    found = _lang_literal(lexical, tag)
    return None if found is None or direction not in DIRECTIONS else f"{found}--{direction}"


def _strlangdir(batch: ColumnBatch, lexical: Column, tag: Column, direction: Column) -> Keys:
    return keys_of(apply(_directed_literal, *(read(batch, each, simple) for each in (lexical, tag, direction))))


def _tag_of(key: str) -> tuple[str, str] | None:
    """The language and the base direction of a literal, empty where it has none."""
    parts = literal(key)
    if parts is None:
        return None
    language, _, direction = parts[1].removeprefix("@").partition("--") if parts[1][:1] == "@" else ("", "", "")
    return language, direction


def _langdir(batch: ColumnBatch, argument: Column) -> Keys:
    tags = read(batch, argument, _tag_of)
    return keys_of(apply(lambda tag: simple_key(tag[1]), tags))


def _has_tag(part: int, batch: ColumnBatch, argument: Column) -> Truths:
    """hasLANG and hasLANGDIR: false for terms that are no literals."""
    return truths_of(read(batch, argument, lambda key: bool((_tag_of(key) or ("", ""))[part])))


def _scalar(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


def _numbered(prefix: str, *numbers: pa.Array) -> pa.Array:
    """Keys that differ by their numbers."""
    texts = [array.cast(pa.large_string()) for array in numbers]
    return pc.binary_join_element_wise(_scalar(prefix), pc.binary_join_element_wise(*texts, _scalar("l")), _scalar(""))


def _bnode(batch: ColumnBatch, *label: Column) -> Ids:
    rows = pa.array(np.arange(batch.first, batch.first + batch.count))
    if not label:
        return batch.dictionary.intern_arrow(_numbered(f"_:{batch.dictionary.fresh_scope()}b", rows))
    assert batch.context is not None
    solutions = batch.context.solutions
    whole = batch.whole
    if whole.node_scope is None:
        whole.node_scope = solutions.scope(whole.columns, whole.count, whole.dictionary)
    labels, places = apply(solutions.label, read(batch, label[0], simple))
    numbers = np.array([-1 if number is None else number for number in labels], np.int64)[places]
    if numbers.size != batch.count:
        numbers = np.full(batch.count, numbers[0])
    ids = batch.dictionary.intern_arrow(_numbered(f"_:{whole.node_scope}s", rows, pa.array(numbers)))
    return np.where(numbers < 0, np.int64(0), ids)


def _labelled_node(batch: ColumnBatch, solution: Column, label: Column) -> Keys:
    """BNODE(label) where the node of a solution is given: for continuous queries, in which solutions stay."""

    def node(key: str, text: str) -> str:
        return f"{key}l{blake2b(text.encode(), digest_size=8).hexdigest()}"

    return keys_of(apply(node, read(batch, solution, _blank_node), read(batch, label, simple)))


def _blank_node(key: str) -> str | None:
    return key if key.startswith("_:") else None


def _uuid_keys(count: int, before: str, after: str) -> pa.Array:
    """Keys that hold a random UUID each (RFC 4122, version 4)."""
    numbers = np.random.default_rng().integers(0, 256, (count, 16), np.uint8)
    numbers[:, 6] = numbers[:, 6] & 0x0F | 0x40
    numbers[:, 8] = numbers[:, 8] & 0x3F | 0x80
    texts = np.full((count, 36), ord("-"), np.uint8)
    digits = np.delete(np.arange(36), _UUID_DASHES)
    texts[:, digits[0::2]] = _HEX_DIGITS[numbers >> 4]
    texts[:, digits[1::2]] = _HEX_DIGITS[numbers & 0x0F]
    plain = pa.array(texts.view("S36")[:, 0].tolist(), pa.large_binary()).cast(pa.large_string())
    return pc.binary_join_element_wise(_scalar(before), plain, _scalar(after), _scalar(""))


def _uuid(before: str, after: str, batch: ColumnBatch) -> Ids:
    return batch.dictionary.intern_arrow(_uuid_keys(batch.count, before, after))


FUNCTIONS: dict[str, Callable[..., Column]] = {
    "ISIRI": _kinds(values.IRI),
    "ISURI": _kinds(values.IRI),
    "ISBLANK": _kinds(values.BLANK_NODE),
    "ISLITERAL": _kinds(*range(values.INTEGER, values.IRI)),
    "ISNUMERIC": _kinds(*range(values.INTEGER, values.DOUBLE + 1)),
    "STR": _str,
    "LANG": partial(_rewrite, term_text.LANG),
    "DATATYPE": partial(_rewrite, term_text.DATATYPE),
    "IRI": _iri,
    "URI": _iri,
    "STRDT": _strdt,
    "STRLANG": _strlang,
    "STRLANGDIR": _strlangdir,
    "LANGDIR": _langdir,
    "HASLANG": partial(_has_tag, 0),
    "HASLANGDIR": partial(_has_tag, 1),
    "ISTRIPLE": _kinds(values.TRIPLE_TERM),
    "BNODE": _bnode,
    LABELLED_NODE: _labelled_node,
    "UUID": partial(_uuid, "<urn:uuid:", ">"),
    "STRUUID": partial(_uuid, '"', '"'),
}
