"""Why a query reported a row, over HTTP: by the id of the event, and the number of the row in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

import orjson
from starlette.requests import Request
from starlette.responses import Response

from freshet.rdf.deadline import Deadline
from freshet.results.read_report import read_report
from freshet.results.why import MOST_MEMBERS, Why, WindowElement
from freshet.runtime.session import Session
from freshet.server.problems import Problem
from freshet.server.queries import find_query, json_response, parse_term
from freshet.server.served import Served, served

_MOST_MEMBERS = 10_000
_OWN = {"id", "row", "members", "access_token"}  # parameters that are not those of a query


async def why(request: Request) -> Response:
    """The elements, stored triples and source records behind a row of a report."""
    shared, name, given = served(request), request.path_params["name"], request.query_params
    if definition := shared.session.definitions.get(name):
        bindings = {key: parse_term(value) for key, value in given.items() if key not in _OWN}
        name = definition.bound_name(bindings)
    find_query(shared.session, name)
    if "id" not in given:
        raise Problem(400, "id is missing: the id of the event that has the row")
    row = _number(given.get("row", "0"), "row", 0)
    members = min(_number(given.get("members", str(MOST_MEMBERS)), "members", 1), _MOST_MEMBERS)
    return json_response(await shared.asking.submit(_explain, shared, name, given["id"], row, members))


def _number(text: str, name: str, least: int) -> int:
    if not (text.isascii() and text.isdigit() and int(text) >= least):
        raise Problem(400, f"{name} is a whole number from {least} on, not '{text[:80]}'")
    return int(text)


def _explain(shared: Served, name: str, report_id: str, row: int, members: int) -> dict[str, Any]:
    """In a thread."""
    session, limits = shared.session, shared.settings.limits
    query = find_query(session, name)
    moment, line = shared.standing.log.find(name, report_id)
    deadline = Deadline(limits.query_seconds, limits.query_bytes)
    with session.dictionary.pins:
        report = read_report(line, query.variables, moment, session.dictionary)
        found = query.why(report, row, members=members, deadline=deadline)
    links = {element: _link(shared, element) for element in found.elements if element.query is not None}
    return {"id": report_id, "row_number": row, **_with_links(found, links)}


def _with_links(found: Why, links: dict[WindowElement, str | None]) -> dict[str, Any]:
    """The explanation as JSON; elements that are answers of queries have a link that explains these."""
    answer = found.json()
    by_text = {orjson.dumps(element.json()): link for element, link in links.items() if link}
    if by_text:
        for element in _elements(answer["derivations"]):
            if link := by_text.get(orjson.dumps(element)):
                element["why"] = link
    return answer


def _elements(derivations: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for derivation in derivations:
        yield from derivation["elements"]
        for members in derivation.get("members", ()):
            yield from _elements(members["derivations"])


def _link(shared: Served, element: WindowElement) -> str | None:
    """Where the answer of another query that an element was is explained; None where its report is gone."""
    assert element.query is not None
    log, session = shared.standing.log, shared.session
    for report_id in log.ids_at(element.query, element.time_ms):
        row = _row_of(session, element, log.find(element.query, report_id))
        if row is not None:
            return f"/queries/{quote(element.query, safe='')}/why?{urlencode({'id': report_id, 'row': row})}"
    return None


def _row_of(session: Session, element: WindowElement, found: tuple[int, bytes]) -> int | None:
    moment, line = found
    with session.dictionary.pins:
        report = read_report(line, (), moment, session.dictionary)
        rows = [tuple(row.values()) for row in report.bindings()]
    return rows.index(element.triple) if element.triple in rows else None
