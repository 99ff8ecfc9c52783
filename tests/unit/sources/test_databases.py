"""Tables and queries of PostgreSQL and MariaDB through drivers of Python, against real servers."""

from __future__ import annotations

import pytest

from freshet.mapper.map_options import MapOptions
from freshet.mapper.map_run import run_map_here
from freshet.mapper.placement import place_mapping
from freshet.rdf.errors import InputError, UnsupportedError
from freshet.rml import kinds
from freshet.rml.sources import DatabaseSource, Formulation, LogicalSource
from freshet.sources.columns import Plan
from freshet.sources.database_drivers import driver_of, show_address
from freshet.sources.open import tasks_of
from source_rows import rows

POSTGRESQL = (
    """CREATE TABLE "some patients" (id INTEGER, "Name" VARCHAR(50), weight DOUBLE PRECISION, light REAL, born DATE,
       seen TIMESTAMP, zoned TIMESTAMPTZ, at TIME, paid BOOLEAN, photo BYTEA, due DECIMAL(8,2), tags INTEGER[],
       more JSONB, u UUID, code CHAR(4))""",
    """INSERT INTO "some patients" VALUES (1, 'Zoë', 80.25, 0.1, '1981-10-10', '2009-10-10 12:12:22.5',
       '2009-10-10 12:12:22+02', '10:00:00.25', FALSE, '\\xff00', 1.50, '{1,2}', '{"a": [1]}',
       'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'ab')""",
    'INSERT INTO "some patients" (id) VALUES (2)',
)
MYSQL = (
    """CREATE TABLE `some patients` (id INTEGER, `Name` VARCHAR(50), weight DOUBLE, light FLOAT, born DATE,
       seen DATETIME(6), at TIME(2), paid BOOLEAN, photo VARBINARY(4), due DECIMAL(8,2), more JSON, small TINYINT)""",
    """INSERT INTO `some patients` VALUES (1, 'Zoë', 80.25, 0.1, '1981-10-10', '2009-10-10 12:12:22.5', '10:00:00.25',
       FALSE, X'ff00', 1.50, '{"a": [1]}', 7)""",
    "INSERT INTO `some patients` (id) VALUES (2)",
)
EXPECTED = {
    "id": ("1", kinds.INTEGER),
    "Name": ("Zoë", kinds.STRING),
    "weight": ("80.25", kinds.REAL),
    "light": ("0.1", kinds.REAL),
    "born": ("1981-10-10", kinds.DATE),
    "seen": ("2009-10-10T12:12:22.5", kinds.DATETIME),
    "at": ("10:00:00.25", kinds.TIME),
    "paid": ("false", kinds.BOOLEAN),
    "photo": ("FF00", kinds.BINARY),
    "due": ("1.50", kinds.DECIMAL),
    "more": ('{"a": [1]}', kinds.STRING),
}
OF_POSTGRESQL = {
    "zoned": ("2009-10-10T10:12:22Z", kinds.DATETIME),
    "tags": ("{1,2}", kinds.STRING),
    "u": ("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", kinds.STRING),
    "code": ("ab  ", kinds.STRING),
}


@pytest.fixture(params=["postgresql", "mysql"])
def server(request):
    """A server with a table of two rows."""
    server = request.getfixturevalue(request.param)
    server.renew(POSTGRESQL if request.param == "postgresql" else MYSQL)
    return server


def source(server, iterator="some patients", formulation=Formulation.TABLE, **options):
    return LogicalSource(DatabaseSource(server.url, user=server.login), formulation, iterator, **options)


def test_values_and_their_kinds(server):
    expected = EXPECTED | (OF_POSTGRESQL if server.name == "postgresql" else {"small": ("7", kinds.INTEGER)})
    names = sorted(expected)
    _, (task,) = tasks_of(source(server), Plan(tuple(names)))
    first, second = [row for batch in task() for row in batch.to_pylist()]
    assert {name: (first[f"text of {name}"], first[f"kind of {name}"]) for name in names} == expected
    assert [second[f"text of {name}"] for name in names if name != "id"] == [None] * (len(names) - 1)


def test_queries(server):
    quote = '"' if server.name == "postgresql" else "`"
    text = f"SELECT id * 2 AS twice, 'a%b' AS t FROM {quote}some patients{quote} ORDER BY id DESC;"
    assert rows(source(server, text, Formulation.QUERY), ["twice", "T"]) == ([("4", "a%b"), ("2", "a%b")], [])
    assert rows(source(server, nulls=frozenset(["1"])), ["id"]) == ([(None,), ("2",)], [])


def test_many_rows_are_taken_in_pieces(server):
    text = (
        "SELECT n FROM generate_series(1, 100000) AS s(n)"
        if server.name == "postgresql"
        else "SELECT seq AS n FROM seq_1_to_100000"
    )
    shape, (task,) = tasks_of(source(server, text, Formulation.QUERY), Plan(("n",)))
    sizes = [len(batch) for batch in task()]
    assert shape.kinds
    assert sum(sizes) == 100_000
    assert max(sizes) < 100_000


@pytest.mark.parametrize(
    ("iterator", "formulation", "message"),
    [
        ("none", Formulation.TABLE, "exist"),
        ("SELECT * FROMx y", Formulation.QUERY, "syntax"),
        ("SELECT 1 AS id, 2 AS id", Formulation.QUERY, "several columns id|Duplicate"),
        ("SELECT 1 AS other", Formulation.QUERY, "no column id among other"),
        ("", Formulation.TABLE, "needs a table or a query"),
    ],
)
def test_what_is_wrong_is_known_before(server, iterator, formulation, message):
    with pytest.raises(InputError, match=message) as wrong:
        rows(source(server, iterator, formulation), ["id"])
    assert str(wrong.value).startswith(server.url)


def test_nothing_is_written(server):
    table = '"some patients"' if server.name == "postgresql" else "`some patients`"
    with pytest.raises(InputError):
        rows(source(server, f"DELETE FROM {table}", Formulation.QUERY), ["id"])
    assert len(rows(source(server), ["id"])[0]) == 2


def test_a_server_that_is_not_there(server):
    gone = LogicalSource(DatabaseSource(server.url.replace(str(server.port), "1")), Formulation.TABLE, "t")
    with pytest.raises(InputError, match=r":1/test: t: .*"):
        rows(gone, ["id"])


MAPPING = """
@prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix ex: <http://example.org/> .
<#P> rr:logicalTable [ rr:tableName "some patients" ] ; rr:subjectMap [ rr:template "http://example.org/{ID}" ] ;
  rr:predicateObjectMap [ rr:predicate ex:due ; rr:objectMap [ rr:column "due" ] ] .
"""


JOIN = MAPPING.replace(
    "] .\n",
    """] , [ rr:predicate ex:same ; rr:objectMap [ rr:parentTriplesMap <#Q> ;
      rr:joinCondition [ rr:child "id" ; rr:parent "n" ] ] ] .
<#Q> rr:logicalTable [ rr:sqlQuery "SELECT n FROM many" ] ; rr:subjectMap [ rr:template "http://example.org/{n}" ] .
""",
)


def test_what_is_joined_is_estimated_by_the_server(server, tmp_path, monkeypatch):
    """So that what this process could not hold goes to Spark, as files do."""
    numbers = "generate_series(1, 50000) AS s(n)" if server.name == "postgresql" else "seq_1_to_50000"
    column = "n" if server.name == "postgresql" else "seq"
    analyze = "ANALYZE TABLE many" if server.name == "mysql" else "ANALYZE many"
    server.run(f"CREATE TABLE many AS SELECT {column} AS n FROM {numbers}", analyze, database="test")
    (tmp_path / "m.ttl").write_text(JOIN, encoding="utf-8")
    options = MapOptions(rejects=tmp_path / "rejects", database=f"{server.url}?user={server.login}")
    assert place_mapping(tmp_path / "m.ttl", options, "auto").on == "process"
    monkeypatch.setattr("freshet.mapper.placement.MOST_HELD_BYTES", 150_000)
    placement = place_mapping(tmp_path / "m.ttl", options, "auto")
    assert placement.on == "spark"
    assert "to join, more than 150.0 kB" in placement.reason


@pytest.mark.parametrize("target", ["process", pytest.param("spark", marks=pytest.mark.spark)])
def test_a_mapping_in_both_targets(server, target, request, tmp_path):
    (tmp_path / "m.ttl").write_text(MAPPING, encoding="utf-8")
    database = f"{server.url}?user={server.login}"
    options = MapOptions(tmp_path / "out.nq", rejects=tmp_path / "rejects", database=database)
    assert place_mapping(tmp_path / "m.ttl", options, "auto").on == "process"
    if target == "process":
        run_map_here(tmp_path / "m.ttl", options)
    else:
        from freshet.spark.map_run import run_map

        run_map(request.getfixturevalue("spark"), tmp_path / "m.ttl", options)
    made = '"1.50"^^<http://www.w3.org/2001/XMLSchema#decimal>'
    assert (tmp_path / "out.nq").read_text() == f"<http://example.org/1> <http://example.org/due> {made} .\n"


def test_which_addresses_python_reads():
    assert driver_of("jdbc:postgresql://h/d?user=u&password=p") is not None
    assert driver_of("jdbc:mysql://h/d?useSSL=false") is None, "an option of Java's driver"
    assert driver_of("jdbc:sqlserver://h/d") is None
    assert show_address("jdbc:postgresql://h/d?user=u&password=p") == "jdbc:postgresql://h/d"


def test_a_missing_driver_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("freshet.sources.database_drivers.find_spec", lambda name: None)
    (tmp_path / "m.ttl").write_text(MAPPING, encoding="utf-8")
    options = MapOptions(database="jdbc:postgresql://h/d")
    with pytest.raises(UnsupportedError, match=r"freshet\[databases\]"):
        place_mapping(tmp_path / "m.ttl", options, "process")
    assert place_mapping(tmp_path / "m.ttl", options, "auto").on == "spark"
