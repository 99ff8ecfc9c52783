"""Inputs in the manner of KROWN, one change at a time: records, properties, duplicates, empty values, joins.

Each scenario says how many statements a mapper must make of it, and how many of these differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

_HEAD = """@prefix rml: <http://w3id.org/rml/> .
@prefix ex: <http://example.org/> .
"""
_SOURCE = '[ rml:source "{file}" ; rml:referenceFormulation rml:CSV ; rml:null "" ]'


@dataclass(frozen=True, slots=True)
class Scenario:
    """A table of records with properties, some of them equal or empty; or two tables whose records join.

    `children` and `parents` are how many records of each side have the same key.
    """

    name: str
    records: int
    properties: int = 5
    duplicates: float = 0.0
    empty: float = 0.0
    children: int = 0
    parents: int = 0

    @property
    def joins(self) -> bool:
        return bool(self.children and self.parents)

    @property
    def equal_records(self) -> int:
        """The records that are the same as the first one."""
        return round(self.records * self.duplicates)

    @property
    def empty_records(self) -> int:
        """The records at the end whose properties are empty."""
        return round(self.records * self.empty)

    @property
    def keys(self) -> int:
        return max(1, self.records // (self.children + self.parents))

    @property
    def statements(self) -> int:
        """How many statements are made, equal ones included."""
        if self.joins:
            return self.keys * self.children * self.parents
        return (self.records - self.empty_records) * self.properties

    @property
    def different(self) -> int:
        """How many of these differ."""
        if self.joins:
            return self.statements
        filled = self.records - self.empty_records
        return (filled - max(0, min(self.equal_records, filled) - 1)) * self.properties


def scenarios(records: int) -> list[Scenario]:
    """What is measured, for tables of about as many records."""
    return [
        Scenario("records", records),
        Scenario("properties", max(1, records // 10), properties=50),
        Scenario("duplicates", records, duplicates=0.75),
        Scenario("empty", records, empty=0.75),
        Scenario("join_1_n", records, children=9, parents=1),
        Scenario("join_n_m", records, children=5, parents=5),
    ]


def write_scenario(scenario: Scenario, folder: Path) -> Path:
    """Write the tables of a scenario, and its mapping; gives the mapping."""
    mapping = folder / "mapping.ttl"
    if scenario.joins:
        for side, count in (("child", scenario.children), ("parent", scenario.parents)):
            _write_table(folder / f"{side}.csv", _joined_table(scenario.keys, count))
        mapping.write_text(_HEAD + _join_mapping(folder), encoding="utf-8")
    else:
        _write_table(folder / "data.csv", _table(scenario))
        mapping.write_text(_HEAD + _table_mapping(folder, scenario), encoding="utf-8")
    return mapping


def _table(scenario: Scenario) -> pa.Table:
    numbers = np.arange(scenario.records)
    numbers[: scenario.equal_records] = 0
    filled = numbers.size - scenario.empty_records
    texts = pa.array(numbers).cast(pa.string())
    columns = {"id": texts}
    for number in range(scenario.properties):
        values = np.char.add(f"v{number}-", numbers[:filled].astype(str)).tolist()
        columns[f"p{number}"] = pa.array([*values, *[None] * scenario.empty_records], pa.string())
    return pa.table(columns)


def _joined_table(keys: int, count: int) -> pa.Table:
    number = np.arange(keys * count)
    return pa.table({"id": pa.array(number).cast(pa.string()), "key": pa.array(number % keys).cast(pa.string())})


def _write_table(file: Path, table: pa.Table) -> None:
    pa_csv.write_csv(table, file)


def _table_mapping(folder: Path, scenario: Scenario) -> str:
    pairs = ",\n    ".join(
        f'[ rml:predicate ex:p{number} ; rml:objectMap [ rml:reference "p{number}" ] ]'
        for number in range(scenario.properties)
    )
    source = _SOURCE.format(file=folder / "data.csv")
    subject = 'rml:subjectMap [ rml:template "http://example.org/{id}" ]'
    return f"<#T> rml:logicalSource {source} ; {subject} ;\n  rml:predicateObjectMap {pairs} .\n"


def _join_mapping(folder: Path) -> str:
    child, parent = (_SOURCE.format(file=folder / f"{side}.csv") for side in ("child", "parent"))
    condition = 'rml:joinCondition [ rml:child "key" ; rml:parent "key" ]'
    return f"""<#C> rml:logicalSource {child} ; rml:subjectMap [ rml:template "http://example.org/c/{{id}}" ] ;
  rml:predicateObjectMap [ rml:predicate ex:of ; rml:objectMap [ rml:parentTriplesMap <#P> ; {condition} ] ] .
<#P> rml:logicalSource {parent} ; rml:subjectMap [ rml:template "http://example.org/p/{{id}}" ] .
"""
