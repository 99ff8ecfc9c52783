"""Compile the listed kernels before they are called, on all cores."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

from freshet.kernels.cache import FOLDER
from freshet.kernels.signatures import compile_call, is_warm, listed, mark_warm, section_state

_CLAIM_SECONDS = 120  # no compilation in the background takes longer


def compile_ahead(section: str, processes: int | None = None) -> Iterator[tuple[int, int]]:
    """Compile a section of the list in processes of its own. Gives how many kernels are done, and of how many.

    The sections are those of `freshet.kernels.signatures.SECTIONS`.
    """
    lines = listed(section)
    for done in compile_lines(lines, processes):
        yield done, len(lines)
    mark_warm(section)


def compile_lines(lines: Sequence[str], processes: int | None = None) -> Iterator[int]:
    """Compile lines of the list in processes of its own. Gives how many are done."""
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import get_context

    with ProcessPoolExecutor(processes or os.cpu_count(), mp_context=get_context("spawn")) as pool:
        pending = [pool.submit(compile_call, line) for line in lines]
        for done, each in enumerate(as_completed(pending), 1):
            each.result()
            yield done


def show_compilation(section: str) -> None:
    """Compile a section with a progress bar on standard error; where that is no terminal, with a line at each end."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    total = len(listed(section))
    began = time.monotonic()
    print(f"freshet: compiling {total} kernels on {os.cpu_count()} cores (once)", file=sys.stderr, flush=True)
    columns = (TextColumn("  "), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=total)
        for done, _ in compile_ahead(section):
            progress.update(task, completed=done)
    print(f"freshet: compiled in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)


def announce_compilation(section: str) -> None:
    """Say in a terminal why a first run takes longer: kernels are compiled as they are called."""
    if sys.stderr.isatty() and (os.cpu_count() or 1) > 1 and not is_warm(section):
        print("freshet: compiling kernels (once; `freshet warm` compiles all of them)", file=sys.stderr, flush=True)


def compile_beside(section: str) -> None:
    """Compile a section in one other process while this one goes on, unless it is compiled or being so.

    This process compiles what it needs in the order of the list. The other begins at its end, so they meet.
    """
    if is_warm(section) or (os.cpu_count() or 1) < 2 or not _claim(section):
        return
    subprocess.Popen(
        [sys.executable, "-m", "freshet.runtime.compile_ahead", section],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _claim(section: str) -> bool:
    """Whether no other process compiles this section now."""
    claim = FOLDER / f".claim-{section}-{section_state(section)}"
    try:
        FOLDER.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            if claim.stat().st_mtime < time.time() - _CLAIM_SECONDS:
                claim.unlink()
        claim.touch(exist_ok=False)
    except OSError:  # claimed, or a folder that cannot be written
        return False
    return True


def _compile_backwards(section: str) -> None:
    for line in reversed(listed(section)):
        compile_call(line)
    mark_warm(section)


if __name__ == "__main__":
    _compile_backwards(sys.argv[1])
