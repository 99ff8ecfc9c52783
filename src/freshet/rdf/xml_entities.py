"""Entities of XML documents: what they would be expanded to, before a parser does it.

A document of a kilobyte can declare entities that stand for gigabytes, each by ten references to the one before.
"""

from __future__ import annotations

import re
from collections import Counter

from freshet.rdf.errors import InputError
from freshet.rdf.wording import show_bytes

_DECLARATION = re.compile(rb"""<!ENTITY\s+(?:%\s+)?([^\s%]+)\s+(?:"([^"]*)"|'([^']*)')""")
_REFERENCE = re.compile(rb"&([^;\s&#<>]+);")
_DEEPEST = 16
_MOST_BYTES = 1 << 24
_MOST_TIMES = 16  # the size of the document


class _Entities:
    """The entities that a document declares."""

    def __init__(self, data: bytes, file: str) -> None:
        self._data = data
        self._file = file
        self._declared = {match[1]: match for match in reversed(list(_DECLARATION.finditer(data)))}  # the first counts
        self._sizes: dict[bytes, int] = {}

    def check(self) -> None:
        """Refuse a document that would be expanded to far more than it is."""
        counts = Counter(match[1] for match in _REFERENCE.finditer(self._data) if match[1] in self._declared)
        totals = {name: count * self._size(name) for name, count in counts.items()}
        most = max(_MOST_BYTES, _MOST_TIMES * len(self._data))
        if sum(totals.values()) > most:
            largest = max(totals, key=totals.__getitem__)
            raise self._error(
                f"the entity &{_shown(largest)}; and others stand for more than {show_bytes(most)}", largest
            )

    def _size(self, name: bytes, depth: int = 0) -> int:
        """How many bytes an entity stands for."""
        known = self._sizes.get(name)
        if known is None:
            if depth > _DEEPEST:
                raise self._error(f"the entity &{_shown(name)}; is nested more than {_DEEPEST} deep", name)
            match = self._declared[name]
            text = match[2] or match[3] or b""
            inner = [each[1] for each in _REFERENCE.finditer(text) if each[1] in self._declared]
            known = self._sizes[name] = len(text) + sum(self._size(each, depth + 1) for each in inner)
        return known

    def _error(self, message: str, name: bytes) -> InputError:
        start = self._declared[name].start()
        line = self._data.count(b"\n", 0, start) + 1
        column = start - self._data.rfind(b"\n", 0, start)
        return InputError(message, file=self._file, line=line, column=column)


def check_xml(data: bytes, file: str) -> None:
    """Refuse what no parser of XML should be given: bytes that are no characters, and entities that never end."""
    if (at := data.find(b"\0")) >= 0 and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        line = data.count(b"\n", 0, at) + 1
        raise InputError("a NUL is no character of XML", file=file, line=line, column=at - data.rfind(b"\n", 0, at))
    if b"<!ENTITY" in data:
        _Entities(data, file).check()


def _shown(name: bytes) -> str:
    return name[:40].decode(errors="replace")
