"""A session with a checkpoint and a query with SERVICE, run as a program so that it can be killed: FOLDER URL BATCHES.

It goes on where the session before it was, says on a line when a batch is in, and waits for a moment between two.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from freshet import Session
from freshet.results.answers import AnswerBatch
from freshet.runtime.sinks import FileSink

EX = "http://example.org/"
STREAM = EX + "mentions"
WINDOW_SECONDS = 20
STEP_SECONDS = 10


def query_text(url: str) -> str:
    return f"""PREFIX : <{EX}> REGISTER RSTREAM <q> AS SELECT ?user ?post ?n
        FROM NAMED WINDOW <w> ON <{STREAM}> [RANGE PT{WINDOW_SECONDS}S STEP PT{STEP_SECONDS}S]
        WHERE {{ WINDOW <w> {{ ?user :isMentionedIn ?post }} SERVICE <{url}> {{ ?user :followers ?n }} }}"""


def batch(number: int) -> str:
    """Two users a second; one in five is not known to the endpoint."""
    return "\n".join(f"{number * 1000}\t<{EX}u{user}> <{EX}isMentionedIn> <{EX}p{number}> ." for user in users(number))


def users(number: int) -> tuple[int, int]:
    return number % 5, number % 3


def expected(time_ms: int, batches: int) -> list[tuple[str, str]]:
    """The users and posts of the window that closes at a time."""
    seconds = range(max(0, time_ms // 1000 - WINDOW_SECONDS), min(batches, time_ms // 1000))
    return sorted({(f"{EX}u{user}", f"{EX}p{number}") for number in seconds for user in users(number) if user != 4})


def main(folder: Path, url: str, batches: int) -> None:
    session = Session(services=["127.0.0.1"], checkpoint=folder / "checkpoint", checkpoint_seconds=0.05)
    session.stream(STREAM)
    sink = FileSink(folder / "out", resume=True)

    def receive(batch: AnswerBatch) -> None:
        sink.deliver(batch)
        sink.flush()

    session.register(query_text(url), on_batch=receive)
    for number in range(session.positions()[STREAM].batches, batches):
        session.push(STREAM, batch(number))
        print(number, flush=True)
        time.sleep(0.005)
    session.finish()
    session.close()
    print("done", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
