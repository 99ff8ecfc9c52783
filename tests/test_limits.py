"""A test that hangs costs its own time, not that of the whole run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline_text import replaced

pytestmark = pytest.mark.slow

FINE = "\n\ndef test_fine():\n    pass\n"
WAITS = """
import threading

def test_waits():
    event = threading.Event()
    threading.Thread(target=event.wait, name="the other thread", daemon=True).start()
    event.wait()
"""
TRIES_AGAIN = """
import threading
from hypothesis import given, strategies

@given(strategies.integers())
def test_tries_again(number):
    threading.Event().wait()
"""
CANNOT_END = """
import threading
import pytest

@pytest.fixture
def lasting():
    yield
    threading.Event().wait()

def test_cannot_end(lasting):
    threading.Event().wait()
"""
COMPILED = """
import itertools

def test_compiled():
    sum(itertools.repeat(0))  # as in a kernel, no signal is heard in here
"""


def run_tests(folder: Path, *modules: str, last_seconds: int = 3) -> tuple[int, str]:
    """Tests as `make test` runs them, with little time."""
    for number, module in enumerate(modules):
        (folder / f"test_{number}.py").write_text(module + FINE)
    written = Path(__file__).with_name("conftest.py").read_text()
    (folder / "conftest.py").write_text(replaced(written, "LAST_SECONDS = 300", f"LAST_SECONDS = {last_seconds}"))
    (folder / "pytest.ini").write_text("[pytest]\ntimeout = 2\ntimeout_method = signal\n")
    command = [sys.executable, "-m", "pytest", "-n", "1", "--dist", "loadfile", "--max-worker-restart", "0", folder]
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        command, cwd=folder, env=own, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return done.returncode, done.stdout


def test_a_test_that_waits_fails_and_says_where_all_threads_are(tmp_path: Path) -> None:
    status, said = run_tests(tmp_path, WAITS, last_seconds=300)
    assert status == 1
    assert "1 failed, 1 passed" in said
    assert "Timeout (>2.0s)" in said
    assert "Stack of the other thread" in said


@pytest.mark.parametrize("module", [TRIES_AGAIN, CANNOT_END, COMPILED], ids=["hypothesis", "teardown", "compiled"])
def test_one_that_cannot_be_made_to_fail_ends_its_process(tmp_path: Path, module: str) -> None:
    status, said = run_tests(tmp_path, module)
    assert status == 1
    assert "Timeout (0:00:0" in said
    assert 'test_0.py", line' in said
    assert "crashed while running" in said
