"""The same rows as files of every form that has typed columns."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pyarrow as pa
import pytest
from pyarrow import feather, orc, parquet

_MANIFEST = "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"

Row = dict[str, Any]

SCHEMA = pa.schema(
    [
        ("id", pa.int64()), ("name", pa.string()), ("weight", pa.float64()), ("paid", pa.bool_()),
        ("born", pa.date32()), ("seen", pa.timestamp("us")), ("due", pa.decimal128(10, 8)),
    ]
)  # fmt: skip
ROWS: list[Row] = [
    {
        "id": 1, "name": "Zoë & Co", "weight": 80.25, "paid": False, "born": date(1981, 10, 10),
        "seen": datetime(2009, 10, 10, 12, 12, 22, 500_000), "due": Decimal("0.00000010"),
    },
    {"id": 2, "name": None, "weight": 3.5, "paid": True, "born": None, "seen": None, "due": Decimal("12.50000000")},
]  # fmt: skip
AVRO = {
    "type": "record",
    "name": "Row",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": ["null", "string"]},
        {"name": "weight", "type": "double"},
        {"name": "paid", "type": "boolean"},
        {"name": "born", "type": ["null", {"type": "int", "logicalType": "date"}]},
        {"name": "seen", "type": ["null", {"type": "long", "logicalType": "local-timestamp-micros"}]},
        {"name": "due", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 8}},
    ],
}


def table() -> pa.Table:
    return pa.Table.from_pylist(ROWS, SCHEMA)


def write_avro(file: Path, schema: Any = AVRO, rows: list[Row] = ROWS) -> None:
    fastavro = pytest.importorskip("fastavro")
    with file.open("wb") as stream:
        fastavro.writer(stream, schema, rows)


def write_xlsx(file: Path, sheets: dict[str, list[list[Any]]]) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("python_calamine")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(file)


def write_ods(file: Path, sheets: dict[str, list[list[Any]]]) -> None:
    """As far as a reader looks at it."""
    pytest.importorskip("python_calamine")
    tables = "".join(
        f'<table:table table:name="{name}">{"".join(map(_ods_row, rows))}</table:table>'
        for name, rows in sheets.items()
    )
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table", "text")
    )
    body = f"<office:body><office:spreadsheet>{tables}</office:spreadsheet></office:body>"
    content = f'<?xml version="1.0"?><office:document-content {spaces}>{body}</office:document-content>'
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr(
            "META-INF/manifest.xml", f'<?xml version="1.0"?><manifest:manifest xmlns:manifest="{_MANIFEST}"/>'
        )
        archive.writestr("content.xml", content)


def _ods_row(row: list[Any]) -> str:
    return f"<table:table-row>{''.join(map(_ods_cell, row))}</table:table-row>"


def _ods_cell(value: Any) -> str:
    match value:
        case None:
            return "<table:table-cell/>"
        case bool():
            kind, key, text = "boolean", "boolean-value", str(value).lower()
        case int() | float() | Decimal():
            kind, key, text = "float", "value", f"{value:f}" if isinstance(value, Decimal) else str(value)
        case date():
            kind, key, text = "date", "date-value", value.isoformat()
        case _:
            return f'<table:table-cell office:value-type="string"><text:p>{escape(value)}</text:p></table:table-cell>'
    cell = f'<table:table-cell office:value-type="{kind}" office:{key}="{text}">'
    return f"{cell}<text:p>{text}</text:p></table:table-cell>"


def sheets() -> dict[str, list[list[Any]]]:
    """The rows on the second sheet, with an empty one between them."""
    names = SCHEMA.names
    first, second = ([row[name] for name in names] for row in ROWS)
    return {"Notes": [["remark"], ["none"]], "People": [names, first, [None] * len(names), second]}


WRITERS: dict[str, Callable[[Path], None]] = {
    "parquet": lambda file: parquet.write_table(table(), file, row_group_size=1),
    "orc": lambda file: orc.write_table(table(), file),
    "arrow": lambda file: feather.write_feather(table(), file, compression="uncompressed"),
    "avro": write_avro,
    "xlsx": lambda file: write_xlsx(file, sheets()),
    "ods": lambda file: write_ods(file, sheets()),
}


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc]
