from urllib.parse import quote

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.rml.percent import percent_encoded


def naive(text: str) -> str:
    return "".join(character if ord(character) > 127 else quote(character, safe="-._~") for character in text)


@settings(deadline=None, max_examples=300)
@given(st.lists(st.none() | st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=12), max_size=6))
def test_texts_are_encoded_as_python_encodes_them(texts: list[str | None]) -> None:
    found = percent_encoded(pa.array(texts, pa.string())).to_pylist()
    assert found == [None if text is None else naive(text) for text in texts]


def test_a_part_of_an_array() -> None:
    whole = pa.array(["a b", None, "é/", ""])
    assert percent_encoded(whole[1:]).to_pylist() == [None, "é%2F", ""]
