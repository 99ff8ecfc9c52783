"""A stream of mentions, joined with a remote endpoint whose data change: `python influential.py`.

The endpoint runs in this process. Every two seconds of event time some users get new followers there. The query keeps a
local view of the endpoint's data and refreshes only as many of its entries as the accuracy needs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from time import sleep

from endpoint import Endpoint

import freshet

HERE = Path(__file__).parent
EX = "http://example.org/social/"
USERS = 20
WINDOWS = 16
PAUSE_SECONDS = 0.25  # between windows


@dataclass
class Followers:
    """The remote data: how many followers each user has, and has had."""

    endpoint: Endpoint
    now: dict[int, int] = field(default_factory=dict)
    seen: set[tuple[str, int]] = field(default_factory=set)

    def change(self, user: int, count: int) -> None:
        self.endpoint.store.update(f"""
            DELETE {{ <{EX}user/{user}> <{EX}followers> ?old }}
            INSERT {{ <{EX}user/{user}> <{EX}followers> {count} }}
            WHERE {{ OPTIONAL {{ <{EX}user/{user}> <{EX}followers> ?old }} }}""")
        self.now[user] = count
        self.seen.add((f"{EX}user/{user}", count))


def main(windows: int = WINDOWS) -> tuple[list[freshet.Report], Followers]:
    """Run the example; gives its reports and what the endpoint had."""
    random, reports = Random(16), []
    with Endpoint(delay_seconds=0.02) as endpoint:
        followers = Followers(endpoint)
        for user in range(USERS):
            followers.change(user, random.randrange(10, 500))
        settings = freshet.ServiceSettings(
            hosts=(endpoint.host,),  # nothing else may be asked
            aliases={"http://followers.example.org/sparql": f"http://{endpoint.host}/sparql"},
        )
        with freshet.Session(services=settings) as session:
            session.stream(EX + "mentions")
            session.register((HERE / "influential.rq").read_text(), on_report=reports.append)
            for window in range(windows):
                for user in random.sample(range(USERS), 2):
                    followers.change(user, followers.now[user] + 1)
                session.push(EX + "mentions", mentions(random, window))
                session.advance(EX + "mentions", 2000 * (window + 1))
                session.drain()  # a query with SERVICE reports from a thread of its own
                sleep(PAUSE_SECONDS)
            session.finish()
        for report in reports:
            show(report)
        entries = sum(len(report.rows) for report in reports)
        asked = sum(report.freshness.refreshes for report in reports)
        print(f"{entries} answers, {asked} entries fetched, in {endpoint.requests} requests")
    return reports, followers


def mentions(random: Random, window: int) -> str:
    """Eight mentions of users, as timed N-Triples."""
    lines = [
        f"{2000 * window + 200 * at}\t<{EX}post/{window}-{at}> <{EX}mentions> <{EX}user/{random.randrange(USERS)}> ."
        for at in range(8)
    ]
    return "\n".join(lines)


def show(report: freshet.Report) -> None:
    fresh = report.freshness
    print(
        f"{report.time_ms // 1000:>3} s  {len(report.rows):>2} users  accuracy {fresh.accuracy:.2f}"
        f"  {fresh.refreshes:>2} fetched  {fresh.latency_ms:.0f} ms"
    )


if __name__ == "__main__":
    main()
