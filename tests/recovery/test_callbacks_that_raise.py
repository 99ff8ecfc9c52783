"""Callbacks of a session with a checkpoint raise: no report of another query is lost by it, nor after a restart."""

from __future__ import annotations

from pathlib import Path

import pytest

from declaring import register
from freshet import Session
from freshet.rdf.errors import InputError
from freshet.results.report import Report
from freshet.runtime.query_failure import QueryFailure
from short_lives import IRI, QUERY, line

OTHER = QUERY.replace("<q>", "<other>")


def raising(report: Report) -> None:
    raise ValueError("nobody wants this")


def test_what_on_failure_raises_loses_nothing(tmp_path: Path) -> None:
    def fail(failure: QueryFailure) -> None:
        raise KeyError(failure.query)

    reported: list[int] = []
    with Session(checkpoint=tmp_path, on_failure=fail) as session:
        register(session, QUERY, on_report=raising)
        register(session, OTHER, on_report=lambda report: reported.append(report.time_ms))
        with pytest.warns(UserWarning, match="on_failure raised KeyError: 'q'; the query q failed"):
            session.push(IRI, "\n".join(map(line, (500, 1500, 2500))))
    assert reported == [1000, 2000]
    with Session(checkpoint=tmp_path) as session:
        assert session.engine.names == ["other"]
        session.registered("other", on_report=lambda report: reported.append(report.time_ms))
        session.push(IRI, line(3500))
    assert reported == [1000, 2000, 3000]


@pytest.mark.parametrize("is_closed", [True, False])
def test_reports_of_a_call_that_was_ended_come_after_a_restart(tmp_path: Path, is_closed: bool) -> None:
    def interrupt(report: Report) -> None:
        if report.time_ms == 2000:
            raise KeyboardInterrupt

    reported: list[int] = []
    session = Session(checkpoint=tmp_path)
    register(session, QUERY, on_report=interrupt)
    register(session, OTHER, on_report=lambda report: reported.append(report.time_ms))
    session.push(IRI, "\n".join(map(line, (500, 1500))))
    with pytest.raises(KeyboardInterrupt):
        session.push(IRI, line(2500))
    positions = session.positions()
    for call in (lambda: session.push(IRI, line(3500)), session.checkpoint, lambda: session.unregister("q")):
        with pytest.raises(InputError, match="KeyboardInterrupt ended an earlier call in the middle"):
            call()
    assert reported == [1000]
    if is_closed:
        session.close()
    else:
        session._durable._checkpoint._stop.set()
        session._durable._checkpoint.release()
    with Session(checkpoint=tmp_path) as session:
        assert session.positions() == positions  # what was refused is not there
        session.registered("other", on_report=lambda report: reported.append(report.time_ms))
        session.push(IRI, line(3500))
    assert reported == [1000, 2000, 3000]


def test_a_callback_that_raises_when_it_gets_what_waits_may_be_replaced(tmp_path: Path) -> None:
    reported: list[int] = []

    def second_fails(report: Report) -> None:
        if reported:
            raise ValueError("one is enough")
        reported.append(report.time_ms)

    with Session(checkpoint=tmp_path) as session:
        register(session, QUERY)
        session.push(IRI, "\n".join(map(line, (500, 1500, 2500, 3500))))
        with pytest.raises(ValueError, match="one is enough"):
            session.registered("q", on_report=second_fails)
        session.registered("q", on_report=lambda report: reported.append(report.time_ms))
        assert reported == [1000, 2000, 3000]
