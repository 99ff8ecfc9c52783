"""Compressed files, known by how their names end: gzip, bzip2 and Zstandard."""

from __future__ import annotations

import bz2
import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa

from freshet.rdf.errors import InputError

COMPRESSED = (".gz", ".bz2", ".zst")


def is_compressed(path: str | Path) -> bool:
    """Whether a file's name says that it is compressed."""
    return Path(path).suffix.lower() in COMPRESSED


def plain_suffix(path: str | Path) -> str:
    """The suffix of a name that says what is in the file.

    >>> plain_suffix("a/stream.NQ.gz"), plain_suffix("x.ttl"), plain_suffix("x")
    ('.nq', '.ttl', '')
    """
    name = Path(path).name.lower()
    for packed in COMPRESSED:
        name = name.removesuffix(packed)
    return Path(name).suffix


@contextmanager
def open_input(path: Path) -> Iterator[BinaryIO]:
    """A file to read, decompressed where its name says so; what goes wrong with it is the user's to fix."""
    try:
        with path.open("rb") as file:
            yield decompress(file, path)
    except FileNotFoundError:
        raise InputError("there is no such file", file=str(path)) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"cannot be decompressed: {error}", file=str(path)) from None
    except OSError as error:
        if error.strerror is None:  # what bz2 and Arrow say of bad data
            raise InputError(f"cannot be decompressed: {error}", file=str(path)) from None
        raise InputError(f"cannot be read: {error.strerror}", file=str(path)) from None


def decompress(file: BinaryIO, path: Path) -> BinaryIO:
    """What a file that is open has in it, by its name."""
    match path.suffix.lower():
        case ".gz":
            return BufferedReader(gzip.GzipFile(fileobj=file))
        case ".bz2":
            return BufferedReader(bz2.BZ2File(file))
        case ".zst":
            return BufferedReader(cast(RawIOBase, pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd")))
    return file
