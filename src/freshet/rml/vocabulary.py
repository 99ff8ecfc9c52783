"""The names of RML, of semweb.mmlab.be (with R2RML) and of w3id.org/rml, and of what mappings mix in."""

from __future__ import annotations

NEW = "http://w3id.org/rml/"
RR = "http://www.w3.org/ns/r2rml#"
RMLS = "http://semweb.mmlab.be/ns/rmls#"

# Properties of these have the same short name, whichever vocabulary a mapping uses.
_SAME = (
    NEW,
    RR,
    "http://semweb.mmlab.be/ns/rml#",
    "http://semweb.mmlab.be/ns/ql#",
    "http://semweb.mmlab.be/ns/rml-target#",
    "http://semweb.mmlab.be/ns/rml-compression#",
)
_PREFIXED = {
    RMLS: "rmls:",
    "http://semweb.mmlab.be/ns/fnml#": "fnml:",
    "https://w3id.org/function/ontology#": "fno:",
    "http://w3id.org/function/ontology#": "fno:",
    "http://www.w3.org/ns/dcat#": "dcat:",
    "http://www.w3.org/ns/csvw#": "csvw:",
    "http://rdfs.org/ns/void#": "void:",
    "http://www.wiwiss.fu-berlin.de/suhl/bizer/D2RQ/0.1#": "d2rq:",
    "http://www.w3.org/ns/formats/": "formats:",
    "http://www.w3.org/ns/sparql-service-description#": "sd:",
    "https://www.w3.org/2019/wot/td#": "td:",
    "https://www.w3.org/2019/wot/hypermedia#": "hctl:",
    "http://www.w3.org/2011/http#": "htv:",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf:",
}


def short(iri: str) -> str:
    """A name without its namespace where that is RML's, with a prefix where it is one that mappings mix in."""
    for namespace in _SAME:
        if iri.startswith(namespace):
            return iri.removeprefix(namespace)
    for namespace, prefix in _PREFIXED.items():
        if iri.startswith(namespace):
            return prefix + iri.removeprefix(namespace)
    return iri
