"""The manifest of a graph directory: which files make up the graph, how large they are, and their checksums.

The manifest is what commits a load: it is written last and put in place by renaming it. It names the folder that has
the files, so that a load which adds to a graph writes a new folder and changes nothing that a reader has open.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from freshet.kernels.graph_files import checksum
from freshet.rdf.arrow import read_only
from freshet.rdf.errors import InputError
from freshet.store.mapped_files import map_file

NAME = "manifest.json"
FORMAT = "freshet graph"
VERSIONS = (1, 2)  # with 2 there are changes beside the sorted files


@dataclass(frozen=True, slots=True)
class GraphFile:
    """A file's size, and XXH64 (seed 42) of its bytes in hexadecimal digits."""

    bytes: int
    checksum: str


@dataclass(frozen=True, slots=True)
class Counts:
    """How much there is: statements, terms that are not inline, graphs (the default graph is one where it has any
    triples), pairs of a graph and a predicate in it, and bytes in use of the dictionary's heap."""

    triples: int
    terms: int
    graphs: int
    groups: int
    heap_bytes: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is in a graph directory. The names of files are relative to the folder `data` in it."""

    data: str
    counts: Counts
    files: Mapping[str, GraphFile]


def describe(path: Path) -> GraphFile:
    """A file as it is."""
    return _describe(map_file(path, np.uint8))


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Put a manifest in place, all of it or nothing."""
    version = VERSIONS[any(name.startswith("changes/") for name in manifest.files)]
    content = {"format": FORMAT, "version": version, **asdict(manifest)}
    sealed = {**content, "checksum": _seal(content)}
    unfinished = folder / f".{NAME}"
    with unfinished.open("wb") as file:
        file.write(orjson.dumps(sealed, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(folder / NAME)
    sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Until the disk has the names in a folder."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a graph directory, whole and of a version that is known."""
    path = folder / NAME
    try:
        content = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        hint = "it has no manifest.json; a load that was not finished leaves none"
        raise InputError("this folder is not a graph directory", file=str(folder), hint=hint) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(path)) from None
    except orjson.JSONDecodeError as error:
        raise InputError("is damaged: it is not JSON", file=str(path), line=error.lineno, column=error.colno) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f"is not the manifest of a graph directory: it does not say {FORMAT!r}", file=str(path))
    if content.get("version") not in VERSIONS:
        version = content.get("version")
        raise InputError(f"has the format version {version}; this program reads {VERSIONS[-1]}", file=str(path))
    if content.pop("checksum", None) != _seal(content):
        raise InputError("is damaged: its checksum is wrong", file=str(path))
    files = {name: GraphFile(**entry) for name, entry in content["files"].items()}
    return Manifest(content["data"], Counts(**content["counts"]), files)


def check_sizes(folder: Path, manifest: Manifest) -> None:
    """Every file is there and as long as the manifest says. Reads none of them."""
    for name, entry in manifest.files.items():
        path = folder / manifest.data / name
        try:
            size = path.stat().st_size
        except OSError as error:
            raise InputError(f"a file of the graph is missing: {error.strerror}", file=str(path)) from None
        if size != entry.bytes:
            raise InputError(f"is damaged: it has {size} bytes, and should have {entry.bytes}", file=str(path))


def check_file(folder: Path, manifest: Manifest, name: str) -> None:
    """A file has the bytes that were written."""
    check_content(folder, manifest, name, map_file(folder / manifest.data / name, np.uint8))


def check_content(folder: Path, manifest: Manifest, name: str, content: NDArray[np.uint8]) -> None:
    """The same for a file that is open."""
    if _describe(content) != manifest.files[name]:
        raise InputError("is damaged: its checksum is wrong", file=str(folder / manifest.data / name))


def _describe(content: NDArray[np.uint8]) -> GraphFile:
    return GraphFile(content.size, _digits(content))


def _seal(content: Mapping[str, Any]) -> str:
    return _digits(np.frombuffer(orjson.dumps(content, option=orjson.OPT_SORT_KEYS), np.uint8))


def _digits(data: NDArray[np.uint8]) -> str:
    return f"{int(checksum(read_only(data))):016x}"
