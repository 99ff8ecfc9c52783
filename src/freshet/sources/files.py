"""The bytes of files as UTF-8, in blocks: unpacked, and recoded where they are something else."""

from __future__ import annotations

import codecs
import gzip
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from glob import glob, has_magic
from pathlib import Path
from typing import NamedTuple, Protocol

from freshet.rdf.compression import decompress, is_compressed
from freshet.rdf.errors import InputError, UnsupportedError
from freshet.rml.sources import Compression, FileSource

BLOCK = 4 << 20
DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError, NotImplementedError)

_UTF8_MARK = codecs.BOM_UTF8


class Readable(Protocol):
    """What bytes are read from."""

    def read(self, size: int, /) -> bytes: ...


class Content(NamedTuple):
    """What is read as one file: a file, or a file in an archive."""

    name: str  # its URI; of a file in an archive the archive's, with its own name as the fragment
    stream: Readable


def files_of(source: FileSource) -> list[Path]:
    """The files of a source: one, those of a pattern, or those of a folder that are not hidden."""
    path = source.path
    codec_of(source)
    if source.web is not None:
        raise UnsupportedError(f"the document {source.web.url} was not fetched")
    if path.is_dir():
        found = sorted(each for each in path.iterdir() if each.is_file() and not each.name.startswith((".", "_")))
    elif path.exists() or not has_magic(str(path)):
        found = [path] if path.is_file() else []
    else:
        found = sorted(Path(each) for each in glob(str(path), recursive=True) if Path(each).is_file())
    if not found:
        raise InputError("there is no file in it" if path.is_dir() else "there is no such file", file=str(path))
    return found


def codec_of(source: FileSource) -> str:
    """The encoding of a source as Python names it."""
    try:
        return codecs.lookup(source.encoding).name
    except LookupError:
        raise InputError(f"the encoding {source.encoding} is not known", file=str(source.path)) from None


def is_plain(source: FileSource, file: Path) -> bool:
    """Whether the bytes of a file are UTF-8 as they are, so that any part of it can be read alone."""
    if source.compression is not Compression.NONE or is_compressed(file):
        return False
    return codec_of(source) in ("utf-8", "utf-8-sig", "ascii")


@contextmanager
def _open_packed(file: Path, compression: Compression) -> Iterator[Iterator[Content]]:
    name = file.absolute().as_uri()
    match compression:
        case Compression.NONE:
            with file.open("rb") as plain:
                yield iter([Content(name, decompress(plain, file))])
        case Compression.GZIP:
            with gzip.open(file, "rb") as unpacked:
                yield iter([Content(name, unpacked)])
        case Compression.ZIP:
            with zipfile.ZipFile(file) as archive:
                members = [each for each in archive.infolist() if not each.is_dir()]
                yield (Content(f"{name}#{each.filename}", archive.open(each)) for each in members)
        case _:
            mode = "r|gz" if compression is Compression.TAR_GZIP else "r|xz"
            with tarfile.open(file, mode) as packed:  # type: ignore[call-overload]
                yield (
                    Content(f"{name}#{each.name}", stream)
                    for each in packed
                    if each.isfile() and (stream := packed.extractfile(each)) is not None
                )


def contents(file: Path, source: FileSource) -> Iterator[tuple[str, Iterator[bytes]]]:
    """What is to be read as one file each: its name, and its blocks in UTF-8.

    Bytes that are not in the source's encoding become bytes that are not UTF-8, which the reader finds.
    """
    with _open_packed(file, source.compression) as members:
        for member in members:
            yield member.name, utf8_blocks(member.stream, codec_of(source))


def utf8_blocks(stream: Readable, codec: str) -> Iterator[bytes]:
    """A stream in UTF-8, without a byte order mark."""
    if codec in ("utf-8", "utf-8-sig", "ascii"):
        first = stream.read(BLOCK)
        yield first.removeprefix(_UTF8_MARK)
        while block := stream.read(BLOCK):
            yield block
        return
    decoder = codecs.getincrementaldecoder(codec)(errors=_MARK_BROKEN)
    begun = False
    while block := stream.read(BLOCK):
        text = decoder.decode(block)
        yield (text if begun else text.removeprefix("\ufeff")).encode("utf-8", "surrogatepass")
        begun = begun or bool(text)
    yield decoder.decode(b"", final=True).encode("utf-8", "surrogatepass")


_MARK_BROKEN = "freshet.broken"


def _mark(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "\udcff", error.end  # half a surrogate pair, which no UTF-8 has


codecs.register_error(_MARK_BROKEN, _mark)
