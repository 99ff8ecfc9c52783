"""Files of typed columns: Parquet, ORC, Arrow, Avro, Excel and OpenDocument."""

from __future__ import annotations

import math
import sys
from datetime import date, datetime, time
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from freshet.rdf.errors import InputError, UnsupportedError
from freshet.rml.sources import CsvDialect, FileSource, Formulation, LogicalSource
from freshet.sources.columns import Plan
from freshet.sources.open import tasks_of
from freshet.sources.typed import to_typed
from freshet.sources.typed_columns import typed_column
from source_rows import rows
from table_writers import ROWS, SCHEMA, WRITERS, sheets, utc, write_avro, write_ods, write_xlsx

EXPECTED = [
    ("1", "Zoë & Co", "80.25", "false", "1981-10-10", "2009-10-10T12:12:22.5", "0.00000010"),
    ("2", None, "3.5", "true", None, None, "12.50000000"),
]


def source(path, formulation=Formulation.ROWS, iterator=None, **options):
    return LogicalSource(FileSource(path, **options), formulation, iterator)


@pytest.mark.parametrize("form", ["parquet", "orc", "arrow", "avro"])
def test_rows_are_records(tmp_path, form):
    WRITERS[form](tmp_path / f"a.{form}")
    assert rows(source(tmp_path / f"a.{form}"), SCHEMA.names) == (EXPECTED, [])


@pytest.mark.parametrize("form", ["xlsx", "ods"])
def test_rows_of_a_sheet_are_records(tmp_path, form):
    """Numbers of sheets have no scale, and rows with nothing in them are no records."""
    WRITERS[form](tmp_path / f"a.{form}")
    found = rows(source(tmp_path / f"a.{form}", iterator="People"), ["id", "name", "weight", "paid", "born"])
    assert found == ([row[:5] for row in EXPECTED], [])
    assert rows(source(tmp_path / f"a.{form}"), ["remark"]) == ([("none",)], [])


def test_sheets_without_a_header_or_with_lines_before_it(tmp_path):
    write_xlsx(tmp_path / "a.xlsx", {"S": [["made in 2024"], ["a", "b"], [1, 2.0], [3.25, "x"]]})
    skipped = source(tmp_path / "a.xlsx", dialect=CsvDialect(skip_rows=1))
    assert rows(skipped, ["a", "b"]) == ([("1", "2"), ("3.25", "x")], [])
    unnamed = source(tmp_path / "a.xlsx", dialect=CsvDialect(skip_rows=2, header=False))
    assert rows(unnamed, ["_col.2"]) == ([("2",), ("x",)], [])


def test_a_folder_of_files_and_only_the_columns_that_are_asked_for(tmp_path):
    folder = tmp_path / "all.parquet"
    folder.mkdir()
    for number, row in enumerate(ROWS):
        parquet.write_table(pa.Table.from_pylist([row], SCHEMA), folder / f"part-{number}.parquet")
    (folder / "_SUCCESS").touch()
    assert rows(source(folder), ["due", "id"]) == ([("0.00000010", "1"), ("12.50000000", "2")], [])


def test_values_with_a_structure_are_reached_by_jsonpath(tmp_path):
    made = [{"id": 1, "tags": ["a", "b"], "at": {"x": Decimal("1.50")}}, {"id": 2, "tags": [], "at": None}]
    schema = pa.schema(
        [("id", pa.int64()), ("tags", pa.list_(pa.string())), ("at", pa.struct([("x", pa.decimal128(5, 2))]))]
    )
    parquet.write_table(pa.Table.from_pylist(made, schema), tmp_path / "a.parquet")
    nested = source(tmp_path / "a.parquet", Formulation.JSON)
    assert rows(nested, ["$.id", "$.at.x"])[0] == [("1", "1.50"), ("2", None)]
    each = source(tmp_path / "a.parquet", Formulation.JSON, "$.tags[*]")
    assert rows(each, ["@"])[0] == [("a",), ("b",)]
    with pytest.raises(InputError, match="the column tags has values with a structure"):
        rows(source(tmp_path / "a.parquet"), ["tags"])
    avro = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "id", "type": "int"}, {"name": "tags", "type": {"type": "array", "items": "string"}}],
    }
    write_avro(tmp_path / "a.avro", avro, [{"id": 1, "tags": ["a", "b"]}])
    assert rows(source(tmp_path / "a.avro", Formulation.JSON, "$.tags[*]"), ["@"])[0] == [("a",), ("b",)]
    with pytest.raises(InputError, match="the column tags has values with a structure"):
        rows(source(tmp_path / "a.avro"), ["tags"])
    assert rows(source(tmp_path / "a.avro"), ["id"]) == ([("1",)], [])


@pytest.mark.parametrize("form", WRITERS)
def test_what_is_wrong_is_known_before(tmp_path, form):
    file = tmp_path / f"a.{form}"
    WRITERS[form](file)
    with pytest.raises(InputError, match="there is no column height among"):
        rows(source(file), ["height"])
    file.write_bytes(b"these are some other bytes")
    with pytest.raises(InputError, match=r"a\.\w+: cannot be read"):
        rows(source(file), ["id"])


def test_a_sheet_that_is_not_there(tmp_path):
    write_ods(tmp_path / "a.ods", sheets())
    with pytest.raises(InputError, match="there is no sheet Persons among Notes, People"):
        rows(source(tmp_path / "a.ods", iterator="Persons"), ["id"])
    with pytest.raises(UnsupportedError, match=r"JSONPath over \.ods files"):
        rows(source(tmp_path / "a.ods", Formulation.JSON), ["id"])


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    write_avro(tmp_path / "a.avro")
    monkeypatch.setattr("freshet.sources.table_files.find_spec", lambda name: None)
    with pytest.raises(UnsupportedError, match=r"freshet\[avro\]"):
        rows(source(tmp_path / "a.avro"), ["id"])


def test_a_file_that_breaks_later_is_rejected_with_its_name(tmp_path):
    write_avro(tmp_path / "a.avro", rows=ROWS * 5000)
    whole = (tmp_path / "a.avro").read_bytes()
    _, tasks = tasks_of(source(tmp_path / "a.avro"), Plan(("id",)))
    (tmp_path / "a.avro").write_bytes(whole[: len(whole) // 2])
    reasons = [row["reason"] for task in tasks for batch in task() for row in batch.to_pylist() if row["reason"]]
    assert len(reasons) == 1
    assert reasons[0].startswith("cannot be read: ")


def test_rejects_have_the_row(tmp_path):
    WRITERS["parquet"](tmp_path / "a.parquet")
    _, tasks = tasks_of(source(tmp_path / "a.parquet"), Plan(("id",), keep=True))
    lines = [row["line"] for task in tasks for batch in task() for row in batch.to_pylist()]
    assert lines[1].startswith("(2, None, 3.5, True")


VALUES = st.one_of(
    st.lists(st.none() | st.floats(), min_size=1).map(lambda values: pa.array(values, pa.float64())),
    st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=1).map(lambda values: pa.array(values, pa.int64())),
    st.lists(st.none() | st.booleans(), min_size=1).map(lambda values: pa.array(values, pa.bool_())),
    st.lists(st.none() | st.binary(), min_size=1).map(lambda values: pa.array(values, pa.binary())),
    st.lists(st.none() | st.text(), min_size=1).map(lambda values: pa.array(values, pa.string())),
    st.lists(st.none() | st.dates(), min_size=1).map(lambda values: pa.array(values, pa.date32())),
    st.lists(st.none() | st.times(), min_size=1).map(lambda values: pa.array(values, pa.time64("us"))),
    st.lists(st.none() | st.datetimes(min_value=datetime(1000, 1, 1), max_value=datetime(9000, 1, 1)), min_size=1).map(
        lambda values: pa.array(values, pa.timestamp("us"))
    ),
    st.lists(st.none() | st.decimals(-(10**12), 10**12, places=9), min_size=1).map(
        lambda values: pa.array(values, pa.decimal128(30, 9))
    ),
)


@given(VALUES)
def test_columns_are_what_their_values_are_one_by_one(array):
    """Doubles may be written with another exponent, which is the same double."""
    texts, found = typed_column(array, frozenset())
    for value, text, kind in zip(array.to_pylist(), texts.to_pylist(), found.to_pylist(), strict=True):
        expected = to_typed(value)
        assert kind == expected.kind
        if isinstance(value, float) and math.isfinite(value):
            assert float(text) == value
            assert set(text) & {".", "e"}
        else:
            assert text == expected.text


def test_awkward_values():
    assert [to_typed(value).text for value in (math.inf, -math.inf, math.nan)] == ["INF", "-INF", "NaN"]
    assert to_typed(utc(2024, 2, 29, 10, 0, 1)).text == "2024-02-29T10:00:01Z"
    assert to_typed(time(10, 0, 0, 250_000)).text == "10:00:00.25"
    assert to_typed(date(2024, 2, 29)).text == "2024-02-29"
    assert to_typed(Decimal("1E+3")).text == "1000"
    zoned = pa.array([utc(2024, 2, 29, 10, 0, 1)], pa.timestamp("ms", "UTC"))
    assert typed_column(zoned, frozenset())[0].to_pylist() == ["2024-02-29T10:00:01Z"]
    coded = pa.array(["a", "-", None]).dictionary_encode()
    assert typed_column(coded, frozenset("-"))[0].to_pylist() == ["a", None, None]


def test_pandas_is_not_imported_for_parquet(tmp_path):
    import subprocess

    WRITERS["parquet"](tmp_path / "a.parquet")
    code = (
        "import sys; from pathlib import Path; from freshet.sources.open import tasks_of\n"
        "from freshet.sources.columns import Plan; from freshet.rml.sources import *\n"
        f"source = LogicalSource(FileSource(Path({str(tmp_path / 'a.parquet')!r})), Formulation.ROWS)\n"
        "_, tasks = tasks_of(source, Plan(('id', 'weight')))\n"
        "assert sum(len(batch) for task in tasks for batch in task()) == 2\n"
        "assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
