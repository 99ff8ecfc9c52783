"""The line at which each record begins, for CSV, JSON of lines and XML: what a person counts, wherever blocks end."""

import csv
import io
import json

import pytest

from freshet.rml.sources import CsvDialect
from freshet.sources.columns import FILE, Limits, RecordShape, text_name
from freshet.sources.csv_text import CsvReader
from freshet.sources.json_text import JsonReader, json_shape
from freshet.sources.xml_text import XmlReader


def blocks_of(text, size):
    return iter([text[at : at + size] for at in range(0, len(text), size)])


def numbered(batches, reference):
    """Text and line of the records, whichever batch they are in."""
    return [
        (text[0] if isinstance(text, list) else text, int(file.removeprefix("f#L")))
        for batch in batches
        for text, file in zip(
            batch.column(text_name(reference)).to_pylist(), batch.column(FILE).to_pylist(), strict=True
        )
        if text
    ]


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_csv_with_quoted_line_ends(size, end):
    rows = ["a,b", "1,x", '2,"two\nlines, and\nthree"', "", "3,y", '4,"z"', "5,last"]
    text = end.join(rows)
    wanted, reader = [], csv.reader(io.StringIO(text, newline=""))
    before = 0
    for row in reader:
        if row and row[0] != "a":
            wanted.append((row[0], before + 1))
        before = reader.line_num
    made = CsvReader(RecordShape(("a",)), CsvDialect(), keep=True, numbered=True)
    assert numbered(made.batches("f", blocks_of(text.encode(), size)), "a") == wanted


def test_csv_below_a_record_that_is_too_long():
    text = b'a\n1\n"' + b"x\n" * 100 + b'"\n2\n'
    made = CsvReader(RecordShape(("a",)), CsvDialect(), limits=Limits(record_bytes=20), keep=True, numbered=True)
    found = dict(numbered(made.batches("f", blocks_of(text, 8)), "a"))
    assert found["1"] == 2
    assert found["2"] == 104


@pytest.mark.parametrize("size", [1, 5, 1 << 20])
def test_lines_of_json(size):
    text = b'{"a":1}\n\n  \n{"a":2}\r\nnonsense\n{"a":3}'
    made = JsonReader(json_shape(("a",)), keep=True, numbered=True)
    assert numbered(made.line_batches("f", blocks_of(text, size)), "a") == [("1", 1), ("2", 4), ("3", 6)]


@pytest.mark.parametrize("size", [4, 1 << 20])
def test_lines_of_json_that_the_iterator_cuts_and_one_that_is_too_long(size):
    lines = [{"i": [{"a": 1}, {"a": 2}]}, {"i": []}, {"long": "x" * 90}, {"i": [{"a": 3}]}]
    text = "\n".join(map(json.dumps, lines)).encode()
    made = JsonReader(json_shape(("a",)), "$.i[*]", limits=Limits(record_bytes=60), keep=True, numbered=True)
    assert numbered(made.line_batches("f", blocks_of(text, size)), "a") == [("1", 1), ("2", 1), ("3", 4)]


XML = b"""

<?xml version="1.0"?>
<!-- records -->
<r xmlns="http://e/" xmlns:o="http://o/"><x><a>0</a></x>
<a>1</a><a
 id="second">2</a>
<b><a>none</a></b>
<o:a>other</o:a>
<a>3<a>inside</a></a></r>"""


@pytest.mark.parametrize("size", [1, 10, 1 << 20])
def test_xml(size):
    shape = RecordShape(("text()",), frozenset(("text()",)))
    made = XmlReader(shape, "/e:r/e:a", (("e", "http://e/"),), keep=True, numbered=True)
    assert made.steps is not None
    assert numbered(made.batches("f", blocks_of(XML, size), None), "text()") == [("1", 6), ("2", 6), ("3", 10)]


def test_xml_beyond_the_lines_that_lxml_knows():
    text = b"<r>\n" + b"<a>\n<b>x</b>\n</a>\n" * 30_000 + b"</r>"
    made = XmlReader(RecordShape(("b",), frozenset(("b",))), "/r/a", keep=True, numbered=True)
    found = numbered(made.batches("f", blocks_of(text, 1 << 18), None), "b")
    assert [line for _, line in found] == list(range(2, 90_002, 3))


def test_xml_that_is_read_as_a_whole():
    text = b"<r>\n<n>5</n>\n<a>\n<b>x</b></a>\n<a><b>y</b></a></r>"
    made = XmlReader(RecordShape(("../n", "b"), frozenset(("../n", "b"))), "/r/a", keep=True, numbered=True)
    assert made.steps is None
    assert numbered(made.batches("f", iter([text]), None), "b") == [("x", 3), ("y", 5)]
