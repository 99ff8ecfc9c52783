"""JSON documents and lines, however they are cut into blocks; and what cannot be read."""

import json

import jsonpath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.sources.columns import Limits
from freshet.sources.json_documents import document_batches
from freshet.sources.json_text import JsonReader, are_lines, json_shape
from source_rows import values

NAMES = st.sampled_from(["a", "b", "c"])
VALUES = st.recursive(
    st.none() | st.integers(0, 99) | st.sampled_from(["x", 'q"é\n', 2.5]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=15,
)
ITERATORS = ["$", "$[*]", "$.a", "$.a[*]", "$.*.b", "$.a.b[*]", "$[1]", "$.a[*].b[0]", "$..b", "$.a[?@.b]"]


def reader(references, iterator="$", **options):
    return JsonReader(json_shape(tuple(references)), iterator, **options)


def blocks(text, size):
    data = text if isinstance(text, bytes) else text.encode()
    return iter([data[at : at + size] for at in range(0, len(data), size)])


def documents(text, references, iterator, size=1 << 20, **options):
    found = document_batches(reader(references, iterator, **options), "f", blocks(text, size))
    return values(found, references)


def lines(text, references, iterator="$", size=1 << 20, **options):
    return values(reader(references, iterator, **options).line_batches("f", blocks(text, size)), references)


@settings(deadline=None, max_examples=300)
@given(
    st.lists(VALUES, min_size=1, max_size=3), st.sampled_from(ITERATORS), st.integers(1, 20), st.sampled_from([0, 1])
)
def test_records_are_what_the_library_finds(found, iterator, size, indent):
    text = " ".join(json.dumps(value, indent=indent or None, ensure_ascii=False) for value in found)
    good, bad = documents(text, ["$"], iterator, size)
    expected = [each for value in found for each in jsonpath.findall(iterator, value)]
    assert not bad
    assert [None if one is None else loaded(one, each) for (one,), each in zip(good, expected, strict=True)] == expected


def loaded(text, like):
    return text if isinstance(like, str) else json.loads(text)


@settings(deadline=None, max_examples=200)
@given(st.lists(VALUES, max_size=4), st.sampled_from(ITERATORS[1:]), st.integers(1, 20))
def test_lines_are_cut_like_documents(found, iterator, size):
    text = "\n".join(json.dumps(value) for value in found)
    assert lines(text, ["$"], iterator, size) == documents(text, ["$"], iterator, size)


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_lines_that_cannot_be_read_are_rejected_alone(size):
    text = b'{"a": 1}\n\nx\n  \n{"a": "\xff"}\n[1]\n{"a": 2}{}\n{"a": "' + b"y" * 50 + b'"}\n{"a": 3}'
    good, bad = lines(text, ["a"], size=size, limits=Limits(record_bytes=40))
    assert good == [("1",), ("3",)]
    assert sorted((reason, line[:12]) for reason, line in bad) == [
        ("longer than 40 bytes", '{"a": "yyyyy'),
        ("not UTF-8, in the record at byte 15", '{"a": "\ufffd"}'),
        ("not a JSON object", "[1]"),
        ("not a JSON object", "x"),
        ("not a JSON object", '{"a": 2}{}'),
    ]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_long_record_of_a_document_is_rejected_alone(size):
    text = json.dumps({"l": [{"a": 1}, {"a": [1] * 60}, {"a": 2}], "z": [2] * 60})
    good, bad = documents(text, ["a"], "$.l[*]", size, limits=Limits(record_bytes=50))
    assert good == [("1",), ("2",)]
    assert [reason.partition(" on line")[0] for reason, _ in bad] == ["a record longer than 50 bytes"]


def test_what_must_be_in_memory_as_a_whole_has_a_limit():
    limits = Limits(document_bytes=20)
    for iterator in ("$", "$..a"):
        text = json.dumps({"a": 1}) + json.dumps({"a": [1] * 30})
        good, bad = documents(text, ["a" if iterator == "$" else "$"], iterator, 10, limits=limits)
        assert [reason for reason, _ in bad] == ["a record longer than 20 bytes on line 1"]
        assert good == [("1",)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"l": [{"a": 1},\n {"a" 2}]}', "not JSON from line 2 on"),
        ('{"l": [{"a": 1}\n', "not JSON from line 2 on"),
        (b'{"l": [{"a": 1}, {"a": "\xff"}]}', "not UTF-8 from line 1 on"),
        ('{"l": [{"a": 1}]} x', "not JSON from line 1 on"),
    ],
)
def test_where_a_document_breaks(text, reason):
    good, bad = documents(text, ["a"], "$.l[*]", 3)
    assert good == [("1",)]
    assert [why for why, _ in bad] == [reason]


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b'{"a": 1}\n{"a": 2}\n', True),
        (b'{"a": 1}\n{"a": \n', True),
        (b'x\n{"a": 1}\n{"a": 2}\n', True),
        (b'{"a": 1}\n', False),
        (b'[\n{"a": 1}\n]', False),
        (b'[\n{"a": 1},\n{"a": 2}\n]', False),
        (b'{"a":\n{"a": 1}\n}', False),
        (b"", False),
    ],
)
def test_lines_are_told_from_documents(head, expected):
    assert are_lines(head) is expected
