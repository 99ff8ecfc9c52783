"""Where the tests meet the engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from freshet.federation.settings import ServiceSettings
from freshet.rdf.dictionary import Dictionary
from freshet.results.report import Answer
from freshet.results.write import write_answer
from freshet.runtime.session import Session
from sparql_endpoint import JSON, port_of, served

NO_SERVICES = ServiceSettings()


@contextmanager
def endpoints(data: Sequence[tuple[str, Path]]) -> Iterator[ServiceSettings]:
    """Freshet itself behind HTTP in place of each endpoint; they may ask one another."""
    if not data:
        yield NO_SERVICES
        return
    files = [path for _, path in data]
    # unknown hosts must not be looked for in the world outside, so only this machine is allowed
    settings = ServiceSettings(hosts=("127.0.0.1",))

    def remote_answer(path: str, query: str) -> tuple[bytes, str]:
        session = Session(services=settings)
        session.load(files[int(path.removeprefix("/"))])
        return write_answer(session.query(query), session.dictionary, "json"), JSON

    with served(remote_answer) as server:
        urls = {iri: f"http://127.0.0.1:{port_of(server)}/{at}" for at, (iri, _) in enumerate(data)}
        settings = replace(settings, aliases=urls)
        yield settings


def answer(
    text: str,
    base: str,
    default_files: Iterable[Path],
    named_files: Iterable[Path],
    services: ServiceSettings = NO_SERVICES,
) -> tuple[Answer, Dictionary]:
    """The answer to a query over the files of its dataset, with the dictionary of its ids."""
    session = Session(services=services)
    session.load(*default_files)
    for path in named_files:
        session.load(path, graph=path.as_uri())
    return session.query(f"BASE <{base}>\n{text}"), session.dictionary
