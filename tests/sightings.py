"""Users that were seen, and at which of two endpoints, as queries with SERVICE ?where join them."""

from __future__ import annotations

from freshet.federation.settings import ServiceSettings
from freshet.results.report import Freshness, Report
from freshet.runtime.session import RegisteredQuery, Session

EX = "http://example.org/"
STREAM = EX + "sightings"
USERS = 8
QUICK = ServiceSettings(
    hosts=("127.0.0.1",), timeout_seconds=20, connect_seconds=5, backoff_seconds=0.01, attempts=1, open_seconds=0.01
)
FOLLOWERS = "{ ?user :followers ?n }"
Row = tuple[str, str, str]


def query_text(pattern: str, name: str = "q") -> str:
    return f"""PREFIX : <{EX}> REGISTER RSTREAM <{name}> AS SELECT ?user ?where ?n
        FROM NAMED WINDOW <w> ON <{STREAM}> [RANGE PT10S STEP PT10S] WHERE {{ {pattern} }}"""


def seen_at(service: str) -> str:
    """The window binds the endpoint."""
    return query_text(f"WINDOW <w> {{ ?user :seenAt ?where }} {service}")


def saw(session: Session, second: int, *rows: tuple[int, str]) -> None:
    """Users that were seen, and where: an IRI, a literal, or nowhere."""
    lines = [f"{second * 1000}\t<{EX}u{user}> <{EX}is> <{EX}User> ." for user, _ in rows]
    lines += [f"{second * 1000}\t<{EX}u{user}> <{EX}seenAt> {term(at)} ." for user, at in rows if at]
    session.push(STREAM, "\n".join(lines))


def term(at: str) -> str:
    return at if at.startswith('"') else f"<{at}>"


def closed(session: Session, query: RegisteredQuery, second: int) -> list[Report]:
    session.advance(STREAM, second * 1000)
    session.engine.drain()
    assert not session.failures
    return query.take()


def rows_of(session: Session, report: Report) -> list[tuple[str, str]]:
    return sorted((user, n) for user, _, n in full_rows(session.bindings(report)))


def full_rows(bindings: object) -> list[Row]:
    found = []
    for row in bindings:  # type: ignore[attr-defined]
        text = {name: str(term) for name, term in row.items()}
        n = text["n"].split('"')[1] if "n" in text else "-"
        found.append((text["user"][len(EX) + 1 : -1], text.get("where", "-"), n))
    return sorted(found)


def freshness(report: Report) -> Freshness:
    assert report.freshness is not None
    return report.freshness
