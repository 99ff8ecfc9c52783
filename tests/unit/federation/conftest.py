"""A real endpoint in a second process, for all tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

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
def endpoint(endpoint_process: EndpointProcess) -> EndpointProcess:
    """The endpoint, well behaved."""
    endpoint_process.does()
    return endpoint_process
