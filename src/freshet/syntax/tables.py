"""The parser's tables: worked out from the grammar once, then kept on disk.

Working them out takes some 0.4 s, reading them back some 20 ms. Lark's own cache writes its file in place in the
shared temporary directory, so a second process can read half of it; here the file is moved into place whole, sits
where Python keeps this package's byte code (or in the user's cache directory where that is read-only), and its name
carries a digest of all that it depends on. Where no directory can be written, the tables are worked out every time.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import pickle
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import lark
from lark import Lark

from freshet.cache_folder import cache_folder

_GRAMMAR, _UPDATE = (Path(__file__).with_name(name) for name in ("grammar.lark", "update.lark"))
QUERY, UPDATE = "start", "update"


@cache
def parser(start: str = QUERY) -> Lark:
    """The one parser of this process for queries, or for updates."""
    grammar = _grammar(start)
    version = f"{lark.__version__} {sys.implementation.cache_tag} {grammar}"
    name = f"{start}.{hashlib.sha256(version.encode()).hexdigest()[:16]}.tables"
    for directory in _directories():
        if (found := _read(directory / name)) is not None:
            return found
    built = build(grammar, start)
    content = io.BytesIO()
    built.save(content)
    for directory in _directories():
        if _write(directory / name, content.getvalue()):
            break
    return built


def build(grammar: str | None = None, start: str = QUERY) -> Lark:
    """A parser from the grammar itself, not from the tables on disk."""
    text = _grammar(start) if grammar is None else grammar
    return Lark(text, start=start, parser="lalr", lexer="basic", maybe_placeholders=True)


def _grammar(start: str) -> str:
    queries = _GRAMMAR.read_text(encoding="utf-8")
    return queries if start == QUERY else f"{queries}\n{_UPDATE.read_text(encoding='utf-8')}"


def _directories() -> Iterator[Path]:
    yield _GRAMMAR.parent / "__pycache__"
    with contextlib.suppress(RuntimeError):  # there is no home
        yield cache_folder()


def _read(path: Path) -> Lark | None:
    try:
        content = path.read_bytes()
    except OSError:
        return None
    try:
        return Lark.load(io.BytesIO(content))
    except (pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError, KeyError, TypeError, ValueError):
        return None


def _write(path: Path, content: bytes) -> bool:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    except OSError:
        return False
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        return False
    return True
