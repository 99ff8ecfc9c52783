"""Compiling ahead, on a list of one small kernel and with a cache of its own."""

import os
import subprocess
import sys

import pytest

_LINE = "layout.pack(i8, i8)"
_START = f"""
import time
from freshet.kernels import signatures
from freshet.runtime import compile_ahead as ahead

signatures.listed = ahead.listed = lambda section="all": ({_LINE!r},)
"""


@pytest.fixture
def run(tmp_path):
    def run(code: str) -> list[str]:
        environment = {**os.environ, "FRESHET_CACHE_DIR": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-c", _START + code], env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.split("\n")[:-1]

    return run


def test_a_section_is_compiled_once(run):
    code = "print(signatures.is_warm('session'))\nprint(list(ahead.compile_ahead('session', 1)))"
    assert run(code) == ["False", "[(1, 1)]"]
    assert run(code)[0] == "True"


def test_another_list_is_not_warm(run):
    run("list(ahead.compile_ahead('session', 1))")
    longer = "signatures.listed = lambda section: ('layout.pack(i8, i8)', 'layout.pack(i8, u8)')\n"
    assert run(longer + "print(signatures.is_warm('session'))") == ["False"]


def test_one_process_at_a_time_compiles_beside(run):
    assert run("print(ahead._claim('session'), ahead._claim('session'))") == ["True False"]
    later = "ahead._CLAIM_SECONDS = 0\ntime.sleep(0.01)\nprint(ahead._claim('session'))"
    assert run("print(ahead._claim('session'))\n" + later) == ["False", "True"]


def test_a_terminal_shows_once_why_a_run_takes_longer(run):
    code = """
sys.stderr = io.StringIO()
sys.stderr.isatty = lambda: True
os.cpu_count = lambda: 2
ahead.announce_compilation("session")
list(ahead.compile_ahead("session", 1))
ahead.announce_compilation("session")
sys.stderr.isatty = lambda: False
signatures.listed = lambda section: ("layout.pack(i8, u8)",)
ahead.announce_compilation("session")
print(sys.stderr.getvalue().count("compiling kernels"))
"""
    assert run("import io, os, sys\n" + code) == ["1"]
