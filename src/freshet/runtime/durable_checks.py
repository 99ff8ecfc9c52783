"""What is asked of a session, checked and made plain before it is done, and written down where the session is durable.

An entry that cannot be done stays in the journal, and would stop every start from then on.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from dataclasses import replace
from typing import SupportsIndex

import numpy as np

from freshet.native.moments import AFTER_ALL_TIME, BEFORE_ALL_TIME
from freshet.rdf.elements import Elements
from freshet.rdf.errors import InputError
from freshet.rdf.terms import is_absolute_iri
from freshet.runtime.durable_parts import Registration, StreamOptions


def whole_number(given: SupportsIndex, what: str) -> int:
    """The number, of whatever integer type it is, within what times can be."""
    try:
        number = operator.index(given)
    except TypeError:
        raise InputError(f"{what} must be a whole number, not {given!r}") from None
    if not BEFORE_ALL_TIME <= number <= AFTER_ALL_TIME:
        raise InputError(f"{what} is out of range: {number}")
    return number


def seconds(given: float, what: str) -> float:
    """The number, which must be one that can be waited for."""
    number = _number(given, f"{what} must be a number of seconds")
    if number is None or not 0 < number < math.inf:
        raise InputError(f"{what} must be a positive number of seconds, not {given!r}")
    return number


def absorbed(absorb: bool | str | Iterable[str]) -> tuple[str, ...] | None:
    """What a stream leaves in the graph, as its options say it.

    >>> absorbed(["http://e/b", "http://e/a"]), absorbed("all"), absorbed(True), absorbed("none"), absorbed([])
    (('http://e/a', 'http://e/b'), (), (), None, None)
    """
    if isinstance(absorb, bool | str):
        if absorb not in (True, False, "all", "none"):  # letters of a string are no predicates
            raise InputError(f"a stream absorbs 'all', 'none' or a list of predicate IRIs, not {absorb!r}")
        return () if absorb in (True, "all") else None
    try:
        iris = [_text(iri, "a predicate that a stream leaves in the graph") for iri in absorb]
    except TypeError:
        raise InputError(f"a stream absorbs 'all', 'none' or a list of predicate IRIs, not {absorb!r}") from None
    for iri in iris:
        if not is_absolute_iri(iri):
            raise InputError(f"a stream absorbs predicates by absolute IRIs without angle brackets, not {iri!r}")
    return tuple(sorted(set(iris))) or None


def checked_options(options: StreamOptions) -> StreamOptions:
    """A stream's options in plain types."""
    return replace(
        options,
        iri=_text(options.iri, "the name of a stream"),
        lateness_ms=_not_negative(options.lateness_ms, "the lateness in milliseconds"),
        held=bool(options.held),
        keep_ms=_not_negative(options.keep_ms, "what is kept of a stream, in milliseconds,"),
        keep_bytes=_not_negative(options.keep_bytes, "what is kept of a stream, in bytes,"),
    )


def _not_negative(given: SupportsIndex, what: str) -> int:
    number = whole_number(given, what)
    if number < 0:
        raise InputError(f"{what} must not be negative: {number}")
    return number


def checked_registration(registration: Registration) -> Registration:
    """A registration in plain types."""
    one = registration
    return replace(
        one,
        name=_text(one.name, "the name of a query"),
        file=None if one.file is None else str(one.file),
        every_ms=None if one.every_ms is None else whole_number(one.every_ms, "a period in milliseconds"),
        limit_seconds=_number(one.limit_seconds, "the limit of a query must be a number of seconds"),
        accuracy=_number(one.accuracy, "the accuracy of a query must be a number"),
        latency_ms=_number(one.latency_ms, "the latency of a query must be a number of milliseconds"),
    )


def _number(given: float | None, rule: str) -> float | None:
    try:
        return None if given is None else float(given)
    except (TypeError, ValueError):
        raise InputError(f"{rule}, not {given!r}") from None


def check_columns(elements: Elements) -> None:
    """An error unless these are four columns of numbers, each as long as the others."""
    for column in elements:
        if not isinstance(column, np.ndarray) or column.dtype != np.int64 or column.shape != elements[0].shape:
            raise InputError("pushed elements must be four arrays of int64, all of one length")


def _text(given: str, what: str) -> str:
    if not isinstance(given, str):
        raise InputError(f"{what} must be a string, not {given!r}")
    return str(given)
