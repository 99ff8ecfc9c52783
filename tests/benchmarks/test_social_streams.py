"""The generated streams: at their rates, the same each time, and as text what they are encoded."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.ntriples import scan_timed
from freshet.rdf.terms import Iri
from freshet_benchmarks.social import make_network
from freshet_benchmarks.social_columns import Encoder
from freshet_benchmarks.social_streams import BATCH_MS, RATE, RATES, REPEATED, SocialStreams, write_streams
from freshet_benchmarks.social_vocabulary import PHOTO_LIKE_STREAM, POST_LIKE_STREAM, SIOC, VOCABULARY

STREAMS = SocialStreams(make_network(500))


def all_of(streams: SocialStreams, batches: int, dictionary: Dictionary) -> dict[str, Elements]:
    made = list(islice(streams.elements(Encoder(dictionary)), batches))
    return {iri: Elements(*map(np.concatenate, zip(*(batch[iri] for batch in made), strict=True))) for iri in RATES}


@pytest.mark.parametrize("multiple", [0.1, 1, 3])
def test_rates(multiple: float) -> None:
    made = all_of(SocialStreams(STREAMS.network, RATE * multiple), 30, Dictionary())
    for iri, elements in made.items():
        assert elements.times.size == pytest.approx(3 * RATES[iri] * multiple, rel=0.05), iri


def test_times_are_in_order_and_in_their_batch() -> None:
    for number, batch in enumerate(islice(STREAMS.elements(Encoder(Dictionary()), first=3), 3), start=3):
        for elements in batch.values():
            assert (np.diff(elements.times) >= 0).all()
            assert elements.times[0] >= number * BATCH_MS
            assert elements.times[-1] < (number + 1) * BATCH_MS


def test_text_is_what_is_encoded(tmp_path: Path) -> None:
    slow = SocialStreams(STREAMS.network, RATE / 10)
    dictionary = Dictionary()
    expected = all_of(slow, 5, dictionary)
    terms = len(dictionary)
    for iri, path in write_streams(tmp_path, slow, seconds=0.5).items():
        found, _ = scan_timed(path.read_bytes(), dictionary, iri)
        for column, same in zip(found, expected[iri], strict=True):
            assert (column == same).all()
    assert len(dictionary) == terms


def test_any_batch_by_itself() -> None:
    dictionary = Dictionary()
    encoder = Encoder(dictionary)
    later = next(STREAMS.elements(encoder, first=7))
    again = next(islice(STREAMS.elements(encoder), 7, None))
    for iri, elements in later.items():
        assert all((one == other).all() for one, other in zip(elements, again[iri], strict=True))


def test_what_is_liked_is_new_or_stored() -> None:
    """Likes are repeated as LSBench repeats them, and all are of posts or photos that there are by then."""
    dictionary = Dictionary()
    made = all_of(STREAMS, 20, dictionary)
    creates, like = (dictionary.encode(Iri(iri)) for iri in (SIOC + "container_of", VOCABULARY + "like"))
    for iri, items, stored in (
        (POST_LIKE_STREAM, "poststream", STREAMS.network.posts),
        (PHOTO_LIKE_STREAM, "photostream", STREAMS.network.photos),
    ):
        likes = made[iri]
        assert set(likes.predicates.tolist()) == {like}
        batches = Counter(
            zip((likes.times // BATCH_MS).tolist(), likes.subjects.tolist(), likes.objects.tolist(), strict=True)
        )
        assert all(count % REPEATED[iri] == 0 for count in batches.values())
        [items_stream] = (stream for name, stream in made.items() if name.endswith("/" + items))
        rows = items_stream.predicates == creates
        born = dict(zip(items_stream.objects[rows].tolist(), items_stream.times[rows].tolist(), strict=True))
        new = [
            (time, item)
            for time, item in zip(likes.times.tolist(), likes.objects.tolist(), strict=True)
            if item in born
        ]
        assert len(new) > 0.2 * likes.times.size
        assert all(born[item] < time for time, item in new)
        others = [str(term) for term in dictionary.decode_many(sorted(set(likes.objects.tolist()) - set(born)))]
        assert all(int("".join(filter(str.isdigit, name))) < stored for name in others)
