"""A SERVICE client that asks for the followers of users, and its answers as terms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from freshet.algebra.nodes import Project, Service
from freshet.federation.client import Bindings, Columns, ServiceClient
from freshet.federation.service_query import ServiceQuery
from freshet.federation.settings import ServiceSettings
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import Iri, Literal, Term
from freshet.syntax.parser import parse_query

PREFIX = "PREFIX : <http://example.org/> "
QUICK = ServiceSettings(hosts=("127.0.0.1",), timeout_seconds=60, connect_seconds=60, backoff_seconds=0.01, attempts=2)
IMPATIENT = replace(QUICK, timeout_seconds=0.6)  # for endpoints that do not answer in any time


def service_query(pattern: str) -> ServiceQuery:
    query = parse_query(f"{PREFIX} SELECT * {{ SERVICE <http://remote/> {{ {pattern} }} }}")
    assert isinstance(query.root, Project)
    assert isinstance(query.root.child, Service)
    return ServiceQuery(query.root.child.child)


FOLLOWERS = service_query("?user :followers ?count")


class Asking:
    """A client with a dictionary, and answers as terms."""

    def __init__(self, settings: ServiceSettings = QUICK) -> None:
        self.client = ServiceClient(settings)
        self.dictionary = Dictionary()

    def bindings(self, name: str, *terms: Term) -> Bindings:
        return Bindings((name,), np.array([[self.dictionary.encode(term)] for term in terms], np.int64).reshape(-1, 1))

    def __call__(
        self, url: str, query: ServiceQuery = FOLLOWERS, bindings: Bindings | None = None
    ) -> set[tuple[str, ...]]:
        return self.rows(self.client.solutions(url, query, self.dictionary, bindings), query)

    def rows(self, found: Columns, query: ServiceQuery) -> set[tuple[str, ...]]:
        columns = [self.dictionary.decode_many(found.ids[name]) for name in query.variables]
        rows = list(zip(*columns, strict=True))
        assert len(rows) == found.count
        return {tuple(str(term).replace("http://example.org/", "") for term in row) for row in rows}


def iri(name: str) -> Iri:
    return Iri(f"http://example.org/{name}")


def integer(number: int) -> str:
    return str(Literal(str(number), Iri("http://www.w3.org/2001/XMLSchema#integer")))


ALL = {(f"<{user}>", integer(count)) for user, count in zip("abcd", (10, 20, 30, 40), strict=True)}
