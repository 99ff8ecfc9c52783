"""Where `freshet replay` puts reports: lines for people or programs, CSV, RDF with times, Parquet."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.parse import quote

import numpy as np

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import InputError
from freshet.rdf.ids import XSD_INTEGER
from freshet.rdf.terms import XSD, Literal, key_text, term_key
from freshet.rdf.triples import DEFAULT_GRAPH
from freshet.results.answers import AnswerBatch
from freshet.results.graphs import write_ntriples
from freshet.results.report import GraphAnswer, Report
from freshet.results.sparql_csv import csv_header, csv_rows
from freshet.results.write import batch_json
from freshet.runtime.display import show_report, show_table

if TYPE_CHECKING:
    from freshet.runtime.explained_reports import ExplainedReports
    from freshet.runtime.registered_query import RegisteredQuery

EXPLAINED = ("text", "ndjson")  # the formats in which rows can be explained
_ABOUT = ("query", "time", "stream")  # columns of a CSV before those of the variables
_GENERATED = "http://www.w3.org/ns/prov#generatedAtTime"
_VERSION_OF = "http://purl.org/dc/terms/isVersionOf"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ReportOutput:
    """Takes the reports of queries, all of which are known before the first report comes."""

    def __init__(self, dictionary: Dictionary, format: str, file: IO[bytes], *, why: bool = False) -> None:
        self._dictionary = dictionary
        self._file = file
        self.has_reports = False
        self._is_watched = file.isatty()
        self._columns: tuple[str, ...] = ()
        self._format = format
        written: dict[str, Callable[[AnswerBatch], bytes]] = {
            "text": self._text,
            "table": self._table,
            "ndjson": batch_json,
            "csv": self._csv,
            "rdf": _trig,
        }
        self._write = written[format]
        self._explained: ExplainedReports | None = None
        if why:
            from freshet.runtime.explained_reports import ExplainedReports

            self._explained = ExplainedReports(dictionary, format)
            self._write = self._explained.write

    def begin(self, queries: Sequence[RegisteredQuery]) -> None:
        """Take note of the queries."""
        if self._explained is not None:
            self._explained.begin({query.name: query for query in queries})
        if self._format == "rdf":
            for query in queries:
                if query.columns is None:
                    raise InputError(
                        f"the query {query.name} reports solutions: --format rdf takes CONSTRUCT, DESCRIBE"
                    )
        if self._format == "csv":
            found = [name for query in queries for name in query.columns or query.variables]
            self._columns = tuple(dict.fromkeys(found))
            about = [f"report_{name}" if name in self._columns else name for name in _ABOUT]
            self._file.write(csv_header((*about, *self._columns)))

    def take(self, batch: AnswerBatch) -> None:
        """Write the reports of a batch."""
        self.has_reports = True
        self._file.write(self._write(batch))
        if self._is_watched:
            self._file.flush()

    def _text(self, batch: AnswerBatch) -> bytes:
        return "".join(f"{show_report(report, self._dictionary)}\n" for report in batch.reports()).encode()

    def _table(self, batch: AnswerBatch) -> bytes:
        return "".join(f"{show_table(report, self._dictionary)}\n" for report in batch.reports()).encode()

    def _csv(self, batch: AnswerBatch) -> bytes:
        """A row for each solution, under one header for all queries."""
        names, rows, offsets = batch.shown
        rows, counts = rows[offsets[0] : offsets[-1]], np.diff(offsets)
        table = np.zeros((len(rows), len(_ABOUT) + len(self._columns)), np.int64)
        with self._dictionary.pins:
            about = [Literal(batch.query), Literal(batch.output.value)]
            table[:, 0], table[:, 2] = self._dictionary.encode_many(about).tolist()
            times = [Literal(str(time_ms), XSD_INTEGER) for time_ms in batch.times.tolist()]
            table[:, 1] = np.repeat(self._dictionary.encode_many(times), counts)
            for at, name in enumerate(names):
                table[:, len(_ABOUT) + self._columns.index(name)] = rows[:, at]
            return csv_rows(table, self._dictionary)


def date_time_text(time_ms: int) -> str:
    """A time as xsd:dateTime writes it.

    >>> date_time_text(1500)
    '1970-01-01T00:00:01.500Z'
    """
    try:
        at = (_EPOCH + timedelta(milliseconds=time_ms)).isoformat(timespec="milliseconds")
    except OverflowError:
        raise InputError(f"the time {time_ms} ms has no xsd:dateTime that RDF readers know") from None
    return at.replace("+00:00", "Z")


def _trig(batch: AnswerBatch) -> bytes:
    """A named graph for each report, or for each graph in it, and in the default graph the time of each."""
    return b"".join(map(_graph, batch.reports()))


def _graph(report: Report) -> bytes:
    graph, dictionary = report.graph, report.dictionary
    assert graph is not None
    assert dictionary is not None
    assert report.moment is not None
    instant = ":instant" if report.moment & 1 else ""  # a query may report at a close of the same time
    name = f"<urn:freshet:report:{quote(report.query, safe=':')}:{report.time_ms}{instant}>"
    time = f'"{date_time_text(report.time_ms)}"^^<{XSD}dateTime>'
    rows, names = graph.shown.rows, np.zeros(len(graph.subjects), np.int64) if graph.graphs is None else graph.graphs
    written = []
    for number, each in enumerate(np.unique(names).tolist()):
        inside = write_ntriples(GraphAnswer.of_rows(rows[names == each, :3]), dictionary)
        title, version = name, ""
        if each != DEFAULT_GRAPH:  # the same name may be in many reports, each time with another content
            title, version = (
                f"{name[:-1]}:{number}>",
                f" ; <{_VERSION_OF}> {key_text(term_key(dictionary.decode(each)))}",
            )
        written.append(b"%b {\n%b}\n" % (f"{title} <{_GENERATED}> {time}{version} .\n{title}".encode(), inside))
    return b"".join(written)


@contextmanager
def output_file(path: Path | None) -> Iterator[IO[bytes]]:
    """A file to write, or standard output."""
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        file = path.open("wb")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=str(path)) from None
    with file:
        yield file


def check_output(format: str, path: Path | None, queries: int, inputs: Iterable[Path], *, why: bool = False) -> None:
    """An error where a format cannot go to a place or has none for `why`, before anything is read or written."""
    if why and format not in EXPLAINED:
        raise InputError(f"--why takes --format {' or '.join(EXPLAINED)}, not {format}")
    if path is not None and path.is_file() and any(each.exists() and path.samefile(each) for each in inputs):
        raise InputError(f"-o {path} is read by this command: give another file")
    if format != "parquet":
        return
    if path is None:
        raise InputError("--format parquet needs -o: a folder, or FILE.parquet for one query")
    is_one = path.suffix == ".parquet"
    if is_one and queries > 1:
        raise InputError(f"-o {path} is one file for {queries} queries: give a folder")
    if is_one and path.is_dir():
        raise InputError(f"-o {path} is a folder: {path.suffix} is for files")
    folder = path.parent if is_one else path
    there = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    if not there.is_dir():
        raise InputError(f"-o {path}: {there} is a file, not a folder; one file is called FILE.parquet")
    if is_one and there != folder:
        raise InputError(f"-o {path}: there is no folder {folder}")
    if not os.access(there, os.W_OK):
        raise InputError(f"-o {path}: {there} cannot be written")


def write_parquet(queries: Sequence[RegisteredQuery], path: Path) -> None:
    """What queries have reported, typed by all values of a column: a file for each query."""
    import pyarrow.parquet as pq

    try:
        if path.suffix != ".parquet":
            path.mkdir(parents=True, exist_ok=True)
        for query in queries:
            file = path if path.suffix == ".parquet" else path / f"{quote(query.name, safe='')}.parquet"
            pq.write_table(query.take_arrow(), file)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", file=str(path)) from None
