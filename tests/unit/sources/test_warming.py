"""Readers can be tried on something small, whatever they are asked for."""

import pytest

from freshet.rml.sources import CsvDialect
from freshet.sources.columns import RecordShape
from freshet.sources.csv_files import warm_csv
from freshet.sources.csv_text import CsvReader
from freshet.sources.json_files import warm_json
from freshet.sources.json_text import JsonReader, json_shape


@pytest.mark.parametrize("references", [(), ("a",), ("a", "b")])
@pytest.mark.parametrize("dialect", [CsvDialect(), CsvDialect(delimiter=";", header=False, trim="both")])
def test_csv(references, dialect):
    assert warm_csv(CsvReader(RecordShape(references), dialect)) == 1


@pytest.mark.parametrize("references", [(), ("a", "a.b"), ("a[*]", "$..b")])
@pytest.mark.parametrize(("iterator", "count"), [("$", 3), ("$.a[*]", 0), ("$[?@.a]", 0)])
def test_json(references, iterator, count):
    assert warm_json(JsonReader(json_shape(references), iterator)) == count
