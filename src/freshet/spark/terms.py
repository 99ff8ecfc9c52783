"""Terms and ids as Spark expressions: what `freshet.rdf.ids` says, in Catalyst's words."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from freshet.kernels import layout
from freshet.rdf.terms import XSD

_HASH_MASK = 0x7FFF_FFFF_FFFF_FFFF
_VALUE_MASK = (1 << 58) - 1
_PLAIN = {"decimal": layout.DECIMAL, "double": layout.DOUBLE, "float": layout.FLOAT}
# What an IRI may not hold, and how one begins.
IRI_PATTERN = r"""^[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x20<>"{}|\\^`]*$"""


def dictionary_id(key: Column) -> Column:
    """The id that a key asks for: its hash without the sign, and never 0."""
    return F.greatest(F.xxhash64(key).bitwiseAND(F.lit(_HASH_MASK)), F.lit(1).cast("bigint"))


def inline_id(lexical: Column, datatype: str | None) -> Column | None:
    """The inline id of literals of a datatype, null where the lexical form cannot be inline; None where none can."""
    name = (datatype or "").removeprefix(XSD)
    if name == "integer":
        number = lexical.try_cast("bigint")
        canonical = number.cast("string") == lexical
        return F.when(canonical & number.between(-(1 << 57), (1 << 57) - 1), _packed(layout.INTEGER, number))
    if name in _PLAIN:
        point = F.instr(lexical, ".")
        scale = F.when(point == 0, F.lit(0)).otherwise(F.length(lexical) - point).cast("bigint")
        mantissa = F.replace(lexical, F.lit("."), F.lit("")).try_cast("bigint")
        fits = (F.abs(mantissa) < (1 << 52)) & ((mantissa != 0) | ~lexical.startswith("-"))
        plain = lexical.rlike(r"^-?(0|[1-9][0-9]*)(\.[0-9]{1,22})?$")
        return F.when(plain & fits, _packed(_PLAIN[name], F.shiftleft(mantissa, 5).bitwiseOR(scale)))
    if name == "boolean":
        return F.when(lexical == "true", _packed(layout.BOOLEAN, F.lit(1).cast("bigint"))).when(
            lexical == "false", _packed(layout.BOOLEAN, F.lit(0).cast("bigint"))
        )
    return None


def _packed(kind: int, value: Column) -> Column:
    return value.bitwiseAND(F.lit(_VALUE_MASK)).bitwiseOR(F.lit(-(1 << 63) | kind << layout.TYPE_SHIFT))


def percent_encoded(value: Column) -> Column:
    """A value inside an IRI, as RML templates want it: everything but iunreserved characters is escaped.

    Spark's `url_encode` is made for forms; what differs is put right. Characters beyond ASCII stay.
    """
    plain = _ascii_encoded(value)
    by_character = F.array_join(
        F.transform(F.split(value, ""), lambda c: F.when(F.octet_length(c) > 1, c).otherwise(_ascii_encoded(c))), ""
    )
    return F.when(F.octet_length(value) == F.length(value), plain).otherwise(by_character)


def _ascii_encoded(value: Column) -> Column:
    encoded = F.url_encode(value)
    mended = F.replace(
        F.replace(F.replace(encoded, F.lit("+"), F.lit("%20")), F.lit("*"), F.lit("%2A")), F.lit("%7E"), F.lit("~")
    )
    return F.when((encoded == value) & ~value.contains("*"), value).otherwise(mended)
