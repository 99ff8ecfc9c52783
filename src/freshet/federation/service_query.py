"""What an endpoint is asked: the pattern of a SERVICE, for all solutions or for those that fit some bindings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from freshet.algebra.certain import certainly_bound
from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import BGP, Node, PatternTerm, TriplePattern
from freshet.algebra.scope import visible_variables
from freshet.algebra.sparql import pattern_text, plain_text
from freshet.rdf.terms import Term, has_blank_node

Row = tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class ServiceQuery:
    """The pattern of a SERVICE. `variables` are what its solutions can bind, `certain` what each of them binds.

    Only variables that are certainly bound are sent as bindings: with the others a solution could fit in spite of
    them. A blank node cannot be sent, as it means nothing elsewhere; no solution has it, so its row is left out.
    """

    pattern: Node
    variables: tuple[str, ...] = field(init=False)
    certain: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        names = tuple(variable.name for variable in visible_variables(self.pattern))
        sure = frozenset(variable.name for variable in certainly_bound(self.pattern))
        object.__setattr__(self, "variables", names)
        object.__setattr__(self, "certain", sure & set(names))

    def whole_query(self) -> str:
        """All solutions."""
        return self._select(self.variables, pattern_text(self.pattern))

    def batches(self, names: Sequence[str], rows: Sequence[Row], size: int) -> Iterator[str]:
        """The solutions that fit one of the rows, in queries of a number of rows each."""
        sendable = [row for row in rows if not any(map(has_blank_node, row))]
        head = " ".join(plain_text(Variable(name)) for name in names)
        for first in range(0, len(sendable), size):
            some = " ".join(f"({' '.join(map(plain_text, row))})" for row in sendable[first : first + size])
            yield self._select(self.variables, f"{{ VALUES ({head}) {{ {some} }} {pattern_text(self.pattern)} }}")

    def single_query(self, names: Sequence[str], row: Row) -> str | None:
        """The solutions that fit one row, in SPARQL 1.0; None where there can be none. The row's names are left out
        of the answer where the pattern is a basic graph pattern, which has them filled in."""
        if any(map(has_blank_node, row)):
            return None
        if isinstance(self.pattern, BGP):
            rest = tuple(name for name in self.variables if name not in names)
            return self._select(rest, pattern_text(_fill_pattern(self.pattern, dict(zip(names, row, strict=True)))))
        fits = " && ".join(
            f"sameTerm({plain_text(Variable(name))}, {plain_text(term)})" for name, term in zip(names, row, strict=True)
        )
        return self._select(self.variables, f"{{ {pattern_text(self.pattern)} FILTER ({fits}) }}")

    def _select(self, names: Sequence[str], group: str) -> str:
        # SPARQL 1.0 has no SELECT of nothing
        selected = " ".join(plain_text(Variable(name)) for name in names) or "*"
        return f"SELECT {selected} WHERE {group}"


def _fill_pattern(pattern: BGP, terms: dict[str, Term]) -> BGP:
    def fill(term: PatternTerm) -> PatternTerm:
        return terms.get(term.name, term) if isinstance(term, Variable) else term

    return BGP(
        tuple(TriplePattern(fill(each.subject), fill(each.predicate), fill(each.object)) for each in pattern.patterns)
    )
