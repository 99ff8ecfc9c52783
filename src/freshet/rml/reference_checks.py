"""Paths are looked at when a mapping is read: a reference or an iterator that is none is an error before anything runs.

Names of columns and variables are another matter: only their file, table or query defines them.
"""

from __future__ import annotations

from freshet.rdf.errors import InputError
from freshet.rml.references import names_of
from freshet.rml.sources import Formulation, LogicalSource
from freshet.rml.views import ViewSource, view_keys


def check_reference(text: str, source: LogicalSource) -> None:
    """Raise an InputError where a reference is no path of the kind that its source has."""
    if source.formulation is Formulation.JSON:
        _check_json_path(text)
    elif source.formulation is Formulation.XML:
        from freshet.rml.xml_paths import XmlReferences

        XmlReferences((text,), source.namespaces)
    elif isinstance(source.source, ViewSource) and text not in (known := view_keys(source.source)):
        raise InputError(f"there is no field {text} among {', '.join(sorted(known))}")


def check_iterator(source: LogicalSource) -> None:
    """Raise an InputError where the iterator of a source is no path."""
    if source.iterator is None:
        return
    if source.formulation is Formulation.JSON:
        _check_json_path(source.iterator)
    elif source.formulation is Formulation.XML:
        from freshet.rml.xml_paths import steps_of, xpath

        if steps_of(source.iterator, source.namespaces) is None:
            xpath(source.iterator, source.namespaces)


def _check_json_path(text: str) -> None:
    if names_of(text) is None:
        from freshet.rml.json_paths import read_path  # it needs the kernels, which most mappings do without

        read_path(text)
