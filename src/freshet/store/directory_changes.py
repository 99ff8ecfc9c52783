"""What updates have changed in a graph directory since it was loaded: a segment of its own beside the sorted files.

There is one, of all updates together: the triples of the sorted files that are deleted, those that are inserted, and
their terms. Each update writes it anew under other names, and the manifest that names them commits it; the next load
makes it part of the sorted files. All is in the ids of the directory.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from freshet.rdf.arrow import numbers
from freshet.rdf.reading import Quads
from freshet.store.graph_manifest import GraphFile, Manifest, describe, sync_folder, write_manifest

FOLDER = "changes"
DELETED, INSERTED, TERMS = "deleted", "inserted", "terms"
_COLUMNS = ("subject", "predicate", "object", "graph")


class DirectoryChanges(NamedTuple):
    """The changes, and the terms in them: `id` and `key`."""

    deleted: Quads
    inserted: Quads
    terms: pa.Table


def changes_files(files: Mapping[str, GraphFile]) -> dict[str, str]:
    """The names of the files of changes, by what is in them; none where nothing has changed."""
    return {name.split(".")[1]: name for name in files if name.startswith(f"{FOLDER}/")}


def read_changes(contents: Mapping[str, NDArray[np.uint8]]) -> DirectoryChanges | None:
    """The changes in files, by what is in them; None where there are no files."""
    if not contents:
        return None
    files = {kind: pa.BufferReader(pa.py_buffer(content)) for kind, content in contents.items()}
    return DirectoryChanges(read_quads(files[DELETED]), read_quads(files[INSERTED]), pq.read_table(files[TERMS]))


def read_quads(file: Path | pa.NativeFile) -> Quads:
    """The quads of a segment of triples."""
    table = pq.read_table(file, columns=list(_COLUMNS))
    return Quads(*(table.column(name).to_numpy() for name in _COLUMNS))


def write_changes(graph: Path, manifest: Manifest, changes: DirectoryChanges, triples: int) -> None:
    """Make these the changes of a graph directory, all at once; `triples` is how many it has after them."""
    data = graph / manifest.data
    folder = data / FOLDER
    folder.mkdir(exist_ok=True)
    before = changes_files(manifest.files).values()
    number = 1 + max((int(Path(name).name.split(".")[0]) for name in before), default=0)
    tables = {DELETED: _table(changes.deleted), INSERTED: _table(changes.inserted), TERMS: changes.terms}
    files = {name: file for name, file in manifest.files.items() if name not in before}
    for kind, table in tables.items():
        name = f"{FOLDER}/{number:06d}.{kind}.parquet"
        with (data / name).open("wb") as file:
            pq.write_table(table, file, compression="zstd")
            file.flush()
            os.fsync(file.fileno())
        files[name] = describe(data / name)
    sync_folder(folder)
    sync_folder(data)
    write_manifest(graph, replace(manifest, files=files, counts=replace(manifest.counts, triples=triples)))
    for path in folder.iterdir():
        if f"{FOLDER}/{path.name}" not in files:
            path.unlink()


def _table(quads: Quads) -> pa.Table:
    return pa.table([numbers(np.ascontiguousarray(column)) for column in quads], names=list(_COLUMNS))
