"""RDF Patch (https://afs.github.io/rdf-delta/rdf-patch.html): changes of a graph as lines, in transactions."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from freshet.rdf.errors import InputError

PATCH = "patch"

_LINE = re.compile(rb"[ \t]*(?:(H|TX|TC|TA|PA|PD|A|D)(?=[\s.])|#|\r?$)(.*)")
_PREFIX = re.compile(rb"""[ \t]+(?:["']?)([\w.-]*):?(?:["']?):?[ \t]+(?:<([^<>\s]*)>|"([^"<>\s]*)")[ \t]*\.?\s*""")
# What may hold a colon, and a prefixed name.
_NAME = re.compile(
    rb"""("(?:[^"\\]|\\.)*"(?:@[\w-]+)?|'(?:[^'\\]|\\.)*'(?:@[\w-]+)?|<[^<>]*>|_:[^\s]+)|([\w.-]*):((?:[^\s<>"']*[^\s<>"'.])?)"""
)


class Patched(NamedTuple):
    """Statements of a patch as N-Quads, each on its own line; of each the transaction, and whether it is deleted."""

    text: bytes
    transactions: NDArray[np.int64]
    deletes: NDArray[np.bool_]


def patch_statements(text: bytes, file: str, *, deletions: bool) -> Patched:
    """The statements that a patch adds and, where there may be `deletions`, deletes, in their order.

    What belongs to an aborted transaction is left out.
    """
    lines = text.split(b"\n")
    prefixes: dict[bytes, bytes] = {}
    changed: list[tuple[int, int, bool]] = []  # the line, the transaction, and whether it deletes
    begun, number = 0, 0
    for at, line in enumerate(lines):
        found = _LINE.match(line)
        if found is None:
            raise InputError("this is no line of an RDF Patch", file=file, line=at + 1, column=1)
        match found[1]:
            case b"D" if not deletions:
                message = "the patch deletes a statement, and the stream was not declared to retract"
                raise InputError(message, file=file, line=at + 1, column=1)
            case b"A" | b"D":
                lines[at] = _expand(line.replace(found[1], b" ", 1), prefixes, file, at)
                changed.append((at, number, found[1] == b"D"))
                continue
            case b"PA":
                given = _PREFIX.fullmatch(found[2])
                if given is None:
                    raise InputError("PA takes a prefix and an IRI", file=file, line=at + 1, column=1)
                prefixes[given[1]] = given[2] or given[3] or b""
            case b"PD":
                prefixes.pop(found[2].strip(b" \t\r.\"':"), None)
            case b"TX" | b"TC":
                begun, number = len(changed), number + bool(changed)
            case b"TA":
                for dropped, _, _ in changed[begun:]:
                    lines[dropped] = b""
                del changed[begun:]
        lines[at] = b""
    transactions = np.array([transaction for _, transaction, _ in changed], np.int64)
    return Patched(b"\n".join(lines), transactions, np.array([deletes for _, _, deletes in changed], np.bool_))


def _expand(line: bytes, prefixes: dict[bytes, bytes], file: str, at: int) -> bytes:
    """A line with IRIs in place of prefixed names, and blank nodes as N-Quads writes them."""

    def iri(found: re.Match[bytes]) -> bytes:
        if found[1] is not None:
            return found[1][1:-1] if found[1].startswith(b"<_:") else found[0]  # the system's label of a blank node
        if found[2] not in prefixes:
            message = f"the prefix {found[2].decode(errors='replace')}: is not declared"
            raise InputError(message, file=file, line=at + 1, column=found.start() + 1)
        return b"<%b%b>" % (prefixes[found[2]], found[3])

    return _NAME.sub(iri, line) if prefixes or b"<_:" in line else line
