"""Random queries, their reports put into batches at random: `take_arrow` and lines of batches have what `take` has."""

from __future__ import annotations

import os
from collections import deque
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

import pyarrow as pa
import pytest

import freshet
from counts import count
from freshet.rdf.errors import UnsupportedError
from freshet.rdf.terms import Iri, Literal, Term
from freshet.results.answers import AnswerBatch, joined
from freshet.results.write import batch_json, report_json
from freshet.runtime.registered_query import RegisteredQuery
from scenario_answers import schedule_of
from scenarios import Scenario, scenario
from session_runs import hand_over

CASES = count(200, "FRESHET_CASES")
ANYWHERE = SystemRandom().randrange(10**9) if os.environ.get("FRESHET_RANDOM") else 0
FIRST_SEED = int(os.environ.get("FRESHET_SEED", ANYWHERE))
BLOCKS = 4


def answers(case: Scenario, batching: int, directory: Path) -> list[tuple[RegisteredQuery, list[AnswerBatch]]]:
    """The queries of a scenario with their reports."""
    session = freshet.Session()
    data = directory / "stored.nq"
    data.write_text("".join(f"{statement}\n" for statement in case.stored), encoding="utf-8")
    session.load(data)
    for iri in case.streams:
        session.stream(iri, lateness_ms=case.lateness_ms.get(iri, 0), absorb=case.absorb.get(iri, False))
    found = []
    for query in case.queries:
        batches: list[AnswerBatch] = []
        found.append((session.register(query.text, name=query.name, on_batch=batches.append), batches))
    for iri, lines in schedule_of(case, batching):
        hand_over(session, iri, lines)
    session.finish()
    assert not session.failures, session.failures
    return found


def rebatched(batches: list[AnswerBatch], dice: Random) -> list[AnswerBatch]:
    """The same reports in batches of other sizes."""
    singles = [batch.part(at, at + 1) for batch in batches for at in range(len(batch))]
    result = []
    while singles:
        size = dice.choice([1, 2, 5, 100])
        result.append(joined(singles[:size]))
        singles = singles[size:]
    return result


def read(term: Term | None, kind: pa.DataType) -> Any:
    """What a term is in a column of one datatype, by the type that the column has."""
    if not isinstance(term, Literal):
        return term.value if isinstance(term, Iri) else term and str(term)
    if kind == pa.int64():
        return int(term.lexical)
    if pa.types.is_floating(kind):
        return float(term.lexical)
    if pa.types.is_decimal(kind):
        return Decimal(term.lexical)
    if kind == pa.bool_():
        return term.lexical in ("true", "1")
    if pa.types.is_timestamp(kind):
        moment = datetime.fromisoformat(term.lexical)
        return moment if kind.tz is None else moment.astimezone(UTC)
    assert kind == pa.dictionary(pa.int32(), pa.large_string())
    return term.lexical


def is_mixed(terms: list[Term | None]) -> bool:
    kinds = {(type(term), getattr(term, "datatype", None), getattr(term, "language", None)) for term in terms if term}
    return len(kinds) > 1


def compare(query: RegisteredQuery, batches: list[AnswerBatch]) -> None:
    def waiting() -> RegisteredQuery:
        return RegisteredQuery(query.name, query.variables, deque(batches), columns=query.columns)

    reports = waiting().take()
    assert [(report.time_ms, report.rows.tolist()) for report in waiting()] == [
        (report.time_ms, report.rows.tolist()) for report in reports
    ]
    for batch in batches:
        assert batch_json(batch) == b"".join(report_json(report, batch.dictionary) for report in batch.reports())
    table = waiting().take_arrow()
    columns = query.columns or query.variables
    assert table.schema.names[1:] == list(columns)
    times = [report.time_ms for report in reports for _ in report.shown.rows]
    assert table.column(0).cast(pa.int64()).to_pylist() == times
    bindings = [row for report in reports for row in report.bindings()]
    for name in columns:
        terms = [row.get(name) for row in bindings]
        if is_mixed(terms):
            expected = [None if term is None else str(term).replace("\t", "\\t") for term in terms]
        else:
            expected = [read(term, table.schema.field(name).type) for term in terms]
        assert table.column(name).to_pylist() == expected


@pytest.mark.parametrize("block", range(BLOCKS))
def test_columns_have_what_reports_have(block: int, tmp_path: Path) -> None:
    compared = 0
    for seed in range(FIRST_SEED + block, FIRST_SEED + CASES, BLOCKS):
        dice = Random(seed)
        try:
            found = answers(scenario(seed), dice.randrange(3), tmp_path)
        except UnsupportedError:
            continue
        for query, batches in found:
            compare(query, batches)
            compare(query, rebatched(batches, dice))
            compared += len(batches)
    assert compared
