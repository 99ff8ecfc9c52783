"""XPath as mappings write it: compiled, or as plain steps where that is quicker or needs less of a document."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from lxml import etree

from freshet.rdf.errors import InputError

_STEPS = re.compile(r"(?:/(?:[\w.\-]+:)?(?:[\w.\-]+|\*))+")
_CHILD = re.compile(r"(?:[\w.\-]+:)?[^\W\d][\w.\-]*")
_ATTRIBUTE = re.compile(r"@(?:[\w.\-]+:)?[^\W\d][\w.\-]*")
# Where only the record and the attributes of what is around it are kept, a reference may find these, and otherwise must
# not go up, along an axis, or to the root.
_ATTRIBUTE_ABOVE = re.compile(r"(?:\.\./)+@[\w.\-:]+")
_LEAVES_THE_RECORD = re.compile(r"\.\.|::|(?:^|[^\w.\-)\]*/\s]|\b(?:and|or|div|mod)\s)\s*/")
_STRING_VALUE = etree.XPath("string()", smart_strings=False)

_WHOLE = "node of "  # before a path: no XPath begins like this

Namespaces = tuple[tuple[str, str], ...]


def whole_node(path: str) -> str:
    """A reference to what a path finds as XML, with its elements, and not as text."""
    return _WHOLE + path


def xpath(text: str, namespaces: Namespaces) -> etree.XPath:
    """A compiled XPath. One that is none, or that uses a prefix without a namespace, is an error."""
    text = text.removeprefix(_WHOLE)
    try:
        compiled = etree.XPath(text, namespaces=dict(namespaces), smart_strings=False)
        compiled(etree.Element("record"))
    except etree.XPathError as error:
        raise InputError(f"{text} is no XPath: {error}") from None
    return compiled


def steps_of(iterator: str, namespaces: Namespaces) -> tuple[str, ...] | None:
    """The names of the elements that lead to a record, as lxml writes them; None where the iterator does more."""
    if not _STEPS.fullmatch(iterator):
        return None
    return tuple(_name(step, namespaces) for step in iterator.split("/")[1:])


def _name(step: str, namespaces: Namespaces) -> str:
    prefix, colon, name = step.rpartition(":")
    if not colon:
        return name
    if prefix not in dict(namespaces):
        raise InputError(f"{step} is no XPath: the prefix {prefix} has no namespace")
    return f"{{{dict(namespaces)[prefix]}}}{name}"


def stays_inside(reference: str) -> bool:
    """Whether a reference needs no more of a document than the record and the attributes of what is around it."""
    reference = reference.removeprefix(_WHOLE)
    return bool(_ATTRIBUTE_ABOVE.fullmatch(reference)) or not _LEAVES_THE_RECORD.search(reference)


def texts_of(result: Any) -> list[str]:
    """What an XPath finds, as texts: of an element it is all text in it."""
    if isinstance(result, list):
        return [each if isinstance(each, str) else _text_of(each) for each in result]
    if isinstance(result, bool):
        return ["true" if result else "false"]
    if isinstance(result, float):
        return [str(int(result)) if result.is_integer() else str(result)]
    return [str(result)]


def _documents_of(result: Any) -> list[str]:
    """The elements that an XPath finds, each as a document."""
    nodes = result if isinstance(result, list) else []
    return [
        str(etree.tostring(node, encoding="unicode", with_tail=False))
        for node in nodes
        if isinstance(node, etree._Element) and isinstance(node.tag, str)
    ]


def _text_of(node: Any) -> str:
    if isinstance(node, tuple):  # a namespace
        return str(node[1])
    if not isinstance(node.tag, str):  # a comment or a processing instruction
        return node.text or ""
    return node.text or "" if not len(node) else str(_STRING_VALUE(node))


class XmlReferences:
    """References compiled. Names of children and of attributes are looked up without XPath, in one go."""

    def __init__(self, references: Sequence[str], namespaces: Namespaces) -> None:
        self._count = len(references)
        self._children: dict[str, list[int]] = defaultdict(list)
        self._attributes: list[tuple[int, str]] = []
        self._paths: list[tuple[int, etree.XPath, Callable[[Any], list[str]]]] = []
        for number, reference in enumerate(references):
            if _CHILD.fullmatch(reference):
                self._children[_name(reference, namespaces)].append(number)
            elif _ATTRIBUTE.fullmatch(reference):
                self._attributes.append((number, _name(reference[1:], namespaces)))
            else:
                found = _documents_of if reference.startswith(_WHOLE) else texts_of
                self._paths.append((number, xpath(reference, namespaces), found))

    def texts(self, record: Any) -> list[list[str]]:
        """What each reference finds in a record."""
        found: list[list[str]] = [[] for _ in range(self._count)]
        if self._children:
            children = self._children
            for child in record:
                if child.tag in children:
                    text = _text_of(child)
                    for number in children[child.tag]:
                        found[number].append(text)
        for number, name in self._attributes:
            if (value := record.get(name)) is not None:
                found[number].append(value)
        for number, path, texts in self._paths:
            found[number] = texts(path(record))
        return found


@lru_cache(maxsize=64)
def xml_references(references: tuple[str, ...], namespaces: Namespaces) -> XmlReferences:
    return XmlReferences(references, namespaces)


@lru_cache(maxsize=64)
def compile_path(text: str, namespaces: Namespaces) -> etree.XPath:
    return xpath(text, namespaces)
