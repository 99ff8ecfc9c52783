"""Ids of terms: which terms are inline, written out term by term.

An id is a signed 64-bit integer. 0 is unbound (or an error), a positive id belongs to the dictionary, a negative one
is inline: it holds its value, and no dictionary is needed to read it. A term is inline exactly when its lexical form
is one that the value gives back, so that decoding returns the very same term. `freshet.kernels.layout` has the bits.

| type    | terms                                                     | value                                   |
| ------- | --------------------------------------------------------- | --------------------------------------- |
| 1       | xsd:integer `0`, `-?[1-9][0-9]*`                          | the number                              |
| 2       | xsd:boolean `true`, `false`                               | 1, 0                                    |
| 3, 4, 5 | xsd:decimal, xsd:double, xsd:float in plain notation      | mantissa, scale: 2150, 2 for `21.50`    |
| 6       | xsd:double in scientific notation, `-?[0-9]\\.[0-9]+E...` | mantissa, fraction digits, exponent     |
| 7, 8    | xsd:dateTime with `Z`, without time zone                  | ms since 1970, whether it has `.fff`    |

Minus zero is never inline, nor is a number whose mantissa, scale or exponent does not fit.

The kernels in `freshet.kernels.terms` do the same for millions of keys; this module is for single terms, and is what
the kernels are tested against.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from freshet.kernels import layout
from freshet.rdf.terms import XSD, Iri, Literal, Term

UNBOUND = layout.UNBOUND

XSD_INTEGER = Iri(XSD + "integer")
XSD_BOOLEAN = Iri(XSD + "boolean")
XSD_DECIMAL = Iri(XSD + "decimal")
XSD_DOUBLE = Iri(XSD + "double")
XSD_FLOAT = Iri(XSD + "float")
XSD_DATE_TIME = Iri(XSD + "dateTime")

_PLAIN_DATATYPES = {layout.DECIMAL: XSD_DECIMAL, layout.DOUBLE: XSD_DOUBLE, layout.FLOAT: XSD_FLOAT}
_PLAIN_TYPES = {datatype.value: kind for kind, datatype in _PLAIN_DATATYPES.items()}

_LONGEST = 64
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_PLAIN = re.compile(r"(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?")
_SCIENTIFIC = re.compile(r"(-?)([0-9])\.([0-9]+)E(0|-?[1-9][0-9]*)")
_DATE_TIME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]{3})?(Z?)")
_EPOCH = datetime(1970, 1, 1)
_MILLISECOND = timedelta(milliseconds=1)


def inline_id(term: Term) -> int:
    """The inline id of a term, or 0 where the term belongs to the dictionary."""
    if not isinstance(term, Literal) or term.language is not None:
        return UNBOUND
    lexical, datatype = term.lexical, term.datatype.value
    if len(lexical) > _LONGEST:  # what fits into 64 bits is shorter, and Python refuses to read numbers that are long
        return UNBOUND
    if datatype == XSD_INTEGER.value:
        return _integer_id(lexical)
    if datatype == XSD_BOOLEAN.value:
        return _pack(layout.BOOLEAN, int(lexical == "true")) if lexical in ("true", "false") else UNBOUND
    if datatype == XSD_DATE_TIME.value:
        return _date_time_id(lexical)
    if datatype in _PLAIN_TYPES:
        plain = _plain_id(_PLAIN_TYPES[datatype], lexical)
        return plain or (_scientific_id(lexical) if datatype == XSD_DOUBLE.value else UNBOUND)
    return UNBOUND


def inline_term(term_id: int) -> Literal:
    """The term of an inline id: `inline_term(inline_id(t)) == t` wherever the id is not 0."""
    kind = (term_id >> layout.TYPE_SHIFT) & layout.TYPE_MASK
    value = term_id & layout.VALUE_MASK
    if value > layout.GREATEST_INTEGER:
        value -= layout.VALUE_MASK + 1
    if kind == layout.INTEGER:
        return Literal(str(value), XSD_INTEGER)
    if kind == layout.BOOLEAN:
        return Literal("true" if value else "false", XSD_BOOLEAN)
    if kind == layout.SCIENTIFIC:
        return Literal(_scientific_text(value), XSD_DOUBLE)
    if kind in (layout.DATETIME, layout.DATETIME_Z):
        return Literal(_date_time_text(value) + ("Z" if kind == layout.DATETIME_Z else ""), XSD_DATE_TIME)
    mantissa, scale = value >> layout.SCALE_BITS, value & layout.SCALE_MASK
    return Literal(_with_point(mantissa, scale), _PLAIN_DATATYPES[kind])


def _pack(kind: int, value: int) -> int:
    return int(layout.INLINE_FLAG) | kind << layout.TYPE_SHIFT | (value & layout.VALUE_MASK)


def _integer_id(lexical: str) -> int:
    if not _INTEGER.fullmatch(lexical):
        return UNBOUND
    value = int(lexical)
    fits = layout.LEAST_INTEGER <= value <= layout.GREATEST_INTEGER
    return _pack(layout.INTEGER, value) if fits else UNBOUND


def _plain_id(kind: int, lexical: str) -> int:
    match = _PLAIN.fullmatch(lexical)
    if not match:
        return UNBOUND
    sign, whole, fraction = match[1], match[2], match[3] or ""
    mantissa, scale = int(whole + fraction), len(fraction)
    if mantissa >= layout.MANTISSA_END or scale > layout.GREATEST_SCALE or (sign and mantissa == 0):
        return UNBOUND
    return _pack(kind, (-mantissa if sign else mantissa) << layout.SCALE_BITS | scale)


def _scientific_id(lexical: str) -> int:
    match = _SCIENTIFIC.fullmatch(lexical)
    if not match:
        return UNBOUND
    sign, lead, fraction, exponent = match[1], match[2], len(match[3]), int(match[4])
    mantissa = int(lead + match[3])
    if mantissa >= layout.SCIENTIFIC_MANTISSA_END or fraction > layout.FRACTION_MASK:
        return UNBOUND
    if (mantissa == 0 and sign) or (mantissa != 0 and lead == "0"):
        return UNBOUND
    if not -layout.EXPONENT_BIAS <= exponent < layout.EXPONENT_BIAS or abs(exponent - fraction) > layout.GREATEST_SHIFT:
        return UNBOUND
    value = -mantissa if sign else mantissa
    value = value << layout.FRACTION_BITS | fraction
    return _pack(layout.SCIENTIFIC, value << layout.EXPONENT_BITS | exponent + layout.EXPONENT_BIAS)


def _date_time_id(lexical: str) -> int:
    match = _DATE_TIME.fullmatch(lexical)
    if not match:
        return UNBOUND
    try:
        moment = datetime.fromisoformat(match[1] + (match[2] or ""))
    except ValueError:  # no such day or hour
        return UNBOUND
    value = (moment - _EPOCH) // _MILLISECOND << 1 | (match[2] is not None)
    return _pack(layout.DATETIME_Z if match[3] else layout.DATETIME, value)


def _with_point(mantissa: int, scale: int) -> str:
    digits = str(abs(mantissa)).rjust(scale + 1, "0")
    text = f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits
    return f"-{text}" if mantissa < 0 else text


def _scientific_text(value: int) -> str:
    exponent = (value & layout.EXPONENT_MASK) - layout.EXPONENT_BIAS
    value >>= layout.EXPONENT_BITS
    return f"{_with_point(value >> layout.FRACTION_BITS, value & layout.FRACTION_MASK)}E{exponent}"


def _date_time_text(value: int) -> str:
    moment = _EPOCH + (value >> 1) * _MILLISECOND
    return moment.isoformat(timespec="milliseconds" if value & 1 else "seconds")
