from pathlib import Path

import numpy as np
import pyarrow as pa
import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.rdf import ntriples
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.ntriples import scan_statements, scan_timed, split_timed
from shared_data import shared
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


def w3c_tests(folder: str) -> list[tuple[Path, bool]]:
    """The files of a W3C suite, and whether each is good."""
    manifest = shared(f"data/w3c-rdf-tests/{folder}/manifest.ttl")
    kinds: dict[str, str] = {}
    actions: dict[str, str] = {}
    for quad in pyoxigraph.parse(path=str(manifest), base_iri=manifest.as_uri()):
        if quad.predicate.value.endswith("#type"):
            kinds[str(quad.subject)] = quad.object.value
        elif quad.predicate.value.endswith("test-manifest#action"):
            actions[str(quad.subject)] = quad.object.value
    return [(manifest.parent / Path(file).name, "Negative" not in kinds[test]) for test, file in actions.items()]


@pytest.mark.parametrize(("folder", "quads", "least"), [("rdf-n-triples", False, 60), ("rdf-n-quads", True, 80)])
def test_w3c_suite(folder: str, quads: bool, least: int) -> None:
    tests = w3c_tests(folder)
    assert len(tests) >= least
    for file, good in tests:
        data = file.read_bytes()
        rows, refused = scanned_keys(data, quads=quads, blank_scope="f")
        assert bool(refused) is not good, file.name
        if good:
            assert rows == oxigraph_keys(data, N_QUADS if quads else N_TRIPLES, "f"), file.name


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
        ("99999999999999999999\t<http://s> <http://p> <http://o> .", "s.tnt:3:1", "64 bits"),
        ("5\t", "s.tnt:3:3", "one statement"),
        ("5\t# nothing", "s.tnt:3:3", "one statement"),
        ("12\t<s> <http://p> <http://o> .", "s.tnt:3:4", "No scheme"),
        ("12\t<http://s> <http://p> <http://o>", "s.tnt:3:36", "dot"),
        ("12\t<http://s> <http://p> <<( <http://s> <http://p> 1 )>> .", "s.tnt:3:", ""),
        ('12\t<http://s> <http://p> "x"@en--ltr .', "s.tnt:3:4", "RDF 1.2"),
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


def test_first_line_shifts_the_count() -> None:
    _, errors = scan_timed(b"bad", Dictionary(), "s.tnt", first_line=501)
    assert errors[0].line == 501


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "\n".join(f'{number}\t<http://s/{number}> <http://p> "\\t{number}" .' for number in range(50)) + "\nbad\n"
    whole = Dictionary()
    expected, _ = scan_timed(text.encode(), whole, "x")
    monkeypatch.setattr(ntriples, "_BLOCK_BYTES", 70)
    small = Dictionary()
    elements, errors = scan_timed(text.encode(), small, "x")
    assert [column.tolist() for column in elements] == [column.tolist() for column in expected]
    assert [error.line for error in errors] == [51]


def test_nothing_gives_nothing() -> None:
    elements, errors = scan_timed(b"", Dictionary(), "x")
    assert [column.size for column in elements] == [0, 0, 0, 0]
    assert not errors
    split = split_timed(pa.array([], pa.string()))
    assert [len(column) for column in split] == [0] * 5


def test_split_keeps_a_row_for_every_line() -> None:
    split = split_timed(pa.array([None, "", "# c", "oops", "7\t_:b <http://p> <http://o> ."]), blank_scope="s2")
    assert split.times.to_pylist() == [None, None, None, None, 7]
    assert split.subjects.to_pylist() == [None, None, None, None, "_:s2.b"]
    reasons = split.reasons.to_pylist()
    assert [reason is None for reason in reasons] == [True, True, True, False, True]
    assert reasons[3].startswith("column 1: ")


def test_split_reads_slices_of_arrays() -> None:
    whole = pa.array([f"{number}\t<http://s> <http://p> <http://o/{number}> ." for number in range(10)])
    assert split_timed(whole.slice(4, 3)).objects.to_pylist() == [f"<http://o/{number}>" for number in (4, 5, 6)]
