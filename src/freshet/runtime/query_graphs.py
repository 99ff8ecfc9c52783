"""The graphs that queries name by FROM and FROM NAMED: loaded, found in a folder, or an error that lists those loaded.

An empty answer would hide that a file was left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from freshet.algebra.nodes import Query
from freshet.rdf.compression import COMPRESSED
from freshet.rdf.errors import InputError
from freshet.rdf.terms import Iri, Term
from freshet.runtime.session import Session

_MOST_SHOWN = 10
_FROM = re.compile(r"#[^\r\n]*|\bFROM\s+(?:NAMED\s+)?(?P<graph><[^<>\s]*>|[^\s<\[:]*:[^\s\[]*)", re.IGNORECASE)


def check_graphs(
    session: Session, query: Query, text: str, *, file: str | None = None, folder: Path | None = None
) -> None:
    """See that each graph that a query names is among the stored data.

    With a `folder`, one that is not is loaded from the file there that has the last part of its name.
    """
    for iri in dict.fromkeys((*query.default_graphs, *query.named_graphs)):
        loaded = _loaded(session)
        if iri in loaded:
            continue
        found = None if folder is None else file_of_graph(iri.value, folder)
        if found is None:
            raise _missing(iri, loaded, query, text, file, folder)
        session.load(found, graph=iri.value)


def _loaded(session: Session) -> set[Term | None]:
    return set(session.dictionary.decode_many(session.dataset().names()))


def file_of_graph(iri: str, folder: Path) -> Path | None:
    """The file of a folder that has the last part of a name, perhaps compressed."""
    try:
        last = unquote(urlsplit(iri).path.rpartition("/")[2])
        if not last or Path(last).name != last:
            return None
        paths = (folder / f"{last}{suffix}" for suffix in ("", *COMPRESSED))
        return next((path for path in paths if path.is_file()), None)
    except (ValueError, OSError):  # a name that is no URL, or longer than names of files can be
        return None


def _missing(
    iri: Iri, loaded: set[Term | None], query: Query, text: str, file: str | None, folder: Path | None
) -> InputError:
    names = sorted(str(name) for name in loaded)
    listed = ", ".join(names[:_MOST_SHOWN]) + (f" and {len(names) - _MOST_SHOWN} more" if names[_MOST_SHOWN:] else "")
    looked = "" if folder is None else f", and {folder} has no file of its last part"
    what = f"loaded graphs are {listed}" if names else "no named graph is loaded"
    line, column = _place(iri, query, text)
    return InputError(
        f"the graph {iri} is not loaded{looked}: {what}",
        file=file,
        line=line,
        column=column,
        hint=f"-d {iri.value}=FILE loads it",
    )


def _place(iri: Iri, query: Query, text: str) -> tuple[int | None, int | None]:
    """Where the clause is that names the graph, as far as that can be seen without its tree."""
    prefixes = dict(query.prefixes)
    for match in _FROM.finditer(text):
        written = match["graph"]
        if written is None:
            continue
        prefix, _, local = written.partition(":")
        if iri.value.endswith(written[1:-1]) if written[0] == "<" else prefixes.get(prefix, "") + local == iri.value:
            at = match.start("graph")
            return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    return None, None
