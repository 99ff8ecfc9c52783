"""Documents whose triple terms a parser would leave its stack with are refused; all others are left to it."""

import random
from contextlib import suppress

import pytest

import freshet
from freshet.rdf.errors import InputError
from freshet.rdf.terms import TOO_NESTED
from freshet.rdf.triple_nesting import DEEPEST, TripleNesting, check_xml_triples

DEEP = 60_000  # parsers leave their stack at some 20,000
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


def nested(levels: int, end: str = " )>>") -> str:
    return f"<a:s> <a:p> {'<<( <a:s> <a:p> ' * levels}<a:o>{end * levels} ."


def nested_xml(levels: int, word: str = "Triple", before: str = "") -> str:
    start, end = f'<r:Description r:about="a:s"><p r:parseType="{word}">', "</p></r:Description>"
    inner = '<r:Description r:about="a:s"><p r:resource="a:o"/></r:Description>'
    return f'{before}<r:RDF xmlns:r="{_RDF}" xmlns="a:">{start * levels}{inner}{end * levels}</r:RDF>'


def test_timed_lines() -> None:
    session = freshet.Session()
    session.stream("a:stream")
    with pytest.raises(InputError, match=TOO_NESTED):
        session.push("a:stream", f"5\t{nested(DEEP)}\n6\t<a:s> <a:p> <a:o> .\n")


@pytest.mark.parametrize("end", [" )>>", ")>>", "\n)>> # an end )>> of\r"])
@pytest.mark.parametrize("form", ["ttl", "trig"])
def test_documents(form: str, end: str) -> None:
    session = freshet.Session()
    session.stream("a:stream")
    with pytest.raises(InputError, match=TOO_NESTED):
        session.push_text("a:stream", nested(DEEP, end), format=form, time_ms=5)


@pytest.mark.parametrize("form", ["nt", "nq"])
def test_lines(form: str) -> None:
    session = freshet.Session()
    session.stream("a:stream")
    with pytest.raises(InputError, match=TOO_NESTED):
        session.push_text("a:stream", nested(DEEP), format=form, time_ms=5)


@pytest.mark.parametrize(
    "document",
    [
        nested_xml(DEEP).encode(),
        nested_xml(DEEP, "Tr&#105;ple").encode(),
        nested_xml(DEEP, "&t;", '<!DOCTYPE r:RDF [<!ENTITY t "Triple">]>').encode(),
        f'<?xml version="1.0" encoding="UTF-16"?>{nested_xml(DEEP)}'.encode("utf-16"),
    ],
)
def test_xml(document: bytes) -> None:
    session = freshet.Session()
    session.stream("a:stream")
    with pytest.raises(InputError, match=TOO_NESTED):
        session.push_text("a:stream", document, format="rdfxml", time_ms=5)


def test_xml_that_is_not_nested() -> None:
    check_xml_triples(nested_xml(DEEPEST).encode(), "x.rdf")
    one = nested_xml(1).split('xmlns="a:">')[1].removesuffix("</r:RDF>")
    check_xml_triples(f'<r:RDF xmlns:r="{_RDF}" xmlns="a:">{one * 2 * DEEPEST}</r:RDF>'.encode(), "x.rdf")
    with pytest.raises(InputError, match="mismatched tag") as raised:
        check_xml_triples(b'<a b="&#33;">\n</c>', "x.rdf")
    assert (raised.value.line, raised.value.column) == (2, 3)


@pytest.mark.parametrize("seed", range(30))
def test_pieces_cut_anywhere(seed: int) -> None:
    dice = random.Random(seed)
    gaps = ["", " ", "\n", "\t# )>> x\n", "#\r", " # > )\r\n"]
    row = "".join(f")>>{dice.choice(gaps)}" for _ in range(DEEPEST))
    ends = row.count(")>>")
    many = (row + ")>>" * (DEEPEST - ends if ends < DEEPEST else 0)).encode()
    assert refuses(many + b" )>>", dice)
    shorter = b")>>" + b" # c\n)>>" * (DEEPEST // 2) + b' "x" '
    assert not refuses(shorter * 4, dice)
    assert not refuses(b'<a#b> ")>> # ' * (2 * DEEPEST), dice)


def refuses(document: bytes, dice: random.Random) -> bool:
    looked, at = TripleNesting("x.ttl"), 0
    with suppress(InputError):
        while at < len(document):
            size = dice.choice([1, 2, 3, 7, 100, 5000])
            looked.look(document[at : at + size])
            at += size
    return at < len(document)
