import threading
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from freshet.kernels.values import DECIMAL
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.ids import XSD_DECIMAL, XSD_INTEGER, inline_id
from freshet.rdf.pins import Pin
from freshet.rdf.terms import RDF_LANG_STRING, XSD, BlankNode, Iri, Literal, Term, term_key
from freshet.rdf.values import intern_numbers, numbers, values
from lexical_forms import literals

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
terms = st.one_of(
    texts.map(lambda text: Iri(f"http://example.org/{text}")),
    st.from_regex("[a-z0-9]{1,6}", fullmatch=True).map(BlankNode),
    texts.map(Literal),
    st.builds(Literal, texts, st.just(RDF_LANG_STRING), st.sampled_from(["en", "de-at"])),
    literals,
)


def expected_id(term: Term) -> int:
    return inline_id(term) or xxhash.xxh64_intdigest(term_key(term).encode(), seed=42) & (2**63 - 1) or 1


@settings(max_examples=300, deadline=None)
@given(st.lists(terms, max_size=60))
def test_every_way_in_and_out_agrees(many: list[Term]) -> None:
    dictionary = Dictionary()
    keys = [term_key(term) for term in many]
    ids = dictionary.intern_arrow(pa.array(keys, pa.string()))
    assert ids.tolist() == [expected_id(term) for term in many]
    assert [dictionary.encode(term) for term in many] == ids.tolist()
    assert [dictionary.lookup(term) for term in many] == ids.tolist()
    assert [dictionary.decode(term_id) for term_id in ids.tolist()] == many
    assert dictionary.decode_many(ids) == many
    assert dictionary.keys(ids).to_pylist() == keys
    assert len(dictionary) == len({term for term in many if not inline_id(term)})


def test_null_and_unbound() -> None:
    dictionary = Dictionary()
    ids = dictionary.intern_arrow(pa.array([None, "<http://example.org/a>", None]))
    assert (ids == 0).tolist() == [True, False, True]
    assert dictionary.keys(ids).to_pylist() == [None, "<http://example.org/a>", None]
    assert dictionary.decode_many([0, int(ids[1])]) == [None, Iri("http://example.org/a")]
    assert dictionary.keys(np.empty(0, np.int64)).to_pylist() == []


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_slices_of_any_string_type(kind: pa.DataType) -> None:
    keys = ["<http://a/1>", None, '"2"^^<http://www.w3.org/2001/XMLSchema#integer>', "_:b", "", "<http://a/1>"]
    array = pa.array(keys, kind) if pa.types.is_dictionary(kind) is False else pa.array(keys).dictionary_encode()
    whole = Dictionary().intern_arrow(array)
    assert Dictionary().intern_arrow(array.slice(2, 3)).tolist() == whole[2:5].tolist()
    assert Dictionary().intern_arrow(array.slice(3, 0)).tolist() == []
    assert whole[0] == whole[5] != 0


@pytest.mark.parametrize("hash_bits", [1, 4, 8])
def test_terms_with_the_same_hash_stay_apart(hash_bits: int) -> None:
    dictionary = Dictionary(hash_bits=hash_bits)
    many: list[Term] = [Iri(f"http://example.org/{number}") for number in range(600)]
    ids = dictionary.intern_arrow(pa.array([term_key(term) for term in many]))
    assert len(set(ids.tolist())) == 600
    assert min(ids.tolist()) > 0
    assert dictionary.decode_many(ids) == many
    assert [dictionary.encode(term) for term in many] == ids.tolist()
    assert [dictionary.lookup(term) for term in many] == ids.tolist()
    assert dictionary.lookup(Iri("http://example.org/unknown")) == 0
    assert len(dictionary) == 600


def test_same_hash_from_outside_is_no_reason_to_merge() -> None:
    dictionary = Dictionary()
    keys = pa.array([f"<http://example.org/{number}>" for number in range(300)])
    ids = dictionary.intern_arrow(keys, np.full(300, 7, np.int64))
    assert len(set(ids.tolist())) == 300
    assert dictionary.keys(ids).to_pylist() == keys.to_pylist()


def test_hashes_save_hashing_but_change_nothing() -> None:
    keys = pa.array(["<http://a>", "_:b", '"5"^^<http://www.w3.org/2001/XMLSchema#integer>', None, '"x"@en'])
    plain = Dictionary().intern_arrow(keys)
    given_hashes = np.array(
        [xxhash.xxh64_intdigest((key or "").encode(), seed=42) & (2**63 - 1) for key in keys.to_pylist()]
    )
    assert Dictionary().intern_arrow(keys, given_hashes.astype(np.int64)).tolist() == plain.tolist()
    # what is not a hash (Spark's own inline ids, nothing) is not taken for one
    assert Dictionary().intern_arrow(keys, np.array([0, -5, -5, 0, 0])).tolist() == plain.tolist()


def test_a_key_that_can_be_inline_is_inline() -> None:
    dictionary = Dictionary()
    ids = dictionary.intern_arrow(pa.array([term_key(Literal("2.50", XSD_DECIMAL))]), np.array([99]))
    assert ids.tolist() == [inline_id(Literal("2.50", XSD_DECIMAL))]
    assert len(dictionary) == 0
    assert dictionary.lookup(Literal("7", XSD_INTEGER)) == inline_id(Literal("7", XSD_INTEGER))


def test_grows_in_terms_and_bytes() -> None:
    dictionary = Dictionary()
    before = dictionary.nbytes
    keys = [f"<http://example.org/{number}>" for number in range(5000)] + ['"' + "x" * 1_000_000 + '"']
    ids = dictionary.intern_arrow(pa.array(keys, pa.large_string()))
    assert len(dictionary) == 5001
    assert dictionary.nbytes > before + 1_000_000
    assert dictionary.keys(ids).to_pylist() == keys
    assert dictionary.intern_arrow(pa.array(keys, pa.large_string())).tolist() == ids.tolist()


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.lists(st.none() | st.one_of(texts, st.integers(-99, 99).map(str)), max_size=30), max_size=4),
    st.sampled_from([("", ""), ("<http://example.org/", "/é>"), ('"', '"'), ('"', f'"^^<{XSD_INTEGER.value}>')]),
)
def test_keys_between_two_texts(chunks: list[list[str | None]], frame: tuple[str, str]) -> None:
    before, after = frame
    whole = [None if text is None else before + text + after for chunk in chunks for text in chunk]
    dictionary = Dictionary()
    ids = dictionary.intern_texts(pa.chunked_array(chunks, pa.string()), before, after)
    assert ids.tolist() == dictionary.intern_arrow(pa.array(whole, pa.string())).tolist()


def test_many_keys_between_two_texts() -> None:
    numbers = [str(number) for number in range(10_000)]
    ids = Dictionary().intern_texts(pa.chunked_array([numbers]), "<urn:", ">")
    assert ids.tolist() == Dictionary().intern_arrow(pa.array([f"<urn:{number}>" for number in numbers])).tolist()


def test_ids_that_no_term_has() -> None:
    dictionary = Dictionary()
    known = dictionary.encode(Iri("http://example.org/a"))
    with pytest.raises(KeyError, match="12345"):
        dictionary.decode(12345)
    with pytest.raises(KeyError, match="12345"):
        dictionary.keys(np.array([known, 12345]))
    with pytest.raises(KeyError, match="0"):
        dictionary.decode(0)


def test_intern_keys_takes_ranges_in_any_order() -> None:
    dictionary = Dictionary()
    data = np.frombuffer(b"<http://b><http://a>", np.uint8)
    ids = dictionary.intern_keys(data, np.array([10, -1, 0, 10]), np.array([20, -1, 10, 20]))
    assert dictionary.decode_many(ids) == [Iri("http://a"), None, Iri("http://b"), Iri("http://a")]


def test_scopes_are_given_once() -> None:
    dictionary = Dictionary()
    assert len({dictionary.fresh_scope() for _ in range(10)}) == 10


def test_threads_intern_and_read_at_once() -> None:
    dictionary = Dictionary()
    wrong: list[int] = []

    def work(worker: int) -> None:
        for round_number in range(20):
            numbers = range(worker * 500, worker * 500 + 500 + 100 * round_number)
            keys = [f"<http://example.org/{number}>" for number in numbers]
            ids = dictionary.intern_arrow(pa.array(keys))
            if dictionary.keys(ids).to_pylist() != keys:
                wrong.append(worker)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong
    assert len(dictionary) == 2 * 500 + 500 + 1900


few_numbers = st.lists(st.integers(0, 60), max_size=25)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(few_numbers, few_numbers), max_size=8), st.sampled_from([3, 5, 63]))
def test_sweeps_keep_what_is_held(rounds: list[tuple[list[int], list[int]]], hash_bits: int) -> None:
    """With a few bits of hash nearly all terms collide: a held term keeps its id, its own, whatever the others do."""
    dictionary = Dictionary(hash_bits)
    held: dict[Term, int] = {}
    for added, kept in rounds:
        for number in added:
            term = Iri(f"http://example.org/{number}")
            term_id = dictionary.encode(term)
            assert held.setdefault(term, term_id) == term_id
        assert len(set(held.values())) == len(held)
        staying = {Iri(f"http://example.org/{number}") for number in kept}
        held = {term: term_id for term, term_id in held.items() if term in staying}
        count = len(dictionary)
        dropped = dictionary.sweep([np.array(list(held.values()), np.int64), np.array([[0, -5]])])
        assert len(dictionary) == count - dropped >= len(held)
        if hash_bits == 63:
            assert len(dictionary) == len(held)
        assert dictionary.decode_many(list(held.values())) == list(held)
        assert [dictionary.lookup(term) for term in held] == list(held.values())


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(few_numbers, few_numbers, st.booleans()), max_size=12), st.sampled_from([3, 5, 63]))
def test_sweeps_beside_overlapping_pins(rounds: list[tuple[list[int], list[int], bool]], hash_bits: int) -> None:
    """Each round has a pin and works with some terms; it may last into the next one. One at least is always held."""
    dictionary = Dictionary(hash_bits)
    held: list[tuple[Pin, dict[Term, int]]] = []
    for round_number, (added, kept, lasts) in enumerate(rounds):
        pin = dictionary.pins
        pin.__enter__()
        known = {term: dictionary.encode(term) for term in (Iri(f"http://example.org/{number}") for number in added)}
        known |= {term: dictionary.encode(term) for term in (Iri(f"{round_number}/{n}" + "x" * 900) for n in range(60))}
        if not lasts or len(held) > 3:
            for earlier, _ in held:
                earlier.__exit__(None, None, None)
            held = []
        held.append((pin, known))
        staying = [dictionary.lookup(Iri(f"http://example.org/{number}")) for number in kept]
        dictionary.sweep([np.array(staying, np.int64)])
        for term, term_id in [item for _, some in held for item in some.items()]:
            assert dictionary.decode(term_id) == term
            assert dictionary.lookup(term) == term_id
        if hash_bits == 63:
            assert len(dictionary) <= 61 + 120 * (len(held) + 5)


def test_numbers_that_are_entered_beside_a_sweep_are_kept() -> None:
    """Those that were there when it began are noted; those that came since need not be."""
    dictionary = Dictionary()
    numbers = [Decimal(f"0.{'3' * 14}{at:03}1") for at in range(200)]
    before = intern(dictionary, numbers[:150])
    with dictionary.pins:
        assert dictionary.sweep([]) == 0
        found = intern(dictionary, numbers[100:])
        assert found[:50].tolist() == before[100:].tolist()
    assert dictionary.sweep([]) == 100
    assert dictionary.decode_many(found) == [Literal(str(number), XSD_DECIMAL) for number in numbers[100:]]


def intern(dictionary: Dictionary, numbers: list[Decimal]) -> NDArray[np.int64]:
    units = [int(number.scaleb(18)) for number in numbers]
    records = np.array([(DECIMAL, 0, unit, 0) for unit in units], np.int64)
    ids = np.zeros(len(numbers), np.int64)
    intern_numbers(dictionary, records, ids)
    return ids


def test_values_follow_a_sweep() -> None:
    """After a sweep an id can be another term's: its value is read again."""
    dictionary = Dictionary(1)  # every term asks for the id 1
    number, text = Literal("1.50E200", Iri(XSD + "double")), Literal("text")
    term_id = dictionary.encode(number)
    assert values(dictionary, np.array([term_id])).reals[0] == 1.5e200
    assert dictionary.sweep([]) == 1
    assert dictionary.encode(text) == term_id
    assert numbers(dictionary, np.array([term_id])).kinds[0] == 0
