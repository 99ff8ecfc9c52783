"""The folder of a load while it runs, and how its result becomes the graph: all at once, or not at all.

A load writes to a hidden folder inside the graph directory. To commit, the finished files are moved to a folder of
their own, and the manifest that names it takes the place of the one before. A load that is killed leaves a hidden
folder, or a folder that no manifest names; the next load removes both.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from freshet.rdf.errors import InputError
from freshet.store.graph_manifest import (
    NAME,
    Counts,
    GraphFile,
    Manifest,
    check_sizes,
    describe,
    read_manifest,
    sync_folder,
    write_manifest,
)

_LOCK = ".lock"
_LOADING = ".loading-"
_DATA = "data-"


class LoadFolder:
    """`staging` is for parts, `data` for the files of the graph; `before` has those of the graph as it was, if it was.

    `scope` is one for blank nodes that no other load has.
    """

    def __init__(self, graph: Path) -> None:
        self._graph = graph
        self._token = secrets.token_hex(6)
        self._own = graph.absolute() / f"{_LOADING}{self._token}"  # tasks may run in another folder
        self.scope = f"g{self._token}"
        self.staging = self._own / "staging"
        self.data = self._own / "data"
        self.before: Path | None = None
        self.manifest: Manifest | None = None
        self._made = False

    def __enter__(self) -> LoadFolder:
        try:
            self._made = not self._graph.exists()
            self._graph.mkdir(parents=True, exist_ok=True)
            self._check_content()
            self._lock = os.open(self._graph / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", file=str(self._graph)) from None
        try:
            self._prepare()
        except BaseException:
            os.close(self._lock)
            raise
        return self

    def _prepare(self) -> None:
        self._take_lock()
        try:
            if (self._graph / NAME).exists():
                self.manifest = read_manifest(self._graph)
                check_sizes(self._graph, self.manifest)
                self.before = self._graph / self.manifest.data
            self._remove_leftovers()
            for folder in (self.staging, self.data):
                folder.mkdir(parents=True)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", file=str(self._graph)) from None

    def _check_content(self) -> None:
        """A folder of something else is left alone."""
        known = (NAME, f".{NAME}", _LOCK)
        for path in self._graph.iterdir():
            if path.name not in known and not path.name.startswith((_LOADING, _DATA)):
                hint = "give the name of a folder that is not there, or empty, or a graph directory"
                raise InputError(f"this folder has other files, such as {path.name}", file=str(self._graph), hint=hint)

    def _take_lock(self) -> None:
        _take_lock(self._lock, self._graph)

    def _remove_leftovers(self) -> None:
        current = self.manifest.data if self.manifest is not None else None
        for path in self._graph.iterdir():
            if path.name.startswith((_LOADING, _DATA)) and path.name != current:
                shutil.rmtree(path)

    def commit(self, counts: Counts) -> None:
        """Make what is in `data` the graph. Readers of the graph as it was keep it: its files stay mapped."""
        paths = sorted(path for path in self.data.rglob("*") if path.is_file())
        with ThreadPoolExecutor() as threads:
            files = dict(threads.map(self._finish, paths))
        for folder in {path.parent for path in paths}:
            sync_folder(folder)
        place = self._graph / f"{_DATA}{self._token}"
        self.data.rename(place)
        write_manifest(self._graph, Manifest(place.name, counts, files))
        if self.before is not None:
            shutil.rmtree(self.before, ignore_errors=True)

    def _finish(self, path: Path) -> tuple[str, GraphFile]:
        with path.open("rb+") as file:
            os.fsync(file.fileno())
        return path.relative_to(self.data).as_posix(), describe(path)

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._own, ignore_errors=True)
        if self._made and not (self._graph / NAME).exists():
            shutil.rmtree(self._graph, ignore_errors=True)
        os.close(self._lock)


@contextmanager
def locked_directory(graph: Path) -> Iterator[None]:
    """Held while a graph directory that is there is changed: nothing else writes to it."""
    if not (graph / NAME).exists():
        read_manifest(graph)  # which says what is wrong
    try:
        lock = os.open(graph / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=str(graph)) from None
    try:
        _take_lock(lock, graph)
        yield
    finally:
        os.close(lock)


def _take_lock(lock: int, graph: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InputError("another load is writing to this graph directory", file=str(graph)) from None
