"""Reads the SPARQL Query Results XML Format element by element, so that an error can name its place."""

from __future__ import annotations

from typing import NoReturn
from xml.parsers import expat

from freshet.rdf.errors import InputError
from freshet.rdf.terms import MOST_NESTED, TOO_NESTED
from freshet.results.table import Table, TermKeys, check_variables

_NAMESPACE = "http://www.w3.org/2005/sparql-results#"
_LANGUAGE = "http://www.w3.org/XML/1998/namespace lang"
_DIRECTION = "http://www.w3.org/2005/11/its dir"
_ROLES = ("subject", "predicate", "object")
_HOLDERS = ("binding", *_ROLES)  # of terms
# where each element may stand
_PARENTS = {
    "sparql": ("",),
    "head": ("sparql",),
    "variable": ("head",),
    "link": ("head",),
    "results": ("sparql",),
    "boolean": ("sparql",),
    "result": ("results",),
    "binding": ("result",),
    "uri": _HOLDERS,
    "bnode": _HOLDERS,
    "literal": _HOLDERS,
    "triple": _HOLDERS,
    "unbound": ("binding",),
    **dict.fromkeys(_ROLES, ("triple",)),
}
_WITH_TEXT = {"boolean", "uri", "bnode", "literal"}
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def read_xml(data: bytes, keys: TermKeys, file: str | None) -> Table | bool:
    """What a document says."""
    return _Reader(keys, file).read(data)


class _Reader:
    """Follows the elements of one document."""

    def __init__(self, keys: TermKeys, file: str | None) -> None:
        self.keys = keys
        self.file = file
        self.open: list[str] = [""]
        self.text = ""
        self.attributes: dict[str, str] = {}
        self.names: list[str] = []
        self.table: Table | None = None
        self.value: bool | None = None
        self.variable = ""
        self.row: dict[str, str | None] = {}
        self.triples: list[dict[str, str]] = []  # triple terms that are open, the innermost last
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters

    def read(self, data: bytes) -> Table | bool:
        try:
            self.parser.Parse(data, True)
        except expat.ExpatError as error:
            message = f"is not XML: {expat.ErrorString(error.code)}"
            raise InputError(message, file=self.file, line=error.lineno, column=error.offset + 1) from None
        except (LookupError, ValueError) as error:  # expat leaves encodings that it does not know to Python
            raise InputError(f"its encoding cannot be read: {error}", file=self.file, line=1) from None
        if self.value is not None:
            return self.value
        if self.table is None:
            raise InputError("is no SPARQL result: it has neither <results> nor <boolean>", file=self.file)
        return self.table

    def start(self, name: str, attributes: dict[str, str]) -> None:
        space, _, local = name.rpartition(" ")
        if space != _NAMESPACE or local not in _PARENTS:
            self.wrong(f"<{local}> is no element of SPARQL results")
        if self.open[-1] not in _PARENTS[local]:
            self.wrong(f"<{local}> cannot stand in <{self.open[-1]}>" if self.open[-1] else f"<{local}> is no root")
        self.open.append(local)
        self.text, self.attributes = "", attributes
        if local == "variable":
            self.names.append(self.attribute("name"))
        elif local == "results":
            names = check_variables(self.names, self.file, self.parser.CurrentLineNumber)
            self.table = Table(names)
        elif local == "result":
            self.row = {}
        elif local == "triple":
            self.triples.append({})
            if len(self.triples) > MOST_NESTED:
                self.wrong(TOO_NESTED)
        elif local == "binding":
            self.variable = self.attribute("name")
            if self.variable not in self.names:
                self.wrong(f"the variable ?{self.variable} is not in the head")
            if self.variable in self.row:
                self.wrong(f"the variable ?{self.variable} is bound twice")

    def characters(self, text: str) -> None:
        if self.open[-1] in _WITH_TEXT:
            self.text += text
        elif not text.isspace():
            self.wrong(f"text where only elements can stand: {text.strip()[:40]!r}")

    def end(self, name: str) -> None:
        local = self.open.pop()
        if local in ("uri", "bnode", "literal", "triple", "unbound"):
            self.put(self.term(local))
        elif local in _ROLES and local not in self.triples[-1]:
            self.wrong(f"<{local}> has no term")
        elif local == "binding" and self.variable not in self.row:
            self.wrong(f"the variable ?{self.variable} has no term")
        elif local == "result" and self.table is not None:
            self.table.keys += map(self.row.get, self.table.variables)
            self.table.count += 1
        elif local == "boolean":
            if self.text.strip() not in _BOOLEANS:
                self.wrong(f"<boolean> is true or false, not {self.text.strip()[:40]!r}")
            self.value = _BOOLEANS[self.text.strip()]

    def put(self, term: str | None) -> None:
        """A term that has ended is that of the binding, or of the triple term, that is open."""
        if self.open[-1] == "binding":
            if self.variable in self.row:
                self.wrong(f"the variable ?{self.variable} has two terms")
            self.row[self.variable] = term
        elif term is not None:
            if self.open[-1] in self.triples[-1]:
                self.wrong(f"<{self.open[-1]}> has two terms")
            self.triples[-1][self.open[-1]] = term

    def term(self, kind: str) -> str | None:
        try:
            if kind == "triple":
                parts = self.triples.pop()
                if missing := [role for role in _ROLES if role not in parts]:
                    raise ValueError(f"<triple> has no <{missing[0]}>")
                return self.keys.triple(*(parts[role] for role in _ROLES))
            if kind == "uri":
                return self.keys.iri(self.text.strip())
            if kind == "bnode":
                return self.keys.blank_node(self.text.strip().removeprefix("_:"))
            if kind == "literal":
                language, direction = self.attributes.get(_LANGUAGE), self.attributes.get(_DIRECTION)
                return self.keys.literal(self.text, language or None, self.attributes.get("datatype"), direction)
        except ValueError as error:
            self.wrong(f"?{self.variable}: {error}")
        return None

    def attribute(self, name: str) -> str:
        if name not in self.attributes:
            self.wrong(f"<{self.open[-1]}> needs the attribute {name}")
        return self.attributes[name]

    def wrong(self, message: str) -> NoReturn:
        line, column = self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1
        raise InputError(message, file=self.file, line=line, column=column)
