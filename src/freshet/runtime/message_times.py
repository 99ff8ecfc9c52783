"""When messages happened, where the time is in the data: a predicate has it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from freshet.native.streams.derived_stream import times_of_terms
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import FURTHEST_MS
from freshet.rdf.errors import InputError
from freshet.rdf.messages import Messages
from freshet.rdf.terms import Iri

Ids = NDArray[np.int64]

_UNTIMED = -FURTHEST_MS


def message_times(messages: Messages, predicate: str, dictionary: Dictionary, file: str) -> Ids:
    """The time of each statement: that of its message, if that has one only; or that of its graph or its subject."""
    quads, numbers = messages.quads, messages.numbers
    rows = np.flatnonzero(quads.predicates == dictionary.encode(Iri(predicate)))
    given = times_of_terms(dictionary, quads.objects[rows], _UNTIMED)
    if (given == _UNTIMED).any() or (len(numbers) and not len(rows)):
        raise InputError(f"<{predicate}> has no date or whole number of milliseconds as its object", file=file)
    if not len(rows):
        return np.empty(0, np.int64)
    first, last = np.full(numbers[-1] + 1, FURTHEST_MS), np.full(numbers[-1] + 1, _UNTIMED)
    np.minimum.at(first, numbers[rows], given)
    np.maximum.at(last, numbers[rows], given)
    times: Ids = np.where(first == last, first, _UNTIMED)[numbers]
    for terms in (quads.graphs, quads.subjects):
        open_rows = np.flatnonzero(times == _UNTIMED)
        if not len(open_rows):
            return times
        times[open_rows] = _times_of_holders(numbers[open_rows], terms[open_rows], quads.subjects, numbers, rows, given)
    missing = np.flatnonzero(times == _UNTIMED)
    if len(missing):
        raise InputError(_untimed(messages, int(missing[0]), predicate, dictionary), file=file)
    return times


def _times_of_holders(asked: Ids, terms: Ids, subjects: Ids, numbers: Ids, rows: Ids, given: Ids) -> Ids:
    """For each term of a message the time that it has as a subject in that message, the latest if there are several."""
    order = np.lexsort((given, subjects[rows], numbers[rows]))
    held = np.stack((numbers[rows][order], subjects[rows][order]))
    is_last = np.r_[(held[:, 1:] != held[:, :-1]).any(axis=0), True]
    held, times = held[:, is_last], given[order][is_last]
    found, places = np.unique(np.concatenate((held, np.stack((asked, terms))), axis=1), axis=1, return_inverse=True)
    by_place = np.full(found.shape[1], _UNTIMED)
    by_place[places[: held.shape[1]]] = times
    result: Ids = by_place[places[held.shape[1] :]]
    return result


def _untimed(messages: Messages, row: int, predicate: str, dictionary: Dictionary) -> str:
    [term] = dictionary.decode_many(messages.quads.subjects[row : row + 1])
    if messages.numbers[-1]:
        return f"message {messages.numbers[row] + 1} has no single <{predicate}>, and {term} in it has none"
    return f"{term} has no <{predicate}>, and others have different ones"
