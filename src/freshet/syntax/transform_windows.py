"""Windows and streams, in the words of each dialect, and the rule that a query keeps to one of them."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable

from freshet.algebra.expressions import Variable
from freshet.algebra.windows import (
    AllWindow,
    CountWindow,
    EventTimeWindow,
    NowWindow,
    RangeWindow,
    SlidingWindow,
    TriplesWindow,
    WindowDeclaration,
    WindowOperator,
)
from freshet.rdf.terms import Iri
from freshet.syntax.dialects import Dialect
from freshet.syntax.durations import duration_ms, unit_duration_ms
from freshet.syntax.source import Source
from freshet.syntax.transform_triples import TripleTransformer
from freshet.syntax.tree import Child, Token, Tree, make_token, offset, tokens, trees


class WindowTransformer(TripleTransformer, ABC):
    """Reads windows. `windows` are those declared so far; a stream that the query gives no name to gets one."""

    def __init__(self, source: Source, dialect: Dialect | None = None) -> None:
        super().__init__(source)
        self.dialect = dialect
        self.windows: dict[Iri, WindowDeclaration] = {}
        self._first_mark: str | None = None

    def mark(self, dialect: Dialect, construct: str, child: Child) -> None:
        """Note a construct that only one dialect has; another dialect's before it, or asked for, is an error."""
        if self.dialect is None:
            self.dialect, self._first_mark = dialect, construct
        elif self.dialect is not dialect:
            other = f"but the query is to be read as {self.dialect.proper_name}"
            if self._first_mark is not None:
                other = f"but {self._first_mark} before it is {self.dialect.proper_name}"
            raise self.source.error(f"{construct} is {dialect.proper_name}, {other}", offset(child))

    # ---- RSP-QL

    def declare_window(self, branch: Tree) -> None:
        """`FROM NAMED WINDOW name ON stream [...]`"""
        self.mark(Dialect.RSPQL, "FROM NAMED WINDOW", branch)
        token, stream = tokens(branch)
        name = self.iri(token)
        if name in self.windows:
            raise self.source.error(f"the window {token} is declared already", offset(token))
        self.windows[name] = WindowDeclaration(name, self._window(self.iri(stream), trees(branch)[0]))

    def _window(self, stream: Iri, branch: Tree) -> WindowOperator:
        match branch.data:
            case "count_window":
                _, count, step = branch.children
                return CountWindow(stream, self._number(count, "COUNT"), self._number(step, "STEP") if step else 1)
            case "sliding_window":
                width, slide = branch.children
                width_ms = self._duration_ms(width, "RANGE")
                return SlidingWindow(stream, width_ms, self._duration_ms(slide, "STEP") if slide else width_ms)
            case _:
                width, *slides = tokens(branch)
                slide_ms = self._duration_ms(slides[0], "STEP") if slides else None
                predicate = self._time_predicate(trees(branch)[0])
                return EventTimeWindow(stream, predicate, self._duration_ms(width, "RANGE"), slide_ms)

    def _time_predicate(self, branch: Tree) -> Iri:
        """The lexer has taken the letters after @ for a language: `@ex:time` comes as `@ex` and `:time`."""
        first, *rest = tokens(branch)
        if first.type != "LANGTAG":
            return self.iri(first)
        name = "".join([first[1:], *rest])
        if offset(rest[-1]) + len(rest[-1]) != offset(first) + 1 + len(name):
            raise self.source.error("expected a predicate such as @ex:time, without spaces", offset(first))
        return self.iri(make_token("PNAME", name, offset(first) + 1))

    # ---- C-SPARQL

    def declare_stream(self, branch: Tree) -> None:
        """`FROM STREAM stream [...]`"""
        self.mark(Dialect.CSPARQL, "FROM STREAM", branch)
        if branch.data == "named_stream_declaration":
            raise self.source.unsupported("FROM NAMED STREAM is not supported yet", offset(branch))
        stream = self.iri(tokens(branch)[0])
        clause = trees(branch)[0]
        width, step = clause.children
        if clause.data == "range_of_time":
            width_ms = self._duration_ms(width, "RANGE")
            self._declare(SlidingWindow(stream, width_ms, self._step(step, width_ms, self._duration_ms)))
        else:
            count = self._number(width, "TRIPLES")
            self._declare(CountWindow(stream, count, self._step(step, count, self._number) if step else 1))

    def period_ms(self, branch: Tree) -> int:
        """`COMPUTED EVERY ...`"""
        self.mark(Dialect.CSPARQL, "COMPUTED EVERY", branch)
        return self._duration_ms(trees(branch)[0], "COMPUTED EVERY")

    # ---- CQELS-QL

    def stream_window(self, branch: Tree) -> tuple[Iri, Variable | None]:
        """The window of `STREAM stream [...] { }`: its name, and the variable that stands for the stream."""
        self.mark(Dialect.CQELS, "STREAM", branch)
        stream = self.variable_or_iri(tokens(branch)[0])
        name = self._declare(self._instant_window(stream, trees(branch)[0]))
        return name, stream if isinstance(stream, Variable) else None

    def _instant_window(self, stream: Iri | Variable, branch: Tree) -> WindowOperator:
        match branch.data:
            case "range_window":
                width, step = branch.children
                width_ms = self._duration_ms(width, "RANGE")
                return RangeWindow(stream, width_ms, self._step(step, width_ms, self._duration_ms) if step else None)
            case "triples_window":
                return TriplesWindow(stream, self._number(tokens(branch)[0], "TRIPLES"))
            case "now_window":
                return NowWindow(stream)
            case _:
                return AllWindow(stream)

    # ---- what they share

    def _declare(self, window: WindowOperator) -> Iri:
        name = Iri(f"window{len(self.windows) + 1}")
        self.windows[name] = WindowDeclaration(name, window)
        return name

    def _step(self, child: Child | None, width: int, read: Callable[[Child, str], int]) -> int:
        """STEP or SLIDE; TUMBLING, or nothing at all, is as far as the window is wide."""
        if child is None or (isinstance(child, Token) and child.type == "TUMBLING"):
            return width
        return read(child, "STEP")

    def _number(self, child: Child, what: str) -> int:
        assert isinstance(child, Token)
        number = self.integer(child)
        if number == 0:
            raise self.source.error(f"{what} must be more than 0", offset(child))
        return number

    def _duration_ms(self, child: Child, what: str) -> int:
        text = "".join(tokens(child)) if isinstance(child, Tree) else str(child)
        try:
            duration = duration_ms(text) if text[0] in "Pp" else unit_duration_ms(text)
        except ValueError as problem:
            raise self.source.error(str(problem), offset(child)) from None
        if duration == 0:
            raise self.source.error(f"{what} must be longer than 0", offset(child))
        return duration
