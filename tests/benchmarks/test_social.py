"""The generated social network: the same each time, of LSBench's shape, and with answers to the six questions."""

from __future__ import annotations

import io
import re
from collections import Counter

import numpy as np
import pyoxigraph as ox
import pytest

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.ntriples import scan_statements
from freshet_benchmarks.social import BLOCK_USERS, SocialNetwork, make_network
from freshet_benchmarks.social_queries import QUERIES
from freshet_benchmarks.social_triples import encoded_network, network_of, write_network
from lsbench_shape import RELATIONS, shape_of, shape_of_sample
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


@pytest.mark.slow
def test_predicates_and_degrees_are_those_of_lsbench() -> None:
    """For a thousand users each, against the sample without its positions, of which it has a part only.

    The shares of the 25 commonest predicates are within 15 %. Of every degree the mean is within 10 %, the median and
    the quartiles are within 25 % or one; of groups, of which a thousand users have 39, the mean is within 20 %.
    """
    theirs = shape_of_sample(shared(SAMPLE))
    ours = shape_of(ntriples(make_network(1000)).decode().splitlines())
    shares = Counter({predicate: len(pairs) for predicate, pairs in theirs.by_predicate.items()})
    for predicate, count in shares.most_common(25):
        if predicate == "based_near":  # which ours say of users too, so that S6 has answers
            count += 1000
        assert len(ours.by_predicate[predicate]) == pytest.approx(count, rel=0.15), predicate
    for name, relation in RELATIONS.items():
        degrees, expected = ours.degrees(relation), theirs.degrees(relation)
        few = expected.size < 100
        assert degrees.mean() == pytest.approx(expected.mean(), rel=0.2 if few else 0.1), name
        if not few:
            found = np.quantile(degrees, (0.25, 0.5, 0.75))
            assert found == pytest.approx(np.quantile(expected, (0.25, 0.5, 0.75)), rel=0.25, abs=1), name
    assert ours.clustering() == pytest.approx(theirs.clustering(), rel=0.1)
    assert ours.likes_by_friends_of_the_tagged() == pytest.approx(theirs.likes_by_friends_of_the_tagged(), rel=0.1)
    assert ours.tags_in_common() == pytest.approx(theirs.tags_in_common(), rel=0.15)


@pytest.mark.slow
def test_encoded_triples_are_those_of_the_text() -> None:
    """Several blocks of users; a file read by the scanner gives the same triples."""
    network = make_network(BLOCK_USERS + 300, activity=0.1)
    dictionary = Dictionary()
    blocks = list(encoded_network(network, dictionary))
    assert len(blocks) == 2
    ours = np.sort(np.rec.fromarrays([np.concatenate(column) for column in zip(*blocks, strict=True)]))
    terms = len(dictionary)
    (subjects, predicates, objects, *_), errors = scan_statements(ntriples(network), dictionary, "x.nt", quads=False)
    assert not errors
    assert len(dictionary) == terms
    assert (ours == np.sort(np.rec.fromarrays([subjects, predicates, objects]))).all()
    assert np.unique(ours).size == ours.size


def test_the_size_asked_for() -> None:
    assert sum(block.subjects.size for block in encoded_network(network_of(400_000), Dictionary())) == pytest.approx(
        400_000, rel=0.03
    )


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
