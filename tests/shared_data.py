"""Data sets that live beside the repository, in `../shared`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def shared(path: str) -> Path:
    """A file or folder of `../shared`. The test is skipped where it is missing, and fails where
    FRESHET_REQUIRE=shared asks for it."""
    found = ROOT.parent / "shared" / path
    if found.exists():
        return found
    reason = f"needs ../shared/{path}, which is not part of the repository"
    if "shared" in os.environ.get("FRESHET_REQUIRE", "").split(","):
        pytest.fail(reason)
    pytest.skip(reason)
