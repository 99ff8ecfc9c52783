"""Functions of strings (SPARQL 1.1, 17.4.3), once for every distinct combination of arguments.

Strings are counted in code points. Where two strings are taken, the second has the language tag of the first or none.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from functools import partial
from math import floor, inf, isnan
from urllib.parse import quote

from freshet.expressions.columns import Column, ColumnBatch, Keys, Truths
from freshet.expressions.distinct import apply, integers_of, keys_of, read, truths_of
from freshet.expressions.lexical import Text, literal, make_room, simple, simple_key, text
from freshet.rdf.terms import XSD
from freshet.rdf.values import Ids

_INTEGERS = (
    "integer int long short byte nonNegativeInteger positiveInteger nonPositiveInteger negativeInteger unsignedInt "
    "unsignedLong unsignedShort unsignedByte"
)
_NUMERIC = {f"^^<{XSD}{name}>" for name in (*_INTEGERS.split(), "decimal", "double", "float")}
_UNRESERVED = "-_.~"  # RFC 3986, besides letters and digits
_ENCODED_AT_ONCE = 1 << 16  # characters
_FURTHEST_PLACE = 10**18
_EMPTY = simple_key("")


def _compatible(first: Text, second: Text) -> bool:
    return not second.tag or first.tag == second.tag


def _test(holds: Callable[[str, str], bool], batch: ColumnBatch, first: Column, second: Column) -> Truths:
    """STRSTARTS, STRENDS and CONTAINS."""

    def test(one: Text, other: Text) -> bool | None:
        return holds(one.lexical, other.lexical) if _compatible(one, other) else None

    return truths_of(apply(test, read(batch, first, text), read(batch, second, text)))


def _change(change: Callable[[str], str], batch: ColumnBatch, argument: Column) -> Keys:
    """UCASE and LCASE, which keep the language."""

    def changed(one: Text) -> str:
        make_room(len(one.lexical))
        return Text(change(one.lexical), one.tag).key()

    return keys_of(apply(changed, read(batch, argument, text)))


def _length(batch: ColumnBatch, argument: Column) -> Ids:
    return integers_of(apply(lambda one: len(one.lexical), read(batch, argument, text)))


def _before(one: Text, other: Text) -> str | None:
    if not _compatible(one, other):
        return None
    at = one.lexical.find(other.lexical)
    return _EMPTY if at < 0 else Text(one.lexical[:at], one.tag).key()


def _after(one: Text, other: Text) -> str | None:
    if not _compatible(one, other):
        return None
    at = one.lexical.find(other.lexical)
    return _EMPTY if at < 0 else Text(one.lexical[at + len(other.lexical) :], one.tag).key()


def _part(part: Callable[[Text, Text], str | None], batch: ColumnBatch, first: Column, second: Column) -> Keys:
    """STRBEFORE and STRAFTER."""
    return keys_of(apply(part, read(batch, first, text), read(batch, second, text)))


def _rounded(key: str) -> float | None:
    """A number as fn:substring takes it: rounded, halves up."""
    parts = literal(key)
    if parts is None or parts[1] not in _NUMERIC:
        return None
    try:
        number = Decimal(parts[0])
    except InvalidOperation:
        return None
    if number.is_nan() or number.is_infinite():
        return float(number)
    if number.adjusted() >= 18:  # past every text; to write it out could take for ever
        return _FURTHEST_PLACE if number > 0 else -_FURTHEST_PLACE
    return floor(number + Decimal("0.5"))


def _substring(one: Text, start: float, length: float = inf) -> str:
    """The characters at places p, counted from 1, with start <= p < start + length."""
    end = start + length
    if isnan(start) or isnan(end):
        return Text("", one.tag).key()
    size = len(one.lexical)
    first, last = (min(max(place - 1, 0), size) for place in (start, end))
    return Text(one.lexical[int(first) : max(int(last), int(first))], one.tag).key()


def _substr(batch: ColumnBatch, source: Column, *places: Column) -> Keys:
    return keys_of(apply(_substring, read(batch, source, text), *(read(batch, place, _rounded) for place in places)))


def _joined(*parts: Text) -> str:
    tag = parts[0].tag
    if tag and any(part.tag != tag for part in parts):
        tag = ""
    make_room(sum([len(part.lexical) for part in parts]))
    return f'"{"".join([part.lexical for part in parts])}"{tag}'


def _concat(batch: ColumnBatch, *arguments: Column) -> Column:
    if not arguments:
        return batch.intern([_EMPTY])
    return keys_of(apply(_joined, *(read(batch, argument, text) for argument in arguments)))


def _encode_for_uri(batch: ColumnBatch, argument: Column) -> Keys:
    return keys_of(apply(_percent_encode, read(batch, argument, text)))


def _percent_encode(one: Text) -> str:
    parts = []
    for first in range(0, len(one.lexical), _ENCODED_AT_ONCE):
        parts.append(quote(one.lexical[first : first + _ENCODED_AT_ONCE], safe=_UNRESERVED))
        make_room(len(parts[-1]))
    make_room(sum([len(part) for part in parts]))
    return simple_key("".join(parts))


def matches_language(tag: str, language_range: str) -> bool:
    """Basic filtering of RFC 4647.

    >>> matches_language("de-ch", "DE"), matches_language("deu", "de"), matches_language("", "*")
    (True, False, False)
    """
    if language_range == "*":
        return bool(tag)
    tag, language_range = tag.lower(), language_range.lower()
    return tag == language_range or (bool(language_range) and tag.startswith(language_range + "-"))


def _lang_matches(batch: ColumnBatch, tag: Column, language_range: Column) -> Truths:
    return truths_of(apply(matches_language, read(batch, tag, simple), read(batch, language_range, simple)))


FUNCTIONS: dict[str, Callable[..., Column]] = {
    "STRLEN": _length,
    "SUBSTR": _substr,
    "UCASE": partial(_change, str.upper),
    "LCASE": partial(_change, str.lower),
    "STRSTARTS": partial(_test, str.startswith),
    "STRENDS": partial(_test, str.endswith),
    "CONTAINS": partial(_test, str.__contains__),
    "STRBEFORE": partial(_part, _before),
    "STRAFTER": partial(_part, _after),
    "ENCODE_FOR_URI": _encode_for_uri,
    "CONCAT": _concat,
    "LANGMATCHES": _lang_matches,
}
