"""Random files of N-Quads, good and bad: the scanner reads, and refuses, what pyoxigraph does.

Terms come from a small pool, as in real files: most are known when they come again, on whatever line, in a block with
whatever else. The dictionary may be warm, and its hashes so narrow that terms collide.
"""

from __future__ import annotations

import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.line_parser import LineParser
from freshet.rdf.statement_scan import StatementScan
from freshet.rdf.terms import XSD
from statements import BLANK_NODES, IRIS, LITERALS, lines, oxigraph_keys

N_QUADS = pyoxigraph.RdfFormat.N_QUADS

characters = st.characters(codec="utf-8", exclude_characters='"\\\n\r')
escapes = st.one_of(
    st.sampled_from(["\\t", "\\b", "\\n", "\\r", "\\f", '\\"', "\\'", "\\\\", "\\x", "\\"]),
    st.integers(0, 0xFFFF).map("\\u{:04X}".format),
    st.integers(0, 0x11FFFF).map("\\U{:08x}".format),
)
texts = st.lists(st.one_of(characters, characters, escapes), max_size=12).map("".join)
suffixes = st.one_of(
    st.just(""),
    st.sampled_from(["@en", "@EN-us", "@de-CH-1996", "@i-klingon", "@toolonglanguage", "@a1", "@"]),
    st.sampled_from(["string", "integer", "double", "dateTime", "boolean", "decimal"]).map(f"^^<{XSD}{{}}>".format),
    st.sampled_from(IRIS).map("^^{}".format),
)
literals = st.builds('"{}"{}'.format, texts, suffixes)
numbers = st.builds(f'"{{}}"^^<{XSD}{{}}>'.format, st.integers(-30, 30), st.sampled_from(["integer", "decimal"]))
subjects = st.one_of(
    st.sampled_from(IRIS + BLANK_NODES), st.integers(0, 300).map("<http://example.org/thing/{}>".format)
)
objects = st.one_of(subjects, literals, numbers, st.sampled_from(LITERALS))
spaces = st.sampled_from([" ", " ", " ", " ", "\t", "  ", ""])
graphs = st.one_of(st.just(""), st.just(""), subjects)
ends = st.sampled_from([" .", " .", " .", ".", " .  ", " . # so", " .\r", " ;", ""])
statements = st.builds(
    lambda *parts: "".join(parts), subjects, spaces, st.sampled_from(IRIS), spaces, objects, spaces, graphs, ends
)
files = st.lists(st.one_of(statements, statements, statements, lines), max_size=90)


@settings(max_examples=150, deadline=None)
@given(files, st.booleans(), st.sampled_from([63, 63, 6]), st.sampled_from([1, 2, 30]))
def test_the_scanner_reads_as_pyoxigraph_does(texts: list[str], twice: bool, hash_bits: int, pieces: int) -> None:
    expected = [oxigraph_keys(text.encode(), N_QUADS, "s") for text in texts]
    dictionary = Dictionary(hash_bits)
    for _ in range(2 if twice else 1):
        scan = StatementScan(dictionary, LineParser("x", 1, "s", timed=False, quads=True))
        size = max(1, len(texts) // pieces)
        scanned = 0  # lines: after a piece with a bad one no other is scanned
        for start in range(0, len(texts), size):
            if not scan.errors:
                scanned = start + size
            scan.feed("".join(f"{text}\n" for text in texts[start : start + size]).encode())
        rows = list(zip(*(dictionary.keys(column).to_pylist() for column in scan.columns()[1:]), strict=True))
        assert rows == [keys for line in expected[:scanned] if line is not None for keys in line]
        assert [error.line for error in scan.errors] == [
            number for number, line in enumerate(expected[:scanned], 1) if line is None
        ]
        assert all(error.column is not None for error in scan.errors)


@pytest.mark.parametrize("cut", range(1, 120))
def test_data_may_end_anywhere(cut: int) -> None:
    """Eight bytes at a time, and never past the end."""
    line = (
        '<http://example.org/subject> <http://example.org/predicate> "an object"^^<http://example.org/datatype> <u:g> .'
    )
    data = (f"{line}\n{line[:cut]}").encode()
    dictionary = Dictionary()
    scan = StatementScan(dictionary, LineParser("x", 1, "", timed=False, quads=True))
    scan.feed(data)
    whole = oxigraph_keys(line[:cut], N_QUADS, "")
    assert scan.columns()[1].size == 1 + len(whole or [])
    assert [error.line for error in scan.errors] == ([2] if whole is None else [])
