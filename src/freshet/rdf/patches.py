"""RDF Patch (https://afs.github.io/rdf-delta/rdf-patch.html): changes of a graph as lines, in transactions."""

from __future__ import annotations

import re

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


def patch_statements(text: bytes, file: str) -> tuple[bytes, NDArray[np.int64]]:
    """The statements that a patch adds, as N-Quads with each on its own line, and the transaction that each is of.

    What an aborted transaction adds is left out. Deletions are refused.
    """
    lines = text.split(b"\n")
    prefixes: dict[bytes, bytes] = {}
    added: list[tuple[int, int]] = []  # the line, and the transaction
    begun, number = 0, 0
    for at, line in enumerate(lines):
        found = _LINE.match(line)
        if found is None:
            raise InputError("this is no line of an RDF Patch", file=file, line=at + 1, column=1)
        match found[1]:
            case b"A":
                lines[at] = _expand(line.replace(b"A", b" ", 1), prefixes, file, at)
                added.append((at, number))
                continue
            case b"D":
                raise InputError(
                    "the patch deletes a statement, and streams cannot retract yet", file=file, line=at + 1, column=1
                )
            case b"PA":
                given = _PREFIX.fullmatch(found[2])
                if given is None:
                    raise InputError("PA takes a prefix and an IRI", file=file, line=at + 1, column=1)
                prefixes[given[1]] = given[2] or given[3] or b""
            case b"PD":
                prefixes.pop(found[2].strip(b" \t\r.\"':"), None)
            case b"TX" | b"TC":
                begun, number = len(added), number + bool(added)
            case b"TA":
                for dropped, _ in added[begun:]:
                    lines[dropped] = b""
                del added[begun:]
        lines[at] = b""
    return b"\n".join(lines), np.array([transaction for _, transaction in added], np.int64)


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
