"""What of mappings runs in this process only: Spark refuses it by name, and `--on auto` runs it here."""

from __future__ import annotations

from collections.abc import Callable

from freshet.rdf.errors import UnsupportedError
from freshet.rml.model import Mapping, TermMap


def _gathers(mapping: Mapping) -> bool:
    made = (term for triples_map in mapping.triples_maps for term in triples_map.terms)
    return any(isinstance(term, TermMap) and term.gather is not None for term in made)


# A collection may have members of all records, in their order.
PROCESS_ONLY: dict[str, Callable[[Mapping], bool]] = {
    "collections and containers (RML-CC)": _gathers,
}


def process_only(mapping: Mapping) -> str | None:
    """What a mapping has that runs in this process only."""
    return next((what for what, has in PROCESS_ONLY.items() if has(mapping)), None)


def refuse_process_only(mapping: Mapping) -> None:
    """Raise an error where Spark cannot run a mapping."""
    if (what := process_only(mapping)) is not None:
        raise UnsupportedError(f"{what} are mapped in this process only: --on process", file=mapping.file)
