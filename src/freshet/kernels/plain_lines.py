"""Statements as most are written: three terms, one space after each, a point and a line feed.

Statements about one thing stand together, and their predicates come in the same order each time. So a line is first
compared with what is expected of it: the subject of the line before, and the predicate that came last time after the
two before it. Where the bytes are there, the end of the term need not be found, nor the term looked up.
"""

from freshet.kernels.dictionary import UNKNOWN, same_bytes
from freshet.kernels.iris import GREATER, LESS, UNSURE
from freshet.kernels.jit import leaf
from freshet.kernels.ntriples import NEWLINE, SPACE
from freshet.kernels.term_ranges import (
    END,
    ID,
    RECORD,
    REPEATED,
    RESOLVED,
    START,
    UNFOUND,
    WORDS,
    find_byte,
    literal_range,
    quick_hash,
)
from freshet.kernels.terms import POINT, QUOTE

_PLACES = 256
_HISTORY_BITS = 5
_HISTORIES = 1 << (2 * _HISTORY_BITS)

# Guesses are one array, too. It has a predicate for each place that bytes give: where it starts and ends in the data,
# and its id or 0. Then, for each history of predicates, the place of the one that came after it; then the history.
_GUESS_WORDS = 4
_FOLLOWERS = _PLACES * _GUESS_WORDS
_HISTORY = _FOLLOWERS + _HISTORIES
GUESSES = _HISTORY + 1


@leaf
def _place(data, start, end):
    return ((quick_hash(data, start, end) >> 40) & (_PLACES - 1)) * _GUESS_WORDS


@leaf
def _stands_at(data, at, start, end):
    """Whether the term data[start:end] stands at `at` too, with a space after it."""
    stop = at + end - start
    return end > start and stop < data.size and data[stop] == SPACE and same_bytes(data, at, data, start, end)


@leaf
def _predicate_range(data, at, guesses):
    """Where the predicate that starts here ends, and its id where that is known already."""
    history = guesses[_HISTORY]
    place = guesses[_FOLLOWERS + history]
    start, end = guesses[place + START], guesses[place + END]
    if not _stands_at(data, at, start, end):
        start, end = at, find_byte(data, at + 1, GREATER) + 1
        if end >= data.size:
            return end, UNKNOWN
        place = _place(data, at, end)
        if not _stands_at(data, at, guesses[place + START], guesses[place + END]):
            guesses[place + START], guesses[place + END], guesses[place + ID] = start, end, UNKNOWN
        guesses[_FOLLOWERS + history] = place
    guesses[_HISTORY] = ((history << _HISTORY_BITS) ^ (place >> 2)) & (_HISTORIES - 1)
    return at + end - start, guesses[place + ID]


@leaf
def remember_predicate(data, start, end, term_id, guesses):
    """Keep the id of a predicate, once it is known."""
    place = _place(data, start, end)
    if _stands_at(data, start, guesses[place + START], guesses[place + END]):
        guesses[place + ID] = term_id


@leaf
def range_plain(data, at, before, terms, term, guesses):
    """The same as `range_statement` for a plain line; `before` is the subject of the line before, or -1.

    Anything else is -1, and nothing is lost but the time for a second look.
    """
    last = data.size - 3
    predicate, object_ = term + WORDS, term + 2 * WORDS
    terms[term + RECORD] = terms[predicate + RECORD] = terms[object_ + RECORD] = UNFOUND
    if before >= 0 and _stands_at(data, at, terms[before + START], terms[before + END]):
        end = at + terms[before + END] - terms[before + START]
        terms[term + RECORD] = REPEATED
    else:
        end = find_byte(data, at + 1, GREATER) + 1
    if data[at] != LESS or end > last or data[end] != SPACE or data[end + 1] != LESS:
        return UNSURE
    terms[term + START], terms[term + END] = at, end
    at = end + 1
    end, known = _predicate_range(data, at, guesses)
    if end > last or data[end] != SPACE:
        return UNSURE
    terms[predicate + START], terms[predicate + END] = at, end
    if known != UNKNOWN:
        terms[predicate + ID] = known
        terms[predicate + RECORD] = RESOLVED
    at = end + 1
    if data[at] == LESS:
        stop = find_byte(data, at + 1, GREATER) + 1
        end = stop
    elif data[at] == QUOTE:
        end, stop = literal_range(data, at)
    else:
        return UNSURE
    if stop > last or data[stop] != SPACE or data[stop + 1] != POINT or data[stop + 2] != NEWLINE:
        return UNSURE
    terms[object_ + START], terms[object_ + END] = at, end
    return stop + 3
