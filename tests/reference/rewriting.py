"""RSP-QL text -> plain SPARQL text and the windows it declares. A tokenizer only: pyoxigraph checks the rest."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

import pyoxigraph as ox

# Where a query has no BASE, relative IRIs are resolved against this and shown without it again.
NO_BASE = "http://relative.invalid/"

TOKENS = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)
      | (?P<string>\"{3}(?:[^\\]|\\.)*?\"{3}|'{3}(?:[^\\]|\\.)*?'{3}|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      | (?P<iri><[^<>"{}|^`\\\s]*>)
      | (?P<variable>[?$]\w+)
      | (?P<prefixed>(?:[A-Za-z][\w.-]*)?:[\w.:%-]*(?<!\.))
      | (?P<word>@?\w+(?:\.\d+\w*)?)
      | (?P<mark>.)""",
    re.VERBOSE | re.DOTALL,
)

STREAM_OPERATORS = ("RSTREAM", "ISTREAM", "DSTREAM")
SECONDS = {"ms": Fraction(1, 1000), "s": 1, "m": 60, "h": 3600, "d": 86400}
ISO_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.IGNORECASE)


@dataclass(frozen=True)
class WindowClause:
    """`FROM NAMED WINDOW name ON stream [RANGE width STEP slide]`; `graph` is the graph that stands for it."""

    name: str
    stream: str
    width_ms: int
    slide_ms: int
    graph: str


@dataclass(frozen=True)
class Rewritten:
    """A continuous query as SPARQL over named graphs, one a window."""

    sparql: str
    output: str
    windows: tuple[WindowClause, ...]
    name: str | None


def duration_ms(text: str) -> int:
    """`PT1M30S`, `PT0.5S`, `10s` or `500ms` in milliseconds."""
    if iso := ISO_DURATION.fullmatch(text):
        days, hours, minutes, seconds = (Fraction(part or 0) for part in iso.groups())
        return int((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000)
    number, unit = re.fullmatch(r"(\d+)(ms|s|m|h|d)", text, re.IGNORECASE).groups()
    return int(int(number) * SECONDS[unit.lower()] * 1000)


def rewrite(text: str) -> Rewritten:
    """Drop REGISTER ... AS, take the window clauses out, and turn `WINDOW w {` into `GRAPH <private name> {`.

    All other text stays as it is, spaces included: `<=` and `"a"@en` are several tokens here.
    """
    tokens = [(match.lastgroup, match.group()) for match in TOKENS.finditer(text)]
    places = [index for index, (kind, _) in enumerate(tokens) if kind != "space"]
    words = [tokens[place][1] for place in places]
    prologue = _prologue(words)
    output, name, depth, at = "rstream", None, 0, 0
    windows: dict[str, WindowClause] = {}
    replaced: dict[int, str] = {}
    while at < len(words):
        sign = words[at : at + 12]
        upper = [word.upper() for word in sign]
        depth += (sign[0] == "{") - (sign[0] == "}")
        length, new = 1, ""
        if upper[0] == "REGISTER":
            output = upper[1].lower() if upper[1] in STREAM_OPERATORS else output
            name = _resolve(prologue, sign[2])
            length = upper.index("AS") + 1
        elif upper[0] in STREAM_OPERATORS and depth == 0:
            output = upper[0].lower()
        elif upper[:3] == ["FROM", "NAMED", "WINDOW"]:
            length = sign.index("]") + 1
            width, slide = duration_ms(sign[8]), duration_ms(sign[10] if length == 12 else sign[8])
            window = _resolve(prologue, sign[3])
            graph = f"urn:window:{len(windows)}"
            windows[window] = WindowClause(window, _resolve(prologue, sign[5]), width, slide, graph)
        elif upper[0] == "WINDOW" and depth > 0:
            length, new = 2, f"GRAPH <{windows[_resolve(prologue, sign[1])].graph}>"
        else:
            new = sign[0]
        replaced |= dict.fromkeys(places[at : at + length], "") | {places[at]: new}
        at += length
    sparql = "".join(replaced.get(index, token) for index, (_, token) in enumerate(tokens))
    return Rewritten(sparql, output, tuple(windows.values()), name)


def _prologue(words: list[str]) -> str:
    """The PREFIX and BASE declarations, wherever REGISTER stands among them."""
    parts = []
    for at, word in enumerate(words):
        if word.upper() == "PREFIX":
            parts.append(" ".join(words[at : at + 3]))
        elif word.upper() == "BASE":
            parts.append(" ".join(words[at : at + 2]))
    return "\n".join(parts)


def _resolve(prologue: str, name: str) -> str:
    """The IRI that a name in the query stands for: pyoxigraph resolves it as anywhere in the query."""
    solutions = ox.Store().query(f"{prologue}\nSELECT ({name} AS ?iri) {{}}", base_iri=NO_BASE)
    return next(iter(solutions))["iri"].value.removeprefix(NO_BASE)
