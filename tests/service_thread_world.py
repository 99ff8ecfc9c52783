"""Queries that have threads of their own, as they join mentions of users with what an endpoint says of them."""

from __future__ import annotations

from freshet.federation.settings import ServiceSettings
from freshet.native.service.service_thread import ServiceQueryThread
from freshet.results.report import Freshness, Report
from freshet.runtime.session import Session
from sparql_endpoint import EndpointProcess

EX = "http://example.org/"
STREAM = EX + "mentions"
QUICK = ServiceSettings(hosts=("127.0.0.1",), timeout_seconds=20, backoff_seconds=0.01, attempts=1)


def query_text(
    endpoint: EndpointProcess, name: str = "q", *, silent: str = "", window: str = "[RANGE PT10S STEP PT10S]"
) -> str:
    return f"""PREFIX : <{EX}> REGISTER RSTREAM <{name}> AS SELECT ?user ?post ?n
        FROM NAMED WINDOW <w> ON <{STREAM}> {window}
        WHERE {{ WINDOW <w> {{ ?user :isMentionedIn ?post }}
                 SERVICE {silent} <{endpoint.url}> {{ ?user :followers ?n }} }}"""


def mention(session: Session, second: float, *users: int, post: str = "p") -> None:
    lines = [f"{int(second * 1000)}\t<{EX}u{user}> <{EX}isMentionedIn> <{EX}{post}{user}> ." for user in users]
    session.push(STREAM, "\n".join(lines))


def thread_of(session: Session) -> ServiceQueryThread:
    [thread] = session.engine.service_threads.all()
    return thread


def freshness(report: Report) -> Freshness:
    assert report.freshness is not None
    return report.freshness
