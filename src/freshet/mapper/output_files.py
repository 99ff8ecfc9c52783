"""Output of bounded runs: what was written in parts becomes one file, in a format, packed and encoded, or is sent."""

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
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, cast

import orjson
import pyoxigraph as ox

from freshet.rdf.errors import UnsupportedError
from freshet.rml.model import Target

FORMATS = {
    "nq": None,
    "nt": None,
    "ttl": ox.RdfFormat.TURTLE,
    "trig": ox.RdfFormat.TRIG,
    "n3": ox.RdfFormat.N3,
    "jsonld": ox.RdfFormat.JSON_LD,
    "rdfxml": ox.RdfFormat.RDF_XML,
    "rdfjson": None,
}
_LINES = ("nq", "nt")
Send = Callable[[str, list[Path]], None]
_XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"
WITH_GRAPHS = frozenset({"nq", "trig", "jsonld"})


def write_output(parts: list[Path], target: Target | None, format_name: str, send: Send | None = None) -> None:
    """Put the lines of some files together: in a file, at an endpoint, or on standard output without a target."""
    if target is not None and target.endpoint:
        assert send is not None
        send(target.path, parts)
        return
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
    if format_name in _LINES:
        concatenate(parts, out)
        return
    quads = (quad for part in parts for quad in ox.parse(path=str(part), format=ox.RdfFormat.N_QUADS, lenient=True))
    if rdf_format is None:
        out.write(rdf_json(quad.triple for quad in quads))
    elif format_name in WITH_GRAPHS:
        ox.serialize(quads, cast(BinaryIO, out), format=rdf_format)
    else:
        ox.serialize((quad.triple for quad in quads), cast(BinaryIO, out), format=rdf_format)


def rdf_json(triples: Iterable[ox.Triple]) -> bytes:
    """Triples in RDF/JSON: subjects with their predicates, and these with their objects, all in memory."""
    subjects: dict[str, dict[str, list[dict[str, str]]]] = {}
    for triple in triples:
        values = subjects.setdefault(_json_name(triple.subject), {}).setdefault(triple.predicate.value, [])
        if (value := _json_value(triple.object)) not in values:
            values.append(value)
    return orjson.dumps(subjects, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _json_name(term: object) -> str:
    if isinstance(term, ox.NamedNode):
        return term.value
    if isinstance(term, ox.BlankNode):
        return f"_:{term.value}"
    raise UnsupportedError("triple terms in RDF/JSON")


def _json_value(term: object) -> dict[str, str]:
    if not isinstance(term, ox.Literal):
        return {"type": "uri" if isinstance(term, ox.NamedNode) else "bnode", "value": _json_name(term)}
    value = {"type": "literal", "value": term.value}
    if term.direction is not None:
        raise UnsupportedError("base directions in RDF/JSON")
    if term.language is not None:
        value["lang"] = term.language
    elif term.datatype.value != _XSD_STRING:
        value["datatype"] = term.datatype.value
    return value


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
