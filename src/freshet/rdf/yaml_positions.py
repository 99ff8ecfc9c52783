"""YAML as plain data, with the place of every key and value, so that an error can point at it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from freshet.rdf.errors import InputError

KeyPath = tuple[str | int, ...]
Place = tuple[int, int]


@dataclass(slots=True)
class Document:
    """A YAML file read: its data, where each part of it stands, and what was wrong on the way."""

    file: str
    text: str
    data: Any = None
    keys: dict[KeyPath, Place] = field(default_factory=dict)
    values: dict[KeyPath, Node] = field(default_factory=dict)
    problems: list[InputError] = field(default_factory=list)

    def key_place(self, path: KeyPath) -> Place:
        """Line and column of the key at `path`, or of the nearest one that encloses it."""
        while path and path not in self.keys:
            path = path[:-1]
        return self.keys.get(path, (1, 1))

    def value_place(self, path: KeyPath) -> Place:
        """Line and column of the value at `path`; of its key where the value is absent or empty."""
        node = self.values.get(path)
        if node is None or (isinstance(node, ScalarNode) and not node.value and not node.style):
            return self.key_place(path)
        return _place(node)

    def key_error(self, path: KeyPath, message: str, hint: str | None = None) -> InputError:
        """An error that points at a key."""
        return self._error(self.key_place(path), message, hint)

    def value_error(self, path: KeyPath, message: str, hint: str | None = None) -> InputError:
        """An error that points at a value."""
        return self._error(self.value_place(path), message, hint)

    def _error(self, place: Place, message: str, hint: str | None = None) -> InputError:
        return InputError(message, file=self.file, line=place[0], column=place[1], hint=hint)

    def place_inside(self, path: KeyPath, line: int, column: int) -> Place:
        """Where line and column of a text value stand in the file.

        Exact for block text (`|`) and for text on one line; else the place where the value starts.
        """
        node = self.values[path]
        first_line, first_column = _place(node)
        if not isinstance(node, ScalarNode):
            return first_line, first_column
        if node.style == "|":
            written, lines = node.value.splitlines() or [""], self.text.splitlines()
            if line > len(written):
                # The end of the text, where a bracket is missing: just behind its last line.
                line, column = len(written), len(written[-1]) + 1
            wanted = first_line + line - 1
            if wanted < len(lines) and lines[wanted].endswith(written[line - 1]):
                return wanted + 1, len(lines[wanted]) - len(written[line - 1]) + column
        elif line == 1 and "\n" not in node.value and node.style != ">":
            return first_line, first_column + (column if node.style else column - 1)
        return first_line, first_column


def read_yaml(text: str, file: str) -> Document:
    """Read one YAML document. Raises InputError where it is not YAML; duplicate keys are in `problems`."""
    document = Document(file, text)
    try:
        root = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        raise _syntax_error(error, file) from None
    except YAMLError as error:
        raise InputError("not YAML: " + str(error).splitlines()[0], file=file) from None
    if root is not None:
        document.data = _read_node(document, root, (), ())
    return document


def _syntax_error(error: MarkedYAMLError, file: str) -> InputError:
    mark = error.problem_mark or error.context_mark
    problem = error.problem or error.context or "cannot be read"
    hint = "text that starts with * needs quotation marks" if "undefined alias" in problem else None
    line, column = (mark.line + 1, mark.column + 1) if mark is not None else (None, None)
    return InputError(f"not YAML: {problem}", file=file, line=line, column=column, hint=hint)


def _place(node: Node) -> Place:
    return node.start_mark.line + 1, node.start_mark.column + 1


def _read_node(document: Document, node: Node, path: KeyPath, inside: tuple[int, ...]) -> Any:
    """The data of a node; `inside` are the nodes around it, since an alias may lead back to one of them."""
    document.values[path] = node
    if id(node) in inside:
        document.problems.append(document.value_error(path, "an alias inside the thing it stands for"))
        return None
    inside = (*inside, id(node))
    if isinstance(node, MappingNode):
        return {key: _read_node(document, value, (*path, key), inside) for key, value in _pairs(document, node, path)}
    if isinstance(node, SequenceNode):
        return [_read_node(document, item, (*path, index), inside) for index, item in enumerate(node.value)]
    return _scalar(node) if isinstance(node, ScalarNode) else None


def _pairs(document: Document, node: MappingNode, path: KeyPath) -> Iterator[tuple[str, Node]]:
    """Keys as text with their values; a key for the second time is a problem and left out."""
    seen: dict[str, Place] = {}
    for key_node, value_node in node.value:
        key, place = str(key_node.value), _place(key_node)
        if not isinstance(key_node, ScalarNode):
            document.problems.append(document._error(place, "a key must be text"))
        elif key in seen:
            message = f"the key '{key}' comes twice; it stands first at line {seen[key][0]}"
            document.problems.append(document._error(place, message))
        else:
            seen[key] = document.keys[(*path, key)] = place
            yield key, value_node


def _scalar(node: ScalarNode) -> str | int | float | bool | None:
    """Null, booleans and numbers as such; anything else (dates too) is the text as written."""
    kind = str(node.tag).rpartition(":")[2]
    text = str(node.value)
    try:
        if kind == "null":
            return None
        if kind == "bool":
            return text.lower() == "true"
        if kind == "int":
            return int(text, 0)
        if kind == "float":
            return float(text)
    except ValueError:
        return text
    return text
