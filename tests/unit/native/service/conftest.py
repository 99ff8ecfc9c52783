"""A session with a stream of mentions, and an endpoint that knows the followers of those who are mentioned."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from followed_mentions import EX, QUICK, STREAM, USERS
from freshet.runtime.session import Session
from sparql_endpoint import EndpointProcess


@pytest.fixture
def endpoint(endpoint: EndpointProcess) -> EndpointProcess:
    """It says 10 n of user n, and of one of them two things."""
    endpoint.update("DELETE WHERE { ?s ?p ?o }")
    rows = " ".join(f"<{EX}u{n}> <{EX}followers> {n * 10} ." for n in range(USERS))
    endpoint.update(f"INSERT DATA {{ {rows} <{EX}u3> <{EX}followers> 33 }}")
    return endpoint


@pytest.fixture
def session() -> Iterator[Session]:
    made = Session(services=QUICK)
    made.stream(STREAM)
    yield made
    made.services.close()
