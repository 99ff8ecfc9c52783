"""RSP-QL, C-SPARQL or CQELS-QL text -> plain SPARQL text and the windows it declares. pyoxigraph checks the rest.

A window of RSP-QL or CQELS-QL becomes a named graph that no data can have the name of; those of C-SPARQL are merged
into the default graph. CONSTRUCT becomes SELECT, since what a report puts out is said of solutions.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from reference import cqels, csparql, rspql
from reference.group_scope import kept_apart
from reference.negated_paths import spelled_out
from reference.query_text import QueryText, duration_ms
from reference.windows import Window

STREAM_OPERATORS = ("RSTREAM", "ISTREAM", "DSTREAM")
GRAPH_NAME = "urn:reference:graph-name"
# `GRAPH ?g { P }` in a window: its graph, the variable, the pattern. What graphs there are is known at an evaluation.
ANY_GRAPH = "\x01{}\x02{}\x02"
END_OF_ANY_GRAPH = "\x03"
NOT_A_WINDOW = 'FILTER(!STRSTARTS(STR({}), "urn:window:"))'


@dataclass(frozen=True)
class WindowClause:
    """A window with the name that RSP-QL gives it and the graph that stands for it."""

    name: str | None
    window: Window
    graph: str


@dataclass
class Rewritten:
    """A continuous query as SPARQL over named graphs, one a window; filled in as the text is read.

    `template` is that of CONSTRUCT, with its prologue. `merged` says that the windows are in the default graph.
    """

    sparql: str = ""
    output: str = "rstream"
    windows: list[WindowClause] = field(default_factory=list)
    name: str | None = None
    period_ms: int | None = None
    default_graphs: list[str] = field(default_factory=list)
    named_graphs: list[str] = field(default_factory=list)
    merged: bool = False
    ordered: bool = False
    template: str | None = None
    inside: list[tuple[int, int, str]] = field(default_factory=list)  # from which word to which which window is meant
    after: dict[int, str] = field(default_factory=dict)  # what comes after words

    def add_window(self, window: Window, name: str | None = None) -> str:
        """The graph that stands for one more window."""
        graph = f"urn:window:{len(self.windows)}"
        self.windows.append(WindowClause(name, window, graph))
        return graph

    def enter_window(self, start: int, stop: int, graph: str) -> None:
        """The words between two braces are about a window."""
        self.inside.append((start, stop, graph))

    def window_at(self, at: int) -> str | None:
        """The graph of the window that a word is about."""
        return next((graph for start, stop, graph in reversed(self.inside) if start < at < stop), None)


# What stands at a place of the text: up to where it reaches, and what comes in its stead.
Replaced = tuple[int, str] | None


def rewrite(text: str, streams: Collection[str] = ()) -> Rewritten:
    """Take out REGISTER and FROM, turn windows into graphs. `streams` are those that `STREAM ?s` may stand for."""
    query, asked = QueryText(kept_apart(spelled_out(text))), Rewritten()
    parts, at = [], 0
    after: dict[int, str] = {}
    while at < len(query.words):
        if found := clause_at(query, at, asked, streams):
            stop, new = found
            parts.append(query.spaces[at] + new)
            at = stop
            continue
        guard = graph_of_any_name(query, at, after)
        parts.append(query.spaces[at] + guard + query.words[at] + after.get(at, "") + asked.after.get(at, ""))
        at += 1
    asked.sparql = "".join(parts)
    asked.ordered = asked.output == "rstream" and ordered(query)
    return asked


def clause_at(query: QueryText, at: int, asked: Rewritten, streams: Collection[str]) -> Replaced:
    """What stands at this place if it is anything that SPARQL has not, or that the evaluator sees to itself."""
    match query.upper[at]:
        case "REGISTER":
            return register(query, at, asked)
        case "FROM":
            window = rspql.window_declaration(query, at, asked) or csparql.stream_declaration(query, at, asked)
            return window or dataset(query, at, asked)
        case "CONSTRUCT":
            return construct(query, at, asked)
        case "SELECT" if query.upper[at + 1] in STREAM_OPERATORS:
            asked.output = query.upper[at + 1].lower()
            return at + 2, "SELECT"
        case "WINDOW":
            return rspql.window(query, at, asked)
        case "GRAPH" if (window := asked.window_at(at)) is not None:
            return graph_in_window(query, at, window, asked)
        case "STREAM":
            return cqels.stream(query, at, asked, streams)
    return None


def register(query: QueryText, at: int, asked: Rewritten) -> tuple[int, str]:
    """`REGISTER ISTREAM name AS`, `REGISTER QUERY name COMPUTED EVERY 5s AS`"""
    stop = query.find("AS", at + 2)
    if query.upper[at + 1] in STREAM_OPERATORS:
        asked.output = query.upper[at + 1].lower()
    name = query.words[at + 2]
    asked.name = query.resolve(name) if ":" in name or name.startswith("<") else name
    if "COMPUTED" in query.upper[at:stop]:
        asked.period_ms = duration_ms("".join(query.words[query.find("EVERY", at) + 1 : stop]))
    return stop + 1, ""


def dataset(query: QueryText, at: int, asked: Rewritten) -> tuple[int, str]:
    """`FROM graph`, `FROM NAMED graph`: the evaluator puts together what they name."""
    if query.upper[at + 1] == "NAMED":
        asked.named_graphs.append(query.resolve(query.words[at + 2]))
        return at + 3, ""
    asked.default_graphs.append(query.resolve(query.words[at + 1]))
    return at + 2, ""


def construct(query: QueryText, at: int, asked: Rewritten) -> tuple[int, str]:
    """`CONSTRUCT { template }`, or `CONSTRUCT WHERE { template }`"""
    if query.upper[at + 1] in STREAM_OPERATORS:
        asked.output = query.upper[at + 1].lower()
        at += 1
    short = query.words[at + 1] != "{"
    start = query.find("{", at)
    stop = query.closing(start) + 1
    asked.template = f"{query.prologue}\nCONSTRUCT {query.text(start, stop)}"
    return (at + 1, "SELECT *") if short else (stop, "SELECT *")


def graph_in_window(query: QueryText, at: int, window: str, asked: Rewritten) -> tuple[int, str]:
    """A graph of a window is stored under another name."""
    name = query.words[at + 1]
    if not name.startswith(("?", "$")):
        return at + 2, f"GRAPH <{window}:graph:{query.resolve(name)}>"
    asked.after[query.closing(at + 2)] = END_OF_ANY_GRAPH
    return at + 2, ANY_GRAPH.format(window, name)


def graph_of_any_name(query: QueryText, at: int, after: dict[int, str]) -> str:
    """`GRAPH ?g { }` is not about the graphs that stand for windows: `{ GRAPH ?g { } FILTER(...) }`"""
    if query.upper[at] != "GRAPH" or not query.words[at + 1].startswith(("?", "$")):
        return ""
    close = query.closing(at + 2)
    after[close] = f" {NOT_A_WINDOW.format(query.words[at + 1])} }}" + after.get(close, "")
    return "{ "


def ordered(query: QueryText) -> bool:
    """Is there an ORDER BY outside of all braces?"""
    depth = 0
    for word in query.upper:
        depth += (word == "{") - (word == "}")
        if word == "ORDER" and depth == 0:
            return True
    return False
