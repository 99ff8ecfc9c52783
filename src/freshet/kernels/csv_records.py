"""CSV in blocks of bytes: where records and the fields that are asked for begin and end.

A record ends with LF, CR or both; lines with nothing in them are no records. A field that begins with the quote may
hold delimiters and ends of lines, and the quote where it is written twice; what follows its closing quote belongs to
it, too. A quote elsewhere is a character like others.
"""

import numpy as np

from freshet.kernels.jit import njit

# How a field is written.
BARE = 0
QUOTED = 1  # within quotes and nothing else
MIXED = 2  # with quotes inside, or with something after the closing quote

# The columns of what is known of a record.
START, END, FIELDS = 0, 1, 2
# In place of the number of fields: a quote that is never closed; more bytes than the longest record may have. Either is
# taken to be one line, and what follows is read as if nothing were wrong.
UNCLOSED, TOO_LONG = -1, -2
SEVERAL = -3  # a text that should be one record and is more


@njit
def _line_end(data, at, end):
    while at < end and data[at] != 10 and data[at] != 13:
        at += 1
    return at


@njit
def _after_line(data, at, end):
    """Past the end of a line that begins at a place."""
    if at < end and data[at] == 13:
        at += 1
        return at + 1 if at < end and data[at] == 10 else at
    return at + 1 if at < end else at


@njit
def _field(data, at, end, delimiter, quote):
    """Where the field that begins at a place ends, and how it is written; -1 where a quote is never closed."""
    if at >= end or data[at] != quote:
        while at < end and data[at] != delimiter and data[at] != 10 and data[at] != 13:
            at += 1
        return at, BARE
    form = QUOTED
    at += 1
    while True:
        while at < end and data[at] != quote:
            at += 1
        if at >= end:
            return np.int64(-1), form
        at += 1
        if at < end and data[at] == quote:
            form = MIXED
            at += 1
            continue
        break
    while at < end and data[at] != delimiter and data[at] != 10 and data[at] != 13:
        form = MIXED
        at += 1
    return at, form


@njit
def _skip_line(data, at, end, final, comment):
    """Past a line that is no record: one with nothing in it, or a comment.

    The same place where it is a record, -1 where its end is not there yet.
    """
    if data[at] != 10 and data[at] != 13 and data[at] != comment:
        return at
    at = _line_end(data, at, end)
    if at >= end - 1 and not final:
        return np.int64(-1)  # LF may follow CR
    return _after_line(data, at, end)


@njit
def _record(data, first, end, final, longest, delimiter, quote, wanted, starts, ends, forms, count):
    """Where the record that begins at a place ends, and how many fields it has; -1 where its end is not there yet."""
    stop = min(end, first + longest)
    fields, at = 0, first
    while True:
        start = at
        at, form = _field(data, at, stop, delimiter, quote)
        if at < 0:
            break
        if fields < wanted.size and wanted[fields] >= 0:
            starts[wanted[fields], count] = start
            ends[wanted[fields], count] = at
            forms[wanted[fields], count] = form
        fields += 1
        if at >= stop or data[at] != delimiter:
            break
        at += 1
    if at >= 0 and (at < stop - 1 or (final and stop == end)):
        return at, fields
    if stop == end and not final and stop < first + longest:
        return np.int64(-1), fields
    at, fields = _line_end(data, first, end), (UNCLOSED if at < 0 and stop < first + longest else TOO_LONG)
    return (np.int64(-1) if at >= end - 1 and not final else at), fields


@njit
def scan_records(data, at, end, final, longest, delimiter, quote, comment, wanted, starts, ends, forms, records):
    """Records of data[at:end], after which comes nothing if `final`, up to as many as there is room for.

    `wanted` has for each column of the header the number of the reference that takes it, or -1; what is found goes into
    starts, ends and forms [reference, record]. No record is longer than `longest` bytes. Gives the number of records
    and how far it came.
    """
    count = 0
    while count < records.shape[0] and at < end:
        first = _skip_line(data, at, end, final, comment)
        if first < 0:
            break
        if first > at:
            at = first
            continue
        last, fields = _record(data, first, end, final, longest, delimiter, quote, wanted, starts, ends, forms, count)
        if last < 0:
            break
        records[count, START], records[count, END] = first, last
        records[count, FIELDS] = fields
        at = _after_line(data, last, end)
        count += 1
    return count, at


@njit
def scan_texts(data, text_starts, text_ends, longest, delimiter, quote, wanted, starts, ends, forms, fields):
    """Texts that are one record each: what is found goes into starts, ends and forms [reference, text]."""
    for text in range(text_starts.size):
        first, end = text_starts[text], text_ends[text]
        last, fields[text] = _record(
            data, first, end, True, longest, delimiter, quote, wanted, starts, ends, forms, text
        )
        if fields[text] >= 0 and _after_line(data, last, end) < end:
            fields[text] = SEVERAL


@njit
def split_places(data, at, end, final, longest, delimiter, quote, comment, every, target, places):
    """Where lines and records begin, one for each `every` bytes: the first at or after target, target + every, ...

    The same reading as `scan_records`. Gives the number of places, how far it came, and the next target.
    """
    count = 0
    nothing = np.empty(0, np.int64)
    nowhere, no_forms = np.empty((0, 0), np.int64), np.empty((0, 0), np.int8)
    while at < end and count < places.size:
        if at >= target:
            places[count] = at
            count += 1
            while target <= at:
                target += every
        first = _skip_line(data, at, end, final, comment)
        if first < 0:
            break
        if first == at:
            first, _ = _record(data, at, end, final, longest, delimiter, quote, nothing, nowhere, nowhere, no_forms, 0)
            if first < 0:
                break
            first = _after_line(data, first, end)
        at = first
    return count, at, target


@njit
def _unquote(data, at, end, quote, out, to):
    at += 1
    while at < end:
        if data[at] == quote:
            at += 1
            if at >= end or data[at] != quote:
                break
        out[to] = data[at]
        to += 1
        at += 1
    while at < end:
        out[to] = data[at]
        to += 1
        at += 1
    return to


@njit
def write_fields(data, starts, ends, forms, wanted, quote, out, offsets):
    """Writes one field of each wanted record, one after another: text i is out[offsets[i]:offsets[i + 1]]."""
    to = np.int64(0)
    for record in range(wanted.size):
        offsets[record] = to
        if not wanted[record]:
            continue
        if forms[record] == MIXED:
            to = _unquote(data, starts[record], ends[record], quote, out, to)
            continue
        inside = 1 if forms[record] == QUOTED else 0
        for at in range(np.uint64(starts[record] + inside), np.uint64(ends[record] - inside)):
            out[to] = data[at]
            to += 1
    offsets[wanted.size] = to
