"""What the columns of records are: which references have arrays, and which kinds their values may have."""

from __future__ import annotations

from freshet.mapper.operations import ReferenceShape
from freshet.rml import kinds
from freshet.rml.mapping_slices import CHILD, PARENT, JoinSlice, MappingSlice
from freshet.rml.sources import Formulation

_UNKNOWN = ReferenceShape()
_JSON_KINDS = (kinds.INTEGER, kinds.REAL, kinds.BOOLEAN)
_KINDS = {
    Formulation.JSON: _JSON_KINDS,
    Formulation.TABLE: tuple(kinds.DATATYPES),
    Formulation.QUERY: tuple(kinds.DATATYPES),
    Formulation.SPARQL: tuple(kinds.DATATYPES),
    Formulation.ROWS: tuple(kinds.DATATYPES),
    Formulation.VIEW: tuple(kinds.DATATYPES),
}


def shapes_of(
    mapping_slice: MappingSlice | JoinSlice, own: ReferenceShape = _UNKNOWN, parent: ReferenceShape = _UNKNOWN
) -> dict[str, ReferenceShape]:
    """What the columns of a slice's records are: what is known of them, with the kinds that their values may have."""
    if isinstance(mapping_slice, MappingSlice):
        return {"": own._replace(kinds=_KINDS.get(mapping_slice.source.formulation, ()))}
    return {
        CHILD: own._replace(kinds=_KINDS.get(mapping_slice.child.formulation, ())),
        PARENT: parent._replace(kinds=_KINDS.get(mapping_slice.parent.formulation, ())),
    }
