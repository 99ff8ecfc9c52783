"""What an editor of queries asks: how a text is understood, and which names there are to complete it with."""

from __future__ import annotations

import re
from collections.abc import Iterable

import orjson
from starlette.requests import Request
from starlette.responses import Response

from freshet.rdf.deadline import Deadline, QueryStoppedError
from freshet.results.report import Solutions
from freshet.runtime.session import Session
from freshet.server.bodies import media_type, read_body, text_of
from freshet.server.holders import limits_of
from freshet.server.served import served

_COMMON = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "sosa": "http://www.w3.org/ns/sosa/",
    "ssn": "http://www.w3.org/ns/ssn/",
    "geo": "http://www.opengis.net/ont/geosparql#",
    "schema": "http://schema.org/",
    "foaf": "http://xmlns.com/foaf/0.1/",
}
_PREFIX = re.compile(r"PREFIX\s+([\w-]*):\s*<([^>\s]*)>", re.IGNORECASE)
_PREDICATES = "SELECT DISTINCT ?p { ?s ?p ?o } LIMIT 2000"
_SECONDS = 20.0  # the editor does not wait for them


async def explain(request: Request) -> Response:
    """How a query is understood and would be answered; an error has its line and column."""
    shared = served(request)
    text = text_of(await read_body(request), media_type(request)[1])
    dialect = request.query_params.get("dialect")
    deadline = Deadline(limits_of(request).query_seconds)

    def explained() -> dict[str, object]:
        with deadline.running():
            return shared.session.explain(text, dialect=dialect).json()

    found = await shared.asking.submit(explained)
    return Response(orjson.dumps(found), media_type="application/json")


async def vocabulary(request: Request) -> Response:
    """The prefixes, streams and predicates in use."""
    shared = served(request)
    found = await shared.asking.submit(_vocabulary, shared.session)
    return Response(orjson.dumps(found), media_type="application/json")


def _vocabulary(session: Session) -> dict[str, object]:
    texts = [query.text for query in session.queries()]
    return {
        "prefixes": _COMMON | prefixes_of(texts),
        "streams": sorted(session.engine.streams),
        "predicates": _predicates(session),
    }


def prefixes_of(texts: Iterable[str]) -> dict[str, str]:
    """The prefixes that texts declare.

    >>> prefixes_of(["PREFIX ex: <http://example.org/> SELECT * {}"])
    {'ex': 'http://example.org/'}
    """
    return {name: iri for text in texts for name, iri in _PREFIX.findall(text) if name}


def _predicates(session: Session) -> list[str]:
    """The predicates of the stored graph, unless finding them takes too long."""
    try:
        answer = session.query(_PREDICATES, timeout_seconds=_SECONDS)
    except QueryStoppedError:
        return []
    assert isinstance(answer, Solutions)
    return sorted(answer.to_arrow()["p"].to_pylist())
