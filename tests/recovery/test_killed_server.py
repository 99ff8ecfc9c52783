"""A server that is killed again and again, while it is fed and has subscribers: every answer once, in order."""

import json
import os
import random
import signal
import threading
import time

import pytest
import urllib3

from freshet_benchmarks.local_servers import free_ports
from http_server import ServerProcess

_QUERY = """SELECT ?s (COUNT(*) AS ?n)
FROM NAMED WINDOW <w> ON <http://e/s> [RANGE PT10S STEP PT1S] WHERE { WINDOW <w> { ?s <http://e/p> ?o } } GROUP BY ?s"""
_KILLS = int(os.environ.get("FRESHET_KILLS", "5"))
_SUBSCRIBERS = 20
_BROKEN = (urllib3.exceptions.HTTPError, OSError)


def _post(url: str, second: int, stopped: threading.Event) -> None:
    """Post an element until it is known to be in. Its key says that it is the same one."""
    line = f"{second * 1000}\t<http://e/{second % 3}> <http://e/p> <http://e/{second}> .\n"
    while not stopped.is_set():
        try:
            headers = {"Content-Type": "text/plain", "Idempotency-Key": f"k{second}"}
            answer = urllib3.request("POST", f"{url}/streams/s", body=line, headers=headers, retries=False, timeout=20)
            assert answer.status in (200, 503), answer.data
            if answer.status == 200:
                return
        except _BROKEN:
            pass
        time.sleep(0.02)


class _Subscriber(threading.Thread):
    """Takes reports, and comes back with the last id when the connection breaks."""

    def __init__(self, url: str, media: str, last_ms: int) -> None:
        super().__init__(daemon=True)
        self.url, self.media, self.last_ms = url, media, last_ms
        self.reports: list[dict] = []
        self.problem = ""

    def run(self) -> None:
        while not self.reports or self.reports[-1]["time"] < self.last_ms:
            after = self.reports[-1]["id"] if self.reports else "start"
            try:
                headers = {"Accept": self.media, "Last-Event-ID": after}
                answer = urllib3.request(
                    "GET",
                    f"{self.url}/queries/q/answers",
                    headers=headers,
                    retries=False,
                    timeout=30,
                    preload_content=False,
                )
                if answer.status != 200:
                    self.problem = f"{answer.status} {answer.read()!r}"
                    return
                self._take(answer)
            except _BROKEN:
                time.sleep(0.02)

    def _take(self, answer) -> None:
        rest = b""
        while piece := answer.read1():
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                text = line.removeprefix(b"data: ")
                if text.startswith(b'{"id"'):
                    self.reports.append(json.loads(text))
            if self.reports and self.reports[-1]["time"] >= self.last_ms:
                answer.close()
                return


def _expected(seconds: int) -> dict[int, dict[str, int]]:
    """The counts of each subject at each close, from scratch."""
    found = {}
    for close in range(1, seconds):
        counts: dict[str, int] = {}
        for second in range(max(0, close - 10), close):
            counts[f"http://e/{second % 3}"] = counts.get(f"http://e/{second % 3}", 0) + 1
        found[close * 1000] = counts
    return found


@pytest.mark.slow
def test_every_answer_is_seen_once_in_order_through_kills(tmp_path):
    [port] = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    chance = random.Random(7)
    seconds = 60 * (_KILLS + 1)
    server = ServerProcess("--checkpoint", tmp_path / "checkpoint", port=port)
    assert server.send("PUT", "/streams/s?iri=http://e/s").status == 201
    assert server.send("PUT", "/queries/q", _QUERY).status == 201
    media = ["text/event-stream", "application/x-ndjson"]
    subscribers = [_Subscriber(url, media[number % 2], (seconds - 1) * 1000) for number in range(_SUBSCRIBERS)]
    for each in subscribers:
        each.start()
    stopped, posted = threading.Event(), [0]

    def feed() -> None:
        for second in range(seconds):
            _post(url, second, stopped)
            posted[0] = second + 1

    feeding = threading.Thread(target=feed, daemon=True)
    feeding.start()
    try:
        for kill in range(_KILLS):
            target = 60 * kill + chance.randrange(5, 55)
            while posted[0] < target:
                time.sleep(0.005)
            time.sleep(chance.random() * 0.05)
            server.kill()
            server = ServerProcess("--checkpoint", tmp_path / "checkpoint", port=port)
        feeding.join(300)
        for each in subscribers:
            each.join(60)
    finally:
        stopped.set()
        server.kill()
    expected = _expected(seconds)
    for each in subscribers:
        assert not each.problem
        assert [report["time"] for report in each.reports] == list(expected)
        for report in each.reports:
            counts = {row["s"]["value"]: int(row["n"]["value"]) for row in report["bindings"]}
            assert counts == expected[report["time"]], report["time"]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_with_subscribers_is_clean_and_the_next_start_goes_on(tmp_path, number):
    data = tmp_path / "data.ttl"
    data.write_text("<http://e/a> <http://e/p> 1 .")
    arguments = ("--checkpoint", tmp_path / "checkpoint", "-d", data, "--log-format", "json")
    with ServerProcess(*arguments) as server:
        server.send("PUT", "/streams/s?iri=http://e/s&absorb=all&lateness=1s")
        server.send("PUT", "/queries/q", _QUERY)
        server.send("PUT", "/queries/p?parameters=s", _QUERY)
        open_ = [server.send("GET", "/queries/q/answers", stream=True, Accept="application/x-ndjson") for _ in range(5)]
        server.send("POST", "/streams/s?time=5000", "<http://e/b> <http://e/p> 2 .", Content_Type="text/turtle")
        began = time.monotonic()
        assert server.stop(number) == 0
        assert time.monotonic() - began < 4
        for each in open_:
            last = each.read().splitlines()[-1]
            assert json.loads(last)["end"].startswith("the server stops")
        assert all(json.loads(line)["logger"].startswith("freshet") for line in server.lines)
    with ServerProcess(*arguments) as server:
        names = [query["name"] for query in json.loads(server.get("/queries").data)["queries"]]
        assert names == ["q", "p"]
        [stream] = json.loads(server.get("/streams").data)["streams"]
        assert (stream["elements"], stream["watermark"], stream["lateness"]) == (1, 4000, 1000)
        rows = json.loads(server.ask("SELECT ?s { ?s <http://e/p> ?o } ORDER BY ?s").data)["results"]["bindings"]
        assert [row["s"]["value"] for row in rows] == ["http://e/a", "http://e/b"]
        assert server.stop() == 0
