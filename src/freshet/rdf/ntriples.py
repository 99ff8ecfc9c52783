"""Reads N-Triples, N-Quads and timed N-Triples: a kernel for the lines it is sure of, pyoxigraph for the others.

A line of timed N-Triples is `milliseconds TAB statement`, the statement in N-Triples or N-Quads. In all three,
blank lines and comments may stand between statements.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from freshet.kernels import ntriples as kernels
from freshet.rdf.arrow import Ranges, key_ranges, large_strings, read_only
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.errors import InputError
from freshet.rdf.line_parser import LineParser, ParsedStatement
from freshet.rdf.statement_scan import StatementScan

Ints = NDArray[np.int64]

_ROLES = (kernels.SUBJECT, kernels.PREDICATE, kernels.OBJECT, kernels.GRAPH)


class Statements(NamedTuple):
    """Statements in the order of their lines: the line (from 0), the time, and where in `data` the key of each role is.

    `starts` and `ends` have a row for each role (subject, predicate, object, graph); a start of -1 says there is none.
    """

    data: NDArray[np.uint8]
    lines: Ints
    times: Ints
    starts: Ints
    ends: Ints


class SplitLines(NamedTuple):
    """One row for each line of timed N-Triples; all null for a blank line, all but the reason for a bad one.

    The graph is null as well in the default graph.
    """

    times: pa.Array
    subjects: pa.Array
    predicates: pa.Array
    objects: pa.Array
    graphs: pa.Array
    reasons: pa.Array


def scan_timed(
    data: bytes,
    dictionary: Dictionary,
    file: str,
    *,
    blank_scope: str = "",
    first_line: int = 1,
    deletions: bool = False,
) -> tuple[Elements, list[InputError]]:
    """The elements of timed N-Triples, and an error for each bad line. Graph names are set aside.

    With `deletions`, a line may be `milliseconds TAB - statement`.
    A byte-order mark may stand before the first line of a file.
    """
    scanned = scan_timed_quads(
        data, dictionary, file, blank_scope=blank_scope, first_line=first_line, deletions=deletions
    )
    return scanned[0], scanned[2]


def scan_timed_quads(
    data: bytes, dictionary: Dictionary, file: str, *, blank_scope: str, first_line: int, deletions: bool
) -> tuple[Elements, Ints, list[InputError]]:
    """The same, with the ids of the graphs that the elements are in, 0 for the default graph."""
    if first_line == 1:
        data = data.removeprefix(BOM_UTF8)
    parser = LineParser(file, first_line, blank_scope, timed=True, quads=True, deletions=deletions)
    scan = StatementScan(dictionary, parser)
    scan.feed(data)
    times, subjects, predicates, objects, graphs = scan.columns()
    return Elements(times, subjects, predicates, objects), graphs, scan.errors


def scan_statements(
    data: bytes, dictionary: Dictionary, file: str, *, quads: bool, blank_scope: str = ""
) -> tuple[tuple[Ints, Ints, Ints, Ints], list[InputError]]:
    """The ids of subjects, predicates, objects and graphs of N-Triples or (`quads`) N-Quads, and the errors."""
    scan = StatementScan(dictionary, LineParser(file, 1, blank_scope, timed=False, quads=quads))
    scan.feed(data)
    return scan.columns()[1:], scan.errors


def split_timed(lines: pa.Array, *, blank_scope: str = "") -> SplitLines:
    """Splits lines of timed N-Triples into times and keys, with no dictionary: what Spark's workers run."""
    statements, errors = _scan_lines(key_ranges(lines), LineParser("", 0, blank_scope, timed=True, quads=True))
    count = len(lines)
    times, known = np.zeros(count, np.int64), np.zeros(count, bool)
    times[statements.lines], known[statements.lines] = statements.times, True
    reasons: list[str | None] = [None] * count
    for error in errors:
        if error.line is not None:
            reasons[error.line] = f"column {error.column}: {error.message}"
    return SplitLines(
        pa.array(times, mask=~known),
        _keys_by_line(statements, kernels.SUBJECT, count),
        _keys_by_line(statements, kernels.PREDICATE, count),
        _keys_by_line(statements, kernels.OBJECT, count),
        _keys_by_line(statements, kernels.GRAPH, count),
        pa.array(reasons, pa.string()),
    )


def _keys_by_line(statements: Statements, role: int, count: int) -> pa.Array:
    starts, ends = np.full(count, -1, np.int64), np.zeros(count, np.int64)
    starts[statements.lines], ends[statements.lines] = statements.starts[role], statements.ends[role]
    present = statements.starts[role] >= 0
    out = np.empty(int((statements.ends[role] - statements.starts[role])[present].sum()), np.uint8)
    offsets = np.empty(count + 1, np.int64)
    kernels.gather(read_only(statements.data), starts, ends, out, offsets)
    return large_strings(out, offsets, starts >= 0)


def _scan_lines(lines: Ranges, parser: LineParser) -> tuple[Statements, list[InputError]]:
    data, line_starts, line_ends = read_only(lines[0]), lines[1], lines[2]
    count = line_starts.size
    kinds, times = np.empty(count, np.uint8), np.empty(count, np.int64)
    starts, ends = np.empty((4, count), np.int64), np.empty((4, count), np.int64)
    kernels.scan_lines(data, line_starts, line_ends, parser.timed, parser.quads, kinds, times, starts, ends)
    sure = np.flatnonzero(kinds == kernels.STATEMENT)
    if sure.size < count:
        times, starts, ends = times[sure], starts.take(sure, axis=1), ends.take(sure, axis=1)
    statements = _rewrite(Statements(data, sure, times, starts, ends), parser.blank_scope)
    unsure = np.flatnonzero(kinds == kernels.UNSURE_LINE).tolist()
    if not unsure:
        return statements, []
    texts = [data[line_starts[line] : line_ends[line]].tobytes() for line in unsure]
    parsed, errors = parser.parse(unsure, texts)
    return _merge(statements, parsed), errors


def _rewrite(statements: Statements, blank_scope: str) -> Statements:
    """Puts blank nodes in their scope and language tags in lower case."""
    data, _, _, starts, ends = statements
    scope = np.frombuffer(f"{blank_scope}.".encode() if blank_scope else b"", np.uint8)
    roles = (kernels.SUBJECT, kernels.OBJECT, kernels.GRAPH)
    room = sum(kernels.rewriting_room(data, starts[role], ends[role], scope) for role in roles)
    if not room:
        return statements
    rewritten, at = np.empty(room, np.uint8), 0
    for role in roles:
        at = kernels.rewrite(data, starts[role], ends[role], scope, rewritten, at, data.size)
    return statements._replace(data=np.concatenate([data, rewritten[:at]]))


def _merge(sure: Statements, parsed: list[ParsedStatement]) -> Statements:
    """Puts the statements that the parser read in their places among the others."""
    pieces, shift = [sure.data], sure.data.size
    starts, ends = np.empty((4, len(parsed)), np.int64), np.empty((4, len(parsed)), np.int64)
    for role in _ROLES:
        keys = pa.array([statement.keys[role] for statement in parsed], pa.large_string())
        heap, starts[role], ends[role] = key_ranges(keys)
        starts[role][starts[role] >= 0] += shift
        ends[role] += shift
        pieces.append(heap)
        shift += heap.size
    lines = np.concatenate([sure.lines, np.array([statement.line for statement in parsed], np.int64)])
    times = np.concatenate([sure.times, np.array([statement.time_ms for statement in parsed], np.int64)])
    order = np.argsort(lines, kind="stable")
    return Statements(
        np.concatenate(pieces),
        lines[order],
        times[order],
        np.concatenate([sure.starts, starts], axis=1).take(order, axis=1),
        np.concatenate([sure.ends, ends], axis=1).take(order, axis=1),
    )
