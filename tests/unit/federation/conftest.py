"""A real endpoint in a second process, and a client that asks it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from asking import Asking
from sparql_endpoint import EndpointProcess

DATA = """
@prefix : <http://example.org/> .
:a :followers 10 . :b :followers 20 . :c :followers 30 . :d :followers 40 .
:a :name "Ada"@en . :b :name "tab\\tnew\\nline" . :c :friend _:x . _:x :name "nobody" .
"""


@pytest.fixture(scope="session")
def endpoint_process() -> Iterator[EndpointProcess]:
    process = EndpointProcess(DATA)
    yield process
    process.stop()


@pytest.fixture
def asking() -> Iterator[Asking]:
    made = Asking()
    yield made
    made.client.close()
