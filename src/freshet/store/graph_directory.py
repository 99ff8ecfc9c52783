"""A graph directory, opened: the arrays that `freshet load` wrote, mapped. Opening reads the manifest, and not much."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from freshet.kernels.dictionary import DictionaryArrays
from freshet.rdf.errors import InputError
from freshet.rdf.triples import Ids
from freshet.store.directory_changes import DirectoryChanges, changes_files, read_changes
from freshet.store.graph_layout import GROUPS, HEAP, ORDERS, SLOTS, Groups, read_groups
from freshet.store.graph_manifest import Counts, check_content, check_file, check_sizes, read_manifest
from freshet.store.mapped_files import map_file
from freshet.store.order_arrays import OrderArrays
from freshet.store.triple_index import TripleIndex

_HEAP_ROOM = 1 << 30  # for terms that come later; only addresses, until they come


class GraphDirectory:
    """A graph directory that is whole as far as sizes say; the table of groups is checked to the last byte."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._manifest = read_manifest(self.path)
        while not self._is_open():  # a load or an update has put another in its place meanwhile
            self._manifest = read_manifest(self.path)

    def _is_open(self) -> bool:
        """Open the files of the manifest that others may remove; False where they are gone and it is an old one."""
        manifest = self._manifest
        try:
            check_sizes(self.path, manifest)
            check_file(self.path, manifest, GROUPS)
            self._data = self.path / manifest.data
            self._heap, self._slots = ((self._data / name).open("rb") for name in (HEAP, SLOTS))
            changed = changes_files(manifest.files)
            self._changes = {kind: map_file(self._data / name, np.uint8) for kind, name in changed.items()}
        except (InputError, FileNotFoundError):
            if read_manifest(self.path) == manifest:
                raise
            return False
        return True

    @property
    def counts(self) -> Counts:
        return self._manifest.counts

    @property
    def triples_folder(self) -> Path:
        """The Parquet segments of triples: graph (0: the default graph), subject, predicate, object."""
        return self._data / "triples"

    @property
    def terms_folder(self) -> Path:
        """The Parquet segments of terms: id, key."""
        return self._data / "terms"

    def size_of(self, *suffixes: str) -> int:
        """The bytes of the files whose names end so."""
        return sum(file.bytes for name, file in self._manifest.files.items() if name.endswith(suffixes))

    def check(self) -> None:
        """Read all files, and raise an InputError that names the first that is not as it was written."""
        for name in self._manifest.files:
            check_file(self.path, self._manifest, name)

    def dictionary_arrays(self) -> DictionaryArrays:
        """The arrays of the dictionary, anew each time. They may be written to; the files stay as they are.

        The files are kept open: a load that adds to the graph removes them, and they may be asked for after that.
        """
        sizes = np.array([self.counts.terms, self.counts.heap_bytes], np.int64)
        slots = map_file(self._slots.fileno(), np.int64)
        return DictionaryArrays(slots, map_file(self._heap.fileno(), np.uint8, _HEAP_ROOM), sizes)

    def changes(self) -> DirectoryChanges | None:
        """What updates have changed since the directory was loaded; their files are read to the last byte."""
        for kind, name in changes_files(self._manifest.files).items():
            check_content(self.path, self._manifest, name, self._changes[kind])
        return read_changes(self._changes)

    def graphs(self) -> Iterator[tuple[int, TripleIndex]]:
        """Each graph by the id of its name (0: the default graph) with its triples, as it was loaded."""
        groups, directories = read_groups(self._data)
        columns = [
            [map_file(self._data / f"{order}.{place}", np.int64) for place in ("keys", "seconds", "directory")]
            for order in ORDERS
        ]
        for graph, first, end in groups.by_graph():
            by_subject, by_object = (
                _order(groups, first, end, files, directory)
                for files, directory in zip(columns, directories, strict=True)
            )
            yield graph, TripleIndex.of_orders(by_subject, by_object)


def _order(
    groups: Groups,
    first: int,
    end: int,
    columns: Sequence[Ids],
    tables: tuple[Ids, Ids],
) -> OrderArrays:
    """One graph's part of the arrays that all graphs share."""
    keys, seconds, slots = columns
    firsts, shifts = tables
    rows = slice(groups.rows[first], groups.rows[end])
    table = slice(firsts[first], firsts[end - 1] + (2 << (64 - int(shifts[end - 1]))))
    return OrderArrays(
        predicates=np.ascontiguousarray(groups.predicates[first:end]),
        bounds=groups.rows[first : end + 1] - groups.rows[first],
        keys=keys[rows],
        seconds=seconds[rows],
        slots=slots[table],
        firsts=firsts[first:end] - firsts[first],
        shifts=np.ascontiguousarray(shifts[first:end]),
    )
