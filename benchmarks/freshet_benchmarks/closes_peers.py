"""Polars and DuckDB, which evaluate a window from scratch at every close, on columns of plain numbers.

ISTREAM is the new answer without what the one before had. Their results are materialised, as ours are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from freshet_benchmarks.closes_data import Readings, rooms
from freshet_benchmarks.peers import peer_module

Close = Callable[[Readings, slice], int]  # the number of rows that a close puts out

AVERAGE, JOIN = "average", "join"


def peers() -> dict[str, Callable[[str, bool], Close]]:
    """Those peers that can be had, by name: each makes an evaluator for a form, as ISTREAM or not."""
    found: dict[str, Callable[[str, bool], Close]] = {}
    if (polars := peer_module("polars", "polars>=1.20")) is not None:
        found["Polars"] = lambda form, istream: _polars(polars, form, istream)
    if (duckdb := peer_module("duckdb", "duckdb>=1.3")) is not None:
        found["DuckDB"] = lambda form, istream: _duckdb(duckdb, form, istream)
    return found


def _polars(pl: Any, form: str, istream: bool) -> Close:
    places = pl.DataFrame({"sensor": range(len(rooms())), "room": rooms()})
    before: Any = None

    def close(readings: Readings, rows: slice) -> int:
        nonlocal before
        window = pl.DataFrame({"sensor": readings.sensors[rows], "value": readings.values[rows]})
        if form == JOIN:
            answer = window.join(places, on="sensor")
        else:
            answer = window.group_by("sensor").agg(pl.col("value").mean())
        if not istream:
            return len(answer)
        new = answer if before is None else answer.join(before, on=answer.columns, how="anti")
        before = answer
        return len(new)

    return close


_DUCKDB = {
    JOIN: "SELECT sensor, value, room FROM held JOIN places USING (sensor)",
    AVERAGE: "SELECT sensor, avg(value) AS value FROM held GROUP BY sensor",
}


def _duckdb(duckdb: Any, form: str, istream: bool) -> Close:
    connection = duckdb.connect()
    connection.register("stored", pa.table({"sensor": list(range(len(rooms()))), "room": rooms()}))
    connection.execute("CREATE TABLE places AS SELECT * FROM stored")
    before: Any = None

    def close(readings: Readings, rows: slice) -> int:
        nonlocal before
        connection.register("held", pa.table({"sensor": readings.sensors[rows], "value": readings.values[rows]}))
        answer = connection.sql(_DUCKDB[form]).to_arrow_table()
        if not istream:
            return int(answer.num_rows)
        new = answer
        if before is not None:
            connection.register("answer", answer)
            connection.register("before", before)
            new = connection.sql("SELECT * FROM answer EXCEPT ALL SELECT * FROM before").to_arrow_table()
        before = answer
        return int(new.num_rows)

    return close
