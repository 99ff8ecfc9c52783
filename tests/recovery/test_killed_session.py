"""Kill a session with a checkpoint again and again: nothing is lost, and each report is received once."""

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

import session_world
from comparing import by_moment, show_report

SOAK = bool(os.environ.get("FRESHET_SOAK"))


def received(folder: Path) -> dict[str, list[dict]]:
    """Reports as they were received, the rows of each in one order."""
    found = {}
    for query in sorted((folder / "out").iterdir()):
        lines = [json.loads(line) for part in sorted(query.iterdir()) for line in part.read_text().splitlines()]
        for line in lines:
            line["bindings"].sort(key=str)
        found[query.name] = lines
    return found


@pytest.mark.timeout(2700 if SOAK else 900)
@pytest.mark.parametrize(("rounds", "steps"), [(40, 10000) if SOAK else (15, 3000)])
def test_a_killed_session_goes_on_where_it_was(tmp_path, rounds, steps):
    seed = Random().randrange(1 << 30)  # other moments every time
    command = [sys.executable, session_world.__file__, tmp_path, str(rounds), str(steps), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"seed {seed}: {done.stderr}"
    assert int(done.stdout) >= rounds // 3, f"seed {seed}: most rounds ended before they could be killed"
    killed, whole = received(tmp_path / "killed"), received(tmp_path / "whole")
    assert sorted(killed) == sorted(whole) == ["gone", "later", "named", "seen"]
    for query, wanted in whole.items():
        assert len(wanted) > 10
        found, expected = by_moment(killed[query]), by_moment(wanted)
        for moment in sorted(found.keys() | expected.keys()):
            assert moment in found, f"seed {seed}: {query} at {moment}: lost {show_report(expected[moment])}"
            assert moment in expected, f"seed {seed}: {query} at {moment}: not expected {show_report(found[moment])}"
            assert found[moment] == expected[moment], f"seed {seed}: {query} at {moment}"
    contents = [json.loads((tmp_path / name / "contents.json").read_text()) for name in ("killed", "whole")]
    assert contents[0] == contents[1], f"seed {seed}"
