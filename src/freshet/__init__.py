"""Freshet: continuous SPARQL over live streams, a growing graph and remote endpoints.

`Session` is the Python API. What it gives and raises is here by name as well; each name is imported when it is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from freshet.federation.errors import ServiceError as ServiceError
    from freshet.federation.settings import ServiceSettings as ServiceSettings
    from freshet.rdf.deadline import Deadline as Deadline
    from freshet.rdf.deadline import QueryStoppedError as QueryStoppedError
    from freshet.rdf.errors import BudgetError as BudgetError
    from freshet.rdf.errors import FreshetError as FreshetError
    from freshet.rdf.errors import InputError as InputError
    from freshet.rdf.errors import QuerySyntaxError as QuerySyntaxError
    from freshet.rdf.errors import UnsupportedError as UnsupportedError
    from freshet.rdf.terms import BlankNode as BlankNode
    from freshet.rdf.terms import Iri as Iri
    from freshet.rdf.terms import Literal as Literal
    from freshet.rdf.terms import TripleTerm as TripleTerm
    from freshet.results.answers import AnswerBatch as AnswerBatch
    from freshet.results.report import BooleanAnswer as BooleanAnswer
    from freshet.results.report import GraphAnswer as GraphAnswer
    from freshet.results.report import Report as Report
    from freshet.results.report import Solutions as Solutions
    from freshet.results.why import Derivation as Derivation
    from freshet.results.why import RemoteRow as RemoteRow
    from freshet.results.why import StoredTriple as StoredTriple
    from freshet.results.why import Why as Why
    from freshet.results.why import WindowElement as WindowElement
    from freshet.runtime.query_failure import QueryFailure as QueryFailure
    from freshet.runtime.registered_query import RegisteredQuery as RegisteredQuery
    from freshet.runtime.session import Session as Session
    from freshet.runtime.wall_clock import ManualClock as ManualClock
    from freshet.runtime.window_at import WhyGoneError as WhyGoneError
    from freshet.store.slices import BufferFullError as BufferFullError

__version__ = "0.2.0"  # the one place: pyproject.toml reads it here

# Session brings Numba along, which Spark's workers and `freshet --help` need not wait for.
_MODULES = {
    "AnswerBatch": "results.answers",
    "BlankNode": "rdf.terms",
    "BooleanAnswer": "results.report",
    "BudgetError": "rdf.errors",
    "BufferFullError": "store.slices",
    "Deadline": "rdf.deadline",
    "Derivation": "results.why",
    "FreshetError": "rdf.errors",
    "GraphAnswer": "results.report",
    "InputError": "rdf.errors",
    "Iri": "rdf.terms",
    "Literal": "rdf.terms",
    "TripleTerm": "rdf.terms",
    "ManualClock": "runtime.wall_clock",
    "QueryFailure": "runtime.query_failure",
    "QueryStoppedError": "rdf.deadline",
    "QuerySyntaxError": "rdf.errors",
    "RegisteredQuery": "runtime.registered_query",
    "Report": "results.report",
    "ServiceError": "federation.errors",
    "ServiceSettings": "federation.settings",
    "Session": "runtime.session",
    "Solutions": "results.report",
    "RemoteRow": "results.why",
    "StoredTriple": "results.why",
    "UnsupportedError": "rdf.errors",
    "Why": "results.why",
    "WhyGoneError": "runtime.window_at",
    "WindowElement": "results.why",
}

__all__ = [*sorted(_MODULES), "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'freshet' has no attribute {name!r}")
    return getattr(import_module(f"freshet.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *_MODULES]
