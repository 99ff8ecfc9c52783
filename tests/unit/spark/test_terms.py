"""What Catalyst makes of the values in terms."""

from urllib.parse import quote

from pyspark.sql import functions as F

from freshet.spark.terms import IRI_PATTERN, percent_encoded


def test_percent_encoding(spark):
    values = ["plain-._~9", "a b", "a+b*c~d/e?f#g[h]", "100%", "Zürich", "東京 1", "a'(b)!", "\n", "{}", "😀 x"]
    rows = spark.createDataFrame([(value,) for value in values], "value STRING")
    found = [row[0] for row in rows.select(percent_encoded("`value`")).collect()]
    assert found == ["".join(c if ord(c) > 127 else quote(c, safe="-._~") for c in value) for value in values]


def test_iris(spark):
    good = ["http://example.org/é", "urn:x:y", "mailto:a@b"]
    bad = ["relative", "http://example.org/a b", "http://a/<b>", 'http://a/"', "http://a/{x}", "", "http://a/\\"]
    rows = spark.createDataFrame([(value,) for value in good + bad], "value STRING")
    found = {row[0]: row[1] for row in rows.select("value", F.col("value").rlike(IRI_PATTERN)).collect()}
    assert {value for value, fits in found.items() if fits} == set(good)
