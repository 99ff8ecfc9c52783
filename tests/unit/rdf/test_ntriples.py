import numpy as np
import pyarrow as pa
import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.line_parser import LineParser
from freshet.rdf.ntriples import scan_statements, scan_timed, split_timed
from freshet.rdf.statement_scan import StatementScan
from freshet.rdf.terms import Iri, Literal
from statements import Keys, lines, oxigraph_keys

N_TRIPLES, N_QUADS = pyoxigraph.RdfFormat.N_TRIPLES, pyoxigraph.RdfFormat.N_QUADS


def scanned_keys(data: bytes, *, quads: bool, blank_scope: str) -> tuple[list[Keys], list[int]]:
    """The statements by the scanner, and the numbers of the lines it refuses."""
    dictionary = Dictionary()
    columns, errors = scan_statements(data, dictionary, "x", quads=quads, blank_scope=blank_scope)
    rows = zip(*(dictionary.keys(column).to_pylist() for column in columns), strict=True)
    return list(rows), [error.line or 0 for error in errors]


@settings(max_examples=600, deadline=None)
@given(st.lists(lines, max_size=6), st.booleans(), st.sampled_from(["", "s0"]))
def test_lines_are_read_as_pyoxigraph_reads_them(texts: list[str], quads: bool, scope: str) -> None:
    read = [oxigraph_keys(text.encode(), N_QUADS if quads else N_TRIPLES, scope) for text in texts]
    rows, refused = scanned_keys("\n".join(texts).encode(), quads=quads, blank_scope=scope)
    assert rows == [keys for line in read if line is not None for keys in line]
    assert refused == [number for number, line in enumerate(read, 1) if line is None]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), lines), max_size=6))
def test_timed_lines_with_a_dictionary_and_without(rows: list[tuple[int, str]]) -> None:
    texts = [f"{time_ms}\t{line}" for time_ms, line in rows]
    read = [oxigraph_keys(line.encode(), N_QUADS, "s1") for _, line in rows]
    good = [(time_ms, *keys[0][:3]) for (time_ms, _), keys in zip(rows, read, strict=True) if keys and len(keys) == 1]
    bad = [number for number, keys in enumerate(read) if keys is None or len(keys) != 1]

    dictionary = Dictionary()
    elements, errors = scan_timed("\n".join(texts).encode(), dictionary, "x", blank_scope="s1")
    decoded = [elements.times.tolist(), *(dictionary.keys(column).to_pylist() for column in elements[1:])]
    assert list(zip(*decoded, strict=True)) == good
    assert [error.line for error in errors] == [number + 1 for number in bad]

    split = split_timed(pa.array(texts, pa.string()), blank_scope="s1")
    by_line = list(zip(*(column.to_pylist() for column in split[:4]), strict=True))
    assert [row for row in by_line if row[0] is not None] == good
    assert [number for number, reason in enumerate(split.reasons.to_pylist()) if reason is not None] == bad
    assert all(by_line[number] == (None,) * 4 for number in bad)


SAMPLE = """# recorded
1000\t<http://example.org/s> <http://example.org/p> "21.50"^^<http://www.w3.org/2001/XMLSchema#decimal> .

1001\t_:b1 <http://example.org/p> "Grüezi"@de-CH <http://example.org/g> .\r
1002\t<http://example.org/s> <http://example.org/p> "two\\nlines" .
-5\t_:b1 <http://example.org/p> "x"^^<http://www.w3.org/2001/XMLSchema#string> . # end"""


def test_timed_sample() -> None:
    dictionary = Dictionary()
    elements, errors = scan_timed(SAMPLE.encode(), dictionary, "s.tnt", blank_scope="s0")
    assert not errors
    assert elements.times.tolist() == [1000, 1001, 1002, -5]
    assert dictionary.keys(elements.subjects).to_pylist() == [
        "<http://example.org/s>",
        "_:s0.b1",
        "<http://example.org/s>",
        "_:s0.b1",
    ]
    assert dictionary.keys(elements.objects).to_pylist() == [
        '"21.50"^^<http://www.w3.org/2001/XMLSchema#decimal>',
        '"Grüezi"@de-ch',
        '"two\nlines"',
        '"x"',
    ]
    assert {column.dtype for column in elements} == {np.dtype(np.int64)}


def test_scopes_keep_streams_apart() -> None:
    dictionary = Dictionary()
    text = b"1\t_:b <http://p> _:\xc3\xa9 ."
    one, _ = scan_timed(text, dictionary, "a", blank_scope="s0")
    other, _ = scan_timed(text, dictionary, "b", blank_scope="s1")
    again, _ = scan_timed(text, dictionary, "c", blank_scope="s0")
    assert one.subjects != other.subjects
    assert one.objects != other.objects
    assert (one.subjects, one.objects) == (again.subjects, again.objects)


@pytest.mark.parametrize(
    ("line", "place", "words"),
    [
        ("<http://s> <http://p> <http://o> .", "s.tnt:3:1", "milliseconds TAB statement"),
        ("5 <http://s> <http://p> <http://o> .", "s.tnt:3:1", "milliseconds TAB statement"),
        (f"{2**61 + 1}\t<http://s> <http://p> <http://o> .", "s.tnt:3:1", "out of range"),
        (f"-{2**61 + 1}\t<http://s> <http://p> <http://o> .", "s.tnt:3:1", "out of range"),
        (f"{'9' * 5000}\t<http://s> <http://p> <http://o> .", "s.tnt:3:1", "out of range"),
        ("5\t", "s.tnt:3:3", "one statement"),
        ("5\t# nothing", "s.tnt:3:3", "one statement"),
        ("12\t<s> <http://p> <http://o> .", "s.tnt:3:4", "No scheme"),
        ("12\t<http://s> <http://p> <http://o>", "s.tnt:3:36", "dot"),
        ("12\t<http://s> <http://p> <<( <http://s> <http://p> 1 )>> .", "s.tnt:3:", ""),
        (
            f"12\t<http://s> <http://p> {'<<( <http://s> <http://p> ' * 101}<http://o>{' )>>' * 101} .",
            "s.tnt:3:4",
            "100",
        ),
        ('12\t<http://s> <http://p> "x"@en--up .', "s.tnt:3:", "base direction"),
        ("12\t<< <http://s> <http://p> <http://o> >> <http://p> <http://o> .", "s.tnt:3:4", "subject"),
    ],
)
def test_errors_say_where(line: str, place: str, words: str) -> None:
    good = "1\t<http://s> <http://p> <http://o> ."
    elements, errors = scan_timed("\n".join([good, "", line, good]).encode(), Dictionary(), "s.tnt")
    assert elements.times.tolist() == [1, 1]
    assert len(errors) == 1
    assert str(errors[0]).startswith(place)
    assert words in errors[0].message
    assert "Parser error" not in str(errors[0])


def test_the_furthest_times() -> None:
    text = "".join(f"{time}\t<http://s> <http://p> <http://o> .\n" for time in (2**61, -(2**61), "0" * 5000 + "7"))
    elements, errors = scan_timed(text.encode(), Dictionary(), "s.tnt")
    assert elements.times.tolist() == [2**61, -(2**61), 7]
    assert not errors


def test_a_byte_order_mark_is_passed_over_at_the_start() -> None:
    line = "\ufeff5\t<http://s> <http://p> <http://o> .\n"
    elements, errors = scan_timed(line.encode(), Dictionary(), "s.tnt")
    assert (elements.times.tolist(), errors) == ([5], [])
    _, errors = scan_timed((line + line).encode(), Dictionary(), "s.tnt")
    assert [str(error) for error in errors] == ["s.tnt:2:1: a line must be `milliseconds TAB statement`"]
    _, errors = scan_timed(line.encode(), Dictionary(), "s.tnt", first_line=8)
    assert [error.line for error in errors] == [8]


def test_first_line_shifts_the_count() -> None:
    _, errors = scan_timed(b"bad", Dictionary(), "s.tnt", first_line=501)
    assert errors[0].line == 501


def test_pieces_change_nothing() -> None:
    lines = [f'{number}\t<http://s/{number}> <http://p> "\\t{number}" .\n' for number in range(50)] + ["bad\n"]
    expected, _ = scan_timed("".join(lines).encode(), Dictionary(), "x")
    scan = StatementScan(Dictionary(), LineParser("x", 1, "", timed=True, quads=True))
    for line in lines:
        scan.feed(line.encode())
    assert [column.tolist() for column in scan.columns()[:4]] == [column.tolist() for column in expected]
    assert [error.line for error in scan.errors] == [51]


def test_many_lines_that_the_scanner_leaves_to_the_parser() -> None:
    """More than wait at once, among others, so that order and growth are tried together."""
    text = "".join(f'<http://s/{number}> <http://p> "{"" if number % 3 else chr(92)}n" .\n' for number in range(20_000))
    dictionary = Dictionary()
    (subjects, _, objects, _), errors = scan_statements(text.encode(), dictionary, "x", quads=False)
    assert not errors
    assert dictionary.keys(subjects).to_pylist() == [f"<http://s/{number}>" for number in range(20_000)]
    assert dictionary.keys(objects).to_pylist() == ['"n"' if number % 3 else '"\n"' for number in range(20_000)]


def test_a_term_that_is_known_but_was_never_checked_is_checked() -> None:
    """A query can make IRIs that are none, and literals whose key looks like one that is cut short."""
    dictionary = Dictionary()
    dictionary.encode(Iri("http://a b"))
    dictionary.encode(Literal("x\\"))
    text = b'<http://a b> <http://p> <http://o> .\n<http://s> <http://p> "x\\" .\n<http://s> <http://p> "x\\\\" .\n'
    (subjects, _, objects, _), errors = scan_statements(text, dictionary, "x", quads=False)
    assert [error.line for error in errors] == [1, 2]
    assert dictionary.decode_many(subjects) == [Iri("http://s")]
    assert dictionary.decode_many(objects) == [Literal("x\\")]


def test_nothing_gives_nothing() -> None:
    elements, errors = scan_timed(b"", Dictionary(), "x")
    assert [column.size for column in elements] == [0, 0, 0, 0]
    assert not errors
    split = split_timed(pa.array([], pa.string()))
    assert [len(column) for column in split] == [0] * 6


def test_split_has_the_graphs_of_statements() -> None:
    lines = ["1\t<http://s> <http://p> <http://o> <http://g> .", "2\t<http://s> <http://p> <http://o> .", "", "oops"]
    split = split_timed(pa.array([*lines, "3\t<http://s> <http://p> <http://\\u006F> _:g ."]), blank_scope="s2")
    assert split.graphs.to_pylist() == ["<http://g>", None, None, None, "_:s2.g"]


def test_split_keeps_a_row_for_every_line() -> None:
    split = split_timed(pa.array([None, "", "# c", "oops", "7\t_:b <http://p> <http://o> ."]), blank_scope="s2")
    assert split.times.to_pylist() == [None, None, None, None, 7]
    assert split.subjects.to_pylist() == [None, None, None, None, "_:s2.b"]
    assert split.graphs.to_pylist() == [None] * 5
    reasons = split.reasons.to_pylist()
    assert [reason is None for reason in reasons] == [True, True, True, False, True]
    assert reasons[3].startswith("column 1: ")


def test_split_reads_slices_of_arrays() -> None:
    whole = pa.array([f"{number}\t<http://s> <http://p> <http://o/{number}> ." for number in range(10)])
    assert split_timed(whole.slice(4, 3)).objects.to_pylist() == [f"<http://o/{number}>" for number in (4, 5, 6)]


def test_deletions_have_negative_predicates() -> None:
    """Those that the scanner reads, and those that it leaves to the parser, in runs and between others."""
    dictionary = Dictionary()
    statements = ["<http://e/a> <http://e/p> <http://e/b> .", '<http://e/\\u0061> <http://e/p> "\\u0041"@en .']
    signs = ["-\t" if at % 3 == 0 else "" for at in range(300)]
    lines = [f"{at}\t{signs[at]}{statements[at % 5 == 0]}" for at in range(300)]
    elements, errors = scan_timed("\n".join(lines).encode(), dictionary, "x", deletions=True)
    assert not errors
    assert elements.times.tolist() == list(range(300))
    assert (elements.predicates < 0).tolist() == [at % 3 == 0 for at in range(300)]
    without, _ = scan_timed("\n".join(lines).replace("-\t", "").encode(), dictionary, "x", deletions=True)
    assert without.predicates.tolist() == abs(elements.predicates).tolist()
    assert [without.subjects.tolist(), without.objects.tolist()] == [
        elements.subjects.tolist(),
        elements.objects.tolist(),
    ]
    _, errors = scan_timed("\n".join(lines[:4]).encode(), Dictionary(), "x")
    assert [(error.line, error.column) for error in errors] == [(1, 3), (4, 3)]
