"""Kinds of values in records: those that JSON has, and what databases and RDF have besides."""

from __future__ import annotations

from freshet.kernels.json_values import BOOLEAN, ESCAPED, INTEGER, NESTED, NOTHING, PLAIN, REAL, STRING

DECIMAL, DATE, TIME, DATETIME, BINARY = 8, 9, 10, 11, 12

# The types of XML Schema that literals of a kind naturally have; those of other kinds are strings.
DATATYPES = {
    INTEGER: "integer",
    REAL: "double",
    BOOLEAN: "boolean",
    DECIMAL: "decimal",
    DATE: "date",
    TIME: "time",
    DATETIME: "dateTime",
    BINARY: "hexBinary",
}

__all__ = [
    "BINARY", "BOOLEAN", "DATATYPES", "DATE", "DATETIME", "DECIMAL", "ESCAPED", "INTEGER", "NESTED", "NOTHING", "PLAIN",
    "REAL", "STRING", "TIME",
]  # fmt: skip
