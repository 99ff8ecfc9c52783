"""Windows and streams, in the words of each dialect, and the rule that a query keeps to one of them."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable

from freshet.algebra.expressions import Variable
from freshet.algebra.windows import (
    AdaptiveWindow,
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
        self.merges = True  # unless the pattern of SPARQLstream says what is of which stream
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
        """`FROM NAMED WINDOW name ON stream [...]`, or as it was first proposed `ON stream [...] AS name`"""
        self.mark(Dialect.RSPQL, "FROM NAMED WINDOW", branch)
        token, stream = tokens(branch)
        if branch.data == "window_declaration_as":
            token, stream = stream, token
        name = self.iri(token)
        if name in self.windows:
            raise self.source.error(f"the window {token} is declared already", offset(token))
        self.windows[name] = WindowDeclaration(name, self._window(self._stream(stream), trees(branch)[0]))

    def _stream(self, token: Token) -> Iri | Variable:
        return self.stream_name(token) if token.type == "WORD" else self.variable_or_iri(token)

    def _window(self, stream: Iri | Variable, branch: Tree) -> WindowOperator:
        match branch.data:
            case "count_window" | "triples_count_window":
                *_, count, step = branch.children
                return CountWindow(stream, self._number(count, "COUNT"), self._number(step, "STEP") if step else 1)
            case "sliding_window":
                width, slide = branch.children
                width_ms = self._duration_ms(width, "RANGE")
                return SlidingWindow(stream, width_ms, self._duration_ms(slide, "STEP") if slide else width_ms)
            case "past_window":
                return self._past_window(stream, branch)
            case "offset_window":
                return self._offset_window(stream, branch)
            case "adaptive_window":
                return self._adaptive_window(stream, branch)
            case _:
                given = [child for child in branch.children if child is not None]
                (predicate,) = (child for child in given if isinstance(child, Tree) and child.data == "time_predicate")
                width, *slides = (child for child in given if child is not predicate)
                slide_ms = self._duration_ms(slides[0], "STEP") if slides else None
                return EventTimeWindow(
                    stream, self._time_predicate(predicate), self._duration_ms(width, "RANGE"), slide_ms
                )

    def _past_window(self, stream: Iri | Variable, branch: Tree) -> SlidingWindow:
        """`[FROM NOW - a TO NOW - b STEP c]`"""
        _, begin, _, end, slide = branch.children
        return self._window_of_span(stream, begin, end, slide, branch)

    def _window_since(self, stream: Iri | Variable, branch: Tree) -> SlidingWindow:
        """SPARQLstream's windows: `[NOW - a SLIDE c]`, `[FROM NOW - a TO NOW - b SLIDE c]`"""
        if branch.data == "past_window":
            return self._past_window(stream, branch)
        _, begin, slide = branch.children
        return self._window_of_span(stream, begin, None, slide, branch)

    def _offset_window(self, stream: Iri | Variable, branch: Tree) -> SlidingWindow:
        """`[OFFSET a RANGE w STEP c]`: what came between a and a - w ago."""
        begin, width, slide = branch.children
        width_ms = self._duration_ms(width, "RANGE")
        ago_ms = self._any_duration_ms(begin) - width_ms
        if ago_ms < 0:
            raise self.source.error("RANGE must not be longer than OFFSET", offset(branch))
        return SlidingWindow(stream, width_ms, self._duration_ms(slide, "STEP"), ago_ms=ago_ms)

    def _window_of_span(
        self, stream: Iri | Variable, begin: Child | None, end: Child | None, slide: Child | None, branch: Tree
    ) -> SlidingWindow:
        ago_ms = 0 if end is None else self._ago_ms(end)
        begin_ms = 0 if begin is None else self._ago_ms(begin)
        if begin_ms == ago_ms == 0:
            raise self.source.unsupported("a window of the present instant alone is not supported here", offset(branch))
        if begin_ms <= ago_ms:
            raise self.source.error("a window must begin before it ends", offset(branch))
        width_ms = begin_ms - ago_ms
        return SlidingWindow(stream, width_ms, self._duration_ms(slide, "SLIDE") if slide else width_ms, ago_ms=ago_ms)

    def _ago_ms(self, child: Child) -> int:
        """The duration of `NOW - duration`, which may be 0."""
        assert isinstance(child, Tree)
        return self._any_duration_ms(child.children[-1])

    def _time_predicate(self, branch: Tree) -> Iri:
        """The lexer has taken the letters after @ for a language: `@ex:time` comes as `@ex` and `:time`."""
        first, *rest = tokens(branch)
        if first.type != "LANGTAG":
            return self.iri(first)
        name = "".join([first[1:], *rest])
        if offset(rest[-1]) + len(rest[-1]) != offset(first) + 1 + len(name):
            raise self.source.error("expected a predicate such as @ex:time, without spaces", offset(first))
        return self.iri(make_token("PNAME", name, offset(first) + 1))

    # ---- C-SPARQL and SPARQLstream

    def declare_stream(self, branch: Tree) -> None:
        """`FROM STREAM stream [...]`, `FROM NAMED STREAM stream [...]`"""
        if branch.data == "named_stream_declaration":
            self.mark(Dialect.SPARQLSTREAM, "FROM NAMED STREAM", branch)
        else:
            self.mark(Dialect.CSPARQL, "FROM STREAM", branch)
        stream = self.stream_name(tokens(branch)[0])
        clause = trees(branch)[0]
        if clause.data == "adaptive_window":
            self._declare(self._adaptive_window(stream, clause))
            return
        if clause.data in ("past_window", "recent_window"):
            self._declare(self._window_since(stream, clause))
            return
        if clause.data not in ("range_of_time", "range_of_triples"):
            message = f"this window of FROM STREAM goes with STREAM {tokens(branch)[0]} {{ ... }} in the pattern"
            raise self.source.error(message, offset(clause))
        width, step = clause.children
        if clause.data == "range_of_time":
            width_ms = self._duration_ms(width, "RANGE")
            self._declare(SlidingWindow(stream, width_ms, self._step(step, width_ms, self._duration_ms)))
        else:
            count = self._number(width, "TRIPLES")
            self._declare(CountWindow(stream, count, self._step(step, count, self._number) if step else 1))

    def period_ms(self, branch: Tree) -> int:
        """`COMPUTED EVERY ...`"""
        (period,) = branch.children
        return self._duration_ms(period, "COMPUTED EVERY")

    # ---- CQELS-QL

    def declare_cqels_stream(self, branch: Tree, construct: str) -> Iri:
        """`FROM STREAM name [...]`, which `construct` tells from that of C-SPARQL."""
        self.mark(Dialect.CQELS, construct, branch)
        token, clause = tokens(branch)[0], trees(branch)[0]
        name = self.stream_name(token)
        if name in self.windows:
            raise self.source.error(f"the stream {token} is declared already", offset(token))
        if clause.data == "range_of_time":
            width, step = clause.children
            window: WindowOperator = self._range_window(name, width, step)
        elif clause.data == "range_of_triples":
            window = TriplesWindow(name, self._number(clause.children[0], "TRIPLES"))
        else:
            window = self._instant_window(name, clause)
        self.windows[name] = WindowDeclaration(name, window)
        return name

    def declared_stream(self, branch: Tree) -> Iri:
        """The window of `STREAM name { }`."""
        token = tokens(branch)[0]
        name = self.stream_name(token)
        if name not in self.windows:
            hint = f"give it a window: FROM STREAM {token} [RANGE 10s], or STREAM {token} [RANGE 10s] {{ ... }}"
            raise self.source.error(f"the stream {token} has no window", offset(token), hint)
        return name

    def stream_name(self, token: Token) -> Iri:
        """A stream's IRI; a plain word is taken as it is."""
        return Iri(str(token)) if token.type == "WORD" else self.iri(token)

    def stream_window(self, branch: Tree) -> tuple[Iri, Variable | None]:
        """The window of `STREAM stream [...] { }`: its name, and the variable that stands for the stream."""
        stream, clause = self.variable_or_iri(tokens(branch)[0]), trees(branch)[0]
        if clause.data in ("past_window", "recent_window"):
            self.mark(Dialect.SPARQLSTREAM, "STREAM with this window", branch)
            if self.windows and self.merges:
                raise self.source.error("FROM NAMED STREAM and STREAM { } do not go together", offset(branch))
            self.merges = False
            return self._declare(self._window_since(stream, clause)), stream if isinstance(stream, Variable) else None
        self.mark(Dialect.CQELS, "STREAM", branch)
        name = self._declare(self._instant_window(stream, clause))
        return name, stream if isinstance(stream, Variable) else None

    def _instant_window(self, stream: Iri | Variable, branch: Tree) -> WindowOperator:
        match branch.data:
            case "range_window":
                width, step = branch.children
                return self._range_window(stream, width, step)
            case "triples_window":
                return TriplesWindow(stream, self._number(tokens(branch)[0], "TRIPLES"))
            case "now_window":
                return NowWindow(stream)
            case "adaptive_window":
                return self._adaptive_window(stream, branch)
            case _:
                return AllWindow(stream)

    def _range_window(self, stream: Iri | Variable, width: Child, step: Child | None) -> RangeWindow:
        """SLIDE is read, and makes no difference."""
        tumbling = isinstance(step, Token) and step.type == "TUMBLING"
        if step is not None and not tumbling:
            self._duration_ms(step, "SLIDE")
        return RangeWindow(stream, self._duration_ms(width, "RANGE"), tumbling)

    # ---- what they share

    def _adaptive_window(self, stream: Iri | Variable, branch: Tree) -> AdaptiveWindow:
        """`[ADAPTIVE a TO b]`"""
        lower, upper = branch.children
        lower_ms, upper_ms = self._duration_ms(lower, "ADAPTIVE"), self._duration_ms(upper, "TO")
        if upper_ms < lower_ms:
            raise self.source.error("the upper limit of a window is no less than the lower one", offset(branch))
        return AdaptiveWindow(stream, lower_ms, upper_ms)

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
        duration = self._any_duration_ms(child)
        if duration == 0:
            raise self.source.error(f"{what} must be longer than 0", offset(child))
        return duration

    def _any_duration_ms(self, child: Child) -> int:
        """A duration; without a unit it is in milliseconds."""
        text = "".join(tokens(child)) if isinstance(child, Tree) else f"{child}ms"
        try:
            return duration_ms(text) if text[0] in "Pp" else unit_duration_ms(text)
        except ValueError as problem:
            raise self.source.error(str(problem), offset(child)) from None
