"""What Lark says of a text it cannot parse, in readable words."""

from __future__ import annotations

import contextlib
import re
import unicodedata
from difflib import get_close_matches
from typing import Any

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from freshet.rdf.errors import QuerySyntaxError, UnsupportedError
from freshet.syntax.source import Source
from freshet.syntax.tables import UPDATE

_MOST_ALTERNATIVES = 6
_LONGEST_SEQUENCE = 1000

_IRI = frozenset({"IRIREF", "PNAME"})
_NUMBER = frozenset({"INTEGER", "DECIMAL", "DOUBLE", "SIGNED_INTEGER", "SIGNED_DECIMAL", "SIGNED_DOUBLE"})
_LITERAL = _NUMBER | {"STRING", "TRUE", "FALSE"}
_CALL = frozenset({"FUNCTION", "NOW", "WORD", "COUNT", "AGGREGATE", "GROUP_CONCAT", "EXISTS", "NOT"})
_NODE = _IRI | _LITERAL | {"VAR", "BLANK_NODE_LABEL", "LSQB", "LPAR"}
_ELEMENT = frozenset(
    {"OPTIONAL", "MINUS", "GRAPH", "WINDOW", "STREAM", "SERVICE", "FILTER", "BIND", "VALUES", "LBRACE"}
)
_OPERATOR = frozenset({"PLUS", "DASH", "STAR", "SLASH", "EQUALS", "COMPARISON", "_OR", "_AND", "IN", "NOT"})

_STREAM_OPERATORS = frozenset({"RSTREAM", "ISTREAM", "DSTREAM"})
_RARE = frozenset(
    {"LOOKUP", "STATIC", "_LOG", "_PAST", "VERSION", "_TRIPLE_OPEN", "_REIFIED_OPEN", "_ANNOTATION_OPEN", "_TILDE"}
)
_FORM = frozenset({"SELECT", "CONSTRUCT", "ASK", "DESCRIBE"})
_OPERATION = frozenset({"INSERT", "DELETE", "LOAD", "CLEAR", "CREATE", "DROP", "ADD", "COPY", "MOVE", "WITH"})
_MODIFIER = frozenset({"GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "VALUES"})
_VERB = _IRI | {"A"}
_PATH_OPERATOR = frozenset({"STAR", "PLUS", "QUESTION", "SLASH", "VBAR"})
_PATH = _VERB | {"CIRCUMFLEX", "BANG", "LPAR"}
_DURATION = frozenset({"DURATION", "UNIT_DURATION", "INTEGER"})
_QUERY_NAME = _IRI | {"WORD", "DURATION"}
_EXPRESSION = _IRI | _LITERAL | _CALL | {"VAR", "LPAR", "BANG", "PLUS", "DASH"}

# A phrase, the terminals that must all be expected for it to fit, and those that it then speaks for; the first fits
# first. What is left over is named one by one.
_PHRASES: tuple[tuple[str, frozenset[str], frozenset[str]], ...] = (
    ("an expression", frozenset({"VAR", "STRING", "FUNCTION"}), _EXPRESSION),
    ("an operator", frozenset({"PLUS", "STAR", "_OR"}), _OPERATOR | _NUMBER),
    ("a triple pattern", _NODE | {"RBRACE"}, _NODE),
    ("a graph pattern (OPTIONAL, FILTER, ...)", _ELEMENT, _ELEMENT),
    ("an RDF term", _NODE, _NODE - {"VAR"}),
    ("a predicate", _VERB, _PATH | {"VAR"}),
    ("a path operator", _PATH_OPERATOR, _PATH_OPERATOR),
    ("a function call", frozenset({"FUNCTION"}), _CALL),
    ("a literal", _LITERAL, _LITERAL),
    ("a query (SELECT, CONSTRUCT, ASK or DESCRIBE)", _FORM, _FORM),
    ("an update (INSERT, DELETE, LOAD, ...)", _OPERATION - {"WITH"}, _OPERATION),
    ("a solution modifier (ORDER BY, LIMIT, ...)", frozenset({"ORDER", "LIMIT", "OFFSET"}), _MODIFIER),
    ("a name or an IRI", _IRI | {"WORD"}, _QUERY_NAME),
    ("an IRI", _IRI, _IRI),
    ("a duration such as 10s", _DURATION, _DURATION),
)

_NAMES = {
    "$END": "the end of the query",
    "VAR": "a variable",
    "IRIREF": "an IRI in angle brackets",
    "PNAME": "a prefix such as ex:",
    "BLANK_NODE_LABEL": "a blank node",
    "STRING": "a string",
    "LANGTAG": "a language tag",
    "INTEGER": "a whole number",
    "DECIMAL": "a decimal number",
    "DOUBLE": "a double",
    "SIGNED_INTEGER": "a signed number",
    "SIGNED_DECIMAL": "a signed number",
    "SIGNED_DOUBLE": "a signed number",
    "DURATION": "a duration such as PT10S",
    "FUNCTION": "a function call",
    "WORD": "a function call",
    "AGGREGATE": "an aggregate",
    "COMPARISON": "a comparison",
    "CONSTRAINED": "ACCURACY >= or LATENCY <=",
    "GROUP": "GROUP BY",
    "ORDER": "ORDER BY",
}


# Words of other engines that are no words of any dialect here, and what is said of them.
_REFUSED = {
    "SEQ": "SEQ, a sequence pattern of CQELS-QL, is not supported",
    "FUTURE": "FUTURE, a sequence pattern of CQELS-QL, is not supported",
    "EMIT": "EMIT in a window is not supported: a query reports when its windows move",
    "LATENESS": "LATENESS in a window is not supported: streams have a lateness (--lateness, lateness_ms)",
    **dict.fromkeys(
        ("REPORT", "ON_WINDOW_CLOSE", "ON_CONTENT_CHANGE", "NON_EMPTY_CONTENT"),
        "REPORT in a window is not supported: conditions for reports are given beside the query (--report)",
    ),
    **dict.fromkeys(("ITEM", "ELEMENTS"), "windows that count graphs are not supported: [COUNT n] counts triples"),
    "PAST": "windows that count triples of the past and the future are not supported",
    "AGGREGATE": "AGGREGATE is not supported: GROUP BY of SPARQL 1.1 takes its place",
    "START": "START and END, a window between two fixed times, are not supported",
    "RULE": "RULE is not supported: a registered CONSTRUCT is a stream that other queries read",
}
_SEQUENCE = re.compile(r"\bSEQ\s*\([^()\"']*\Z", re.IGNORECASE)


def explain(error: UnexpectedInput, source: Source, parser: Lark) -> QuerySyntaxError | UnsupportedError:
    """Lark's error as ours: where it is, what stands there and what could."""
    if isinstance(error, UnexpectedCharacters):
        expected = _expected(_state_at_the_end(source, parser))
        return _bad_character(error.pos_in_stream or 0, source, f"expected {_alternatives(expected, parser)}")
    assert isinstance(error, UnexpectedToken)
    expected = _expected(error.interactive_parser)
    token = error.token
    if token.type == "$END":
        return source.error(
            f"expected {_alternatives(expected, parser)}, but the {_what(parser)} ends here", token.end_pos or 0
        )
    at = token.start_pos or 0
    if token.type == "WINDOW" and {"NAMED", "STREAM"} <= expected:
        return source.unsupported("FROM WINDOW without a name is not supported: write FROM NAMED WINDOW", at)
    if token.type in ("WORD", "_PAST") and (reason := _REFUSED.get(token.upper())):
        return source.unsupported(reason, at)
    if sequence := _SEQUENCE.search(source.decoded, max(0, at - _LONGEST_SEQUENCE), at):
        return source.unsupported(_REFUSED["SEQ"], sequence.start())
    if token == "<" and "IRIREF" in expected:
        hint = 'an IRI has no spaces nor any of <"{}|^`\\ and ends with >'
        return source.error("this IRI is not well formed", at, hint)
    message = f"expected {_alternatives(expected, parser)}, but found {_quote_text(str(token))}"
    return source.error(message, at, _hint(token, expected, parser, source))


def _expected(interactive: Any) -> set[str]:
    """What could follow; asked of the parser's state, which knows better than the row of its table."""
    expected = set(interactive.accepts())
    # A predicate after RANGE, WITH, SELECT ISTREAM, units in words, and words of other engines are understood, but too
    # rare to be recommended.
    expected = expected - _RARE
    expected = expected - {"GRAPH"} if {"NAMED", "STREAM"} <= expected else expected
    expected = expected - {"OFFSET", "SLIDE"} if "RANGE" in expected else expected
    expected = expected - {"FROM"} if "ALL" in expected else expected
    expected = expected - {"TRIPLES"} if "COUNT" in expected else expected
    expected = expected - {"COMMA"} if "STEP" in expected else expected
    expected = expected - {"WITH"} if len(expected) > 1 else expected
    expected = expected - _STREAM_OPERATORS if "DISTINCT" in expected else expected
    expected = expected - {"WORD", "FUNCTION"} if {"WORD", "FUNCTION", "STEP"} <= expected else expected
    return expected - {"AT", "LANGTAG"} if "STEP" in expected else expected


def _state_at_the_end(source: Source, parser: Lark) -> Any:
    """The parser's state where the lexer has failed, which knows none itself."""
    interactive = parser.parse_interactive(source.decoded)
    with contextlib.suppress(UnexpectedInput):
        interactive.exhaust_lexer()
    return interactive


def _alternatives(expected: set[str], parser: Lark) -> str:
    left = set(expected)
    phrases: list[str] = []
    for phrase, needed, covered in _PHRASES:
        if needed <= left:
            phrases.append(phrase)
            left -= covered
    phrases += sorted({_name(terminal, parser) for terminal in left}, key=_by_weight)
    if len(phrases) > _MOST_ALTERNATIVES:
        phrases = [*phrases[: _MOST_ALTERNATIVES - 1], "something else"]
    return phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} or {phrases[-1]}"


def _by_weight(phrase: str) -> tuple[bool, bool, str]:
    """What is named in words first, then keywords, then punctuation."""
    return phrase.startswith("'"), phrase.isupper(), phrase


def _name(terminal: str, parser: Lark) -> str:
    if terminal == "$END":
        return f"the end of the {_what(parser)}"
    if terminal in _NAMES:
        return _NAMES[terminal]
    text = parser.get_terminal(terminal).pattern.value
    return text if text.replace("_", "").isalpha() and len(text) > 1 else f"'{text}'"


def _what(parser: Lark) -> str:
    """What a parser reads."""
    return "update" if UPDATE in parser.options.start else "query"


def _hint(token: Token, expected: set[str], parser: Lark, source: Source) -> str | None:
    """How to mend the mistakes that are made most."""
    if token == "," and {"VAR", "FROM"} <= expected:
        return "variables of SELECT stand without commas"
    if token == "," and {"VAR", "LIMIT"} <= expected:
        return "keys of GROUP BY stand without commas"
    if expected == {"LPAR"} and source.decoded[: token.start_pos].rstrip()[-4:].upper() in ("DESC", " ASC"):
        return "write DESC(?variable), ASC(?variable)"
    if token.type in _CALL and {"VAR", "STAR", "LPAR"} <= expected:
        return f"write ({token.upper()}(...) AS ?name)"
    if "UNIT_DURATION" in expected:
        return "durations are written with a unit, as 500ms, 10s, 5m, 1h, or as PT10S, or in milliseconds"
    return _suggestion(str(token), expected, parser) if token.type == "WORD" else None


def _suggestion(word: str, expected: set[str], parser: Lark) -> str | None:
    """A keyword that fits here and is nearly what was written."""
    keywords = {name for terminal in expected if terminal not in _NAMES and (name := _name(terminal, parser)).isupper()}
    near = get_close_matches(word.upper(), sorted(keywords), n=1, cutoff=0.7)
    return f"did you mean {near[0]}?" if near else None


def _quote_text(text: str) -> str:
    shown = text if len(text) <= 40 else f"{text[:37]}..."
    return f"'{shown}'" if "'" not in shown else shown


def _bad_character(at: int, source: Source, expected: str) -> QuerySyntaxError:
    character = source.decoded[at]
    if character in "\"'":
        return source.error("this string has no closing quotation mark", at, 'a string of several lines takes """')
    if character == "\\":
        return source.error("a backslash cannot stand here", at, "escapes belong in strings, IRIs and local names")
    if character in "?$":
        return source.error("a variable needs a name of letters, digits and _", at, expected)
    if character.isprintable():
        return source.error(f"the character {_quote_text(character)} cannot stand here", at, expected)
    name = unicodedata.name(character, "")
    named = f" ({name.lower()})" if name else ""
    return source.error(f"the character U+{ord(character):04X}{named} cannot stand here", at, expected)
