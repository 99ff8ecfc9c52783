"""XML text to records: an element an iterator finds is a record, and XPath finds texts in it.

A document that declares entities is refused: they can name files and addresses, or grow without end. Nothing outside of
a document is ever read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
from lxml import etree

from freshet.rdf.errors import InputError
from freshet.spark.sources.columns import DEFAULT_LIMITS, SHOWN, Column, Found, Limits, Shape

ROWS = 4096
ENTITIES = "the document declares entities, which are refused"

_STEPS = re.compile(r"(?:/(?:[\w.\-]+:)?(?:[\w.\-]+|\*))+")
# Where only the record and the attributes of what is around it are kept, a reference may find these, and otherwise must
# not go up, along an axis, or to the root.
_ATTRIBUTE_ABOVE = re.compile(r"(?:\.\./)+@[\w.\-:]+")
_LEAVES_THE_RECORD = re.compile(r"\.\.|::|(?:^|[^\w.\-)\]*/\s]|\b(?:and|or|div|mod)\s)\s*/")
_DECLARED = re.compile(rb"<!ENTITY", re.IGNORECASE)

_STRING_VALUE = etree.XPath("string()", smart_strings=False)

Namespaces = tuple[tuple[str, str], ...]


class RefusedError(ValueError):
    """A document that is not read, with the reason."""


def xpath(text: str, namespaces: Namespaces) -> etree.XPath:
    """A compiled XPath. One that is none, or that uses a prefix without a namespace, is an error."""
    try:
        compiled = etree.XPath(text, namespaces=dict(namespaces), smart_strings=False)
        compiled(etree.Element("record"))
    except etree.XPathError as error:
        raise InputError(f"{text} is no XPath: {error}") from None
    return compiled


@lru_cache(maxsize=256)
def _compiled(text: str, namespaces: Namespaces) -> etree.XPath:
    return xpath(text, namespaces)


def texts_of(result: Any) -> list[str]:
    """What an XPath finds, as texts: of an element it is all text in it."""
    if isinstance(result, list):
        return [each if isinstance(each, str) else _text_of(each) for each in result]
    if isinstance(result, bool):
        return ["true" if result else "false"]
    if isinstance(result, float):
        return [str(int(result)) if result.is_integer() else str(result)]
    return [str(result)]


def _text_of(node: Any) -> str:
    if isinstance(node, tuple):  # a namespace
        return str(node[1])
    if not isinstance(node.tag, str):  # a comment or a processing instruction
        return node.text or ""
    return node.text or "" if not len(node) else str(_STRING_VALUE(node))


def steps_of(iterator: str, namespaces: Namespaces) -> tuple[str, ...] | None:
    """The names of the elements that lead to a record, as lxml writes them; None where the iterator does more."""
    if not _STEPS.fullmatch(iterator):
        return None
    known = dict(namespaces)
    steps = []
    for step in iterator.split("/")[1:]:
        prefix, colon, name = step.rpartition(":")
        if colon and prefix not in known:
            raise InputError(f"{iterator} is no XPath: the prefix {prefix} has no namespace")
        steps.append(f"{{{known[prefix]}}}{name}" if colon else name)
    return tuple(steps)


def stays_inside(reference: str) -> bool:
    """Whether a reference needs no more of a document than the record and the attributes of what is around it."""
    return bool(_ATTRIBUTE_ABOVE.fullmatch(reference)) or not _LEAVES_THE_RECORD.search(reference)


@dataclass(frozen=True, slots=True)
class XmlReader:
    """How XML is read. `keep` asks for the text and the file of every record, not of rejected ones only."""

    shape: Shape
    iterator: str
    namespaces: Namespaces = ()
    nulls: frozenset[str] = frozenset()
    limits: Limits = DEFAULT_LIMITS
    keep: bool = False

    @property
    def streams(self) -> bool:
        """Whether records are read one after the other, without the document around them."""
        plain = steps_of(self.iterator, self.namespaces) is not None
        return plain and all(stays_inside(each) for each in self.shape.references)

    def records_of(self, document: bytes, encoding: str | None = None) -> list[Any]:
        """The records of a whole document, cut by the iterator."""
        text = document.lstrip()
        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, encoding=encoding)
        if _DECLARED.search(text[:SHOWN]):
            raise RefusedError(ENTITIES)
        try:
            root = etree.fromstring(text, parser)
        except etree.XMLSyntaxError as error:
            raise RefusedError(f"not XML: {error.msg}") from None
        check(root)
        found = _compiled(self.iterator, self.namespaces)(root.getroottree())
        return [each for each in found if isinstance(each, etree._Element)] if isinstance(found, list) else []

    def columns(self, records: Iterable[Any]) -> tuple[list[list[list[str]]], list[str | None]]:
        """What each reference finds in each record; and the texts of the records, where they are kept."""
        paths = [_compiled(each, self.namespaces) for each in self.shape.references]
        found: list[list[list[str]]] = [[] for _ in paths]
        lines: list[str | None] = []
        for record in records:
            for values, path in zip(found, paths, strict=True):
                texts = texts_of(path(record))
                values.append([text for text in texts if text not in self.nulls] if self.nulls else texts)
            lines.append(self.shown(record) if self.keep else None)
        return found, lines

    def shown(self, record: Any) -> str:
        return str(etree.tostring(record, encoding="unicode", with_tail=False))[:SHOWN]

    def batch(self, name: str, found: list[list[list[str]]], lines: list[str | None]) -> pa.RecordBatch:
        """Records of a file as columns."""
        files = pa.array([name if self.keep else None] * len(lines), pa.string())
        nothing = pa.nulls(len(lines), pa.string())
        return self.shape.batch(Found(as_columns(found), nothing, pa.array(lines, pa.string()), files))

    def batches(self, name: str, blocks: Iterator[bytes], encoding: str | None) -> Iterator[pa.RecordBatch]:
        """The records of a file."""
        try:
            if self.streams:
                yield from _streamed(self, name, blocks, encoding)
                return
            text = bytearray()
            for block in blocks:
                text += block
                if len(text) > self.limits.document_bytes:
                    limit = self.limits.document_bytes
                    raise RefusedError(f"longer than {limit} bytes, and {self.iterator} needs all of it at once")
            records = self.records_of(bytes(text), encoding)
            for first in range(0, len(records), ROWS):
                yield self.batch(name, *self.columns(records[first : first + ROWS]))
        except RefusedError as error:
            yield self.shape.rejected(str(error), None, name)


def as_columns(found: list[list[list[str]]]) -> list[Column]:
    return [(pa.array(values, pa.list_(pa.string())), None) for values in found]


def check(element: Any) -> None:
    """Refuse the document of an element if it declares entities."""
    declared = element.getroottree().docinfo.internalDTD
    if declared is not None and next(declared.iterentities(), None) is not None:
        raise RefusedError(ENTITIES)


class _Blocks:
    """Blocks as a file that is read from."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = (block for block in blocks if block)
        self._first = True

    def read(self, _: int = -1) -> bytes:
        block = next(self._blocks, b"")
        if self._first:
            self._first = False
            block = block.lstrip()
            if _DECLARED.search(block[:SHOWN]):
                raise RefusedError(ENTITIES)
        return block


def _streamed(reader: XmlReader, name: str, blocks: Iterator[bytes], encoding: str | None) -> Iterator[pa.RecordBatch]:
    """The records of a document, which are let go of as soon as they are read, like everything that is none."""
    paths = [_compiled(each, reader.namespaces) for each in reader.shape.references]
    found: list[list[list[str]]] = [[] for _ in paths]
    lines: list[str | None] = []
    try:
        for record in _elements(steps_of(reader.iterator, reader.namespaces) or (), _Blocks(blocks), encoding):
            columns, shown = reader.columns([record])
            for values, more in zip(found, columns, strict=True):
                values += more
            lines += shown
            if len(lines) == ROWS:
                yield reader.batch(name, found, lines)
                found, lines = [[] for _ in paths], []
    except etree.XMLSyntaxError as error:
        if lines:
            yield reader.batch(name, found, lines)
        raise RefusedError(f"not XML: {error.msg}") from None
    if lines:
        yield reader.batch(name, found, lines)


def _elements(steps: tuple[str, ...], source: _Blocks, encoding: str | None) -> Iterator[Any]:
    """The elements that steps lead to. What is around one is there, but without what it has besides."""
    events = etree.iterparse(
        source, events=("start", "end"), resolve_entities=False, no_network=True, load_dtd=False, encoding=encoding
    )
    depth = matched = 0
    for event, element in events:
        if event == "start":
            if not depth:
                check(element)
            if matched == depth < len(steps) and _is(element.tag, steps[depth]):
                matched += 1
            depth += 1
            continue
        inside = matched == len(steps) < depth
        if matched == len(steps) == depth:
            yield element
        if not inside:
            element.clear(keep_tail=False)
            parent = element.getparent()
            while parent is not None and element.getprevious() is not None:
                del parent[0]
        depth -= 1
        matched = min(matched, depth)


def _is(tag: Any, step: str) -> bool:
    """Whether an element's name is the one of a step, in which `*` stands for any."""
    if step == "*":
        return isinstance(tag, str)
    if step.endswith("}*"):
        return isinstance(tag, str) and tag.startswith(step[:-1])
    return bool(tag == step)
