"""What terms are made of, as Spark expressions."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

# What an IRI may not hold, and how one begins.
IRI_PATTERN = r"""^[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x20<>"{}|\\^`]*$"""


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
