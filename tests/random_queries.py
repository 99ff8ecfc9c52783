"""Random SPARQL over a handful of names, so that patterns meet, miss, repeat and leave variables unbound."""

from __future__ import annotations

from random import Random

PREFIX = "PREFIX : <http://e/>\n"
_VARIABLES = ("?a", "?b", "?c", "?d", "?e")
_PREDICATES = (":p", ":q", ":r")
_TERMS = (":a", ":b", ":c", "1", "2", '"x"')


def random_graph(random: Random) -> str:
    """N-Quads: a few triples in the default graph and in two named ones."""
    nodes, numbers = [f"<http://e/{name}>" for name in "abc"], ("1", "2")
    lines = []
    for _ in range(random.randint(8, 24)):
        number = f'"{random.choice(numbers)}"^^<http://www.w3.org/2001/XMLSchema#integer>'
        end = random.choice([*nodes, *nodes, number, '"x"'])
        graph = random.choice(["", "", "", "<http://e/g>", "<http://e/h>"])
        lines.append(f"{random.choice(nodes)} <http://e/{random.choice('pqr')}> {end} {graph} .")
    return "\n".join(lines)


class RandomQuery:
    """Writes one query. Nothing in it depends on an order that SPARQL leaves open."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.fresh = 0

    def text(self) -> str:
        """A SELECT query, sometimes grouped, or an ASK query."""
        pattern = self.group(3)
        kind = self.random.random()
        if kind < 0.1:
            return f"{PREFIX}ASK {pattern}"
        if kind < 0.25:
            key = self.variable()
            having = f"HAVING ({self.condition(0, key)})" if self.random.random() < 0.5 else ""
            aggregates = f"(COUNT(*) AS ?n) (SUM({self.variable()}) AS ?sum) (COUNT(DISTINCT {self.variable()}) AS ?m)"
            return f"{PREFIX}SELECT {key} {aggregates} {pattern} GROUP BY {key} {having}"
        how = self.random.choice(["", "", "DISTINCT"])
        names = self.random.choice(["*", " ".join(self.some(_VARIABLES))])
        return f"{PREFIX}SELECT {how} {names} {pattern}"

    def some(self, names: tuple[str, ...]) -> list[str]:
        """At least one, in order."""
        chosen = [name for name in names if self.random.random() < 0.5]
        return chosen or [self.random.choice(names)]

    def variable(self) -> str:
        if self.fresh and self.random.random() < 0.15:
            return f"?{self.random.choice(['new', 'match'])}{self.fresh}"
        return self.random.choice(_VARIABLES)

    def group(self, depth: int) -> str:
        """`{ ... }`"""
        elements = [self.triples()] if self.random.random() < 0.8 else []
        elements += [self.element(depth - 1) for _ in range(self.random.randint(0, 2) if depth else 0)]
        if self.random.random() < 0.4:
            elements.append(self.triples())
        return f"{{ {' '.join(elements)} }}"

    def triples(self) -> str:
        return " ".join(self.triple() for _ in range(self.random.randint(1, 2)))

    def triple(self) -> str:
        ends = [self.variable() if self.random.random() < 0.9 else self.random.choice(_TERMS) for _ in range(2)]
        if not ends[0].startswith(("?", ":")):
            ends[0] = ":a"
        predicate = self.random.choice([*_PREDICATES, *_PREDICATES, self.variable(), ":p+", ":q/:r", ":p*"])
        return f"{ends[0]} {predicate} {ends[1]} ."

    def element(self, depth: int) -> str:
        """One more element of a group."""
        match self.random.randrange(13):
            case 0 | 1 | 12:
                return f"OPTIONAL {self.group(depth)}"
            case 2:
                return f"OPTIONAL {{ {self.triples()} FILTER({self.condition(0)}) }}"
            case 3:
                return self.negation(depth)
            case 4:
                return f"{self.group(depth)} UNION {self.group(depth)}"
            case 5:
                return f"MINUS {self.group(depth)}"
            case 6:
                self.fresh += 1
                return f"BIND({self.value(depth)} AS ?new{self.fresh})"
            case 7:
                return self.values()
            case 8:
                test = self.random.choice(["", "", f"FILTER EXISTS {{ {self.triples()} }}"])
                return f"GRAPH {self.random.choice([':g', '?g', '?a'])} {self.group(depth)} {test}"
            case 9:
                return self.sub_select(depth)
            case _:
                return f"FILTER({self.condition(depth)})"

    def sub_select(self, depth: int) -> str:
        """A SELECT inside, which may hide what a filter outside speaks of."""
        self.fresh += 1
        names = self.random.choice([" ".join(self.some(_VARIABLES)), f"(COUNT(*) AS ?new{self.fresh})"])
        test = self.random.choice(["", f"FILTER({self.condition(0)})", f"FILTER(!BOUND({self.variable()}))"])
        return f"{{ SELECT {self.random.choice(['', 'DISTINCT'])} {names} {self.group(depth)} }} {test}"

    def negation(self, depth: int) -> str:
        """What has no match: an OPTIONAL and a filter of what it did not bind."""
        self.fresh += 1
        match = f"{self.variable()} {self.random.choice(_PREDICATES)} ?match{self.fresh} ."
        more = self.random.choice(["", "", self.triple(), f"FILTER({self.condition(0)})", self.group(depth)])
        test = self.random.choice(["", f" && {self.condition(depth)}"])
        variable = self.random.choice([f"?match{self.fresh}", f"?match{self.fresh}", self.variable()])
        return f"OPTIONAL {{ {match} {more} }} FILTER(!BOUND({variable}){test})"

    def values(self) -> str:
        rows = [self.random.choice([*_TERMS, "UNDEF"]) for _ in range(self.random.randint(0, 3))]
        return f"VALUES {self.variable()} {{ {' '.join(rows)} }}"

    def condition(self, depth: int, variable: str | None = None) -> str:
        """A condition; `variable` is the only one it may use."""
        name = variable or self.variable()
        other = variable or self.variable()
        match self.random.randrange(13):
            case 0:
                return f"{name} = {self.random.choice(_TERMS)}"
            case 1:
                return f"{name} != {other}"
            case 2:
                return f"{name} < {self.random.choice(['2', '1 + 1', '3 - 2'])}"
            case 3:
                return f"BOUND({name})"
            case 4:
                return f"!BOUND({name})"
            case 5:
                return f"({self.condition(depth, variable)} || {self.condition(depth, variable)})"
            case 6 | 7:
                return f"{self.condition(depth, variable)} && {self.condition(depth, variable)}"
            case 8:
                return self.random.choice(
                    ["1 < 2", "1 = 2", "1/0 = 1", ":a", "true", '"" || "a"', "2 IN (1, 2)", "1 < 3"]
                )
            case 9:
                return f"!({self.condition(depth, variable)})"
            case 10 if depth and variable is None:
                return f"{self.random.choice(['', 'NOT'])} EXISTS {{ {self.triples()} }}"
            case 11:
                return f"COALESCE({name}, {self.random.choice(_TERMS)}) = {other}"
            case _:
                return f"isIRI({name})"

    def value(self, depth: int) -> str:
        return self.random.choice([self.variable(), "1 + 2", "1/0", f"{self.variable()} + 1", self.condition(0)])
