"""Texts of YARRRML: references in $(...), names with prefixes, and calls that are written in one line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

# The prefixes that every document has: those of RDFa's initial context, and of function descriptions.
PREFIXES = {
    "csvw": "http://www.w3.org/ns/csvw#",
    "dcat": "http://www.w3.org/ns/dcat#",
    "qb": "http://purl.org/linked-data/cube#",
    "grddl": "http://www.w3.org/2003/g/data-view#",
    "ma": "http://www.w3.org/ns/ma-ont#",
    "org": "http://www.w3.org/ns/org#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "prov": "http://www.w3.org/ns/prov#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfa": "http://www.w3.org/ns/rdfa#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "rif": "http://www.w3.org/2007/rif#",
    "rr": "http://www.w3.org/ns/r2rml#",
    "sd": "http://www.w3.org/ns/sparql-service-description#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "skosxl": "http://www.w3.org/2008/05/skos-xl#",
    "ssn": "http://www.w3.org/ns/ssn/",
    "sosa": "http://www.w3.org/ns/sosa/",
    "time": "http://www.w3.org/2006/time#",
    "void": "http://rdfs.org/ns/void#",
    "wdr": "http://www.w3.org/2007/05/powder#",
    "wdrs": "http://www.w3.org/2007/05/powder-s#",
    "xhv": "http://www.w3.org/1999/xhtml/vocab#",
    "xml": "http://www.w3.org/XML/1998/namespace",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "cc": "http://creativecommons.org/ns#",
    "ctag": "http://commontag.org/ns#",
    "dc": "http://purl.org/dc/terms/",
    "dcterms": "http://purl.org/dc/terms/",
    "dc11": "http://purl.org/dc/elements/1.1/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "gr": "http://purl.org/goodrelations/v1#",
    "ical": "http://www.w3.org/2002/12/cal/icaltzd#",
    "og": "http://ogp.me/ns#",
    "rev": "http://purl.org/stuff/rev#",
    "sioc": "http://rdfs.org/sioc/ns#",
    "v": "http://rdf.data-vocabulary.org/#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "schema": "http://schema.org/",
    "fnml": "http://semweb.mmlab.be/ns/fnml#",
    "fno": "https://w3id.org/function/ontology#",
    "ql": "http://semweb.mmlab.be/ns/ql#",
}
_REFERENCE = re.compile(r"\$\(((?:[^()\\]|\\.)*)\)|\\([\\()$])")
_PREFIXED = re.compile(r"([A-Za-z][\w.-]*)?:(?!//)")
_CALL = re.compile(r"([^\s()$]+)\((.*)\)", re.DOTALL)


class Ref(NamedTuple):
    """A reference into the record."""

    text: str


def pieces(text: str) -> list[str | Ref]:
    r"""The texts and references of a template. A backslash stands before a bracket that is none of a reference.

    >>> pieces("a $(b) c")
    ['a ', Ref(text='b'), ' c']
    >>> pieces(r"$(x[?\(@.y\)])\(z\)")
    [Ref(text='x[?(@.y)]'), '(z)']
    """
    found: list[str | Ref] = []
    at = 0
    for match in _REFERENCE.finditer(text):
        _add(found, text[at : match.start()])
        if match[1] is not None:
            found.append(Ref(re.sub(r"\\(.)", r"\1", match[1])))
        else:
            _add(found, match[2])
        at = match.end()
    _add(found, text[at:])
    return found


def _add(found: list[str | Ref], text: str) -> None:
    if text and found and isinstance(found[-1], str):
        found[-1] += text
    elif text:
        found.append(text)


def template(parts: list[str | Ref]) -> str:
    r"""Texts and references as RML writes them.

    >>> template(["a{", Ref("b}"), "c"])
    'a\\{{b\\}}c'
    """
    return "".join(f"{{{_escaped(part.text)}}}" if isinstance(part, Ref) else _escaped(part) for part in parts)


def _escaped(text: str) -> str:
    return re.sub(r"([{}\\])", r"\\\1", text)


def expand(text: str, prefixes: Mapping[str, str]) -> str:
    """A name with a prefix in full; other texts as they are.

    >>> expand("foaf:name", PREFIXES), expand("http://a/b", {}), expand("urn:a", {})
    ('http://xmlns.com/foaf/0.1/name', 'http://a/b', 'urn:a')
    """
    match = _PREFIXED.match(text)
    if match is None or (match[1] or "") not in prefixes:
        return text
    return prefixes[match[1] or ""] + text[match.end() :]


class Line(NamedTuple):
    """A call in one line."""

    function: str
    inputs: tuple[tuple[str, str], ...]


def call_in(text: str) -> Line | None:
    """A call that is written in one line; None where a text is the name of a function. ValueError where it is neither.

    >>> call_in('ex:join(ex:a = $(x), b = "y, z")')
    Line(function='ex:join', inputs=(('ex:a', '$(x)'), ('ex:b', 'y, z')))
    >>> call_in("ex:join")
    """
    match = _CALL.fullmatch(text.strip())
    if match is None:
        return None
    function, written = match.groups()
    prefix = function.partition(":")[0]
    inputs = []
    for each in filter(str.strip, re.split(r""",(?=(?:[^"]*"[^"]*")*[^"]*$)(?![^(]*\))""", written)):
        name, equals, value = each.partition("=")
        if not equals:
            raise ValueError(f"{each.strip()} gives a parameter no value")
        name, value = name.strip(), value.strip()
        if len(value) > 1 and value[0] == value[-1] == '"':
            value = value[1:-1]
        inputs.append((name if ":" in name else f"{prefix}:{name}", value))
    return Line(function, tuple(inputs))
