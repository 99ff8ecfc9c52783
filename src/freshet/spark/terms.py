"""What terms are made of, as Spark expressions."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

# Where Spark's `url_encode`, which is made for forms, differs from what IRIs want.
_AS_IN_IRIS = (("+", "%20"), ("*", "%2A"), ("%7E", "~"))


# In SQL and not with F.transform, which gives its variable a new name in every call: the name gets into the
# generated code, and Spark would compile the same code again for each stream that is started.
def _percent_encode_sql(encoded: str) -> str:
    for form, iri in _AS_IN_IRIS:
        encoded = f"replace({encoded}, '{form}', '{iri}')"
    return encoded


_BY_CHARACTER = f"""array_join(transform(split({{0}}, ''), c -> if(octet_length(c) > 1, c,
  {_percent_encode_sql("url_encode(c)")})), '')"""


def percent_encoded(column: str) -> Column:
    """A column's value inside an IRI, as RML templates want it: everything but iunreserved characters is escaped.

    The column is named as in SQL. Characters beyond ASCII stay. `kernels/percent.py` does the same to Arrow arrays.
    """
    return _percent_encode(F.col(column), F.expr(_BY_CHARACTER.format(column)))


def _percent_encode(value: Column, by_character: Column) -> Column:
    return F.when(F.octet_length(value) == F.length(value), percent_encoded_ascii(value)).otherwise(by_character)


def percent_encoded_value(value: Column) -> Column:
    """The same for a value that is no column of its own, as in arrays."""

    def one(character: Column) -> Column:
        return F.when(F.octet_length(character) > 1, character).otherwise(percent_encoded_ascii(character))

    return _percent_encode(value, F.array_join(F.transform(F.split(value, F.lit("")), one), ""))


def percent_encoded_ascii(value: Column) -> Column:
    """A value inside a URI: characters beyond ASCII are escaped too."""
    # Whether anything is to be put right is not asked first: Spark would encode the value once more to find out.
    encoded = F.url_encode(value)
    for form, iri in _AS_IN_IRIS:
        encoded = F.replace(encoded, F.lit(form), F.lit(iri))
    return encoded


def escape_literal(value: Column) -> Column:
    """The text of a literal as N-Triples and N-Quads write it between the quotation marks."""
    for character, escape in _ESCAPES.items():
        value = F.replace(value, F.lit(character), F.lit(escape))
    return value


# The backslash first: the others bring new ones.
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"}
