"""The queries of CityBench, in the three streaming dialects and as others have published them again."""

from __future__ import annotations

import time

import pytest

from freshet.algebra.nodes import Query, StreamOperator
from freshet.algebra.windows import RangeWindow, SlidingWindow
from freshet.rdf.errors import QuerySyntaxError
from freshet.syntax.parser import parse_query
from shared_data import shared

FOLDERS = {
    # folder: (dialect, number of files)
    "rspql-from-rsp4j": ("rspql", 11),
    "aligned/rspql_query": ("rspql", 16),
    "csparql_query": ("csparql", 19),
    "cqels_query": ("cqels", 18),
}

BROKEN = {
    # The file itself is wrong: SELECT ?service ?p with GROUP BY ?service.
    "rspql-from-rsp4j/q12.rspql": (8, 17, "?p is neither a key of GROUP BY nor aggregated"),
    "aligned/rspql_query/Q12.txt": (8, 17, "?p is neither a key of GROUP BY nor aggregated"),
    # The file itself is wrong: `ssn:observedBy>` has a stray bracket.
    "aligned/rspql_query/Q9.txt": (30, 30, "expected an RDF term, a path operator or a variable, but found '>'"),
}


@pytest.mark.parametrize("named", [False, True], ids=["recognised", "named"])
@pytest.mark.parametrize("folder", FOLDERS)
def test_queries(folder, named):
    root = shared("data/citybench")
    dialect, count = FOLDERS[folder]
    paths = sorted((root / folder).iterdir())
    assert len(paths) == count
    broken = {}
    for path in paths:
        name = path.relative_to(root).as_posix()
        try:
            query = parse_query(path.read_text(encoding="utf-8"), file=name, dialect=dialect if named else None)
        except QuerySyntaxError as error:
            broken[name] = (error.line, error.column, error.message)
            continue
        CHECKS[dialect](query)
    assert broken == {name: place for name, place in BROKEN.items() if name.startswith(folder)}


def check_rspql(query: Query) -> None:
    assert query.name
    assert query.output is StreamOperator.RSTREAM
    assert {(each.window.width_ms, each.window.slide_ms) for each in query.windows} == {(3000, 1000)}


def check_csparql(query: Query) -> None:
    assert query.merged
    assert query.output is StreamOperator.RSTREAM
    assert query.windows
    assert all(isinstance(each.window, SlidingWindow) for each in query.windows)
    assert {each.window.slide_ms for each in query.windows} <= {1000, 1500, 10_000}


def check_cqels(query: Query) -> None:
    assert not query.merged
    assert query.output is StreamOperator.ISTREAM
    assert query.windows
    assert all(isinstance(each.window, RangeWindow) for each in query.windows)
    assert not any(each.window.tumbling for each in query.windows)


CHECKS = {"rspql": check_rspql, "csparql": check_csparql, "cqels": check_cqels}


def test_queries_in_no_query_language():
    """The files for engines without a query language begin with datasets, in a notation of the benchmark's own."""
    paths = sorted((shared("data/citybench") / "aligned/unsupported_query").iterdir())
    assert len(paths) == 20
    for path in paths:
        with pytest.raises(QuerySyntaxError, match=r": expected a query .* but found 'FROM'$") as caught:
            parse_query(path.read_text(encoding="utf-8"))
        assert (caught.value.line, caught.value.column) == (1, 1)


def test_speed():
    """Some 3 ms a query once the grammar is loaded, by the processor's clock; the limit is for busy machines."""
    for path in sorted(shared("data/citybench").glob("*_query/*.txt")):
        text = path.read_text(encoding="utf-8")
        assert min(_parsing_ms(text) for _ in range(5)) < 20, path.name


def _parsing_ms(text: str) -> float:
    started = time.thread_time_ns()
    parse_query(text)
    return (time.thread_time_ns() - started) / 1e6
