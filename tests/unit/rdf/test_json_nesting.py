"""JSON-LD documents that a parser would leave its stack with are refused; all others are left to it."""

import json

import pytest

from freshet.rdf.errors import InputError
from freshet.rdf.json_nesting import DEEPEST, _measure, check_json


def _context(terms: dict[str, object]) -> bytes:
    return json.dumps({"@context": terms, "a1": "x"}).encode()


@pytest.mark.parametrize(
    ("document", "measured"),
    [
        (b"1", (0, 0)),
        (b"{}", (1, 0)),
        (b'{"a": [1, {"b": 2, "c": {}}], "d": 3}', (4, 2)),
        (b'[{"a": 1}, {"a": 1}, {"a": {"x": 1, "y": 2, "z": 3}, "b": 1}]', (3, 3)),
        (rb'{"a": "[[{:\"[[", "b\\": "]:"}', (1, 2)),
        (rb'["\\\\\\", {"a": "\\\"{:"}]', (2, 1)),
        (b'["[[[[[[', (1, 0)),
        (b"]]]][", (0, 0)),
    ],
)
def test_depth_and_members(document, measured):
    assert _measure(document) == measured


@pytest.mark.parametrize(
    ("document", "says"),
    [
        (b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1), "the document is nested more than 256 deep"),
        (b'{"@graph":' * 9000 + b"[]" + b"}" * 9000, "the document is nested more than 256 deep"),
        (_context({f"a{n}": f"a{n + 1}:x" for n in range(8000)}), "a context has terms that are defined by others"),
        (_context({f"a{n}": {"@id": f"a{n + 1}"} for n in range(8000)}), "a context has terms that are defined by"),
        (_context({f"a{n}": {"@type": f"a{n + 1}:x"} for n in range(8000)}), "a context has terms that are defined by"),
        (_context({f"a{n}": f"a{(n + 1) % 8000}:x" for n in range(8000)}), "a context has terms that are defined by"),
        (_context({f"a{n}:": f"a{n + 1}:x" for n in range(8000)}), ""),
        (_context({f"a{n}": f"http://e/{n}" for n in range(20001)}), "a context has more than 20,000 terms"),
        (b'{"@context": [{}, {' + b",".join(b'"a%d": "x:"' % n for n in range(20001)) + b"}]}", "more than 20,000"),
        (b'{"@context": {' + b'"a": "x:y", ' * 1001 + b'"b": 1', ":1:[0-9]+: Expecting"),
    ],
)
def test_what_is_refused(document, says):
    if not says:
        check_json(document, "doc.jsonld")
        return
    with pytest.raises(InputError, match=says) as raised:
        check_json(document, "doc.jsonld")
    assert str(raised.value).startswith("doc.jsonld:")


def test_the_first_of_two_contexts_of_an_object_counts_as_well():
    terms = ",".join(f'"a{n}":"a{n + 1}:x"' for n in range(8000))
    with pytest.raises(InputError, match="defined by others"):
        check_json(f'{{"@context":{{{terms}}},"@context":{{}}}}'.encode(), "doc.jsonld")


def test_large_documents_are_fine():
    check_json(json.dumps({f"http://e/p{n}": [{"@value": n}] for n in range(30000)}).encode(), "doc.jsonld")
    vocabulary = {"s": "http://schema.org/"} | {f"a{n}": {"@id": f"s:a{n}", "@type": "@id"} for n in range(3000)}
    check_json(_context(vocabulary), "doc.jsonld")
    check_json(b'{"\xff": 1}', "doc.jsonld")  # the parser says what is wrong
