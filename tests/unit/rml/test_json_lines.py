"""JSON lines read by kernels, against Python's own parser."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.kernels import json_values as kernels
from freshet.rdf.errors import UnsupportedError
from freshet.rml.json_lines import TimeReference, path_tree, read_lines

REFERENCES = (("a",), ("b", "c"), ("b", "é\n"))
KINDS = {str: kernels.STRING, int: kernels.INTEGER, float: kernels.REAL, bool: kernels.BOOLEAN}


def read(*lines: str | bytes) -> list[list[str | None] | None]:
    """For each line what the references find, None where the line is refused."""
    data = [line if isinstance(line, bytes) else line.encode() for line in lines]
    found = read_lines(pa.array(data, pa.binary()).view(pa.string()), path_tree(REFERENCES))
    rows = zip(*(text.to_pylist() for text in found.texts), strict=True)
    return [list(row) if good else None for good, row in zip(found.good.to_pylist(), rows, strict=True)]


def expected(line: str | bytes) -> tuple[list[str | None], list[int]] | None:
    """The same by Python's parser: numbers and nested values are compared as they are written."""
    spelled = {"parse_float": _Number, "parse_int": _Number, "parse_constant": lambda _: 1 / 0}
    spelled["object_pairs_hook"] = _object
    try:
        text = line.decode() if isinstance(line, bytes) else line
        parsed = json.loads(text, **spelled)
    except (ValueError, ZeroDivisionError, RecursionError):
        return None
    if not isinstance(parsed, dict):
        return None
    inner = parsed.get("b")
    values = [parsed.get("a"), *((inner.get("c"), inner.get("é\n")) if isinstance(inner, dict) else (None, None))]
    return [_text(value) for value in values], [_kind(value) for value in values]


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    json.dumps(pairs, ensure_ascii=False).encode()  # half of a surrogate pair is no character
    return dict(pairs)


class _Number(str):
    """A number as it is written."""


def _text(value: object) -> str | None:
    if value is None or isinstance(value, dict | list):
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


def _kind(value: object) -> int:
    if isinstance(value, _Number):
        return kernels.INTEGER if value.lstrip("-").isdigit() else kernels.REAL
    return KINDS.get(type(value), kernels.NESTED if isinstance(value, dict | list) else kernels.NOTHING)


numbers = st.from_regex(r"-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,4})?([eE][+-]?[0-9]{1,2})?", fullmatch=True)
words = st.text(st.characters(blacklist_categories=["Cs"]), max_size=6)
scalars = st.one_of(words.map(json.dumps), words.map(lambda word: json.dumps(word, ensure_ascii=False)), numbers)
scalars |= st.sampled_from(["true", "false", "null"])
names = st.sampled_from(['"a"', '"b"', '"c"', '"d"', '"\\u0061"', '"é\\n"', '"\\u00e9\\u000a"', '""'])
blanks = st.sampled_from(["", "", "", " ", "\t ", "\r\n"])


def _joined(left: str, right: str):
    return lambda parts: left + ",".join(parts) + right


def _containers(values):
    members = st.tuples(blanks, names, blanks, blanks, values, blanks).map(
        lambda part: f"{part[0]}{part[1]}{part[2]}:{part[3]}{part[4]}{part[5]}"
    )
    return st.lists(members, max_size=4).map(_joined("{", "}")) | st.lists(values, max_size=3).map(_joined("[", "]"))


values = st.recursive(scalars, _containers, max_leaves=12)
objects = st.lists(st.tuples(names, values).map(":".join), max_size=5).map(_joined("{", "}"))


@settings(max_examples=200, deadline=None)
@given(st.lists(objects | values, min_size=1, max_size=5))
def test_lines_are_read_as_python_reads_them(lines):
    for line, found in zip(lines, read(*lines), strict=True):
        compare(line, found)


@settings(max_examples=300, deadline=None)
@given(objects, st.data())
def test_broken_lines_are_refused_as_python_refuses_them(line, data):
    at = data.draw(st.integers(0, len(line)))
    piece = data.draw(
        st.sampled_from(["", "{", "}", "[", "]", '"', "\\", ",", ":", "0", "-", ".", "e", "\x01", "é", " x"])
    )
    cut = data.draw(st.integers(0, 2))
    broken = line[:at] + piece + line[at + cut :]
    compare(broken, read(broken)[0])


@settings(max_examples=300, deadline=None)
@given(objects, st.data())
def test_broken_bytes_are_refused(line, data):
    encoded = line.encode()
    at = data.draw(st.integers(0, len(encoded)))
    piece = bytes(data.draw(st.lists(st.sampled_from([0xC3, 0xA9, 0x80, 0xED, 0xA0, 0xF4, 0x90, 0xFF]), max_size=3)))
    broken = encoded[:at] + piece + encoded[at:]
    compare(broken, read(broken)[0])


def compare(line, found):
    wanted = expected(line)
    if wanted is None:
        assert found is None, line
        return
    assert found is not None, line
    for text, wanted_text, kind in zip(found, *wanted, strict=True):
        assert text == wanted_text or kind == kernels.NESTED, line


@pytest.mark.parametrize(
    ("line", "texts"),
    {
        '{"a":1.50,"b":{"c":1e3}}': ["1.50", "1e3", None],
        '{"a":12345678901234567890123}': ["12345678901234567890123", None, None],
        '{"a":{"x":[1, 2]},"b":7}': ['{"x":[1, 2]}', None, None],
        '{"a":"1","a":"2"}': ["2", None, None],
        '{"a":"\\ud83d\\ude00\\/"}': ["😀/", None, None],
        ' {} ': [None, None, None],
        '{"a":1}{"a":2}': None,
        '{"a":"\\ud83d"}': None,
        '{"a":01}': None,
        "": None,
        "{": None,
        '{"a":' + "[" * 600 + "]" * 600 + "}": None,
    }.items(),
)  # fmt: skip
def test_a_line(line, texts):
    assert read(line) == [texts]


def test_kinds():
    values = ["7", "7.0", "true", "null", "[]", '"Az09-._~"', '""', '"a b"', '"é"', '"a%"', '"\\n"', '"\\u0061"']
    found = read_lines(pa.array([f'{{"a":{value}}}' for value in values]), path_tree(REFERENCES[:1]))
    plain, escaped = [kernels.PLAIN] * 2, [kernels.ESCAPED] * 2
    others = [kernels.INTEGER, kernels.REAL, kernels.BOOLEAN, kernels.NOTHING, kernels.NESTED]
    assert found.kinds[0].to_pylist() == [*others, *plain, *[kernels.STRING] * 3, *escaped]


@pytest.mark.parametrize("text_wanted", [False, True])
def test_times(text_wanted):
    lines = [
        '{"a":"2026-03-02T06:45:00Z"}',
        '{"a":"2026-03-02T06:45:00"}',
        '{"a":5}',
        "{}",
        '{"a":"2026-03-02T06:45:00Z"',
    ]
    found = read_lines(pa.array(lines), path_tree(REFERENCES[:1]), TimeReference(0, text_wanted))
    assert found.good.to_pylist() == [True, True, True, True, False]
    assert found.times.to_pylist() == [1772433900000, None, None, None, None]
    first = "2026-03-02T06:45:00Z" if text_wanted else None
    assert found.texts[0].to_pylist() == [first, "2026-03-02T06:45:00", "5", None, None]


def test_a_reference_into_a_value_is_refused():
    with pytest.raises(UnsupportedError, match="goes into"):
        path_tree((("a",), ("a", "b")))
    with pytest.raises(UnsupportedError, match="takes as a value"):
        path_tree((("a", "b"), ("a",)))
