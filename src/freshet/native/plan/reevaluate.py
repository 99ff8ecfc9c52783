"""What is evaluated anew: a part of a query as the one-shot evaluator takes it, and the graphs that it reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from freshet.algebra import nodes
from freshet.algebra.expressions import Call, Exists, Variable
from freshet.algebra.free_variables import variables_of
from freshet.algebra.scope import variables_in_scope
from freshet.algebra.windows import WindowOperator
from freshet.expressions.functions import VOLATILE
from freshet.federation.service_query import ServiceQuery
from freshet.native.plan.plan import Names, PlanReevaluate, Source, Stored
from freshet.rdf.errors import UnsupportedError
from freshet.rdf.terms import Iri


@dataclass(frozen=True, slots=True)
class QueryDataset:
    """What a query reads: its windows by name, its default graph, and which named graphs it sees (None: all)."""

    windows: Mapping[Iri, WindowOperator]
    default: tuple[Source, ...]
    named: frozenset[Iri] | None


def reevaluate(node: nodes.Node, dataset: QueryDataset, names: Names, certain: Names, reason: str) -> PlanReevaluate:
    """A part of a query to be evaluated anew. Its windows get names that no graph can have."""
    found = _Found(dataset, reason=reason)
    rewritten = _private(node, found)
    if found.default:
        found.graphs[None] = dataset.default
    return PlanReevaluate(
        names,
        certain,
        node=rewritten,
        graphs=tuple(found.graphs.items()),
        named=dataset.named,
        reads_all_named=found.all_named,
        reason=reason,
        services=tuple(found.services),
        asks_time=found.asks_time,
    )


@dataclass(slots=True)
class _Found:
    dataset: QueryDataset
    graphs: dict[Iri | None, tuple[Source, ...]] = field(default_factory=dict)
    all_named: bool = False
    default: bool = False
    services: list[nodes.Service] = field(default_factory=list)
    asks_time: bool = False
    reason: str = ""
    outer: set[Variable] = field(default_factory=set)  # what an EXISTS may see of its surroundings


_HOLDERS = nodes.Filter | nodes.Extend | nodes.LeftJoin | nodes.Group | nodes.OrderBy  # of expressions


def _private(part: Any, found: _Found, *, inside: bool = False) -> Any:
    if isinstance(part, _HOLDERS):
        found.outer |= set(variables_in_scope(part))
    match part:
        case tuple():
            return tuple(_private(each, found, inside=inside) for each in part)
        case Exists(pattern):
            _check_services(pattern, found.outer)
        case nodes.Window(Iri() as name, child):
            private = Iri(f".window {name.value}")
            found.graphs[private] = (found.dataset.windows[name],)
            return nodes.Window(private, _private(child, found, inside=True))
        case nodes.Graph(name, child):
            if isinstance(name, Variable):
                found.all_named = True
            elif found.dataset.named is None or name in found.dataset.named:
                found.graphs[name] = (Stored(name),)
            return nodes.Graph(name, _private(child, found, inside=True))
        case nodes.Service():
            found.services.append(part)
            return part  # its pattern reads nothing here
        case Call("NOW"):
            found.asks_time = True
        case Call(function) if function in VOLATILE:
            raise UnsupportedError(
                f"the function {function} is not supported in what is evaluated again: {found.reason}"
            )
        case nodes.Describe():
            found.default = True  # descriptions are taken from the default graph
        case nodes.BGP() | nodes.PathPattern():
            found.default = found.default or not inside
            return part
    if not is_dataclass(part) or isinstance(part, type):
        return part
    parts = {place.name: _private(getattr(part, place.name), found, inside=inside) for place in fields(part)}
    return replace(part, **parts)


def _check_services(part: Any, outer: set[Variable]) -> None:
    """Inside EXISTS outer variables are constants, of which an endpoint hears only where its pattern binds them."""
    if isinstance(part, nodes.Service):
        names = {variable.name for variable in outer} & variables_of(part.child)
        if unheard := names - ServiceQuery(part.child).certain:
            used = Variable(min(unheard))
            raise UnsupportedError(f"SERVICE inside EXISTS uses {used}, which it does not bind itself")
    elif isinstance(part, tuple):
        for each in part:
            _check_services(each, outer)
    elif is_dataclass(part) and not isinstance(part, type):
        for place in fields(part):
            _check_services(getattr(part, place.name), outer)
