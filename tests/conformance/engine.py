"""Where the tests meet the engine."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from freshet.rdf.dictionary import Dictionary
from freshet.results.report import Answer
from freshet.runtime.session import Session


def answer(
    text: str, base: str, default_files: Iterable[Path], named_files: Iterable[Path]
) -> tuple[Answer, Dictionary]:
    """The answer to a query over the files of its dataset, with the dictionary of its ids."""
    session = Session()
    session.load(*default_files)
    for path in named_files:
        session.load(path, graph=path.as_uri())
    return session.query(f"BASE <{base}>\n{text}"), session.dictionary
