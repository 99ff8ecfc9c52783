"""What the scanner is sure of. That it is right when it is sure is tested through `freshet.rdf.ntriples`."""

import numpy as np
import pytest

from freshet.kernels import ntriples

SURE = [
    "<http://example.org/s> <http://example.org/p> <http://example.org/o> .",
    "<http://example.org/s><http://example.org/p><http://example.org/o>.",
    "\t<urn:s>  <urn:p>\t<urn:o>  . \t# a comment",
    "_:a <http://example.org/p> _:b.",
    "_:a.b <http://example.org/p> _:b-1 _:g .",
    '<http://example.org:8080/s?a=b&c#d> <http://example.org/%C3%A9> "x y" .',
    '<http://é.example.org/ü> <http://example.org/p> "é€😀 \x01" .',
    '<urn:s> <urn:p> "x"@en .',
    '<urn:s> <urn:p> "x"@zh-Hant-TW .',
    '<urn:s> <urn:p> "x"@es-419 <urn:g> .',
    '<urn:s> <urn:p> "2.50"^^<http://www.w3.org/2001/XMLSchema#decimal> .\r',
    '<urn:s> <urn:p> "x"^^<http://www.w3.org/2001/XMLSchema#string> .',
]
UNSURE = [
    "",
    "<urn:s>",
    "<urn:s> <urn:p> <urn:o>",
    "<urn:s> <urn:p> <urn:o> . <urn:s>",
    '"s" <urn:p> <urn:o> .',
    "<urn:s> _:p <urn:o> .",
    '<urn:s> <urn:p> <urn:o> "g" .',
    '<urn:s> <urn:p> "a\\tb" .',
    '<urn:s> <urn:p> "a .',
    '<urn:s> <urn:p> "a"@x-private .',
    '<urn:s> <urn:p> "a"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString> .',
    "<relative> <urn:p> <urn:o> .",
    "<http://[::1]/> <urn:p> <urn:o> .",
    "<http://a/%4> <urn:p> <urn:o> .",
    "_:a.. <urn:p> <urn:o> .",
    "<urn:s> <urn:p> <urn:o> .\r<urn:s> <urn:p> <urn:o> .",
]


def scan(line: bytes, *, timed: bool = False, quads: bool = True) -> tuple[int, int, list[bytes]]:
    data = np.frombuffer(line, np.uint8)
    kinds, times = np.empty(1, np.uint8), np.empty(1, np.int64)
    starts, ends = np.empty((4, 1), np.int64), np.empty((4, 1), np.int64)
    ntriples.scan_lines(data, np.array([0]), np.array([data.size]), timed, quads, kinds, times, starts, ends)
    roles = [line[starts[role, 0] : ends[role, 0]] for role in range(4) if starts[role, 0] >= 0]
    return int(kinds[0]), int(times[0]), roles if kinds[0] == ntriples.STATEMENT else []


@pytest.mark.parametrize("line", SURE)
def test_ordinary_statements_are_sure(line: str) -> None:
    assert scan(line.encode())[0] == ntriples.STATEMENT
    assert scan(b"12\t" + line.encode(), timed=True)[:2] == (ntriples.STATEMENT, 12)


@pytest.mark.parametrize("line", UNSURE)
def test_what_is_wrong_or_rare_is_left_to_the_parser(line: str) -> None:
    expected = ntriples.UNSURE_LINE if line else ntriples.BLANK_LINE
    assert scan(line.encode())[0] == expected
    assert scan(b"12\t" + line.encode(), timed=True)[0] == ntriples.UNSURE_LINE


def test_the_ranges_are_the_keys() -> None:
    line = b'_:a <urn:p> "x"^^<http://www.w3.org/2001/XMLSchema#string> <urn:g> .'
    assert scan(line)[2] == [b"_:a", b"<urn:p>", b'"x"', b"<urn:g>"]


def test_a_graph_name_needs_quads() -> None:
    assert scan(b"<urn:s> <urn:p> <urn:o> <urn:g> .", quads=False)[0] == ntriples.UNSURE_LINE


@pytest.mark.parametrize("line", [b"", b"  \t", b"# <urn:s>", b" # \xff", b"\r"])
@pytest.mark.parametrize("timed", [True, False])
def test_blank_lines_and_comments(line: bytes, timed: bool) -> None:
    assert scan(line, timed=timed)[0] == ntriples.BLANK_LINE


@pytest.mark.parametrize(
    ("text", "time_ms"),
    [
        (b"0", 0),
        (b"-5", -5),
        (b"007", 7),
        (b"999999999999999999", 999999999999999999),
        (b"-999999999999999999", -(10**18) + 1),
    ],
)
def test_times(text: bytes, time_ms: int) -> None:
    assert scan(text + b"\t<urn:s> <urn:p> <urn:o> .", timed=True)[:2] == (ntriples.STATEMENT, time_ms)


@pytest.mark.parametrize("text", [b"", b"-", b"+5", b"5.0", b"1e3", b" 5", b"5 ", b"1000000000000000000", b"x"])
def test_times_that_are_not_sure(text: bytes) -> None:
    assert scan(text + b"\t<urn:s> <urn:p> <urn:o> .", timed=True)[0] == ntriples.UNSURE_LINE
