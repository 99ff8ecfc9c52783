"""The queries of a pipeline: there, parsed, continuous, and over streams that are declared or made by other queries."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from freshet.algebra.nodes import Query, QueryForm
from freshet.rdf.errors import FreshetError, InputError
from freshet.rdf.terms import Iri
from freshet.rdf.yaml_positions import Document, KeyPath
from freshet.runtime.form_problems import did_you_mean
from freshet.runtime.pipeline_model import LdesSinkSection, QuerySection, Stream
from freshet.runtime.query_order import CycleError, constructed_names, free_name, registration_order
from freshet.runtime.text_file import read_text, show_path

# Strings, IRIs and comments are matched so as to be stepped over.
_WINDOW_STREAM = re.compile(
    r"""\b(?:ON|OVER|STREAM)\s+(?P<stream><[^<>\s]*>|[^\s<\[:]*:[^\s\[]*)\s*\["""
    r"""|"{3}(?:[^\\]|\\.)*?"{3}|'{3}(?:[^\\]|\\.)*?'{3}|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*\'"""
    r"""|<[^<>"{}|^`\\\s]*>|\#[^\r\n]*""",
    re.DOTALL | re.IGNORECASE,
)


@dataclass(slots=True)
class CheckedQueries:
    """The queries with their texts, as far as these could be read, and what is wrong with any.

    Each comes after those whose answers it reads.
    """

    queries: dict[str, QuerySection] = field(default_factory=dict)
    problems: list[FreshetError] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class QueryText:
    """A query's text and where it stands: in a file of its own, or at a path of the pipeline file."""

    document: Document
    path: KeyPath
    text: str
    file: str | None = None

    def error(self, message: str, line: int, column: int) -> InputError:
        """An error at a place of the text."""
        file, line, column = self._place(line, column)
        return InputError(message, file=file, line=line, column=column)

    def with_place(self, error: FreshetError) -> FreshetError:
        """The parser's error, with its place in the file."""
        file, line, column = self._place(error.line or 1, error.column or 1)
        return type(error)(error.message, file=file, line=line, column=column, hint=error.hint, excerpt=error.excerpt)

    def _place(self, line: int, column: int) -> tuple[str, int, int]:
        if self.file is not None:
            return self.file, line, column
        return self.document.file, *self.document.place_inside(self.path, line, column)


def check_queries(
    document: Document, queries: Mapping[str, QuerySection], streams: Mapping[str, Stream] | None
) -> CheckedQueries:
    """Read and parse every query. Without `streams` it is not asked whether streams are declared."""
    checked = CheckedQueries()
    names: dict[str, str] = {}
    read: dict[str, tuple[QueryText, Query]] = {}
    for key, query in queries.items():
        try:
            source = _text(document, key, query)
            parsed = _parse(source)
        except FreshetError as error:
            checked.problems.append(error)
            continue
        name = free_name(query.name or parsed.name or key, names)
        if query.name not in (None, name):
            message = f"the query '{names[query.name]}' reports under this name already"
            checked.problems.append(document.value_error(("queries", key, "name"), message))
        checked.queries[key] = query.model_copy(update={"text": source.text, "name": name})
        names[name] = key
        read[name] = (source, parsed)
        for number, sink in enumerate(query.sinks):
            if isinstance(sink, LdesSinkSection) and parsed.form not in (QueryForm.CONSTRUCT, QueryForm.DESCRIBE):
                message = f"the query '{key}' reports solutions: an event stream takes CONSTRUCT, DESCRIBE"
                checked.problems.append(document.key_error(("queries", key, "sinks", number, "ldes"), message))
        if not parsed.windows:
            message = f"the query '{key}' is not continuous: it has no FROM NAMED WINDOW"
            checked.problems.append(document.value_error(source.path, message))
    queries_by_name = {name: parsed for name, (_, parsed) in read.items()}
    if streams is not None and len(read) == len(queries):
        checked.problems += _check_reads(document, names, read, streams)
    try:
        order = registration_order(queries_by_name)
        checked.queries = {names[name]: checked.queries[names[name]] for name in order}
    except CycleError as error:
        checked.problems.append(document.key_error(("queries", names[error.queries[0]]), error.message))
    return checked


def _check_reads(
    document: Document,
    names: Mapping[str, str],
    read: Mapping[str, tuple[QueryText, Query]],
    streams: Mapping[str, Stream],
) -> Iterator[InputError]:
    """Every stream that a query reads is declared, or has the answers of one query."""
    declared = [stream.iri for stream in streams.values()]
    constructed = constructed_names({name: parsed for name, (_, parsed) in read.items()})
    for name in sorted(constructed.intersection(declared)):
        message = f"its answers are the stream <{name}>, and a stream with this IRI is declared"
        yield document.key_error(("queries", names[name]), message)
    for source, parsed in read.values():
        yield from _undeclared(source, parsed, [*declared, *sorted(constructed)])


def _text(document: Document, key: str, query: QuerySection) -> QueryText:
    if (query.file is None) == (query.text is None):
        message = f"the query '{key}' needs either 'file' or 'text'"
        raise document.key_error(("queries", key), message + (", not both" if query.file else ""))
    if query.text is not None:
        return QueryText(document, ("queries", key, "text"), query.text)
    path: KeyPath = ("queries", key, "file")
    assert query.file is not None, "one of the two is there"
    if not query.file.is_file():
        raise document.value_error(path, f"there is no file {show_path(query.file)}")
    return QueryText(document, path, read_text(query.file), show_path(query.file))


def _parse(source: QueryText) -> Query:
    from freshet.syntax.parser import parse_query

    try:
        return parse_query(source.text)
    except FreshetError as error:
        raise source.with_place(error) from None


def _undeclared(source: QueryText, query: Query, declared: list[str]) -> Iterator[InputError]:
    """Streams that the query names and the pipeline does not."""
    offsets = [match.start("stream") for match in _WINDOW_STREAM.finditer(source.text) if match["stream"]]
    for number, declaration in enumerate(query.windows):
        stream = declaration.window.stream
        if isinstance(stream, Iri) and (iri := stream.value) not in declared:
            offset = offsets[number] if len(offsets) == len(query.windows) else 0
            before = source.text[:offset]
            line, column = before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1
            yield source.error(f"the stream <{iri}> is not declared" + did_you_mean(iri, declared), line, column)
