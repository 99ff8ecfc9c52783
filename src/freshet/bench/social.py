"""A generated social network in the shape of LSBench's: who knows, posts, photographs, tags and likes what.

Everything comes from a seed, so the same arguments always give the same network. `social_triples` writes it as RDF.
How often each thing happens follows the sample that LSBench's own generator makes for a thousand users.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

# How many of each a user has, at an activity of 1.
KNOWS = 19.2
POSTS = 4.8
COMMENTS = 0.55
PHOTOS = 18.5
TRACKED = 40.0
GROUPS = 0.04
INTERESTS = 3.5

# How many of each a thing has.
POST_LIKES = 4.05
PHOTO_LIKES = 4.5
HASHTAGS = 3.0
USER_TAGS = 4.4
GROUP_MEMBERS = 50.0
PHOTOS_PER_ALBUM = 19.0
FORUMS_PER_USER = 2

NEIGHBOURHOOD = 250  # friends are found among so many users next to one
TAGS = 2_000
TRIPLES_PER_USER = 704

# The shares of users by country; all others have the rest in equal parts.
COUNTRIES = {
    "Peoples_Republic_of_China": 0.22,
    "India": 0.185,
    "United_States": 0.05,
    "Indonesia": 0.037,
    "Brazil": 0.033,
    "Russia": 0.026,
    "Japan": 0.023,
    "Pakistan": 0.022,
    "Mexico": 0.017,
    "Vietnam": 0.016,
    "Philippines": 0.016,
    "Germany": 0.015,
}
OTHER_COUNTRIES = ("Ireland", "Kenya", "Peru", "Norway", "Egypt", "Chile", "Poland", "Ghana", "Nepal", "Spain", "Cuba")


class Pairs(NamedTuple):
    """A relation: row `i` says that `left[i]` stands in it to `right[i]`. No pair stands in it twice."""

    left: Ints
    right: Ints


@dataclass(frozen=True)
class SocialNetwork:
    """A network as arrays. Users, posts and so on are numbered from 0; `posters[i]` made post `i`, and so on."""

    seed: int
    users: int
    countries: Ints
    knows: Pairs  # both ways
    friendships: Pairs  # once each
    interests: Pairs
    members: Pairs  # group, user
    group_founders: Ints
    posters: Ints
    commenters: Ints
    commented: Ints
    album_owners: Ints
    photo_albums: Ints
    hashtags: Pairs  # post, tag
    user_tags: Pairs  # photo, user
    post_likes: Pairs  # user, post
    photo_likes: Pairs  # user, photo
    trackers: Ints


def make_network(users: int, *, seed: int = 11, activity: float = 1.0) -> SocialNetwork:
    """A network of users; with less activity they know as many others, but post, photograph and move about less."""
    random = np.random.default_rng(seed)
    friendships = _friendships(random, users)
    knows = Pairs(np.concatenate(friendships), np.concatenate(friendships[::-1]))
    friends = _Friends(random, knows, users)
    posters = np.sort(random.integers(0, users, _count(users, POSTS * activity)))
    albums = max(1, _count(users, PHOTOS * activity / PHOTOS_PER_ALBUM))
    album_owners = random.integers(0, users, albums)
    photo_albums = np.sort(random.integers(0, albums, _count(users, PHOTOS * activity)))
    photographers = album_owners[photo_albums]
    commented = random.integers(0, max(1, posters.size), _count(users, COMMENTS * activity) if posters.size else 0)
    groups = max(2, _count(users, GROUPS))
    return SocialNetwork(
        seed=seed,
        users=users,
        countries=_countries(random, users),
        knows=knows,
        friendships=friendships,
        interests=_some(random, users, INTERESTS, TAGS),
        members=_some(random, groups, GROUP_MEMBERS, users),
        group_founders=random.integers(0, users, groups),
        posters=posters,
        commenters=friends.of(posters[commented]),
        commented=commented,
        album_owners=album_owners,
        photo_albums=photo_albums,
        hashtags=_some(random, posters.size, HASHTAGS, TAGS),
        user_tags=_by_friends(random, friends, photographers, USER_TAGS),
        post_likes=Pairs(*_by_friends(random, friends, posters, POST_LIKES)[::-1]),
        photo_likes=Pairs(*_by_friends(random, friends, photographers, PHOTO_LIKES)[::-1]),
        trackers=random.integers(0, users, _count(users, TRACKED * activity)),
    )


class _Friends:
    """Picks friends of users at random."""

    def __init__(self, random: np.random.Generator, knows: Pairs, users: int) -> None:
        self._random = random
        self._sorted = knows.right[np.argsort(knows.left, kind="stable")]
        self._ends = np.cumsum(np.bincount(knows.left, minlength=users))

    def of(self, users: Ints) -> Ints:
        """For each user one of the friends, or the user where there are none."""
        if not self._sorted.size:
            return users
        ends = self._ends[users]
        starts = np.where(users > 0, self._ends[users - 1], 0)
        picked = starts + (self._random.random(users.size) * (ends - starts)).astype(np.int64)
        return np.where(ends > starts, self._sorted[np.minimum(picked, self._sorted.size - 1)], users)


def _count(users: int, each: float) -> int:
    return round(users * each)


def _countries(random: np.random.Generator, users: int) -> Ints:
    rest = (1.0 - sum(COUNTRIES.values())) / len(OTHER_COUNTRIES)
    shares = np.array([*COUNTRIES.values(), *[rest] * len(OTHER_COUNTRIES)])
    return random.choice(shares.size, users, p=shares / shares.sum())


def _friendships(random: np.random.Generator, users: int) -> Pairs:
    """Pairs of users who are near one another, the lower number first."""
    count = _count(users, KNOWS / 2)
    left = random.integers(0, users, count)
    distance = 1 + (random.random(count) ** 2 * NEIGHBOURHOOD).astype(np.int64)
    right = (left + distance) % users
    apart = left != right
    return _once(np.minimum(left, right)[apart], np.maximum(left, right)[apart])


def _some(random: np.random.Generator, things: int, mean: float, others: int) -> Pairs:
    """For each thing some of the others, few of which are chosen often."""
    left = np.repeat(np.arange(things), random.poisson(mean, things))
    return _once(left, (random.random(left.size) ** 2 * others).astype(np.int64))


def _by_friends(random: np.random.Generator, friends: _Friends, makers: Ints, mean: float) -> Pairs:
    """For each thing some friends of its maker; a little fewer than asked, as the same friend may be picked twice."""
    things = np.repeat(np.arange(makers.size), random.poisson(mean, makers.size))
    return _once(things, friends.of(makers[things]))


def _once(left: Ints, right: Ints) -> Pairs:
    """The pairs without repetition, in order."""
    packed = np.sort(left << 32 | right)
    packed = packed[np.diff(packed, prepend=-1) != 0]
    return Pairs(packed >> 32, packed & 0xFFFFFFFF)
