"""What terms are made of, as Spark expressions."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

# What an IRI may not hold, and how one begins.
IRI_PATTERN = r"""^[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x20<>"{}|\\^`]*$"""


# In SQL and not with F.transform, which gives its variable a new name in every call: the name gets into the
# generated code, and Spark would compile the same code again for each stream that is started.
_BY_CHARACTER = """array_join(transform(split({0}, ''), c -> if(octet_length(c) > 1, c,
  replace(replace(replace(url_encode(c), '+', '%20'), '*', '%2A'), '%7E', '~'))), '')"""


def percent_encoded(column: str) -> Column:
    """A column's value inside an IRI, as RML templates want it: everything but iunreserved characters is escaped.

    The column is named as in SQL. Spark's `url_encode` is made for forms; what differs is put right. Characters beyond
    ASCII stay.
    """
    value = F.col(column)
    return F.when(F.octet_length(value) == F.length(value), _ascii_encoded(value)).otherwise(
        F.expr(_BY_CHARACTER.format(column))
    )


def _ascii_encoded(value: Column) -> Column:
    # Whether anything is to be put right is not asked first: Spark would encode the value once more to find out.
    encoded = F.url_encode(value)
    return F.replace(
        F.replace(F.replace(encoded, F.lit("+"), F.lit("%20")), F.lit("*"), F.lit("%2A")), F.lit("%7E"), F.lit("~")
    )


def percent_encoded_value(value: Column) -> Column:
    """The same for a value that is no column of its own, as in arrays."""

    def one(character: Column) -> Column:
        return F.when(F.octet_length(character) > 1, character).otherwise(_ascii_encoded(character))

    by_character = F.array_join(F.transform(F.split(value, F.lit("")), one), "")
    return F.when(F.octet_length(value) == F.length(value), _ascii_encoded(value)).otherwise(by_character)


def percent_encoded_ascii(value: Column) -> Column:
    """A value inside a URI: characters beyond ASCII are escaped too."""
    return _ascii_encoded(value)


def escaped(value: Column) -> Column:
    """The text of a literal as N-Triples and N-Quads write it between the quotation marks."""
    for character, escape in _ESCAPES.items():
        value = F.replace(value, F.lit(character), F.lit(escape))
    return value


# The backslash first: the others bring new ones.
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"}
