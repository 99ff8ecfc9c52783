"""The generated social network: the same each time, of LSBench's shape, and with answers to the six questions."""

from __future__ import annotations

import gzip
import io
import re
from collections import Counter

import pyoxigraph as ox
import pytest

from freshet.bench.social import SocialNetwork, make_network
from freshet.bench.social_queries import QUERIES
from freshet.bench.social_triples import write_network
from shared_data import shared

SAMPLE = "data/lsbench/sample-1000users"
SHARED_QUERIES = "data/wukong-s/one-shot/LSBench.md"


def ntriples(network: SocialNetwork) -> bytes:
    file = io.BytesIO()
    written = write_network(file, network)
    assert file.getvalue().count(b"\n") == written
    return file.getvalue()


@pytest.fixture(scope="module")
def text() -> bytes:
    return ntriples(make_network(1000, activity=0.3))


@pytest.fixture(scope="module")
def store(text: bytes) -> ox.Store:
    store = ox.Store()
    store.bulk_load(text, ox.RdfFormat.N_TRIPLES)
    return store


def test_a_seed_gives_the_same_bytes() -> None:
    small = ntriples(make_network(50))
    assert small == ntriples(make_network(50))
    assert small != ntriples(make_network(50, seed=12))


def test_no_triple_comes_twice(text: bytes, store: ox.Store) -> None:
    assert len(store) == text.count(b"\n")


def test_people_know_each_other(store: ox.Store) -> None:
    one_way = (
        "PREFIX foaf: <http://xmlns.com/foaf/0.1/> ASK { ?a foaf:knows ?b FILTER NOT EXISTS { ?b foaf:knows ?a } }"
    )
    assert not store.query(one_way)


@pytest.mark.parametrize("users", [2, 3])
def test_the_smallest_networks(users: int) -> None:
    store = ox.Store()
    store.load(ntriples(make_network(users, activity=0)), ox.RdfFormat.N_TRIPLES)
    assert len(store) > 0


@pytest.mark.parametrize("name", QUERIES)
def test_the_queries_have_answers(store: ox.Store, name: str) -> None:
    assert len(list(store.query(QUERIES[name]))) > 0


def predicates(lines: bytes) -> Counter[bytes]:
    """How many statements, one a line, each predicate has; predicates by their local names."""
    tokens = (line.split(b" ", 2)[1] for line in lines.splitlines() if not line.startswith(b"@prefix"))
    named = {b"a": b"type"}
    return Counter(named.get(token, re.split(rb"[:/#]", token.rstrip(b">"))[-1]) for token in tokens)


def test_the_predicates_of_lsbench() -> None:
    """The shares of the sample's commonest predicates, likes counted once, are ours within a factor of two."""
    ours = predicates(ntriples(make_network(300)))
    theirs: Counter[bytes] = Counter()
    for path in sorted(shared(SAMPLE).glob("*.ttl.gz")):
        repeated = {"likedphotostream": 4, "likedpoststream": 10}.get(path.name.split(".")[0], 1)
        counts = predicates(gzip.decompress(path.read_bytes()))
        theirs.update({predicate: count // repeated for predicate, count in counts.items()})
    for predicate, count in theirs.most_common(25):
        assert 0.5 < ours[predicate] / ours.total() / (count / theirs.total()) < 2.0, predicate


def test_the_queries_are_those_of_wukong(store: ox.Store) -> None:
    given = re.findall(r"```sql\n(.*?)```", shared(SHARED_QUERIES).read_text(encoding="utf-8"), re.DOTALL)
    sib = "http://www.ins.cwi.nl/sib/"
    prefixes = "".join(
        f"PREFIX {name}: <{iri}>\n"
        for name, iri in {
            "sioc": "http://rdfs.org/sioc/ns#",
            "foaf": "http://xmlns.com/foaf/0.1/",
            "dbp": "http://dbpedia.org/resource/",
            "sib": sib + "vocabulary/",
            "sibu": sib + "user/",
            "sibp": sib + "person/",
            "sibg": sib + "group/",
        }.items()
    )
    assert len(given) == len(QUERIES)
    for theirs, ours in zip(given, QUERIES.values(), strict=True):
        answers = [Counter(tuple(map(str, row)) for row in store.query(query)) for query in (prefixes + theirs, ours)]
        assert answers[0] == answers[1]
