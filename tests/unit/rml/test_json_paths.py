"""JSONPath followed by kernels, against a library; and how it is written."""

import json

import jsonpath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.kernels import json_values
from freshet.rdf.errors import InputError
from freshet.rml.json_paths import Wildcard, read_path
from freshet.rml.json_records import JsonReferences, as_text

NAMES = st.sampled_from(["a", "b", "a long name", "é\n"])
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(["x", 'q"é\n', "", "a-b"])
    | st.sampled_from([1.5, -2e30]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)
STEPS = st.lists(NAMES | st.integers(0, 2) | st.just(Wildcard.ALL), min_size=1, max_size=4)
ALL = Wildcard.ALL


def written(steps):
    return "$" + "".join("[*]" if step is ALL else f"[{json.dumps(step, ensure_ascii=False)}]" for step in steps)


def found(texts, documents, nulls=()):
    """What each path finds in each document, with kinds."""
    encoded = [each.encode() for each in documents]
    ends = np.cumsum([len(each) for each in encoded])
    data = np.frombuffer(b"".join(encoded), np.uint8)
    starts = ends - [len(each) for each in encoded]
    read = JsonReferences([read_path(text) for text in texts], nulls).read((data, starts, ends), objects_only=False)
    return [(column.to_pylist(), kinds.to_pylist()) for column, kinds in read.columns]


@settings(deadline=None, max_examples=300)
@given(st.lists(VALUES, min_size=1, max_size=4), st.lists(STEPS, min_size=1, max_size=4))
def test_kernels_find_what_the_library_finds(values, paths):
    texts = [written(steps) for steps in paths]
    documents = [json.dumps(value) for value in values]
    for text, (columns, kinds) in zip(texts, found(texts, documents), strict=True):
        for value, got, kind in zip(values, columns, kinds, strict=True):
            expected = [each for each in jsonpath.findall(text, value) if each is not None]
            if not read_path(text).many:
                got, kind = ([got], [kind]) if got is not None else ([], [])
            assert len(got) == len(expected) == len(kind)
            for one, other, code in zip(got, expected, kind, strict=True):
                assert one == other if isinstance(other, str) else json.loads(one) == other
                plain = {json_values.ESCAPED, json_values.PLAIN, json_values.STRING}
                assert code in plain if isinstance(other, str) else code == kind_of(other)


def kind_of(value):
    return json_values.REAL if isinstance(value, float) else as_text(value)[1]


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("$", ()),
        ("", ()),
        ("$.a.b", ("a", "b")),
        ("a.b", ("a", "b")),
        ("$.Country Code", ("Country Code",)),
        ("$['a b'][0].c", ("a b", 0, "c")),
        ("$.a[*]", ("a", ALL)),
        ("$.*", (ALL,)),
        ("$.*[*]", (ALL, ALL)),
        (r"$['it\'s']", ("it's",)),
        (r"""$["a\"b\\"]""", ('a"b\\',)),
        (r"$['\u00e9']", ("é",)),
        ("$..a", None),
        ("$.a[-1]", None),
        ("$.a[1:2]", None),
        ("$.a[?@.b == 1]", None),
    ],
)
def test_how_paths_are_written(text, steps):
    assert read_path(text).steps == steps


@pytest.mark.parametrize("text", ["$.a[", "$.a[*]]", "Dh;ef", "$.a[?", "\\", "$.a['b]", r"$['\x']"])
def test_what_is_no_path(text):
    with pytest.raises(InputError):
        read_path(text)


def test_a_path_that_searches_for_ever_is_refused():
    read_path("$..a..b..c")
    with pytest.raises(InputError, match="looks into all that is below more than 3 times"):
        read_path("$" + "..a" * 4)


def test_the_library_finds_the_rest():
    document = '{"a": [{"b": 1.50, "c": "x"}, {"b": 2, "c": null}, {"b": 3, "c": [1, {"b": "é"}]}]}'
    texts = ["$.a[?@.b > 1.6].b", "$..b", "$.a[-1].c", "$.a[:2].c"]
    assert [column[0] for column, _ in found(texts, [document])] == [
        ["2", "3"], ["1.50", "2", "3", "é"], ['[1, {"b": "é"}]'], ["x"],
    ]  # fmt: skip


def test_of_a_name_that_is_there_twice_the_last_counts():
    assert found(["a", "a[*]", "a[0]"], ['{"a": [1], "a": [2, 3]}']) == [
        (["[2, 3]"], [json_values.NESTED]), ([["2", "3"]], [[json_values.INTEGER] * 2]), (["2"], [json_values.INTEGER]),
    ]  # fmt: skip


def test_a_value_and_what_is_in_it():
    assert [column for column, _ in found(["a", "a.b", "a.b.c"], ['{"a": {"b": {"c": 1}}}'])] == [
        ['{"b": {"c": 1}}'], ['{"c": 1}'], ["1"],
    ]  # fmt: skip


def test_texts_that_stand_for_nothing():
    columns = found(["a", "b[*]"], ['{"a": "-", "b": ["-", "x", null]}'], ["-"])
    assert columns == [([None], [json_values.NOTHING]), ([["x"]], [[json_values.PLAIN]])]
