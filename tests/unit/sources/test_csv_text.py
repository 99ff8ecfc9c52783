"""CSV text against Python's own reader, however the text is cut into blocks; and what cannot be read."""

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.rdf.errors import InputError, UnsupportedError
from freshet.rml.sources import CsvDialect
from freshet.sources.columns import Limits, RecordShape
from freshet.sources.csv_text import CsvReader
from source_rows import values

PIECES = st.sampled_from([",", '"', '""', "\n", "\r\n", "a", "é", " ", "x,y", '",', ',"', "\n\n"])


USUAL = CsvDialect()


def read(text, references, size=1 << 20, dialect=USUAL, **options):
    data = text if isinstance(text, bytes) else text.encode()
    blocks = iter([data[at : at + size] for at in range(0, len(data), size)])
    return values(CsvReader(RecordShape(tuple(references)), dialect, **options).batches("f", blocks), references)


@settings(deadline=None, max_examples=400)
@given(st.lists(PIECES, max_size=30).map("".join), st.integers(1, 9))
def test_reads_what_python_reads(body, size):
    records = [row for row in csv.reader(io.StringIO(body, newline="")) if row]
    good, bad = read("k,l\n" + body, ["k", "l"], size)
    if any("quote" in reason for reason, _ in bad):
        # Python takes everything up to the end of the text; here the line alone is rejected.
        before = [tuple(row) for row in records[:-1] if len(row) == 2]
        assert good[: len(before)] == before
        return
    assert good == [tuple(row) for row in records if len(row) == 2]
    assert [reason for reason, _ in bad] == [
        f"{len(row)} field{'s' if len(row) > 1 else ''} where the header has 2" for row in records if len(row) != 2
    ]


def test_columns_in_any_order_and_with_any_name():
    good, bad = read('a,"b ""c"", d",é {x}\n1,2,3\n', ["é {x}", 'b "c", d', "a"])
    assert (good, bad) == ([("3", "2", "1")], [])


def test_what_cannot_be_read_is_told_with_its_text():
    good, bad = read(b'a,b\n1,2\n3\n4,\xe9\n5,"6\n7,8\n', ["a", "b"])
    assert good == [("1", "2"), ("7", "8")]
    assert bad == [
        ("1 field where the header has 2", "3"),
        ("not UTF-8, in the record at byte 10", "4,\ufffd"),
        ("a quote that is not closed", '5,"6'),
    ]


@pytest.mark.parametrize("size", [3, 1000])
def test_a_record_that_is_too_long_is_rejected_alone(size):
    text = "\n".join(["a,b", "1,2", f'3,"{"x" * 50}"', "4,5", "6,y", f"{'z' * 200},", "7,8", ""])
    good, bad = read(text, ["a", "b"], size, limits=Limits(record_bytes=40))
    assert good == [("1", "2"), ("4", "5"), ("6", "y"), ("7", "8")]
    assert [reason for reason, _ in bad] == ["longer than 40 bytes"] * 2


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_ends_of_lines(ends):
    assert read(ends.join(["a,b", "1,2", "", "3,4"]), ["b"], 1) == ([("2",), ("4",)], [])


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path):
    from freshet.sources.files import utf8_blocks

    blocks = utf8_blocks(io.BytesIO("\ufeffa,b\n1,2\n".encode()), "utf-8")
    assert values(CsvReader(RecordShape(("a",)), CsvDialect()).batches("f", blocks), ["a"]) == ([("1",)], [])


def test_dialects():
    marked = CsvDialect(delimiter=";", quote="'", comment="#", trim="both")
    assert read("# 'no\na ; b\n 1 ;'x;''y'\n#2;3\n", ["a", "b"], dialect=marked) == ([("1", "x;'y")], [])
    plain = CsvDialect(quote="", header=False)
    assert read('1,"2\n3,4\n', ["_col.2"], dialect=plain) == ([('"2',), ("4",)], [])
    with pytest.raises(UnsupportedError, match="one character of ASCII"):
        read("a\n", ["a"], dialect=CsvDialect(delimiter="||"))


def test_texts_that_stand_for_nothing():
    assert read("a,b\n1,\nNULL,2\n", ["a", "b"], nulls=frozenset(["NULL"])) == ([("1", ""), (None, "2")], [])
    assert read("a,b\n1,\nNULL,2\n", ["a", "b"], nulls=frozenset([""])) == ([("1", None), ("NULL", "2")], [])


@pytest.mark.parametrize(("header", "reason"), [("a,c", "there is no column b"), ("b,a,b", "several columns b")])
def test_records_under_another_header_are_rejected(header, reason):
    good, bad = read(f"{header}\n1,2\n3,4\n", ["a", "b"])
    assert not good
    assert len(bad) == 2
    assert all(reason in each for each, _ in bad)


def test_a_header_that_is_no_text():
    with pytest.raises(InputError, match="the header is not UTF-8"):
        read(b"a,\xff\n1,2\n", ["a"])


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_lines_before_the_header_and_columns_at_the_start(end, size):
    dialect = CsvDialect(skip_rows=2, skip_columns=1)
    text = end.join(["made in, 2024", "", "no,a,b", "1,x, y", "2,z,w"]).encode()
    blocks = iter([text[at : at + size] for at in range(0, len(text), size)])
    assert values(CsvReader(RecordShape(("a", "b")), dialect).batches("f", blocks), ["a", "b"]) == (
        [("x", " y"), ("z", "w")],
        [],
    )
    _, problem = CsvReader(RecordShape(("no",)), dialect).wanted_columns(["\0", "a", "b"])
    assert problem is not None
    assert problem.startswith("there is no column no")


@pytest.mark.parametrize(("trim", "expected"), [("start", "x "), ("end", " x"), ("both", "x"), ("none", " x ")])
def test_which_spaces_are_cut(trim, expected):
    assert read("a\n x \n", ["a"], dialect=CsvDialect(trim=trim)) == ([(expected,)], [])


def test_no_header_after_other_lines():
    assert read("note\n1,2\n", ["_col.2"], dialect=CsvDialect(header=False, skip_rows=1)) == ([("2",)], [])
