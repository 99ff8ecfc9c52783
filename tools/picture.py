"""Make the README's picture: the demo in a terminal, as an SVG.

    python tools/picture.py docs/demo.svg [SECONDS]

The demo runs in a pseudo-terminal, whose screen is drawn as it was shortly before the end. SECONDS is how long the demo
lasts, 20 by default. Run it twice: the first run compiles, and its latencies are those of the compiler.
"""

from __future__ import annotations

import io
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from fcntl import ioctl
from pathlib import Path

import pyte
from rich.console import Console
from rich.style import Style
from rich.text import Text

COLUMNS, LINES = 112, 30
LIVE = re.compile(r"^\d+ s, windows hold", re.MULTILINE)  # the heading of the live view
FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)  # fonts from a server: the reader's own are as good
NAMES = {"brown": "yellow", "default": None}


def last_screen(command: list[str], folder: str) -> pyte.Screen:
    """Run a command; gives the last screen on which all queries had reported, as the live view shows them."""
    screen, shown = pyte.Screen(COLUMNS, LINES), pyte.Screen(COLUMNS, LINES)
    stream, raw = pyte.ByteStream(screen), b""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LINES": str(LINES)}
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, cwd=folder)
    os.close(theirs)
    last = b""
    while True:
        ready, _, _ = select.select([ours], [], [], 1.0)
        if not ready and process.poll() is not None:
            break
        if not ready:
            continue
        try:
            read = os.read(ours, 1 << 16)
        except OSError:
            break
        raw += read
        stream.feed(read)
        text = "\n".join(screen.display)
        if LIVE.search(text) and "no report yet" not in text and "records in" not in text:
            last = raw
        time.sleep(0.02)
    process.wait()
    pyte.ByteStream(shown).feed(last or raw)
    return shown


def as_text(screen: pyte.Screen) -> Text:
    """A screen with its colours."""
    text = Text()
    for line in range(LINES):
        for column in range(COLUMNS):
            cell = screen.buffer[line][column]
            colour = NAMES.get(cell.fg, cell.fg)
            text.append(cell.data, Style(color=colour, bold=cell.bold, dim=cell.fg == "brightblack"))
        text.append("\n")
    text.rstrip()
    return text


def main() -> None:
    target, seconds = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "20"
    with tempfile.TemporaryDirectory() as folder:
        screen = last_screen([sys.executable, "-m", "freshet", "demo", "--seconds", seconds], folder)
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(as_text(screen))
    svg = FONT.sub("", console.export_svg(title="make demo", unique_id="freshet"))
    target.write_text(svg.replace("Fira Code", "ui-monospace"), encoding="utf-8")


if __name__ == "__main__":
    main()
