"""The formats of RDF text: their names, the suffixes of files, and media types."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from pyoxigraph import RdfFormat

from freshet.rdf.compression import COMPRESSED, plain_suffix
from freshet.rdf.errors import InputError

N3_HINT = "N3 is read as Turtle, which has no formulas, rules, paths, or variables"


class TextFormat(NamedTuple):
    """A format: what parses it, how names of its files end, and its media types."""

    parsed_as: RdfFormat
    suffixes: tuple[str, ...]
    media_types: tuple[str, ...]


FORMATS = {
    "ttl": TextFormat(RdfFormat.TURTLE, (".ttl", ".turtle"), ("text/turtle", "application/x-turtle")),
    "n3": TextFormat(RdfFormat.TURTLE, (".n3",), ("text/n3",)),
    "nt": TextFormat(RdfFormat.N_TRIPLES, (".nt",), ("application/n-triples",)),
    "nq": TextFormat(RdfFormat.N_QUADS, (".nq",), ("application/n-quads",)),
    "trig": TextFormat(RdfFormat.TRIG, (".trig",), ("application/trig",)),
    "jsonld": TextFormat(RdfFormat.JSON_LD, (".jsonld",), ("application/ld+json",)),
    "rdfxml": TextFormat(RdfFormat.RDF_XML, (".rdf", ".xml", ".owl"), ("application/rdf+xml",)),
}
_BY_SUFFIX = {suffix: name for name, each in FORMATS.items() for suffix in each.suffixes}


def format_name(path: str | Path) -> str | None:
    """The name of the format that a file's name says it has; None where it says none.

    >>> format_name("a.nq.zst"), format_name("a.csv")
    ('nq', None)
    """
    return _BY_SUFFIX.get(plain_suffix(path))


def rdf_format(path: str | Path) -> RdfFormat:
    """The format that a file's name says it has."""
    name = format_name(path)
    if name is None:
        hint = f"known suffixes: {', '.join(_BY_SUFFIX)}, each also with {', '.join(COMPRESSED)}"
        raise InputError("the name does not say which RDF format this is", file=str(path), hint=hint)
    return FORMATS[name].parsed_as


def is_line_format(form: RdfFormat) -> bool:
    """Whether a format has its statements on lines, so that a file can be read from the middle."""
    return form in (RdfFormat.N_TRIPLES, RdfFormat.N_QUADS)
