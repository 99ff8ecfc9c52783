"""Random graph patterns in fragments that can be left out one by one.

Most triple patterns are triples of the data with variables put in. Nothing is made on which pyoxigraph, which the
reference asks, departs from the specification or which that leaves open:
- a path that may have no steps never has a constant at an end, nor does it stand in EXISTS, which would put one
  there: pyoxigraph wants it to be in the graph
- no expression has a variable that stands at an end of such a path, which literals match too: pyoxigraph takes the
  subject for no literal, and then `0 = 0.0` for a comparison of terms (0.5.13)
- paths of alternatives stand below + or * only: pyoxigraph does not count the ways of the others
- GRAPH ?g holds triple patterns only, and ?g is used nowhere else: pyoxigraph sees it too early
- EXISTS holds neither MINUS nor a sub-select nor BIND nor VALUES: what substitution means there is open
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from random_expressions import Dice, condition, operand, slice_text, total_order
from random_streams import MEASURE, RESOURCES, VALUES, Triple, random_triple

FEATURED = ("optional", "minus", "union", "sub_select", "exists")

Variables = list[str]
Home = str | None  # a window, a graph, or None: outside of them


@dataclass(frozen=True)
class Fragment:
    """Text with fragments in it: `OPTIONAL {`, the fragments, `}`."""

    start: str
    fragments: tuple[Fragment, ...] = ()
    end: str = ""
    between: str = " "

    def __str__(self) -> str:
        return " ".join(filter(None, [self.start, self.between.join(map(str, self.fragments)), self.end]))


def smaller_fragment(fragment: Fragment) -> Iterator[Fragment]:
    """The same with one fragment in it left out, taken out of its braces, or made smaller itself."""
    for at, inner in enumerate(fragment.fragments):
        before, after = fragment.fragments[:at], fragment.fragments[at + 1 :]
        yield replace(fragment, fragments=(*before, *after))
        if inner.fragments and not fragment.between.strip() and "SELECT" not in inner.start:
            yield replace(fragment, fragments=(*before, *inner.fragments, *after))
        for less in smaller_fragment(inner):
            yield replace(fragment, fragments=(*before, less, *after))


def braces(fragments: Sequence[Fragment], start: str = "{", end: str = "}") -> Fragment:
    return Fragment(start, tuple(fragments), end)


@dataclass
class Patterns:
    """Makes the pattern of one query.

    `matching` has the triples to be found in every home; `open_block` starts a block that matches in a window or graph.
    A simple pattern has joins, filters and BIND only: many such are answered in ways of their own. An operator that is
    `featured` stands at the end of the pattern, whatever else is in it, so that none is rare.
    """

    dice: Dice
    matching: Mapping[Home, Sequence[Triple]]
    blocks: Sequence[str]
    open_block: Callable[[str], str]
    subjects: Sequence[str]
    leaves: int
    simple: bool = False
    featured: str = ""
    timed: Dice | None = None  # where conditions may ask for the time of the evaluation
    names: dict[str, str] = field(default_factory=dict)
    measured: Variables = field(default_factory=list)
    chosen: list[Triple] = field(default_factory=list)
    fresh: int = 0
    compared: set[str] = field(default_factory=set)  # the variables that expressions may have
    stepless: set[str] = field(default_factory=set)  # the variables at the ends of paths that may have no steps

    def whole(self) -> tuple[Fragment, Variables]:
        """The pattern of the query and the variables that it may bind."""
        fragments, scope = self.group(None, 2)
        if self.featured:
            self.leaves = max(1, self.leaves)
            fragment, more = getattr(self, self.featured)(None, 2, scope)
            fragments.append(fragment)
            scope = list(dict.fromkeys([*scope, *more]))
        return braces(fragments), scope

    def group(self, home: Home, depth: int, *, plain: bool = False) -> tuple[list[Fragment], Variables]:
        """What stands in a pair of braces. A plain one can stand in EXISTS."""
        first, scope = self.leaf(home, depth, plain=plain)
        fragments = [first]
        for _ in range(self.dice.choice(([0, 0, 0, 1], [0, 0, 1, 1, 2], [0, 1, 1, 2, 2, 3])[depth])):
            fragment, more = self.element(home, depth, scope, plain=plain)
            fragments.append(fragment)
            scope = list(dict.fromkeys([*scope, *more]))
        return fragments, scope

    def element(self, home: Home, depth: int, scope: Variables, *, plain: bool) -> tuple[Fragment, Variables]:
        kinds: list[Callable[[Home, int, Variables], tuple[Fragment, Variables]]] = []
        if self.leaves > 0:
            kinds = [self.more, self.more, self.more]
        if self.leaves > 0 and depth and not self.simple:
            kinds += [self.optional, self.optional, self.optional, self.union, self.union]
            kinds += [self.nested, self.exists]
            if not plain:
                kinds += [
                    self.minus,
                    self.minus,
                    *[self.exists] * 3,
                    self.sub_select,
                    self.sub_select,
                    self.bind_exists,
                ]
        kinds += [self.filter, self.filter] + (
            [] if plain else [self.bind] if self.simple else [self.bind, self.values]
        )
        return self.dice.choice(kinds)(home, -depth if plain else depth, scope)

    # ---- leaves

    def leaf(self, home: Home, depth: int, *, plain: bool = False) -> tuple[Fragment, Variables]:
        """Triple patterns where this home has any; else a block of one that has."""
        if home is None and self.blocks and (not self.matching.get(None) or self.dice.random() < 0.8):
            name = self.dice.choice(self.blocks)
            fragments, scope = self.group(name, max(0, depth - 1), plain=plain)
            return braces(fragments, self.open_block(name)), scope
        if (
            home is None
            and self.dice.random() < 0.25
            and (graphs := [name for name in self.matching if is_graph(name)])
        ):
            return self.graph(self.dice.choice(graphs), max(0, depth - 1), plain=plain)
        self.leaves -= 1
        if self.dice.random() < 0.12:
            return self.path(home, plain=plain)
        return self.triple(home)

    def triple(self, home: Home) -> tuple[Fragment, Variables]:
        """A pattern that a triple of the data matches (unless a variable was put in by chance), and its variables."""
        subject, predicate, object_ = self.example(home)
        slots = [self.slot(subject, 0.85), self.slot(predicate, 0.1), self.slot(object_, 0.75)]
        if slots[1] == MEASURE and slots[2].startswith("?"):
            self.measured.append(slots[2])
        if self.dice.random() < 0.04:
            slots[self.dice.choice([0, 2])] = "[]"
        return Fragment(" ".join(slots) + " ."), [slot for slot in dict.fromkeys(slots) if slot.startswith("?")]

    def path(self, home: Home, *, plain: bool) -> tuple[Fragment, Variables]:
        subject, predicate, object_ = self.example(home)
        step = predicate if predicate.startswith(":") else ":p0"
        other = self.dice.choice([":p0", ":p1"])
        paths = (f"{step}+", f"{step}*", f"{step}?", f"^{step}", f"{step}/{other}", f"!{other}", f"^{step}/{other}*")
        paths += (f"({step}|{other})+", f"({step}/^{other})*", f"({step}|^{other})*", f"{step}/{other}?", f"!^{other}")
        ends = [self.slot(subject, 1), self.slot(object_, 1)]
        stepped = plain or not self.compared.isdisjoint(ends)
        path = self.dice.choice([path for path in paths if not (stepped and path.endswith(("*", "?")))])
        if path.endswith(("*", "?")):
            self.stepless.update(ends)
        return Fragment(f"{ends[0]} {path} {ends[1]} ."), list(dict.fromkeys(ends))

    def example(self, home: Home) -> Triple:
        """A triple that shares a resource with those chosen, if one does."""
        candidates = self.matching.get(home) or [random_triple(self.dice, self.subjects)]
        terms = {term for triple in self.chosen for term in (triple[0], triple[2])}
        close = [triple for triple in candidates if triple[0] in terms or triple[2] in terms]
        found = self.dice.choice(close if close and self.dice.random() < 0.9 else candidates)
        self.chosen.append(found)
        return found

    def slot(self, term: str, likely: float) -> str:
        if self.names and self.dice.random() < 0.04:
            return self.dice.choice(sorted(self.names.values()))
        if term.startswith("_:") or self.dice.random() < likely:
            return self.names.setdefault(term, f"?{chr(ord('a') + len(self.names))}")
        return term

    def graph(self, name: str, depth: int, *, plain: bool) -> tuple[Fragment, Variables]:
        """`GRAPH :g { }`, or `GRAPH ?g { }`"""
        if self.dice.random() < 0.6:
            fragments, scope = self.group(name, depth, plain=plain)
            return braces(fragments, f"GRAPH {name} {{"), scope
        self.fresh += 1
        self.leaves -= 1
        fragment, scope = self.triple(name)
        return braces([fragment], f"GRAPH ?g{self.fresh} {{"), [*scope, f"?g{self.fresh}"]

    # ---- operators; a negative depth is that of a plain group

    def more(self, home: Home, depth: int, scope: Variables) -> tuple[Fragment, Variables]:
        return self.leaf(home, abs(depth), plain=depth < 0)

    def optional(self, home: Home, depth: int, scope: Variables) -> tuple[Fragment, Variables]:
        fragments, more = self.group(home, abs(depth) - 1, plain=depth < 0)
        if self.dice.random() < 0.4:
            fragments.append(Fragment(f"FILTER({self.test(self.known([*scope, *more]))})"))
        return braces(fragments, "OPTIONAL {"), more

    def nested(self, home: Home, depth: int, scope: Variables) -> tuple[Fragment, Variables]:
        """Braces of their own, with a filter that may speak of what they do not bind."""
        fragments, more = self.group(home, abs(depth) - 1, plain=depth < 0)
        names = [*more, *more, *scope] if self.dice.random() < 0.3 else more
        return braces([*fragments, Fragment(f"FILTER({self.test(self.known(names), 1)})")]), more

    def union(self, home: Home, depth: int, scope: Variables) -> tuple[Fragment, Variables]:
        groups = [self.group(home, abs(depth) - 1, plain=depth < 0) for _ in range(self.dice.choice([2, 2, 3]))]
        both = tuple(braces(fragments) for fragments, _ in groups)
        return Fragment("{", both, "}", " UNION "), [name for _, names in groups for name in names]

    def minus(self, home: Home, depth: int, scope: Variables) -> tuple[Fragment, Variables]:
        fragments, _ = self.group(home, depth - 1)
        return braces(fragments, "MINUS {"), []

    def filter(self, home: Home, depth: int, scope: Variables) -> tuple[Fragment, Variables]:
        return Fragment(f"FILTER({self.test(self.known(scope))})"), []

    def exists(self, home: Home, depth: int, scope: Variables) -> tuple[Fragment, Variables]:
        """Sometimes with a filter that compares with the solution outside; also in another EXISTS."""
        fragments, more = self.group(home, min(1, abs(depth) - 1), plain=True)
        if self.dice.random() < 0.4:
            compared = self.test(self.known([*scope, *more]))
            fragments.append(Fragment(f"FILTER({compared})"))
        negated = self.dice.choice(["", "NOT "])
        if self.dice.random() < 0.2:
            test = self.test(self.known(scope), 1)
            return braces(fragments, f"FILTER({test} {self.dice.choice(['||', '&&'])} {negated}EXISTS {{", "})"), []
        return braces(fragments, f"FILTER {negated}EXISTS {{"), []

    def bind(self, home: Home, depth: int, scope: Variables) -> tuple[Fragment, Variables]:
        new = self.new()
        return Fragment(f"BIND({operand(self.dice, self.known(scope))} AS {new})"), [new]

    def bind_exists(self, home: Home, depth: int, scope: Variables) -> tuple[Fragment, Variables]:
        new = self.new()
        fragments, _ = self.group(home, 0, plain=True)
        return braces(fragments, "BIND(EXISTS {", f"}} AS {new})"), [new]

    def values(self, home: Home, depth: int, scope: Variables) -> tuple[Fragment, Variables]:
        """Mostly of terms that the variables stand for."""
        chosen = self.dice.sample(scope, min(len(scope), self.dice.choice([1, 1, 2]))) or ["?a"]
        terms = {name: term for term, name in self.names.items() if not term.startswith("_:")}
        rows = []
        for _ in range(self.dice.randint(1, 3)):
            others = [*RESOURCES, *VALUES, "UNDEF", "UNDEF"]
            cells = [
                terms[name] if name in terms and self.dice.random() < 0.6 else self.dice.choice(others)
                for name in chosen
            ]
            rows.append(Fragment(f"({' '.join(cells)})"))
        return Fragment(f"VALUES ({' '.join(chosen)}) {{", tuple(rows), "}"), chosen

    def sub_select(self, home: Home, depth: int, scope: Variables) -> tuple[Fragment, Variables]:
        fragments, inner = self.group(home, depth - 1)
        shown = self.dice.sample(inner, self.dice.randint(min(1, len(inner)), min(2, len(inner))))
        ordered = not any(name.startswith("_:") for name in self.subjects)
        kind = self.dice.random()
        if kind < 0.3 and shown:
            return self.selected(f"DISTINCT {' '.join(shown)}", fragments), shown
        if kind < 0.5 and shown and ordered:
            tail = f"{total_order(self.dice, shown)} {slice_text(self.dice)}"
            return self.selected(" ".join(shown), fragments, tail.strip()), shown
        keys = shown if self.dice.random() < 0.8 else []
        new = self.new()
        tail = f"GROUP BY {' '.join(keys)}" if keys else ""
        if keys and self.dice.random() < 0.3:
            tail += " HAVING (COUNT(*) > 1)"
        return self.selected(f"{' '.join(keys)} ({self.aggregate(inner, keys)} AS {new})", fragments, tail), [
            *keys,
            new,
        ]

    def selected(self, head: str, fragments: Sequence[Fragment], tail: str = "") -> Fragment:
        return braces(fragments, f"{{ SELECT {head} {{", f"}} {tail}".rstrip() + " }")

    def aggregate(self, scope: Variables, keys: Variables) -> str:
        """MIN and MAX of numbers only, SAMPLE and GROUP_CONCAT of what is one value in a group: else they choose."""
        scope = self.known(scope)
        measured = [name for name in self.measured if name in scope]
        several = self.dice.choice(["", "", "DISTINCT "])
        choices = [
            "COUNT(*)",
            f"COUNT({several}{self.dice.choice(scope)})",
            f"COUNT({several}{self.dice.choice(scope)})",
        ]
        choices += [f"{name}({several}{self.dice.choice(measured or scope)})" for name in ("SUM", "AVG")]
        choices += [f"{name}({several}{self.dice.choice(measured)})" for name in ("MIN", "MAX") if measured]
        choices += [f"SUM({operand(self.dice, measured)})"] if measured else []
        if keys:
            key = self.dice.choice(keys)
            choices.append(f"SAMPLE({key})")
            if key in measured:
                separator = self.dice.choice(["", '; SEPARATOR="-"'])
                choices.append(f"GROUP_CONCAT({several}STR({key}){separator})")
        return self.dice.choice(choices)

    def known(self, scope: Sequence[str]) -> Variables:
        """Variables to write expressions of, those with numbers more often."""
        named = [name for name in scope if name not in self.stepless]
        self.compared.update(named)
        return [*named, *(name for name in self.measured for _ in range(2) if name in named)] or ["?nothing"]

    def test(self, names: Sequence[str], depth: int = 2) -> str:
        """A condition, now and then on the time of the evaluation."""
        if self.timed is not None and self.timed.random() < 0.3:
            return f"SECONDS(NOW()) {self.timed.choice(['<', '>='])} {self.timed.randint(1, 12)}"
        return condition(self.dice, names, depth)

    def new(self) -> str:
        self.fresh += 1
        return f"?n{self.fresh}"


def is_graph(home: Home) -> bool:
    return home is not None and home.startswith(":g")
