"""Tables and queries: SQLite without a driver, another database through Spark's JDBC."""

import sqlite3

import pytest

from freshet.rdf.errors import InputError
from freshet.rml import kinds
from freshet.rml.sources import DatabaseSource, Formulation, LogicalSource
from freshet.spark.sources.open import open_records
from source_rows import rows, spark_rows

TABLE = """CREATE TABLE "some patients" (id INTEGER, name VARCHAR(50), weight REAL, born DATE, seen TIMESTAMP,
  paid BOOLEAN, photo BLOB, due DECIMAL(8,2))"""
REFERENCES = ["id", "name", "weight", "born", "seen", "paid", "photo", "due"]
EXPECTED = [
    ("1", "Zoë", "80.25", "1981-10-10", "2009-10-10T12:12:22", "false", "FF00", "1.5"),
    ("2", None, "1.0", None, None, "true", None, "2"),
]


@pytest.fixture
def url(tmp_path):
    file = tmp_path / "a.db"
    with sqlite3.connect(file) as database:
        database.execute(TABLE)
        values = [
            (1, "Zoë", 80.25, "1981-10-10", "2009-10-10 12:12:22", 0, b"\xff\x00", 1.5),
            (2, None, 1.0, None, None, 1, None, 2),
        ]
        database.executemany('INSERT INTO "some patients" VALUES (?, ?, ?, ?, ?, ?, ?, ?)', values)
    database.close()
    return f"jdbc:sqlite:{file}"


def table(url, name="some patients", **options):
    return LogicalSource(DatabaseSource(url), Formulation.TABLE, name, **options)


def query(url, text):
    return LogicalSource(DatabaseSource(url), Formulation.QUERY, text)


def test_a_table(url):
    assert rows(table(url), REFERENCES) == (EXPECTED, [])


def test_a_query(url):
    text = 'SELECT id AS "the id", upper(name) AS n, paid FROM "some patients" WHERE id = 1;'
    assert rows(query(url, text), ["the id", "n", "paid"]) == ([("1", "ZOë", "false")], [])


def test_kinds_follow_the_declared_types(spark, url):
    row = open_records(spark, table(url), REFERENCES).frame.orderBy("`text of id`").first()
    assert [row[f"kind of {each}"] for each in REFERENCES] == [
        kinds.INTEGER, kinds.STRING, kinds.REAL, kinds.DATE, kinds.DATETIME, kinds.BOOLEAN, kinds.BINARY, kinds.DECIMAL,
    ]  # fmt: skip


def test_texts_that_stand_for_nothing(url):
    good, _ = rows(table(url, nulls=frozenset(["1", "Zoë"])), ["id", "name"])
    assert good == [(None, None), ("2", None)]


@pytest.mark.parametrize(
    ("iterator", "formulation", "message"),
    [
        ("none", Formulation.TABLE, "no such table"),
        ("SELECT * FROMx y", Formulation.QUERY, "syntax error"),
        ('DELETE FROM "some patients"', Formulation.QUERY, "readonly"),
        ("SELECT 1 AS id, 2 AS id", Formulation.QUERY, "several columns id"),
        ("SELECT 1 AS other", Formulation.QUERY, "no column id among other"),
        ("", Formulation.TABLE, "needs a table or a query"),
    ],
)
def test_what_is_wrong_is_known_before(url, iterator, formulation, message):
    with pytest.raises(InputError, match=message):
        rows(LogicalSource(DatabaseSource(url), formulation, iterator), ["id"])


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.db: there is no such file"):
        rows(table(f"jdbc:sqlite:{tmp_path / 'none.db'}"), ["id"])


def test_jdbc(spark):
    url = "jdbc:derby:memory:records"
    connect(
        spark, f"{url};create=true",
        "CREATE TABLE patients (id INTEGER, name VARCHAR(9), weight DOUBLE, born DATE, seen TIMESTAMP, paid BOOLEAN,"
        " photo VARCHAR(4) FOR BIT DATA, due DECIMAL(8,2))",
        "INSERT INTO patients VALUES (1, 'Zoë', 80.25, '1981-10-10', '2009-10-10 12:12:22', false, X'FF00', 1.5),"
        " (2, null, 1.0, null, null, true, null, 2)",
    )  # fmt: skip
    upper = [each.upper() for each in REFERENCES]
    expected = [(*EXPECTED[0][:-1], "1.50"), (*EXPECTED[1][:-1], "2.00")]
    source = LogicalSource(DatabaseSource(url), Formulation.TABLE, "PATIENTS")
    assert spark_rows(spark, source, upper) == (expected, [])
    row = open_records(spark, source, upper, keep=True).frame.orderBy("`text of ID`").first()
    assert [row[f"kind of {each}"] for each in upper] == [
        kinds.INTEGER, kinds.STRING, kinds.REAL, kinds.DATE, kinds.DATETIME, kinds.BOOLEAN, kinds.BINARY, kinds.DECIMAL,
    ]  # fmt: skip
    assert row["file"] == url
    text = 'SELECT id AS "i d" FROM patients WHERE name IS NOT NULL'
    assert spark_rows(spark, query(url, text), ["i d"]) == ([("1",)], [])
    for wrong in (query(url, "SELECT * FROMx y"), query(url, "SELECT none FROM patients"), table(url, "nothing")):
        with pytest.raises(InputError, match=r"jdbc:derby:memory:records: "):
            open_records(spark, wrong, ["ID"])
    with pytest.raises(InputError, match="jdbc:nothing:x"):
        open_records(spark, table("jdbc:nothing:x"), ["ID"])


def connect(spark, url, *statements):
    manager = spark.sparkContext._jvm.java.sql.DriverManager
    connection = manager.getConnection(url)
    for statement in statements:
        connection.createStatement().execute(statement)
    connection.close()
