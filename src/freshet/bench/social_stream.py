"""The posts of a generated social network as a stream: timed N-Triples, the statements of a post together."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from freshet.bench.social import FORUMS_PER_USER, Ints, SocialNetwork
from freshet.bench.social_triples import FORUM, PERSON, POST, RDF, SIOC, USER, VOCABULARY

POST_STREAM = "http://deri.org/poststream"  # as LSBench's queries call it


def post_stream(network: SocialNetwork, *, posts_per_second: int) -> bytes:
    """All posts in random order, one after the other at an even pace from 0 on."""
    random = np.random.default_rng([network.seed, 2])
    posts = network.posters.size
    numbers, places = np.arange(posts), random.permutation(posts)
    tagged, tags = network.hashtags
    named = _iris(POST, numbers)
    forums = _iris(FORUM, network.posters * FORUMS_PER_USER + random.integers(0, FORUMS_PER_USER, posts))
    statements: list[tuple[Ints, pa.Array, str, pa.Array | str]] = [
        (numbers, named, RDF + "type", f"<{VOCABULARY}Post>"),
        (numbers, named, RDF + "type", f"<{SIOC}Post>"),
        (numbers, named, SIOC + "content", _joined('"Post ', _text(numbers), '"')),
        (numbers, forums, SIOC + "container_of", named),
        (numbers, _iris(USER, network.posters), SIOC + "creator_of", named),
        (tagged, _iris(POST, tagged), VOCABULARY + "hashtag", _joined('"tag', _text(tags), '"')),
    ]
    times = places * 1000 // posts_per_second
    lines = [
        _joined(_text(times[about]), "\t", subjects, f" <{predicate}> ", objects, " .\n")
        for about, subjects, predicate, objects in statements
    ]
    order = np.argsort(places[np.concatenate([about for about, *_ in statements])], kind="stable")
    text: bytes = pa.concat_arrays(lines).take(pa.array(order)).buffers()[2].to_pybytes()
    return text


def accounts(network: SocialNetwork) -> bytes:
    """Which person each user is, as N-Triples."""
    numbers = np.arange(network.users)
    lines = _joined(_iris(USER, numbers), f" <{SIOC}account_of> ", _iris(PERSON, numbers), " .\n")
    text: bytes = lines.buffers()[2].to_pybytes()
    return text


def _iris(start: str, numbers: Ints) -> pa.Array:
    return _joined("<" + start, _text(numbers), ">")


def _text(numbers: Ints) -> pa.Array:
    return pa.array(numbers).cast(pa.string())


def _joined(*parts: pa.Array | str) -> pa.Array:
    return pc.binary_join_element_wise(*parts, "")
