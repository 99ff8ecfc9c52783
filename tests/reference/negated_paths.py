"""`?a !:p ?b .` -> the triple patterns that it stands for, since pyoxigraph counts its solutions in two ways.

Each triple with another predicate is a way from ?a to ?b (SPARQL 1.1, 18.4), and so pyoxigraph has it, but not where it
comes to the path with both ends bound: there it asks whether there is any. Which happens is up to its order of joins.
In EXISTS, where nothing is counted, paths stay as they are; so do those that are part of a longer one.
"""

from __future__ import annotations

import re

from reference.query_text import QueryText

VARIABLE, END, NAME = re.compile(r"[?$]\w+"), re.compile(r"[?$]\w+|<.*>|[^_\s]*:.*"), re.compile(r"<.*>|[^_\s]*:.*")


def spelled_out(text: str) -> str:
    """The query with a sub-select in place of each negated path of one predicate."""
    query = QueryText(text)
    parts, at, count = [], 0, 0
    braces: list[str] = []  # what stands before those that are open
    while at < len(query.words):
        word = query.words[at]
        if word == "{":
            braces.append(query.upper[at - 1])
        elif word == "}" and braces:
            braces.pop()
        length = 0 if "EXISTS" in braces else negated_length(query, at)
        if length:
            subject, *middle, object_ = query.words[at : at + length]
            if "^" in middle:
                subject, object_ = object_, subject
            shown = " ".join(dict.fromkeys(end for end in (subject, object_) if VARIABLE.fullmatch(end)))
            way = f"?negated{count}"
            pattern = f"{subject} {way} {object_} FILTER({way} != {middle[-1]})"
            parts.append(f"{query.spaces[at]}{{ SELECT {shown} {{ {pattern} }} }}")
            count += 1
        else:
            parts.append(query.spaces[at] + word)
        at += length or 1
    return "".join(parts)


def negated_length(query: QueryText, at: int) -> int:
    """How many words the pattern has that begins here, if it has such a path: `?a ! :p ?b`, `?a ! ^ :p ?b`; else 0."""
    words = query.words
    length = 5 if words[at + 1 : at + 3] == ["!", "^"] else 4 if words[at + 1 : at + 2] == ["!"] else 0
    if not length or at + length >= len(words) or words[at - 1] not in (".", "{", "}"):
        return 0
    subject, *_, name, object_, after = words[at : at + length + 1]
    is_whole = END.fullmatch(subject) and NAME.fullmatch(name) and END.fullmatch(object_) and after in (".", "}", "{")
    return length if is_whole and (VARIABLE.fullmatch(subject) or VARIABLE.fullmatch(object_)) else 0
