"""Run `freshet ...` in this process, as the shell would, or for real in another."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from freshet.cli import main


@dataclass(frozen=True)
class Finished:
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def error_line(self) -> str:
        """The one line that a user's mistake is worth; fails where there is more, or less."""
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        return lines[0]


class CommandLine:
    """The fixture `cli`: call it with the arguments of the command line."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch = monkeypatch
        self.capfd = capfd

    def __call__(self, *arguments: str | Path) -> Finished:
        self.capfd.readouterr()
        self.monkeypatch.setattr(sys, "argv", ["freshet", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        captured = self.capfd.readouterr()
        assert "Traceback" not in captured.err, captured.err
        return Finished(_status(end.value.code), captured.out, captured.err)


def _status(code: object) -> int:
    return code if isinstance(code, int) else 0 if code is None else 1


def in_another_process(*arguments: str | Path, seconds: float = 900) -> Finished:
    """`python -m freshet ...`"""
    command = [sys.executable, "-m", "freshet", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=seconds, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return Finished(done.returncode, done.stdout, done.stderr)
