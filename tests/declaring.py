"""Queries over streams of which a test has nothing to say but their names."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from freshet import FreshetError, Iri, RegisteredQuery, Session
from freshet.syntax.parser import parse_query


def declare_streams(session: Session, text: str, dialect: str | None = None) -> None:
    """Declare the streams that a query reads and that are not there yet, with the defaults."""
    for declaration in parse_query(text, dialect=dialect).windows:
        stream = declaration.window.stream
        if isinstance(stream, Iri) and stream.value not in session.engine.streams:
            session.stream(stream.value)


def register(session: Session, text: str, **options: Any) -> RegisteredQuery:
    """Register a query, with the streams that it reads."""
    with suppress(FreshetError):  # which the session raises too
        declare_streams(session, text, options.get("dialect"))
    return session.register(text, **options)
