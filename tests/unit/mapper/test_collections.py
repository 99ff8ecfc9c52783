"""Collections and containers: random members give what a naive gathering gives, in one file and in several."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import product

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.mapper.map_options import MapOptions
from freshet.mapper.map_run import run_map_here
from freshet.mapper.placement import place_mapping
from freshet.rdf.errors import UnsupportedError

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
MAPPING = """
@prefix rml: <http://w3id.org/rml/> . @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
<http://e/T> rml:logicalSource [ rml:source [ a rml:RelativePathSource ; rml:root rml:MappingDirectory ;
    rml:path "in" ] ; rml:referenceFormulation rml:JSONPath ; rml:iterator "$[*]" ] ;
  rml:subjectMap [ rml:template "http://e/{id}" GRAPH ] ;
  rml:predicateObjectMap [ rml:predicate <http://e/p> ; rml:objectMap [ NODE
    rml:gather ( [ rml:reference "$.v[*]" ] [ rml:reference "$.w[*]" ] ) ; rml:gatherAs rdf:KIND ;
    rml:allowEmptyListAndContainer EMPTY ; rml:strategy rml:STRATEGY ] ] .
"""
NODES = ['rml:template "http://n/{id}" ;', 'rml:reference "id" ; rml:termType rml:BlankNode ;']
values = st.lists(st.sampled_from(["a", "b c", 'q"', "ü"]), max_size=3)
records = st.lists(
    st.fixed_dictionaries({"id": st.sampled_from("xyz"), "v": values, "w": values}), min_size=1, max_size=5
)


def written(folder, files, **given):
    text = MAPPING
    for name, value in given.items():
        text = text.replace(name.upper(), value)
    (folder / "mapping.ttl").write_text(text, encoding="utf-8")
    (folder / "in").mkdir(exist_ok=True)
    for number, documents in enumerate(files):
        (folder / "in" / f"{number}.json").write_text(json.dumps(documents), encoding="utf-8")


def mapped(folder):
    """Which members each subject has, by graph, in order, as the written triples say it."""
    run_map_here(folder / "mapping.ttl", MapOptions(folder / "out.nq", rejects=folder / "rejects"))
    store = ox.Store()
    store.bulk_load(path=str(folder / "out.nq"), format=ox.RdfFormat.N_QUADS)
    found = defaultdict(list)
    for quad in store.quads_for_pattern(None, ox.NamedNode("http://e/p"), None):
        found[quad.subject.value, str(quad.graph_name)].append(_members(store, quad.object, quad.graph_name))
    return {key: sorted(lists) for key, lists in found.items()}


def _members(store, node, graph):
    made = []
    while True:
        inside = {
            q.predicate.value.removeprefix(RDF): q.object for q in store.quads_for_pattern(node, None, None, graph)
        }
        numbered = sorted((int(name[1:]), value) for name, value in inside.items() if name[0] == "_")
        if numbered or "type" in inside:
            assert [number for number, _ in numbered] == list(range(1, len(numbered) + 1))
            return [value.value for _, value in numbered]
        if "first" not in inside:
            assert node.value == RDF + "nil"
            return made
        assert set(inside) == {"first", "rest"}
        made.append(inside["first"].value)
        node = inside["rest"]


def naive(files, *, named, empty, cartesian, graphs):
    found, by_node = defaultdict(list), defaultdict(list)
    for record in (record for documents in files for record in documents):
        graph = f"<http://g/{record['id']}>" if graphs else "DEFAULT"
        key = f"http://e/{record['id']}", graph
        chosen = product(record["v"], record["w"]) if cartesian else [record["v"] + record["w"]]
        for members in map(list, chosen):
            if members or empty:
                found[key].append(members)
                by_node[key].append(members)
    if named:
        return {key: [[member for members in lists for member in members]] for key, lists in by_node.items()}
    return {key: sorted(lists) for key, lists in found.items()}


def as_sets(found, named):
    """Empty lists are one node, rdf:nil, and so are all of a subject; with a name they may stand beside another."""
    made = {}
    for key, lists in found.items():
        distinct = [members for number, members in enumerate(lists) if members or members not in lists[:number]]
        made[key] = [members for members in distinct if members] or distinct if named else distinct
    return made


@settings(max_examples=60, deadline=None)
@given(st.lists(records, min_size=1, max_size=2), st.data())
def test_members_are_those_of_a_naive_gathering(tmp_path_factory, files, data):
    named, empty, cartesian, graphs = (data.draw(st.booleans()) for _ in range(4))
    kind = data.draw(st.sampled_from(["List", "List", "Bag", "Seq"]))
    node = data.draw(st.sampled_from(NODES))
    folder = tmp_path_factory.mktemp("gather")
    written(
        folder,
        files,
        graph='; rml:graphMap [ rml:template "http://g/{id}" ]' if graphs else "",
        node=node if named else "",
        kind=kind,
        empty=str(empty).lower(),
        strategy="cartesianProduct" if cartesian else "append",
    )
    expected = naive(files, named=named, empty=empty and not cartesian, cartesian=cartesian, graphs=graphs)
    if kind == "List":
        assert as_sets(mapped(folder), named) == as_sets(expected, named)
    else:
        assert mapped(folder) == expected


def test_spark_refuses_collections_by_name(tmp_path):
    written(tmp_path, [[]], graph="", node="", kind="List", empty="false", strategy="append")
    with pytest.raises(UnsupportedError, match=r"collections and containers .* --on process"):
        place_mapping(tmp_path / "mapping.ttl", MapOptions(), "spark")
    assert place_mapping(tmp_path / "mapping.ttl", MapOptions(), "auto").on == "process"
