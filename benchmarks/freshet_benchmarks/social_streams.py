"""The five streams of LSBench over a generated network: posts, photos, likes of both, and where users are.

They have no end, and any part of them can be made by itself: batch `n` is what comes in the n-th 100 ms. Users, albums'
owners and most of what is liked are those of the stored network; what is new is liked within half a second.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import NamedTuple

import numpy as np

from freshet.rdf.elements import Elements
from freshet_benchmarks.social import Pairs, SocialNetwork, hashtags, likes, user_tags
from freshet_benchmarks.social_columns import Encoder, Ints, Moments, Statements, lines, order_of
from freshet_benchmarks.social_items import (
    album_statements,
    like_statements,
    photo_statements,
    position_statements,
    post_statements,
)
from freshet_benchmarks.social_triples import encoded
from freshet_benchmarks.social_vocabulary import (
    GPS_STREAM,
    PHOTO,
    PHOTO_LIKE_STREAM,
    PHOTO_STREAM,
    POST,
    POST_LIKE_STREAM,
    POST_STREAM,
)
from freshet_benchmarks.social_words import FIRST_SECONDS, SPAN_SECONDS

BATCH_MS = 100

# Triples a second, as in table 1 of the Wukong+S paper.
RATES = {
    POST_STREAM: 10_000,
    POST_LIKE_STREAM: 86_000,
    PHOTO_STREAM: 10_000,
    PHOTO_LIKE_STREAM: 7_500,
    GPS_STREAM: 20_000,
}
RATE = sum(RATES.values())
# What of the streams stays: all but where users are, which is of no use once it is over.
TIMELESS = frozenset(RATES) - {GPS_STREAM}

# How often LSBench's generator repeats a like (numPostLikeDuplication, numPhotoLikeDuplication).
REPEATED = {POST_LIKE_STREAM: 10, PHOTO_LIKE_STREAM: 4}

# A second of the streams is little for a network of many users. So that a user's windows are not always empty, half of
# what is posted, and of positions, is of a few who know one another.
ONLINE_USERS = 400
ONLINE_SHARE = 0.5

TRIPLES_PER_POST = 12.23
TRIPLES_PER_THING = {
    POST_STREAM: TRIPLES_PER_POST,
    PHOTO_STREAM: 14.1,
    GPS_STREAM: 5,
    **REPEATED,
}
PHOTOS_PER_ALBUM = 20
LIKES_PER_ITEM = 4.5
LIKED_WITHIN = 5  # batches
MOST_OF_NEW = 0.75  # of what is liked

_POSTS, _PHOTOS, _POSITIONS, _POST_LIKES, _PHOTO_LIKES, _MAKERS = range(3, 9)  # what random numbers are for


class Batch(NamedTuple):
    """What comes in one stream in 100 ms: statements, and when each thing that they are about comes."""

    statements: list[Statements]
    times: Ints

    def elements(self, encoder: Encoder) -> Elements:
        """Encoded, in order of time."""
        order = order_of(self.statements)
        times = np.concatenate([self.times[each.about] for each in self.statements])
        return Elements(*(column[order] for column in (times, *encoded(self.statements, encoder))))

    def text(self) -> bytes:
        """As timed N-Triples, in order of time."""
        return b"".join(buffer.to_pybytes() for buffer in lines(self.statements, self.times, at_once=1 << 20))


@dataclass(frozen=True)
class SocialStreams:
    """The streams over a network at a number of triples a second, all together, from a batch on.

    `made` has how many things there were in each stream before it.
    """

    network: SocialNetwork
    rate: float = RATE
    first_batch: int = 0
    made: Mapping[str, int] = field(default_factory=dict)

    def batch(self, number: int) -> Mapping[str, Batch]:
        """What comes from `number` * 100 ms on, for 100 ms."""
        return {
            POST_STREAM: self.posts(number),
            POST_LIKE_STREAM: self._likes(number, POST_LIKE_STREAM),
            PHOTO_STREAM: self._photos(number),
            PHOTO_LIKE_STREAM: self._likes(number, PHOTO_LIKE_STREAM),
            GPS_STREAM: self._positions(number),
        }

    def elements(self, encoder: Encoder, first: int = 0) -> Iterator[Mapping[str, Elements]]:
        """All batches from one on, encoded; there is no last."""
        for number in count(first):
            yield {stream: batch.elements(encoder) for stream, batch in self.batch(number).items()}

    def at_rate(self, rate: float, number: int) -> SocialStreams:
        """The streams as they go on from a batch on at another rate."""
        return SocialStreams(
            self.network, rate, number, {stream: self._numbers(stream, number)[0] for stream in TRIPLES_PER_THING}
        )

    @property
    def online(self) -> Ints:
        """Those who do most."""
        users = min(ONLINE_USERS, self.network.users)
        return (self.network.users - users) // 2 + np.arange(users)

    def posts(self, number: int) -> Batch:
        """The posts of a batch."""
        random = self._random(_POSTS, number)
        posts, posters = self._new_posts(number)
        tags = hashtags(random, posts, posters)
        times = _times(number, posts.size)
        return Batch(list(post_statements(random, posts, posters, tags, _creation_times(times))), times)

    def _photos(self, number: int) -> Batch:
        """Photos, and before the first of each album the album."""
        random, network = self._random(_PHOTOS, number), self.network
        photos, takers = self._new_photos(number)
        new = (photos - network.photos) // PHOTOS_PER_ALBUM
        albums, times = network.albums + new, _times(number, photos.size)
        tags = user_tags(random, network, photos, takers)
        statements = []
        starts = np.flatnonzero((photos - network.photos) % PHOTOS_PER_ALBUM == 0)
        for each in album_statements(
            albums[starts], takers[starts], network.countries[takers[starts]], _creation_times(times[starts])
        ):
            statements.append(each._replace(about=starts[each.about]))
        statements += photo_statements(random, photos, albums, takers, tags, _creation_times(times))
        return Batch(statements, times)

    def _positions(self, number: int) -> Batch:
        random = self._random(_POSITIONS, number)
        first, end = self._numbers(GPS_STREAM, number)
        tracked, times = self._choose_users(random, end - first), _times(number, end - first)
        return Batch(list(position_statements(random, np.arange(first, end), tracked, _creation_times(times))), times)

    def _likes(self, number: int, stream: str) -> Batch:
        """Likes of what is new, and of what is stored; the likes of one item together, as often as LSBench has them."""
        of_posts = stream == POST_LIKE_STREAM
        random = self._random(_POST_LIKES if of_posts else _PHOTO_LIKES, number)
        first, end = self._numbers(stream, number)
        new = likes(random, self.network, *self._lately(number, of_posts=of_posts), again=of_posts)
        new = Pairs(*(column[: int(MOST_OF_NEW * (end - first))] for column in new))
        stored = self._stored_likes(random, end - first - new.left.size, of_posts=of_posts)
        pairs = Pairs(*map(np.concatenate, zip(new, stored, strict=True)))
        repeated = _repeated(pairs, REPEATED[stream])
        statements = like_statements(repeated, POST if of_posts else PHOTO)
        return Batch(list(statements), _times(number, repeated.left.size))

    def _stored_likes(self, random: np.random.Generator, wanted: int, *, of_posts: bool) -> Pairs:
        """A number of likes of stored posts or photos."""
        network = self.network
        stored, makers = (network.posts, network.makers) if of_posts else (network.photos, network.photographers)
        if wanted <= 0 or not stored or not network.friends.friends.size:
            return Pairs(np.empty(0, np.int64), np.empty(0, np.int64))
        found = Pairs(np.empty(0, np.int64), np.empty(0, np.int64))
        while found.left.size < wanted:
            items = random.integers(0, stored, 10 + int(wanted / LIKES_PER_ITEM * 1.3))
            more = likes(random, network, items, makers(items), again=of_posts)
            found = Pairs(*map(np.concatenate, zip(found, more, strict=True)))
        return Pairs(found.left[:wanted], found.right[:wanted])

    def _lately(self, number: int, *, of_posts: bool) -> tuple[Ints, Ints]:
        """The posts or photos that were made a short while ago and are liked now, and who made them."""
        made = self._new_posts if of_posts else self._new_photos
        items, makers = [], []
        for delay in range(1, min(LIKED_WITHIN, number - self.first_batch) + 1):
            new, by = made(number - delay)
            now = new % LIKED_WITHIN == delay - 1
            items.append(new[now])
            makers.append(by[now])
        none = np.empty(0, np.int64)
        return np.concatenate([none, *items]), np.concatenate([none, *makers])

    def _new_posts(self, number: int) -> tuple[Ints, Ints]:
        """The posts of a batch, and who makes them."""
        first, end = self._numbers(POST_STREAM, number)
        return self.network.posts + np.arange(first, end), self._choose_users(
            self._random(_MAKERS, number), end - first
        )

    def _new_photos(self, number: int) -> tuple[Ints, Ints]:
        """The photos of a batch, and who takes them: one user those of an album."""
        first, end = self._numbers(PHOTO_STREAM, number)
        new = np.arange(first, end)
        albums = new // PHOTOS_PER_ALBUM
        takers = (albums * 7_368_787 + self.network.seed * 104_729) % self.network.users
        return self.network.photos + new, takers

    def _numbers(self, stream: str, number: int) -> tuple[int, int]:
        """The first thing of a batch, and the first of the next."""
        each = RATES[stream] * (self.rate / RATE) * BATCH_MS / 1000 / TRIPLES_PER_THING[stream]
        before, passed = self.made.get(stream, 0), number - self.first_batch
        return before + int(passed * each), before + int((passed + 1) * each)

    def _choose_users(self, random: np.random.Generator, size: int) -> Ints:
        """Users, half of them of those who are online."""
        online = self.online[random.integers(0, self.online.size, size)]
        return np.where(random.random(size) < ONLINE_SHARE, online, random.integers(0, self.network.users, size))

    def _random(self, purpose: int, number: int) -> np.random.Generator:
        return np.random.default_rng([self.network.seed, purpose, number])


def write_streams(folder: Path, streams: SocialStreams, *, seconds: float) -> dict[str, Path]:
    """Write the beginning of all streams as timed N-Triples; gives the file of each."""
    paths = {stream: folder / f"{stream.rpartition('/')[2]}.tnt" for stream in RATES}
    for path in paths.values():
        path.write_bytes(b"")
    for number in range(round(seconds * 1000 / BATCH_MS)):
        for stream, batch in streams.batch(number).items():
            with paths[stream].open("ab") as file:
                file.write(batch.text())
    return paths


def _times(number: int, things: int) -> Ints:
    """Evenly through a batch."""
    return number * BATCH_MS + np.arange(things) * BATCH_MS // max(1, things)


def _creation_times(times: Ints) -> Moments:
    return Moments(FIRST_SECONDS + SPAN_SECONDS + times // 1000)


def _repeated(pairs: Pairs, times: int) -> Pairs:
    """Pairs of an item and a user: all users of an item, and again as often as asked for."""
    rows = np.tile(np.arange(pairs.left.size), times)
    runs = np.cumsum(np.diff(pairs.left, prepend=-1) != 0)
    rounds = np.repeat(np.arange(times), pairs.left.size)
    order = np.argsort(np.tile(runs, times) * times + rounds, kind="stable")
    return Pairs(pairs.left[rows[order]], pairs.right[rows[order]])
