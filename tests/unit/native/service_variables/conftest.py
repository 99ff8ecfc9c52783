"""A session with a stream of sightings, and two endpoints where users are seen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from freshet.runtime.session import Session
from sightings import (
    EX,
    QUICK,
    STREAM,
    USERS,
)
from sparql_endpoint import EndpointProcess


@pytest.fixture(scope="module")
def processes() -> Iterator[tuple[EndpointProcess, EndpointProcess]]:
    made = EndpointProcess(), EndpointProcess()
    yield made
    for each in made:
        each.stop()


@pytest.fixture
def endpoints(processes: tuple[EndpointProcess, EndpointProcess]) -> tuple[EndpointProcess, EndpointProcess]:
    """The first says 10 n of user n, the second 100 n."""
    for process, times in zip(processes, (10, 100), strict=True):
        process.does()
        rows = " ".join(f"<{EX}u{n}> <{EX}followers> {n * times} ." for n in range(USERS))
        process.update(f"DELETE WHERE {{ ?s ?p ?o }}; INSERT DATA {{ {rows} }}")
    return processes


@pytest.fixture
def session() -> Iterator[Session]:
    with Session(services=QUICK) as made:
        made.stream(STREAM)
        yield made
