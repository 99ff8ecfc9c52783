"""Mentions of users, joined with how many followers an endpoint says they have."""

from __future__ import annotations

from freshet.federation.settings import ServiceSettings
from freshet.results.report import Report
from freshet.runtime.session import RegisteredQuery, Session
from sparql_endpoint import EndpointProcess

EX = "http://example.org/"
STREAM = EX + "mentions"
USERS = 12
QUICK = ServiceSettings(hosts=("127.0.0.1",), timeout_seconds=60, connect_seconds=60, backoff_seconds=0.01, attempts=1)


def query_text(service: str, *, select: str = "?user ?post ?n", width: int = 10, more: str = "") -> str:
    return f"""PREFIX : <{EX}> REGISTER RSTREAM <q> AS SELECT {select}
        FROM NAMED WINDOW <w> ON <{STREAM}> [RANGE PT{width}S STEP PT10S]
        WHERE {{ WINDOW <w> {{ ?user :isMentionedIn ?post }} {service} }} {more}"""


def followers(endpoint: EndpointProcess) -> str:
    return f"SERVICE <{endpoint.url}> {{ ?user :followers ?n }}"


def mention(session: Session, second: float, *users: int) -> None:
    lines = [
        f"{int(second * 1000)}\t<{EX}u{user}> <{EX}isMentionedIn> <{EX}p{int(second)}-{at}> ."
        for at, user in enumerate(users)
    ]
    session.push(STREAM, "\n".join(lines))


def closed(session: Session, query: RegisteredQuery, second: int) -> list[Report]:
    """Let time come to a close, and wait for the report."""
    session.advance(STREAM, second * 1000)
    session.engine.drain()
    return query.take()


def counts(session: Session, report: Report) -> list[tuple[str, str]]:
    rows = [{name: str(term) for name, term in row.items()} for row in session.bindings(report)]
    return sorted((row["user"][len(EX) + 1 : -1], row["n"].split('"')[1] if "n" in row else "-") for row in rows)
