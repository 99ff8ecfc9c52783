"""Kill a session that waits for remote data again and again: no window goes unreported, and each is received once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from random import Random

import service_world
from service_world import EX, expected
from sparql_endpoint import EndpointProcess

BATCHES = 400
REMOTE = "".join(f"<{EX}u{n}> <{EX}followers> {n} ." for n in range(4))


def life(folder: Path, endpoint: EndpointProcess, batches: int) -> str:
    """One life of the session, which ends after some more batches; says how it ended. It may have come to its end
    before it could be killed, which is neither."""
    command = [sys.executable, service_world.__file__, str(folder), endpoint.url, str(BATCHES)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(batches):
            if process.stdout.readline().strip() in ("done", ""):
                assert process.wait(300) == 0
                return "done"
        is_alive = process.poll() is None
        process.kill()
    return "killed" if is_alive else ""


def test_a_killed_session_reports_every_window_once(tmp_path: Path, endpoint: EndpointProcess) -> None:
    endpoint.does(delay_seconds=0.02)
    seed = Random().randrange(1 << 30)  # other moments every time
    chance = Random(seed)
    ends: list[str] = []
    while "done" not in ends:
        ends.append(life(tmp_path, endpoint, chance.randrange(20, 150) if len(ends) < 3 else 10 * BATCHES))
    assert "killed" in ends, f"seed {seed}: it ended before it could be killed"
    lines = [
        json.loads(line) for part in sorted((tmp_path / "out").iterdir()) for line in part.read_text().splitlines()
    ]
    assert [line["time"] for line in lines] == [*range(10_000, BATCHES * 1000 + 20_000, 10_000)], f"seed {seed}"
    for line in lines:
        rows = sorted((row["user"]["value"], row["post"]["value"]) for row in line["bindings"])
        assert rows == expected(line["time"], BATCHES), f"seed {seed}: {line['time']}"
