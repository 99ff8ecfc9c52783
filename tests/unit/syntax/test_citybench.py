"""The RSP-QL queries of CityBench, in the two versions that others have published."""

from __future__ import annotations

import pytest

from freshet.algebra.nodes import StreamOperator
from freshet.rdf.errors import QuerySyntaxError
from freshet.syntax.parser import parse_query
from shared_data import shared

FOLDERS = {"rspql-from-rsp4j": 11, "aligned/rspql_query": 16}

BROKEN = {
    # The file itself is wrong: SELECT ?service ?p with GROUP BY ?service.
    "rspql-from-rsp4j/q12.rspql": (8, 17, "?p is neither a key of GROUP BY nor aggregated"),
    "aligned/rspql_query/Q12.txt": (8, 17, "?p is neither a key of GROUP BY nor aggregated"),
    # The file itself is wrong: `ssn:observedBy>` has a stray bracket.
    "aligned/rspql_query/Q9.txt": (30, 30, "expected an RDF term, a path operator or a variable, but found '>'"),
}


@pytest.mark.parametrize("folder", FOLDERS)
def test_queries(folder):
    root = shared("data/citybench")
    paths = sorted((root / folder).iterdir())
    assert len(paths) == FOLDERS[folder]
    broken = {}
    for path in paths:
        name = path.relative_to(root).as_posix()
        try:
            query = parse_query(path.read_text(encoding="utf-8"), file=name)
        except QuerySyntaxError as error:
            broken[name] = (error.line, error.column, error.message)
            continue
        assert query.name
        assert query.output is StreamOperator.RSTREAM
        assert {(each.window.width_ms, each.window.slide_ms) for each in query.windows} == {(3000, 1000)}
    assert broken == {name: place for name, place in BROKEN.items() if name.startswith(folder)}
