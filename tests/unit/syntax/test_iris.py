"""Resolution of references: the examples of RFC 3986, section 5.4."""

from __future__ import annotations

import pytest

from freshet.syntax.iris import resolve, split_iri

NORMAL = {
    "g:h": "g:h",
    "g": "http://a/b/c/g",
    "./g": "http://a/b/c/g",
    "g/": "http://a/b/c/g/",
    "/g": "http://a/g",
    "//g": "http://g",
    "?y": "http://a/b/c/d;p?y",
    "g?y": "http://a/b/c/g?y",
    "#s": "http://a/b/c/d;p?q#s",
    "g#s": "http://a/b/c/g#s",
    "g?y#s": "http://a/b/c/g?y#s",
    ";x": "http://a/b/c/;x",
    "g;x": "http://a/b/c/g;x",
    "g;x?y#s": "http://a/b/c/g;x?y#s",
    "": "http://a/b/c/d;p?q",
    ".": "http://a/b/c/",
    "./": "http://a/b/c/",
    "..": "http://a/b/",
    "../": "http://a/b/",
    "../g": "http://a/b/g",
    "../..": "http://a/",
    "../../": "http://a/",
    "../../g": "http://a/g",
}
ABNORMAL = {
    "../../../g": "http://a/g",
    "../../../../g": "http://a/g",
    "/./g": "http://a/g",
    "/../g": "http://a/g",
    "g.": "http://a/b/c/g.",
    ".g": "http://a/b/c/.g",
    "g..": "http://a/b/c/g..",
    "..g": "http://a/b/c/..g",
    "./../g": "http://a/b/g",
    "./g/.": "http://a/b/c/g/",
    "g/./h": "http://a/b/c/g/h",
    "g/../h": "http://a/b/c/h",
    "g;x=1/./y": "http://a/b/c/g;x=1/y",
    "g;x=1/../y": "http://a/b/c/y",
    "g?y/./x": "http://a/b/c/g?y/./x",
    "g#s/../x": "http://a/b/c/g#s/../x",
}


@pytest.mark.parametrize(("reference", "expected"), [*NORMAL.items(), *ABNORMAL.items()])
def test_examples_of_the_rfc(reference, expected):
    assert resolve("http://a/b/c/d;p?q", reference) == expected


@pytest.mark.parametrize(
    ("base", "reference", "expected"),
    [
        ("http://a", "b", "http://a/b"),
        ("http://a?q", "b", "http://a/b"),
        ("urn:a:b", "c", "urn:c"),
        ("urn:a:b", "#c", "urn:a:b#c"),
        ("file:///x/y", "z", "file:///x/z"),
        ("http://a/b?", "#", "http://a/b?#"),
        ("http://a/b", "http://c/./d", "http://c/./d"),
    ],
)
def test_other_bases(base, reference, expected):
    assert resolve(base, reference) == expected


@pytest.mark.parametrize("iri", ["http://a/b?c#d", "http://a/b?#", "//a", "", "a:b", "?", "#"])
def test_splitting_loses_nothing(iri):
    assert str(split_iri(iri)) == iri
