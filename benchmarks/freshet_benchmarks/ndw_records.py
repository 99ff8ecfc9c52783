"""Records like those of NDW's flow and speed as JSON, and their mapping (Dynamic Windows thesis, appendix A.3).

A record's subject has all of its six or seven values; where it joins, a speed gets a statement for each flow of the
same lane, place and second.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

JOINED = ("internalId", "lat", "long", "timestamp")
_TEXTS = ("internalId", "timestamp")
_PREFIXES = """
@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@base <http://example.com/base/> .
"""
_SUBJECTS = {
    "speed": "http://example.com/resource/{internalId}?lat={lat}&long={long}&speed={speed}&accuracy={accuracy}"
    "&timestamp={timestamp}",
    "flow": "http://example.com/resource/{internalId}?lat={lat}&long={long}&flow={flow}&period={period}"
    "&accuracy={accuracy}&timestamp={timestamp}",
}


def json_texts(records: pa.Table, columns: Sequence[str]) -> pa.ChunkedArray:
    """Each record as a JSON object of these columns, numbers without quotes."""
    fields = []
    for column in columns:
        quote = '"' if column in _TEXTS else ""
        text = records[column].cast(pa.string())
        fields.append(pc.binary_join_element_wise(f'"{column}": {quote}', text, quote, ""))
    return pc.binary_join_element_wise("{", pc.binary_join_element_wise(*fields, ", "), "}", "")


class RecordFormat(NamedTuple):
    """How a format is referred to in mappings."""

    formulation: str
    iterator: str


FORMATS = {
    "json": RecordFormat("ql:JSONPath", "$[*]"),
    "csv": RecordFormat("ql:CSV", ""),
    "xml": RecordFormat("ql:XPath", "/records/record"),
}


def mapping_text(folder: Path, iterator: str, *, join: bool, numbered: bool = False, form: str = "json") -> str:
    """The thesis's mapping over the files in a folder; `numbered` puts the number of a record behind its values."""
    maps = [_PREFIXES]
    cut = f'; rml:iterator "{iterator}"' if iterator else ""
    for name, values in _SUBJECTS.items():
        template = values + "&number={number}" if numbered else values
        pair = f"rr:predicate <http://example.com/type> ; rr:object <http://example.com/lane{name.title()}>"
        if join and name == "speed":
            conditions = " , ".join(f'[ rr:child "{field}" ; rr:parent "{field}" ]' for field in JOINED)
            pair = (
                "rr:predicate <http://example.com/ontology/laneFlow> ;"
                f" rr:objectMap [ rr:parentTriplesMap <flow> ; rr:joinCondition {conditions} ]"
            )
        maps.append(f"""
<{name}> a rr:TriplesMap ;
  rml:logicalSource [
    rml:source "{folder}/ndw{name}.{form}" ; rml:referenceFormulation {FORMATS[form].formulation} {cut}
  ] ;
  rr:subjectMap [ rr:template "{template}" ] ;
  rr:predicateObjectMap [ {pair} ] .
""")
    return "".join(maps)
