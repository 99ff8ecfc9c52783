"""What a subscriber is sent of the reports that the log passes on."""

import asyncio

from freshet.runtime.report_log import LoggedReports
from freshet.server.subscribers import LINES, Subscriber


def test_what_a_client_has_is_not_sent_again():
    subscriber = Subscriber("q", LINES, 0, 1000)
    subscriber.seen = 10
    subscriber.put(LoggedReports(5, "q", 1, [6, 8], [b"a", b"b"]))
    assert subscriber.bytes == 0
    subscriber.put(LoggedReports(6, "q", 1, [10, 12], [b"c", b"d"]))
    assert asyncio.run(subscriber.next_text()) == b"d\n"


def test_silence_is_broken_by_a_comment():
    for media, said in (("text/event-stream", b":\n\n"), (LINES, b"\n")):
        subscriber = Subscriber("q", media, 0, 1000)
        subscriber.beat()
        subscriber.beat()
        assert asyncio.run(subscriber.next_text()) == said
