"""The headers of CSV files: the first file's says what the columns are, and the others must agree."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlsplit


def path_of(uri: str) -> Path:
    """The path of a file as Spark names it."""
    return Path(unquote(urlsplit(uri).path))


def header_line(file: Path) -> str | None:
    """The first line of a file; None where it cannot be read from here."""
    try:
        with file.open(encoding="utf-8-sig", errors="replace", newline="") as text:
            return text.readline().rstrip("\r\n")
    except OSError:
        return None


def first_header(folder: Path, pattern: str | None) -> str | None:
    """The header of the first file in a folder; None while there is none."""
    for file in sorted(folder.glob(pattern or "*")):
        if not file.name.startswith((".", "_")) and file.is_file():
            return header_line(file)
    return None


def column_names(header: str) -> list[str]:
    return next(csv.reader([header]), [])


def files_with_other_header(uris: Iterable[str], header: str) -> list[str]:
    """The files whose first line is another, so that their columns would be taken for each other."""
    return [uri for uri in uris if header_line(path_of(uri)) not in (header, None)]
