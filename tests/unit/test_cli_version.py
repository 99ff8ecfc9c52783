"""`freshet --version`."""

from __future__ import annotations

import pytest

import freshet
from command_line import CommandLine


def test_it_prints_the_version(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    finished = CommandLine(monkeypatch, capfd)("--version")
    assert (finished.status, finished.out, finished.err) == (0, f"freshet {freshet.__version__}\n", "")
