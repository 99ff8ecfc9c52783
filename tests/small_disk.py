"""Disks that are full, or cannot be written to: small file systems of their own, which only root may mount."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A file system of a size in memory."""
    folder.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small disk")
    mounted = _run("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder)
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        assert _run("umount", "-l", folder).returncode == 0


@contextmanager
def read_only(disk: Path) -> Iterator[None]:
    """The file system is read-only, also for root."""
    assert _run("mount", "-o", "remount,ro", disk).returncode == 0
    try:
        yield
    finally:
        assert _run("mount", "-o", "remount,rw", disk).returncode == 0


def grow(disk: Path, size: str) -> None:
    """Give a file system more room."""
    assert _run("mount", "-o", f"remount,size={size}", disk).returncode == 0


def _run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
