"""What pydantic finds wrong with the form of a pipeline file, in readable words and at its place."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError

from freshet.rdf.errors import InputError
from freshet.rdf.yaml_positions import Document, KeyPath
from freshet.runtime.pipeline_model import known_keys, section_at

_WORDS = {
    "string_type": "must be text",
    "path_type": "must be a path, as text",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "greater_than": "must be more than {gt}",
    "tuple_type": "must be a list, as [a, b]",
    "list_type": "must be a list, as [a, b]",
    "dict_type": "must be a section of keys and values",
    "model_type": "must be a section of keys and values",
    "model_attributes_type": "must be a section of keys and values",
}


def did_you_mean(word: str, choices: list[str]) -> str:
    """`; did you mean 'streams'?`, or what there is to choose from.

    >>> did_you_mean("streems", ["graph", "streams"])
    "; did you mean 'streams'?"
    """
    close = get_close_matches(word, choices, n=1)
    return f"; did you mean '{close[0]}'?" if close else f"; known here: {', '.join(choices)}"


def form_problems(error: ValidationError, document: Document, below: KeyPath = ()) -> Iterator[InputError]:
    """One error with its place for each of pydantic's. `below` is the path of the section that was validated."""
    details = error.errors(include_url=False)
    explained = {place for detail in details for place in _meant_keys(detail, document, below)}
    for detail in details:
        path, rest = _split(document, (*below, *detail["loc"]))
        kind, ctx = detail["type"], detail.get("ctx", {})
        if kind == "extra_forbidden":
            yield document.key_error(path, f"unknown key '{path[-1]}'" + _choices(path))
        elif kind == "missing":
            if (path, rest[-1]) not in explained:
                yield document.key_error(path, f"'{rest[-1]}' is missing{_in_section(path)}")
        elif "[key]" in detail["loc"]:
            yield document.key_error(path, str(ctx.get("error", detail["msg"])))
        elif kind == "value_error":
            words = str(ctx["error"])
            yield document.value_error(path, f"'{path[-1]}' {words}" if words.startswith("must ") else words)
        elif kind == "literal_error":
            choices = str(ctx["expected"]).replace("'", "").replace(" or ", ", ").split(", ")
            wrong = str(detail["input"])
            yield document.value_error(path, f"'{wrong}' is not known here" + did_you_mean(wrong, choices))
        else:
            words = _WORDS.get(kind, detail["msg"][:1].lower() + detail["msg"][1:]).format(**ctx)
            yield document.value_error(path, f"'{path[-1]}' {words}" if path else f"a pipeline file {words}")


def _split(document: Document, loc: tuple[Any, ...]) -> tuple[KeyPath, list[str]]:
    """The longest path of `loc` that is in the file, skipping pydantic's own marks, and the parts that are not."""
    path: KeyPath = ()
    rest: list[str] = []
    for part in loc:
        if not rest and (*path, part) in document.values:
            path = (*path, part)
        elif not str(part).startswith(("<", "[")):
            rest.append(str(part))
    return path, rest


def _meant_keys(detail: Any, document: Document, below: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    """Keys that an unknown key was probably meant to be: saying that they are missing would be noise."""
    if detail["type"] == "extra_forbidden":
        path, _ = _split(document, (*below, *detail["loc"]))
        section = section_at(path[:-1])
        for key in get_close_matches(str(path[-1]), known_keys(section) if section else [], n=1):
            yield path[:-1], key


def _choices(path: KeyPath) -> str:
    section = section_at(path[:-1])
    return did_you_mean(str(path[-1]), known_keys(section)) if section else ""


def _in_section(path: KeyPath) -> str:
    named = [part for part in path if isinstance(part, str)]
    return f" in '{named[-1]}'" if named else ""
