"""Arguments of a session's calls, checked and converted before anything is done.

Where there is a journal, an entry that cannot be done would stay in it, and stop every start from then on.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, SupportsIndex, cast

import numpy as np
from numpy.typing import NDArray

from freshet.algebra.nodes import Query
from freshet.expressions.functions import FUNCTIONS
from freshet.expressions.mathematics import MATH
from freshet.kernels.dictionary import copy_known, is_known
from freshet.kernels.direct_call import DirectCall
from freshet.native.moments import AFTER_ALL_TIME, BEFORE_ALL_TIME
from freshet.native.plan.element_times import TIMESTAMP
from freshet.native.streams.stream import is_in_order
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import FURTHEST_MS, Elements
from freshet.rdf.errors import InputError
from freshet.rdf.terms import XSD, Iri, is_absolute_iri
from freshet.runtime.durable_records import DurableRegistration, StreamOptions
from freshet.runtime.durations import setting_ms
from freshet.syntax.functions import BY_IRI

AbsorbOption = bool | str | Iterable[str] | Mapping[str, object]

_ABSORBED = (
    "'all', 'none', 'latest', a list of predicate IRIs, {'latest': a list of them} or {'keep': an age}, which may have"
    " 'latest' or 'predicates' beside it"
)
_MOST_BYTES = "the memory of a query in bytes"
_LIMIT = "the limit of a query must be a number of seconds"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INT64 = np.dtype(np.int64)
_CONTIGUOUS = (8,)
_ROLES = ("subject", "predicate", "object")
_COPY_KNOWN = DirectCall(copy_known)


def check_whole_number(
    given: SupportsIndex, what: str, least: int = BEFORE_ALL_TIME, most: int = AFTER_ALL_TIME
) -> int:
    """The number, of any integer type, within what times can be, or within other bounds."""
    try:
        number = operator.index(given)
    except TypeError:
        raise InputError(f"{what} must be a whole number, not {given!r}") from None
    if not least <= number <= most:
        raise InputError(f"{what} is out of range: {number}")
    return number


def seconds(given: float, what: str) -> float:
    """The number, which must be one that can be waited for."""
    number = _number(given, f"{what} must be a number of seconds")
    if number is None or not 0 < number < math.inf:
        raise InputError(f"{what} must be a positive number of seconds, not {given!r}")
    return number


def check_function(iri: str, function: Callable[..., object]) -> None:
    """A function of the user's own needs an IRI that calls no built-in function, under which there can be none."""
    if not isinstance(iri, str) or not is_absolute_iri(iri):
        raise InputError(f"a function is called by an absolute IRI, not {iri!r}")
    if not callable(function):
        raise InputError(f"the function <{iri}> cannot be called: it is {function!r}")
    if iri in FUNCTIONS or iri in BY_IRI or iri == TIMESTAMP:
        raise InputError(f"there is a function <{iri}> already, which is built in")
    if space := next(filter(iri.startswith, (XSD, MATH)), None):
        raise InputError(f"the functions under {space} are built in: <{iri}> needs another IRI")


def check_window_bytes(given: int | None) -> int | None:
    """The number of bytes that windows may hold, where one is given."""
    if given is not None and given <= 0:
        raise InputError(f"windows may hold {given} bytes: it must be a positive number")
    return given


def check_why_elements(given: int) -> int:
    """The number of elements of each stream that are kept to explain answers."""
    given = check_whole_number(given, "why_elements")
    if given < 0:
        raise InputError(f"why_elements is {given}: it must not be negative")
    return given


class Absorption(NamedTuple):
    """What a stream leaves in the graph: nothing (None), everything (no predicate named) or some predicates; whether
    that replaces what is there, and at what age it goes again, 0 for never."""

    predicates: tuple[str, ...] | None
    latest: bool = False
    keep_ms: int = 0


def parse_absorb(absorb: AbsorbOption) -> Absorption:
    """What a stream leaves in the graph, as its options say it.

    >>> parse_absorb(["http://e/b", "http://e/a"]), parse_absorb("all").predicates, parse_absorb(False).predicates
    (Absorption(predicates=('http://e/a', 'http://e/b'), latest=False, keep_ms=0), (), None)
    >>> parse_absorb("latest")
    Absorption(predicates=(), latest=True, keep_ms=0)
    >>> parse_absorb({"latest": ["http://e/a"], "keep": "7d"})
    Absorption(predicates=('http://e/a',), latest=True, keep_ms=604800000)
    """
    if isinstance(absorb, Mapping):
        kinds = [name for name in ("all", "latest", "predicates") if name in absorb]
        if set(absorb) - {"keep", *kinds} or len(kinds) > 1 or not absorb:
            raise InputError(f"a stream absorbs {_ABSORBED}, not {absorb!r}")
        keep_ms = _parse_age(absorb["keep"]) if "keep" in absorb else 0
        named = absorb[kinds[0]] if kinds else True
        if named is True and kinds != ["predicates"]:
            return Absorption((), kinds == ["latest"], keep_ms)
        return Absorption(_parse_predicates(cast("Iterable[str]", named)), kinds == ["latest"], keep_ms)
    if isinstance(absorb, bool | str):
        if absorb not in (True, False, "all", "none", "latest"):  # letters of a string are no predicates
            raise InputError(f"a stream absorbs {_ABSORBED}, not {absorb!r}")
        return Absorption(None if absorb in (False, "none") else (), absorb == "latest")
    return Absorption(_parse_predicates(absorb))


def _parse_age(given: object) -> int:
    """The age at which what is absorbed goes again, in milliseconds."""
    if isinstance(given, timedelta):
        given = given // timedelta(milliseconds=1)
    try:
        found = setting_ms(given) if isinstance(given, str) else given
    except ValueError as error:
        raise InputError(f"keep: {error}") from None
    if isinstance(found, bool) or not isinstance(found, int) or not 0 < found < FURTHEST_MS:
        raise InputError(f"keep is a duration, or milliseconds from 1 on, not {given!r}")
    return found


def _parse_predicates(absorb: Iterable[str]) -> tuple[str, ...] | None:
    try:
        iris = [_text(iri, "a predicate that a stream leaves in the graph") for iri in absorb]
    except TypeError:
        raise InputError(f"a stream absorbs {_ABSORBED}, not {absorb!r}") from None
    for iri in iris:
        if not is_absolute_iri(iri):
            raise InputError(f"a stream absorbs predicates by absolute IRIs without angle brackets, not {iri!r}")
    return tuple(sorted(set(iris))) or None


def parse_history(history: str | int | timedelta) -> int:
    """Milliseconds.

    >>> parse_history("1h"), parse_history(500)
    (3600000, 500)
    """
    try:
        found = setting_ms(history) if isinstance(history, str) else history
    except ValueError as error:
        raise InputError(f"history: {error}") from None
    if isinstance(found, timedelta):
        found = found // timedelta(milliseconds=1)
    if isinstance(found, bool) or not isinstance(found, int) or found < 0:
        raise InputError(f"history is a duration, or milliseconds from 0 on, not {history!r}")
    return found


def parse_time(at: int | str | datetime) -> int:
    """A time in milliseconds; a date without a zone is in UTC.

    >>> parse_time(5), parse_time("1970-01-01T00:00:01Z"), parse_time("1970-01-02")
    (5, 1000, 86400000)
    """
    found: object = at
    if isinstance(found, str):
        try:
            found = int(found) if found.strip().lstrip("-").isdecimal() else datetime.fromisoformat(found)
        except ValueError:
            raise InputError(f"'{at}' is no time: write milliseconds, or a date such as 2026-05-01T12:00:00Z") from None
    if isinstance(found, datetime):
        found = (found if found.tzinfo else found.replace(tzinfo=UTC)) - _EPOCH
        return found // timedelta(milliseconds=1)
    if isinstance(found, bool) or not isinstance(found, int):
        raise InputError(f"a time is milliseconds or a date, not {at!r}")
    if abs(found) > FURTHEST_MS:
        raise InputError(f"{found} ms is no time that an element can have")
    return found


def parse_idle(idle: str | int | timedelta | None) -> int:
    """Milliseconds of silence; 0 where none is given.

    >>> parse_idle("5s"), parse_idle(250), parse_idle(None)
    (5000, 250, 0)
    """
    if idle is None:
        return 0
    rule = "the idle time of a stream is a duration such as '5s', or a number of milliseconds above 0"
    if isinstance(idle, timedelta):
        idle = idle // timedelta(milliseconds=1)
    if isinstance(idle, str):
        try:
            idle = setting_ms(idle)
        except ValueError as error:
            raise InputError(f"{rule}: {error}") from None
    if isinstance(idle, bool):
        raise InputError(f"{rule}, not {idle!r}")
    return check_whole_number(idle, f"{rule}: it", 1, FURTHEST_MS)


def check_options(options: StreamOptions) -> StreamOptions:
    """A stream's options in plain types."""
    if options.graphs and options.retracts:
        raise InputError(f"the stream <{options.iri}> retracts: it cannot keep the graphs of its elements")
    return replace(
        options,
        iri=_text(options.iri, "the name of a stream"),
        lateness_ms=check_whole_number(options.lateness_ms, "the lateness in milliseconds", 0, FURTHEST_MS),
        held=bool(options.held),
        keep_ms=check_whole_number(options.keep_ms, "what is kept of a stream, in milliseconds,", 0, FURTHEST_MS),
        keep_bytes=check_whole_number(options.keep_bytes, "what is kept of a stream, in bytes,", 0),
        idle_ms=check_whole_number(options.idle_ms, "the idle time in milliseconds", 0, FURTHEST_MS),
    )


def check_registration(registration: DurableRegistration) -> DurableRegistration:
    """A registration in plain types."""
    one = registration
    if one.limit_seconds is not None and not (_number(one.limit_seconds, _LIMIT) or 0) > 0:
        raise InputError(f"{_LIMIT} above 0, not {one.limit_seconds!r}")
    return replace(
        one,
        name=_text(one.name, "the name of a query"),
        file=None if one.file is None else str(one.file),
        every_ms=None if one.every_ms is None else check_whole_number(one.every_ms, "a period in milliseconds"),
        limit_seconds=_number(one.limit_seconds, _LIMIT),
        accuracy=_number(one.accuracy, "the accuracy of a query must be a number"),
        limit_bytes=None if one.limit_bytes is None else check_whole_number(one.limit_bytes, _MOST_BYTES),
        latency_ms=_number(one.latency_ms, "the latency of a query must be a number of milliseconds"),
    )


def with_dataset(query: Query, default_graphs: Collection[str], named_graphs: Collection[str]) -> Query:
    """A query over these graphs in place of those that it names, if any are given."""
    if not default_graphs and not named_graphs:
        return query
    return replace(query, default_graphs=tuple(map(Iri, default_graphs)), named_graphs=tuple(map(Iri, named_graphs)))


def check_live(query: Query, one: DurableRegistration) -> None:
    """An error where a query without a window is registered with what only windows have."""
    if query.name is not None:
        raise InputError(
            f"the query {one.name} has no window, which REGISTER needs: without REGISTER it is a live query",
            file=one.file,
        )
    options = {"report": one.report, "every_ms": one.every_ms, "accuracy": one.accuracy, "latency_ms": one.latency_ms}
    options["since"] = one.since_ms
    for option, given in options.items():
        if given not in (None, ()):
            raise InputError(f"the query {one.name} has no window: '{option}' says nothing of a live query")


def _number(given: float | None, rule: str) -> float | None:
    try:
        return None if given is None else float(given)
    except (TypeError, ValueError):
        raise InputError(f"{rule}, not {given!r}") from None


def checked_copy(elements: Elements, dictionary: Dictionary) -> Elements:
    """A copy of columns that come from anywhere, whose caller may write into them, and whose ids may have been swept.

    An error unless these are four columns of numbers, each as long as the others, with times that can be and ids that
    terms have.
    """
    shape = getattr(elements.times, "shape", ())
    for column in elements:
        if type(column) is not np.ndarray or column.shape != shape or column.dtype != _INT64:
            raise InputError("pushed elements must be four arrays of int64, all of one length")
    if len(shape) != 1:
        raise InputError(f"pushed elements must be rows, not an array of {len(shape)} dimensions")
    columns = elements
    if any(column.strides != _CONTIGUOUS for column in columns):
        columns = Elements(*map(np.ascontiguousarray, elements))
    count = len(elements.times)
    copies = np.empty((len(elements), count), np.int64)
    slots = dictionary.arrays.slots
    row, least_ms, largest_ms = _COPY_KNOWN.run(slots, *columns, copies)
    if count:
        check_time(least_ms)
        check_time(largest_ms)
    if row >= 0:
        given = {role: column.item(row) for role, column in zip(_ROLES, elements[1:], strict=True)}
        role = next(role for role, term_id in given.items() if not is_known(slots, term_id))
        raise InputError(f"pushed elements: row {row + 1} has as {role} the id {given[role]}, which no term has")
    return Elements(*copies)


def check_times(times: NDArray[np.int64]) -> None:
    """An error where a time is so far away that windows could not be counted out from it."""
    if len(times) == 1:
        check_time(times.item(0))
    elif len(times):
        first, last = (times[0], times[-1]) if is_in_order(times) else (times.min(), times.max())
        check_time(int(first))
        check_time(int(last))


def check_time(time_ms: int) -> None:
    """The same for one time."""
    if not -FURTHEST_MS <= time_ms <= FURTHEST_MS:
        raise InputError(f"the time of an element is out of range: {time_ms} ms")


def _text(given: str, what: str) -> str:
    if not isinstance(given, str):
        raise InputError(f"{what} must be a string, not {given!r}")
    return str(given)


def check_callbacks(on_report: object, on_batch: object) -> None:
    """Reports go to one callback at most."""
    if on_report is not None and on_batch is not None:
        raise InputError("reports go to one callback: give 'on_report' or 'on_batch'")
