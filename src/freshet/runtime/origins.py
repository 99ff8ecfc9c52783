"""Where pushed elements come from: the number of the push, or the key of a request, and the line."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_NEWLINE = ord("\n")
_SKIPPED = np.array([_NEWLINE, ord("\r"), ord("#")], np.uint8)  # what lines without a statement begin with

Shifts = tuple[tuple[int, int], ...]  # from which row on, by how much the number of its line is more than that of a row


class TextOrigin(NamedTuple):
    """A push (`push`) or a request (`post`), perhaps with a key, or a push of a `file`, whose name is the key. Without
    `shifts` its lines are not known."""

    kind: str = "push"
    key: str | None = None
    shifts: Shifts | None = ()

    def record(self, batch: int, row: int) -> str:
        """The push or request, and the line of an element.

        >>> TextOrigin("post", "k1", ((0, 0), (2, 1))).record(7, 2), TextOrigin("push", None, None).record(7, 2)
        ('post:k1/4', 'push:7')
        >>> TextOrigin("file", "day.tnt").record(7, 2)
        'file:day.tnt#L3'
        """
        name = f"{self.kind}:{batch if self.key is None else self.key}"
        if self.shifts is None:
            return name
        at = bisect_right(self.shifts, (row, 1 << 62)) - 1
        line = row + 1 + (self.shifts[at][1] if at >= 0 else 0)
        return f"{name}#L{line}" if self.kind == "file" else f"{name}/{line}"

    @property
    def is_plain(self) -> bool:
        """Whether it says nothing that is not so of every push."""
        return self == PUSHED

    def describe(self) -> list[Any]:
        """The same for a journal."""
        return [self.kind, self.key, self.shifts]

    @staticmethod
    def of(described: list[Any] | None) -> TextOrigin:
        """The one that `describe` gave."""
        if described is None:
            return PUSHED
        kind, key, shifts = described
        return TextOrigin(kind, key, None if shifts is None else tuple((row, shift) for row, shift in shifts))


class BatchOrigin(NamedTuple):
    """A batch of a pipeline: `records` has what its records are called, `rows` which of them each element is of."""

    stream: str
    number: int
    records: pa.ChunkedArray | None = None
    rows: NDArray[np.int64] | None = None

    def record(self, batch: int, row: int) -> str:
        """What the record of an element is called, or else its batch.

        >>> BatchOrigin("posts", 4).record(1, 0)
        'batch:posts/4'
        """
        named = None
        if self.records is not None and self.rows is not None:
            named = self.records[int(self.rows[row])].as_py()
        if not named:
            return f"batch:{self.stream}/{self.number}"
        from freshet.sources.parts_of_lines import with_whole_lines  # it brings the models of mappings along

        return with_whole_lines(named)


PUSHED = TextOrigin()


def line_shifts(text: bytes, count: int) -> Shifts | None:
    """Which lines have the `count` statements of a text with one a line; None where that cannot be said.

    >>> line_shifts(b"1\\n2\\n", 2), line_shifts(b"1\\n\\n# x\\n2", 2), line_shifts(b"<a> <b> 1, 2 .", 2)
    ((), ((1, 2),), None)
    """
    if text.count(b"\n") + (not text.endswith(b"\n")) == count:
        return ()
    data = np.frombuffer(text, np.uint8)
    starts = np.concatenate(([0], np.flatnonzero(data == _NEWLINE) + 1))
    starts = starts[starts < len(data)]
    lines = np.flatnonzero(~np.isin(data[starts], _SKIPPED))
    if len(lines) != count:
        return None
    shifts = lines - np.arange(count)
    changes = np.flatnonzero(np.diff(shifts, prepend=0))
    return tuple(zip(changes.tolist(), shifts[changes].tolist(), strict=True))
