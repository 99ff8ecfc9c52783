"""What is asked of a durable session, checked and made plain before it is written down.

An entry that cannot be done stays in the journal, and would stop every start from then on.
"""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import SupportsIndex

import numpy as np

from freshet.native.moments import AFTER_ALL_TIME, BEFORE_ALL_TIME
from freshet.rdf.elements import Elements
from freshet.rdf.errors import InputError
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


def checked_options(options: StreamOptions) -> StreamOptions:
    """A stream's options in plain types."""
    iris = [_text(iri, "a predicate that a stream leaves in the graph") for iri in options.absorb or ()]
    return replace(
        options,
        iri=_text(options.iri, "the name of a stream"),
        lateness_ms=whole_number(options.lateness_ms, "the lateness in milliseconds"),
        absorb=None if options.absorb is None else tuple(iris),
        held=bool(options.held),
        keep_ms=whole_number(options.keep_ms, "what is kept of a stream, in milliseconds,"),
        keep_bytes=whole_number(options.keep_bytes, "what is kept of a stream, in bytes,"),
    )


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
