"""A session in which few elements may wait for a query that has a thread of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from freshet.runtime.session import Session
from service_thread_world import EX, QUICK, STREAM
from sparql_endpoint import EndpointProcess


@pytest.fixture(scope="session")
def endpoint_process() -> Iterator[EndpointProcess]:
    made = EndpointProcess("".join(f"<{EX}u{n}> <{EX}followers> {n} ." for n in range(100)))
    yield made
    made.stop()


@pytest.fixture
def session() -> Iterator[Session]:
    with Session(services=replace(QUICK, most_behind=10)) as made:
        made.stream(STREAM)
        yield made
