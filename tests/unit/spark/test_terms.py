"""What Catalyst makes of terms equals what `freshet.rdf.ids` and the dictionary make of them."""

from urllib.parse import quote

import pytest
from pyspark.sql import functions as F

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.ids import inline_id as inline_id_of
from freshet.rdf.terms import XSD, Iri, Literal, term_key
from freshet.spark.terms import IRI_PATTERN, dictionary_id, inline_id, percent_encoded

FORMS = [
    "0", "-0", "7", "-7", "007", "+7", " 7", "7 ", "", "1.5", "1.50", "-1.5", "-0.0", "0.0", "00.5", ".5", "5.", "1e3",
    "1.5E0", "NaN", "INF", "true", "false", "TRUE", "1", "4503599627370495", "4503599627370496", "-4503599627370496",
    "144115188075855871", "144115188075855872", "-144115188075855872", "-144115188075855873", "9" * 30,
    "0." + "1" * 22, "0." + "1" * 15, "123456789012345.1234567", "1,5", "٣", "2024-01-01",
]  # fmt: skip


@pytest.mark.parametrize("name", ["integer", "decimal", "double", "float", "boolean"])
def test_inline_ids(spark, name):
    rows = spark.createDataFrame([(form,) for form in FORMS], "form STRING")
    made = rows.select("form", inline_id(F.col("form"), XSD + name).alias("id")).collect()
    for form, found in made:
        wanted = inline_id_of(Literal(form, Iri(XSD + name)))
        # Spark may leave to the dictionary what could be inline, but never the other way round.
        assert found in (wanted or None, None), (form, name)
    plain = {"integer": "7", "decimal": "1.50", "double": "-1.5", "float": "0.0", "boolean": "true"}[name]
    assert dict(made)[plain] is not None


def test_hashes_are_the_dictionarys(spark):
    terms = [Iri("http://example.org/é"), Literal('a "b"', language="en"), Literal("x" * 100), Literal("")]
    keys = [term_key(term) for term in terms]
    rows = spark.createDataFrame([(key,) for key in keys], "key STRING")
    dictionary = Dictionary()
    assert [row[0] for row in rows.select(dictionary_id(F.col("key"))).collect()] == [
        dictionary.encode(term) for term in terms
    ]


def test_percent_encoding(spark):
    values = ["plain-._~9", "a b", "a+b*c~d/e?f#g[h]", "100%", "Zürich", "東京 1", "a'(b)!", "\n", "{}", "😀 x"]
    rows = spark.createDataFrame([(value,) for value in values], "value STRING")
    found = [row[0] for row in rows.select(percent_encoded(F.col("value"))).collect()]
    assert found == ["".join(c if ord(c) > 127 else quote(c, safe="-._~") for c in value) for value in values]


def test_iris(spark):
    good = ["http://example.org/é", "urn:x:y", "mailto:a@b"]
    bad = ["relative", "http://example.org/a b", "http://a/<b>", 'http://a/"', "http://a/{x}", "", "http://a/\\"]
    rows = spark.createDataFrame([(value,) for value in good + bad], "value STRING")
    found = {row[0]: row[1] for row in rows.select("value", F.col("value").rlike(IRI_PATTERN)).collect()}
    assert {value for value, fits in found.items() if fits} == set(good)
