"""Reports as a linked data event stream: a folder of pages that any web server can serve.

`index.trig` leads to the pages by time. A page takes members until it is full, and never changes from then on. All
addresses are relative, so the folder can be served anywhere. Files are replaced as a whole: no reader sees half a page.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from freshet.rdf.errors import InputError
from freshet.rdf.terms import XSD, key_text, term_key
from freshet.rdf.triples import DEFAULT_GRAPH
from freshet.results.answers import AnswerBatch
from freshet.results.graphs import write_ntriples
from freshet.results.report import GraphAnswer, Report
from freshet.runtime.report_output import date_time_text
from freshet.runtime.sinks import DeliveredBefore

INDEX = "index.trig"
PER_PAGE = 1_000
_PAGE_BYTES = 4 << 20
_PREFIXES = (
    "@prefix ldes: <https://w3id.org/ldes#> .\n@prefix tree: <https://w3id.org/tree#> .\n"
    "@prefix prov: <http://www.w3.org/ns/prov#> .\n@prefix dct: <http://purl.org/dc/terms/> .\n"
)
_STREAM = (
    "<#stream> a ldes:EventStream ; tree:view <> ;\n"
    "  ldes:timestampPath prov:generatedAtTime ; ldes:versionOfPath dct:isVersionOf .\n<> a tree:Node .\n"
)
_MARK = re.compile(rb"^# (-?[0-9]+) ([0-9]+)$", re.MULTILINE)  # behind each report: its time, and its members
_FULL = b"<> ldes:immutable true .\n"


class _Mark(NamedTuple):
    """A report in a page."""

    time_ms: int
    members: int


class LdesSink:
    """The reports of a query that is a CONSTRUCT or DESCRIBE. A report is a member: a named graph with its triples.

    Where the template names graphs, each of these in a report is a member, a version (`dct:isVersionOf`) of that graph.
    A run that resumes from a checkpoint goes on with the last page, and leaves out what is there already. Any other run
    goes on with a new page. Threads of clients deliver beside those that save.
    """

    def __init__(self, folder: Path, *, resume: bool, per_page: int = PER_PAGE) -> None:
        self._folder, self._per_page = folder, per_page
        self._unsaved, self._unsynced = False, False
        self._lock = threading.RLock()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._pages = [_marks(path) for path in sorted(folder.glob("page-*.trig"))]
            last = [mark.time_ms for marks in self._pages[-2:] for mark in marks] if resume else []
            self._before = DeliveredBefore(*((last[-1], last.count(last[-1])) if last else (None, 0)))
            self._text = bytearray(self._path().read_bytes()) if self._pages else bytearray()
            if self._pages and not resume:
                self._end_page()
            if not self._pages or self._text.endswith(_FULL):
                self._begin_page()
            self._save()
        except OSError as error:
            raise InputError(f"cannot be written to: {error.strerror}", file=str(folder)) from error

    def deliver(self, batch: AnswerBatch) -> None:
        with self._lock:
            there = self._before.count(batch)
            for report in batch.part(there, len(batch)).reports():
                self._add(report)

    def skip(self, batch: AnswerBatch) -> None:
        with self._lock:
            self._before.count(batch)

    def flush(self) -> None:
        with self._lock:
            if self._unsaved:
                self._save()

    def sync(self) -> None:
        with self._lock:
            self.flush()
            if self._unsynced:
                self._unsynced = False
                for path in (self._path(), self._folder / INDEX, self._folder):
                    _sync(path)

    def close(self) -> None:
        self.sync()

    def _add(self, report: Report) -> None:
        """Add a report to the page, and begin another one where it is full."""
        marks = self._pages[-1]
        if sum(mark.members for mark in marks) >= self._per_page or len(self._text) > _PAGE_BYTES:
            self._end_page()
            self._begin_page()
            marks = self._pages[-1]
        first = sum(mark.members for mark in marks)
        written = [
            _member(f"{self._path().name}#{first + at}", report, *each) for at, each in enumerate(_graphs(report))
        ]
        self._text += b"".join(written) + b"# %d %d\n" % (report.time_ms, len(written))
        marks.append(_Mark(report.time_ms, len(written)))
        self._unsaved = True

    def _begin_page(self) -> None:
        self._pages.append([])
        self._text = bytearray(f"{_PREFIXES}<> a tree:Node .\n".encode())

    def _end_page(self) -> None:
        """Write the page for the last time."""
        if not self._text.endswith(_FULL):
            self._text += _FULL
        _replace(self._path(), self._text)
        _sync(self._path())

    def _save(self) -> None:
        self._unsaved, self._unsynced = False, True
        _replace(self._path(), self._text)
        _replace(self._folder / INDEX, b"".join(self._index()))

    def _index(self) -> Iterator[bytes]:
        yield f"{_PREFIXES}{_STREAM}".encode()
        for number, marks in enumerate(self._pages):
            if marks:
                name = self._path(number).name
                yield _relation("GreaterThanOrEqualTo", name, marks[0].time_ms)
                if number + 1 < len(self._pages):
                    yield _relation("LessThanOrEqualTo", name, marks[-1].time_ms)

    def _path(self, number: int = -1) -> Path:
        return self._folder / f"page-{number % len(self._pages):05d}.trig"


def _graphs(report: Report) -> Iterator[tuple[str | None, bytes]]:
    """The graphs of a report: the name that its template gives, if any, and the triples."""
    graph, dictionary = report.graph, report.dictionary
    assert graph is not None
    assert dictionary is not None
    rows = graph.shown.rows
    names = np.full(len(rows), DEFAULT_GRAPH) if graph.graphs is None else graph.graphs
    for each in np.unique(names).tolist():
        name = None if each == DEFAULT_GRAPH else key_text(term_key(dictionary.decode(each)))
        yield name, write_ntriples(GraphAnswer.of_rows(rows[names == each, :3]), dictionary)


def _member(address: str, report: Report, version_of: str | None, triples: bytes) -> bytes:
    versions = "" if version_of is None else f" ; dct:isVersionOf {version_of}"
    time = f'"{date_time_text(report.time_ms)}"^^<{XSD}dateTime>'
    about = f"<{INDEX}#stream> tree:member <{address}> .\n<{address}> prov:generatedAtTime {time}{versions} .\n"
    return b"%b<%b> {\n%b}\n" % (about.encode(), address.encode(), triples)


def _relation(kind: str, page: str, time_ms: int) -> bytes:
    value = f'"{date_time_text(time_ms)}"^^<{XSD}dateTime>'
    return (
        f"<> tree:relation [ a tree:{kind}Relation ; tree:node <{page}> ;"
        f" tree:path prov:generatedAtTime ; tree:value {value} ] .\n"
    ).encode()


def _marks(page: Path) -> list[_Mark]:
    return [_Mark(int(found[1]), int(found[2])) for found in _MARK.finditer(page.read_bytes())]


def _replace(path: Path, text: bytes | bytearray) -> None:
    written = path.with_suffix(".new")
    written.write_bytes(text)
    os.replace(written, path)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)
