import numpy as np
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.kernels.hashing import hash_id, xxh64


@settings(deadline=None)
@given(before=st.binary(max_size=9), key=st.binary(max_size=200), after=st.binary(max_size=9))
def test_equals_xxhash_for_any_range(before: bytes, key: bytes, after: bytes) -> None:
    data = np.frombuffer(before + key + after, np.uint8)
    expected = xxhash.xxh64_intdigest(key, seed=42)
    assert int(xxh64(data, len(before), len(before) + len(key))) == expected
    masked = expected & (2**63 - 1)
    assert int(hash_id(data, len(before), len(before) + len(key))) == (masked or 1)


@pytest.mark.parametrize("length", range(100))
def test_every_length_up_to_three_blocks(length: int) -> None:
    key = bytes(range(7, 7 + length))
    assert int(xxh64(np.frombuffer(key, np.uint8), 0, length)) == xxhash.xxh64_intdigest(key, seed=42)


# what `SELECT xxhash64(k)` gives in Spark 4.3
SPARK_HASHES = {
    "": -7444071767201028348,
    "<http://example.org/a>": 8958081700026426762,
    "_:s0.b1": -1699680175589077593,
    '"héllo €😀"@en': -2314476395247957902,
    "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>": -7348161546209159847,
}


@pytest.mark.parametrize(("key", "spark_hash"), SPARK_HASHES.items())
def test_equals_spark(key: str, spark_hash: int) -> None:
    data = np.frombuffer(key.encode(), np.uint8)
    assert int(xxh64(data, 0, data.size)) == spark_hash % 2**64
