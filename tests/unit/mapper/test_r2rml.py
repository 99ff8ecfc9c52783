"""R2RML mappings over a database of SQLite, in this process and on Spark."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from command_line import CommandLine
from freshet.mapper.map_options import MapOptions
from freshet.mapper.map_run import run_map_here
from freshet.rdf.errors import InputError, UnsupportedError
from freshet.rml.reader import read_mapping

HEAD = """
@prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix ex: <http://example.org/> . @base <http://example.org/base/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
TABLES = """
CREATE TABLE Employee (EmpNo INTEGER PRIMARY KEY, Name VARCHAR(20), "Job Title" TEXT, DeptNo INTEGER, Pay REAL,
  Hired DATE, Active BOOLEAN, Badge VARBINARY(4));
CREATE TABLE Dept (DeptNo INTEGER, DName TEXT, Loc TEXT);
INSERT INTO Employee VALUES (7369, 'Ann B', 'clerk/typist', 10, 80.5, '2024-02-29', 1, x'0aff');
INSERT INTO Employee VALUES (7370, 'Bob "B"', NULL, 99, NULL, NULL, 0, NULL);
INSERT INTO Dept VALUES (10, 'APPSERVER', 'NEW YORK');
INSERT INTO Dept VALUES (20, 'OPS', NULL);
"""
DEPT = """
<Dept> rr:logicalTable [ rr:sqlQuery \"\"\"SELECT DeptNo, DName, 'at ' || Loc AS "Place" FROM Dept;\"\"\" ;
    rr:sqlVersion rr:SQL2008 ] ;
  rr:subjectMap [ rr:template "http://example.org/dept/{DeptNo}" ; rr:class ex:Dept ; rr:graph ex:depts ] ;
  rr:predicateObjectMap [ rr:predicate ex:place ; rr:objectMap [ rr:column "\\"Place\\"" ] ] .
"""
EMPLOYEE = """
<Employee> a rr:TriplesMap ; rr:logicalTable [ rr:tableName "Employee" ] ;
  rr:subjectMap [ rr:template "http://example.org/e/{EMPNO}/{\\"Job Title\\"}" ;
    rr:inverseExpression "{\\"EmpNo\\"} = substr({EMPNO}, 1)" ] ;
  rr:predicateObjectMap [ rr:predicate ex:number ; rr:objectMap [ rr:column "EmpNo" ] ] ,
    [ rr:predicate ex:pay ; rr:objectMap [ rr:column "Pay" ] ] ,
    [ rr:predicate ex:pay10 ; rr:objectMap [ rr:column "Pay" ; rr:datatype xsd:decimal ] ] ,
    [ rr:predicate ex:name ; rr:objectMap [ rr:column "Name" ; rr:language "en" ] ] ,
    [ rr:predicate ex:hired , ex:since ; rr:objectMap [ rr:column "Hired" ] ] ,
    [ rr:predicate ex:active ; rr:objectMap [ rr:column "Active" ] ] ,
    [ rr:predicate ex:badge ; rr:objectMap [ rr:column "Badge" ] ] ,
    [ rr:predicate ex:node ; rr:objectMap [ rr:column "Name" ; rr:termType rr:BlankNode ] ] ,
    [ rr:predicate ex:dept ; rr:objectMap [ rr:parentTriplesMap <Dept> ;
      rr:joinCondition [ rr:child "DeptNo" ; rr:parent "\\"DeptNo\\"" ] ] ] .
"""
ALL_EMPLOYEES = """
<All> rr:logicalTable [ rr:tableName "\\"Employee\\"" ] ; rr:subject ex:all ;
  rr:predicateObjectMap [ rr:predicate ex:has ; rr:objectMap [ rr:template "{Name}" ; rr:termType rr:Literal ] ] .
"""
ANN = "<http://example.org/e/7369/clerk%2Ftypist> <http://example.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
WANTED = [
    f'{ANN}active> "true"^^<{XSD}boolean> .',
    f'{ANN}badge> "0AFF"^^<{XSD}hexBinary> .',
    f"{ANN}dept> <http://example.org/dept/10> .",
    f'{ANN}hired> "2024-02-29"^^<{XSD}date> .',
    f'{ANN}name> "Ann B"@en .',
    f'{ANN}number> "7369"^^<{XSD}integer> .',
    f'{ANN}pay10> "80.5"^^<{XSD}decimal> .',
    f'{ANN}pay> "80.5"^^<{XSD}double> .',
    f'{ANN}since> "2024-02-29"^^<{XSD}date> .',
    '<http://example.org/all> <http://example.org/has> "Ann B" .',
    '<http://example.org/all> <http://example.org/has> "Bob \\"B\\"" .',
    '<http://example.org/dept/10> <http://example.org/place> "at NEW YORK" <http://example.org/depts> .',
]


@pytest.fixture(params=["process", pytest.param("spark", marks=pytest.mark.spark)])
def lines(request, tmp_path: Path):
    """What a mapping makes of the database."""
    connection = sqlite3.connect(tmp_path / "firm.db")
    connection.executescript(TABLES)
    connection.close()

    def lines(text: str) -> list[str]:
        (tmp_path / "m.ttl").write_text(HEAD + text)
        options = MapOptions(tmp_path / "out.nq", rejects=tmp_path / "rejects", database=str(tmp_path / "firm.db"))
        if request.param == "process":
            run_map_here(tmp_path / "m.ttl", options)
        else:
            from freshet.spark.map_run import run_map

            run_map(request.getfixturevalue("spark"), tmp_path / "m.ttl", options)
        return sorted((tmp_path / "out.nq").read_text().splitlines())

    return lines


def test_tables_queries_types_and_joins(lines) -> None:
    found = lines(DEPT + EMPLOYEE + ALL_EMPLOYEES)
    nodes = [line for line in found if "/node> _:" in line]
    types = [line for line in found if "22-rdf-syntax-ns#type" in line]
    assert len(nodes) == 1
    assert types == [
        f"<http://example.org/dept/{number}> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
        " <http://example.org/Dept> <http://example.org/depts> ."
        for number in (10, 20)
    ]
    assert sorted(set(found) - set(nodes) - set(types)) == sorted(WANTED)


def test_a_reference_to_a_map_of_the_same_table_needs_no_condition(lines) -> None:
    same = """
<A> rr:logicalTable [ rr:tableName "Dept" ] ; rr:subjectMap [ rr:template "http://example.org/d/{DeptNo}" ] ;
  rr:predicateObjectMap [ rr:predicate ex:in ; rr:objectMap [ rr:parentTriplesMap <B> ] ] .
<B> rr:logicalTable [ rr:tableName "Dept" ] ; rr:subjectMap [ rr:template "http://example.org/l/{Loc}" ] .
"""
    assert lines(same) == ["<http://example.org/d/10> <http://example.org/in> <http://example.org/l/NEW%20YORK> ."]


@pytest.mark.parametrize(
    ("text", "database", "said"),
    [
        (EMPLOYEE + DEPT, None, "--database names it"),
        ("<A> rr:logicalTable [ rr:sqlVersion rr:SQL2008 ] ; rr:subject ex:a .", "x.db", "one of rr:tableName and"),
        ('<A> rr:logicalTable [ rr:tableName "a" ; rr:sqlQuery "b" ] ; rr:subject ex:a .', "x.db", "one of rr:tableNa"),
        (
            '<A> rr:logicalTable [ rr:tableName "a" ] , [ rr:tableName "b" ] ; rr:subject ex:a .',
            "x.db",
            "needs one log",
        ),
        (
            '<A> rr:logicalTable [ rr:tableName "a" ] ; rr:subjectMap [ rr:column "a" ; rr:template "{a}" ] .',
            "x.db",
            "both column and template",
        ),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, database: str | None, said: str) -> None:
    (tmp_path / "m.ttl").write_text(HEAD + text)
    with pytest.raises(InputError, match=said):
        read_mapping(tmp_path / "m.ttl", database=database)


def test_another_table_needs_a_condition(tmp_path: Path) -> None:
    text = DEPT + EMPLOYEE.replace('rr:joinCondition [ rr:child "DeptNo" ; rr:parent "\\"DeptNo\\"" ]', "")
    (tmp_path / "m.ttl").write_text(HEAD + text)
    with pytest.raises(UnsupportedError, match="another table without a join condition"):
        read_mapping(tmp_path / "m.ttl", database="x.db")


def test_the_command_takes_a_database(tmp_path: Path, monkeypatch, capfd) -> None:
    connection = sqlite3.connect(tmp_path / "firm.db")
    connection.executescript(TABLES)
    connection.close()
    (tmp_path / "m.ttl").write_text(HEAD + DEPT)
    done = CommandLine(monkeypatch, capfd)("map", "-m", tmp_path / "m.ttl", "--database", tmp_path / "firm.db")
    assert done.status == 0, done.err
    assert '"at NEW YORK"' in done.out
