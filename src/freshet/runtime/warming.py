"""Kernels are compiled when they are first called, which takes a while the first time. Better before data comes."""

from __future__ import annotations

import pyarrow as pa

from freshet.rdf.arrow import texts
from freshet.rdf.ntriples import split_timed
from freshet.results.answers import AnswerBatch
from freshet.rml.json_lines import TimeReference, path_tree, read_lines
from freshet.runtime.session import Session

_STREAM = "http://example.org/warming"
_QUERY = """
PREFIX : <http://example.org/>
SELECT ?k (COUNT(*) AS ?n) (AVG(?v) AS ?mean) (MIN(?v) AS ?least) (MAX(?v) AS ?most) (SUM(?w) AS ?sum)
FROM NAMED WINDOW <a> ON :warming [RANGE PT2S STEP PT1S]
FROM NAMED WINDOW <b> ON :warming [RANGE PT3S STEP PT1S]
WHERE {
  WINDOW <a> { ?s :k ?k ; :v ?v } WINDOW <b> { ?t :k ?k ; :w ?w }
  FILTER (?v > 0.5 * ?w && ?k != "x")
} GROUP BY ?k
"""
_PLAIN = """
PREFIX : <http://example.org/>
REGISTER ISTREAM <plain> AS SELECT ?s ?k FROM NAMED WINDOW <a> ON :warming [RANGE PT2S STEP PT1S]
WHERE { WINDOW <a> { ?s :k ?k } }
"""


def warm_kernels() -> int:
    """Run a small query of every kind once, so that what a pipeline calls is compiled, or loaded, by then.

    Gives the number of reports.
    """
    lines = [
        f"{second * 500}\t<http://example.org/s{second % 3}> <http://example.org/{name}> {value} .\n"
        for second in range(12)
        for name, value in (
            ("k", f'"k{second % 2}"'),
            ("v", f'"{second}.5"^^<http://www.w3.org/2001/XMLSchema#decimal>'),
            ("w", f'"{second}"^^<http://www.w3.org/2001/XMLSchema#integer>'),
        )
    ]
    session = Session()

    written: list[bytes] = []

    def write(batch: AnswerBatch) -> None:
        written.append(session.ndjson(batch))

    session.stream(_STREAM)
    for query in (_QUERY, _PLAIN):
        session.register(query, on_batch=write)
    session.push(_STREAM, "".join(lines))
    session.finish()
    split_timed(texts([line.rstrip("\n") for line in lines]))
    read_lines(texts(['{"a": {"b": "\\n1"}}']), path_tree([("a", "b")]), TimeReference(0, True))
    session.dictionary.intern_texts(pa.chunked_array([texts(["a"]), pa.nulls(1, pa.large_string())]), "<", ">")
    return b"".join(written).count(b"\n")
