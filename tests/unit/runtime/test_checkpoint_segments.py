"""Segments and packed elements: the same triples come back, also where ids are others by then."""

from random import Random

import numpy as np
import pytest

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.errors import InputError
from freshet.rdf.terms import BlankNode, Iri, Literal, Term
from freshet.runtime.checkpoint_segments import GraphRows, merge_segments, read_segment, write_segments
from freshet.runtime.packed_elements import pack_elements, unpack_elements

XSD = "http://www.w3.org/2001/XMLSchema#"


def terms(random: Random) -> list[Term]:
    number = random.randrange(40)
    literal = Literal(str(number), Iri(XSD + random.choice(["integer", "string"])))
    return [Iri(f"http://e/{number}"), BlankNode(f"b{number}"), literal]


def rows(random: Random, dictionary: Dictionary, count: int) -> GraphRows:
    def column(kinds: int) -> list[int]:
        return [dictionary.encode(random.choice(terms(random)[:kinds])) for _ in range(count)]

    graphs = [random.choice([0, dictionary.encode(Iri("http://e/graph"))]) for _ in range(count)]
    times = [random.randrange(100) for _ in range(count)]
    columns = graphs, times, column(2), column(1), column(3)
    return GraphRows(*(np.array(each, np.int64) for each in columns))


def decoded(found: GraphRows, dictionary: Dictionary) -> list[tuple]:
    ends = [dictionary.decode_many(column) for column in (found.graphs, *found[2:])]
    return list(zip(found.times.tolist(), *ends, strict=True))


def crowded(hash_bits: int) -> Dictionary:
    """A dictionary that has given ids to others first, so that terms get other ids than elsewhere."""
    dictionary = Dictionary(hash_bits)
    for number in range(60):
        dictionary.encode(Iri(f"http://other/{number}"))
    return dictionary


@pytest.mark.parametrize("hash_bits", [63, 7])
def test_segments_come_back(tmp_path, hash_bits):
    random, dictionary = Random(3), Dictionary(hash_bits)
    wanted = rows(random, dictionary, 300)
    (segment,) = write_segments(tmp_path, 1, wanted, dictionary)
    assert decoded(read_segment(tmp_path, segment, dictionary), dictionary) == decoded(wanted, dictionary)
    other = crowded(hash_bits)
    assert decoded(read_segment(tmp_path, segment, other), other) == decoded(wanted, dictionary)


def test_merging_keeps_each_triple_once_at_its_earliest_time(tmp_path):
    random, dictionary = Random(5), Dictionary()
    parts = [rows(random, dictionary, 200) for _ in range(3)]
    segments = [each for at, part in enumerate(parts) for each in write_segments(tmp_path, at, part, dictionary)]
    (whole,) = merge_segments(tmp_path, 9, segments, dictionary)
    earliest: dict[tuple, int] = {}
    for time, *triple in (row for part in parts for row in decoded(part, dictionary)):
        earliest[tuple(triple)] = min(time, earliest.get(tuple(triple), time))
    found = decoded(read_segment(tmp_path, whole, dictionary), dictionary)
    assert sorted(map(str, found)) == sorted(str((time, *triple)) for triple, time in earliest.items())
    assert [row[0] for row in found] == sorted(row[0] for row in found)


@pytest.mark.parametrize("hash_bits", [63, 7])
@pytest.mark.parametrize("count", [0, 1, 200])
def test_packed_elements_come_back(hash_bits, count):
    random, dictionary = Random(7), Dictionary(hash_bits)
    wanted = rows(random, dictionary, count)
    header, body = pack_elements(Elements(*wanted[1:]), dictionary)
    other = crowded(hash_bits)
    found = unpack_elements(header, b"".join(body), other).elements
    columns = [other.decode_many(column) for column in found[1:]]
    assert found.times.tolist() == wanted.times.tolist()
    assert columns == [dictionary.decode_many(column) for column in wanted[2:]]


def test_packed_elements_come_back_with_their_graphs():
    random, dictionary = Random(8), Dictionary()
    wanted = rows(random, dictionary, 50)
    graphs = dictionary.encode_many([Iri(f"http://e/g{number % 3}") for number in range(50)])
    graphs[::7] = 0
    header, body = pack_elements(Elements(*wanted[1:]), dictionary, graphs)
    other = Dictionary()
    found, named = unpack_elements(header, b"".join(body), other)
    assert found.times.tolist() == wanted.times.tolist()
    assert [other.decode_many(column) for column in found[1:]] == [dictionary.decode_many(each) for each in wanted[2:]]
    assert named is not None
    assert other.decode_many(named) == dictionary.decode_many(graphs)


def test_an_id_that_is_nobodys_is_refused():
    one = np.array([1], np.int64)
    with pytest.raises(InputError, match="the id 1, which no term has"):
        pack_elements(Elements(one, one, one, one), Dictionary())
