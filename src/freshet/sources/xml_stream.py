"""XML documents of any size: records are taken out of them as they are read, and what was read before is freed.

A document that declares entities is refused: they can name files and addresses, or grow without end. Nothing outside of
a document is ever read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from lxml import etree

ENTITIES = "the document declares entities, which are refused"
_BLOCK = 256 << 10  # bytes that are in memory as elements
_HEAD = 64 << 10
_DECLARED = re.compile(rb"<!ENTITY", re.IGNORECASE)


class RefusedError(ValueError):
    """A document that is not read, with the reason."""


def parse_document(document: bytes, encoding: str | None) -> Any:
    """The root of a whole document."""
    text = document.lstrip()
    _check_text(text)
    try:
        root = etree.fromstring(text, etree.XMLParser(**_OPTIONS, encoding=encoding))
    except etree.XMLSyntaxError as error:
        raise RefusedError(f"not XML: {error.msg}") from None
    _check(root)
    return root


_OPTIONS: dict[str, Any] = {"resolve_entities": False, "no_network": True, "load_dtd": False}


def _check_text(head: bytes) -> None:
    if _DECLARED.search(head[:_HEAD]):
        raise RefusedError(ENTITIES)


def _check(element: Any) -> None:
    """Refuse the document of an element if it declares entities."""
    declared = element.getroottree().docinfo.internalDTD
    if declared is not None and next(declared.iterentities(), None) is not None:
        raise RefusedError(ENTITIES)


def elements(steps: tuple[str, ...], blocks: Iterator[bytes], encoding: str | None) -> Iterator[Any]:
    """The elements that steps lead to. What is around one is there, but not all of what is in that."""
    blocks = _small(blocks)
    head, tag = _root(blocks, encoding)
    if not _is(tag, steps[0]):
        return
    parser = etree.XMLPullParser(events=("start", "end"), tag=(tag, steps[-1]), encoding=encoding, **_OPTIONS)
    root = None
    for block in chain([head], blocks, [None]):
        broken = _feed(parser, block)
        for event, element in parser.read_events():
            if root is None:
                root = element
            if event == "end" and _leads_to(steps, element):
                yield element
        if broken is not None:
            raise RefusedError(broken)
        if root is not None:
            _drop_read(root, steps)


def _feed(parser: Any, block: bytes | None) -> str | None:
    """What is wrong with a document up to a block; None for the end of the document."""
    try:
        parser.close() if block is None else parser.feed(block)
    except etree.XMLSyntaxError as error:
        return f"not XML: {error.msg}"
    return None


def _small(blocks: Iterator[bytes]) -> Iterator[bytes]:
    begun = False
    for block in blocks:
        text = block if begun else block.lstrip()
        begun = begun or bool(text)
        for at in range(0, len(text), _BLOCK):
            yield text[at : at + _BLOCK]


def _root(blocks: Iterator[bytes], encoding: str | None) -> tuple[bytes, Any]:
    """As much of a document as shows the name of its root, and that name."""
    parser = etree.XMLPullParser(events=("start",), encoding=encoding, **_OPTIONS)
    head = b""
    for block in chain(blocks, [None]):
        head += block or b""
        _check_text(head)
        broken = _feed(parser, block)
        element: Any
        for _, element in parser.read_events():
            _check(element)
            return head, element.tag
        if broken is not None:
            raise RefusedError(broken)
    raise RefusedError("not XML: there is no element in it")


def _leads_to(steps: tuple[str, ...], element: Any) -> bool:
    """Whether an element is where steps from the root lead."""
    for step in reversed(steps):
        if element is None or not _is(element.tag, step):
            return False
        element = element.getparent()
    return element is None


def _drop_read(root: Any, steps: tuple[str, ...]) -> None:
    """Take out of a tree what has been read. Only the last element of each can still be open."""
    element, depth, leads = root, 1, True
    while len(element) and not (leads and depth == len(steps)):  # a record that is open stays whole
        del element[:-1]
        element = element[0]
        leads = leads and depth < len(steps) and _is(element.tag, steps[depth])
        depth += 1


def _is(tag: Any, step: str) -> bool:
    """Whether an element's name is the one of a step, in which `*` stands for any."""
    if step == "*":
        return isinstance(tag, str)
    if step.endswith("}*"):
        return isinstance(tag, str) and tag.startswith(step[:-1])
    return bool(tag == step)
