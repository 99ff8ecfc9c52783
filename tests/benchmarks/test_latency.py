"""What `freshet bench latency` relies on: feeds send what they are given, latencies mean what they say."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import numpy as np
import pytest

from freshet.rdf.errors import InputError
from freshet_benchmarks.benchmarks import measure
from freshet_benchmarks.latency import FolderFeed, SocketFeed, _latencies, _Sender, latency_figures


class Kept:
    """A feed that keeps what it is sent."""

    every_seconds = 0.01
    section = ""

    def __init__(self) -> None:
        self.batches: list[list[bytes]] = []

    def send(self, records: list[bytes]) -> None:
        self.batches.append(records)

    def close(self) -> None:
        """Nothing is open."""


def report(time_ms: int, *sent: int) -> bytes:
    rows = [
        {"sent": {"type": "literal", "value": str(each)}, "reading": {"type": "uri", "value": "r"}} for each in sent
    ]
    return json.dumps({"query": "each", "time": time_ms, "bindings": rows}).encode() + b"\n"


def test_a_record_is_answered_when_the_file_has_all_of_its_report(tmp_path: Path) -> None:
    lines = [report(1, 100), report(2, 101, 102), report(3, 110)]
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "part-00000.ndjson").write_bytes(b"".join(lines))
    ends = np.cumsum([len(line) for line in lines]).tolist()
    seen = [(150.0, ends[0] + 5), (160.0, ends[1]), (200.0, ends[2])]
    sent, latencies = _latencies(tmp_path, seen)
    assert sent.tolist() == [100, 101, 102, 110]
    assert latencies.tolist() == [50, 59, 58, 90]
    sent, _ = _latencies(tmp_path, seen[:2])
    assert sent.tolist() == [100, 101, 102], "the last one was written later"


def test_records_are_sent_at_a_rate_and_happen_one_after_the_other() -> None:
    feed = Kept()
    sender = _Sender(feed)
    sender.send_one()
    first_ms, end_ms = sender.send_at(1_000, 0.05, 0.05)
    records = [json.loads(record) for batch in feed.batches for record in batch]
    assert sender.count == len(records) == 101
    assert [each["n"] for each in records] == list(range(101))
    times = [each["at"] for each in records[1:]]
    assert times == sorted(times)
    assert times[-1] - times[0] in (98, 99, 100)
    assert sum(first_ms <= each["sent"] < end_ms for each in records) > 0


def test_feeds_send_lines(tmp_path: Path) -> None:
    folder = FolderFeed(tmp_path / "feed")
    folder.send([b"1", b"2"])
    folder.send([b"3"])
    assert [file.read_bytes() for file in sorted((tmp_path / "feed" / "in").iterdir())] == [b"1\n2\n", b"3\n"]
    server = SocketFeed(tmp_path)
    port = int(server.section.partition("port: ")[2].partition("}")[0])
    with socket.create_connection(("127.0.0.1", port)) as client:
        server.send([b"1", b"2"])
        server.close()
        assert client.makefile("rb").read() == b"1\n2\n"


def test_it_takes_a_rate_only() -> None:
    with pytest.raises(InputError, match="the benchmark latency takes no --triples"):
        measure("latency", triples="10")


@pytest.mark.slow
def test_a_run_answers_every_record() -> None:
    figures = latency_figures(100, feeds=("folder",), warm_seconds=0.5, measured_seconds=1)
    named = {figure.name: figure.value for figure in figures}
    assert list(named) == [f"latency_folder_100_{name}" for name in ("p50", "p99", "answers_per_second")]
    assert 0 < named["latency_folder_100_p50"] <= named["latency_folder_100_p99"]
    assert named["latency_folder_100_answers_per_second"] > 0
