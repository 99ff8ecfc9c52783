"""What a GET without a query gives: SPARQL 1.1 Service Description, https://www.w3.org/TR/sparql11-service-description/"""

from __future__ import annotations

import pyoxigraph

from freshet.server.negotiation import GRAPHS

_FORMATS = {
    "ttl": pyoxigraph.RdfFormat.TURTLE,
    "nt": pyoxigraph.RdfFormat.N_TRIPLES,
    "rdfxml": pyoxigraph.RdfFormat.RDF_XML,
    "jsonld": pyoxigraph.RdfFormat.JSON_LD,
}
_DESCRIPTION = """
@prefix sd: <http://www.w3.org/ns/sparql-service-description#> .
@prefix formats: <http://www.w3.org/ns/formats/> .
[] a sd:Service ;
  sd:endpoint <> ;
  sd:supportedLanguage sd:SPARQL10Query, sd:SPARQL11Query ;
  sd:feature sd:EmptyGraphs ;
  sd:resultFormat formats:SPARQL_Results_JSON, formats:SPARQL_Results_XML, formats:SPARQL_Results_CSV,
    formats:SPARQL_Results_TSV, formats:Turtle, formats:N-Triples, formats:RDF_XML, formats:JSON-LD ;
  sd:defaultDataset [ a sd:Dataset ; sd:defaultGraph [ a sd:Graph ] ] .
"""


def service_description(url: str, media: str) -> bytes:
    """The description of the endpoint at a URL."""
    triples = pyoxigraph.parse(_DESCRIPTION, pyoxigraph.RdfFormat.TURTLE, base_iri=url)
    prefixes = {"sd": "http://www.w3.org/ns/sparql-service-description#"}
    form = _FORMATS[GRAPHS[media]]
    shown = prefixes if form == pyoxigraph.RdfFormat.TURTLE else {}
    return pyoxigraph.serialize(triples, format=form, prefixes=shown) or b""
