"""What Catalyst makes of the values in terms."""

from urllib.parse import quote

import pyarrow as pa
from pyspark.sql import functions as F

from freshet.mapper.operations import IRI_PATTERN
from freshet.rml.percent import percent_encoded as in_arrow
from freshet.spark.terms import percent_encoded, percent_encoded_ascii, percent_encoded_value


def test_percent_encoding(spark):
    values = ["plain-._~9", "a b", "a+b*c~d/e?f#g[h]", "100%", "Zürich", "東京 1", "a'(b)!", "\n", "{}", "😀 x"]
    values += [f"x{chr(code)}{beyond}" for code in range(1, 128) for beyond in ("", "é")]
    rows = spark.createDataFrame([(value,) for value in values], "value STRING")
    both = percent_encoded("`value`"), percent_encoded_value(F.col("value")), percent_encoded_ascii(F.col("value"))
    found = rows.select(*both).collect()
    wanted = ["".join(c if ord(c) > 127 else quote(c, safe="-._~") for c in value) for value in values]
    assert [row[0] for row in found] == [row[1] for row in found] == wanted
    assert [row[2] for row in found] == [quote(value, safe="-._~") for value in values]
    assert in_arrow(pa.array(values)).to_pylist() == wanted, "in the kernel as in Catalyst"


def test_iris(spark):
    good = ["http://example.org/é", "urn:x:y", "mailto:a@b"]
    bad = ["relative", "http://example.org/a b", "http://a/<b>", 'http://a/"', "http://a/{x}", "", "http://a/\\"]
    bad += ["urn:x\n"]
    rows = spark.createDataFrame([(value,) for value in good + bad], "value STRING")
    found = {row[0]: row[1] for row in rows.select("value", F.col("value").rlike(IRI_PATTERN)).collect()}
    assert {value for value, fits in found.items() if fits} == set(good)
