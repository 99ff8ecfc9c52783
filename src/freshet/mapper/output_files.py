"""Output of bounded runs: what was written in parts becomes one file, in a format, packed and encoded."""

from __future__ import annotations

import codecs
import gzip
import io
import lzma
import os
import shutil
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, cast

import pyoxigraph as ox

from freshet.rml.model import Target

FORMATS = {
    "nq": None,
    "nt": None,
    "ttl": ox.RdfFormat.TURTLE,
    "trig": ox.RdfFormat.TRIG,
    "n3": ox.RdfFormat.N3,
    "jsonld": ox.RdfFormat.JSON_LD,
    "rdfxml": ox.RdfFormat.RDF_XML,
}
WITH_GRAPHS = frozenset({"nq", "trig", "jsonld"})


def write_output(parts: list[Path], target: Target | None, format_name: str) -> None:
    """Put the lines of some files together: in a file, or on standard output where there is none."""
    if target is None:
        _write(parts, sys.stdout.buffer, format_name)
        sys.stdout.buffer.flush()
        return
    path = Path(target.path)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.unfinished")
    with _open_packed(unfinished, path, target.compression) as packed:
        if codecs.lookup(target.encoding).name == "utf-8":
            _write(parts, packed, target.format)
        else:
            _write_encoded(parts, packed, target)
    os.replace(unfinished, path)


def concatenate(parts: Iterable[Path], out: IO[bytes]) -> None:
    for part in parts:
        with part.open("rb") as data:
            shutil.copyfileobj(data, out, 1 << 20)


def _write(parts: list[Path], out: IO[bytes], format_name: str) -> None:
    rdf_format = FORMATS[format_name]
    if rdf_format is None:
        concatenate(parts, out)
        return
    quads = (quad for part in parts for quad in ox.parse(path=str(part), format=ox.RdfFormat.N_QUADS, lenient=True))
    if format_name in WITH_GRAPHS:
        ox.serialize(quads, cast(BinaryIO, out), format=rdf_format)
    else:
        ox.serialize((quad.triple for quad in quads), cast(BinaryIO, out), format=rdf_format)


def _write_encoded(parts: list[Path], out: IO[bytes], target: Target) -> None:
    """What is not UTF-8 is written as UTF-8 first, and then in its encoding, a piece at a time."""
    with tempfile.TemporaryFile() as plain:
        _write(parts, plain, target.format)
        plain.seek(0)
        encoder = codecs.getincrementalencoder(target.encoding)()
        with io.TextIOWrapper(plain, encoding="utf-8", newline="") as text:
            while piece := text.read(1 << 20):
                out.write(encoder.encode(piece))
            out.write(encoder.encode("", final=True))


@contextmanager
def _open_packed(unfinished: Path, path: Path, compression: str) -> Iterator[IO[bytes]]:
    """A file to write to that packs what is written. The same content gives the same bytes: no times, no names."""
    if compression == "none":
        with unfinished.open("wb") as out:
            yield out
    elif compression == "gzip":
        with unfinished.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as out:
            yield cast(IO[bytes], out)
    elif compression == "zip":
        entry = zipfile.ZipInfo(path.name.removesuffix(".zip"))
        entry.compress_type = zipfile.ZIP_DEFLATED
        with zipfile.ZipFile(unfinished, "w") as archive, archive.open(entry, "w", force_zip64=True) as out:
            yield out
    else:
        with tempfile.TemporaryFile() as plain:
            yield plain
            with unfinished.open("wb") as raw:
                _pack_tar(plain, raw, path.name, compression)


def _pack_tar(plain: IO[bytes], raw: IO[bytes], name: str, compression: str) -> None:
    """A tar archive wants to know the size of a file before its content."""
    entry = tarfile.TarInfo(name.removesuffix(".tar.gz").removesuffix(".tar.xz"))
    entry.size = plain.tell()
    plain.seek(0)
    with _stream(raw, compression) as stream, tarfile.open(fileobj=stream, mode="w") as archive:
        archive.addfile(entry, plain)


def _stream(raw: IO[bytes], compression: str) -> IO[bytes]:
    if compression == "tarxz":
        return cast(IO[bytes], lzma.LZMAFile(raw, "wb"))
    return cast(IO[bytes], gzip.GzipFile("", "wb", fileobj=cast(BinaryIO, raw), mtime=0))
