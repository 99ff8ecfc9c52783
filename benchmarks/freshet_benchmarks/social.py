"""A generated social network in the shape of LSBench's: who knows, posts, photographs, tags and likes what.

Everything comes from a seed, so the same arguments always give the same network. What all parts of it need is made at
once, some numbers a user; the rest is made a block of users at a time, so that networks of any size fit. How often each
thing happens follows the sample that LSBench's own generator makes for a thousand users (`tests/unit/bench` holds it
against that). `social_triples` says it as RDF.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

BLOCK_USERS = 4096
TRIPLES_PER_USER = 545

FRIENDS = (20.3, 6.1)  # mean and deviation, before those are taken away who would be friends twice
FEWEST_FRIENDS, MOST_FRIENDS = 2, 36
NEARNESS = 42  # how far from each other friends are, in numbers of users
POSTS = (0.8, 8.8)  # the mean of a user's posts lies evenly between
COMMENTED, COMMENTS = 0.049, 2.33  # the share of posts with comments, and how many those have
MOST_ALBUMS, MOST_PHOTOS, MOST_LIKES, MOST_USER_TAGS = 2, 39, 9, 9
GROUPS_PER_USER = 0.039
MOST_MEMBERS = 98
FORUMS_PER_USER = 2
FORUMS_PER_GROUP = 2

# How many hashtags a post has, from one on, and how many interests a user.
HASHTAG_SHARES = (0.058, 0.467, 0.178, 0.143, 0.099, 0.035, 0.013, 0.007)
INTEREST_SHARES = (0.185, 0.174, 0.161, 0.150, 0.148, 0.108, 0.050, 0.019, 0.005)
TAGS = 2_000  # the n-th is used 1/n times as often as the first
FAVOURITES, FAVOURITE_SHARE = 3, 0.27  # a user has some tags of her own, which she uses for a part of all she tags
INTERESTS = 34

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

_NETWORK, _BLOCK = 0, 1  # what random numbers are for: of each there is a sequence of its own


class Pairs(NamedTuple):
    """A relation: row `i` says that `left[i]` stands in it to `right[i]`. No pair stands in it twice."""

    left: Ints
    right: Ints


@dataclass(frozen=True)
class Friends:
    """The friends of user `u` are `friends[firsts[u]:firsts[u + 1]]`, in any order."""

    firsts: Ints
    friends: Ints

    def of(self, users: Ints) -> Ints:
        """How many friends users have."""
        return self.firsts[users + 1] - self.firsts[users]

    def choose(self, random: np.random.Generator, users: Ints, counts: Ints) -> Pairs:
        """For row `i` `counts[i]` friends of user `i`, each once, or all where there are fewer: row, friend."""
        known = self.of(users)
        counts = np.minimum(counts, known)
        rows = np.repeat(np.arange(users.size), counts)
        starts = (random.random(users.size) * known).astype(np.int64)[rows]
        places = (starts + _within(counts)) % known[rows]
        return Pairs(rows, self.friends[self.firsts[users][rows] + places])


@dataclass(frozen=True)
class SocialNetwork:
    """What all blocks of a network need. `post_firsts[u]` is the number of the first post of user `u`, and so on."""

    seed: int
    users: int
    countries: Ints
    friendships: Pairs  # once each, in order of the lower number
    friends: Friends
    post_firsts: Ints
    album_firsts: Ints
    photo_firsts: Ints  # by album
    comment_firsts: Ints  # by user who is commented on
    group_founders: Ints
    member_firsts: Ints  # by group

    @property
    def posts(self) -> int:
        return int(self.post_firsts[-1])

    @property
    def albums(self) -> int:
        return int(self.album_firsts[-1])

    @property
    def photos(self) -> int:
        return int(self.photo_firsts[-1])

    @property
    def groups(self) -> int:
        return self.group_founders.size

    @property
    def posters(self) -> Ints:
        """Who made each post."""
        return np.repeat(np.arange(self.users), np.diff(self.post_firsts))

    def photographers(self, photos: Ints) -> Ints:
        """Whose album photos are in."""
        albums = self.photo_firsts.searchsorted(photos, "right") - 1
        return self.album_firsts.searchsorted(albums, "right") - 1

    def makers(self, posts: Ints) -> Ints:
        """Who made posts."""
        return self.post_firsts.searchsorted(posts, "right") - 1

    def blocks(self) -> Iterator[Block]:
        """All there is, a block of users after the other."""
        for number in range(-(-self.users // BLOCK_USERS)):
            yield make_block(self, number)


@dataclass(frozen=True)
class Block:
    """What some users have and do. All numbers are those of the whole network; row `i` of `posters` is the post
    `posts[i]`, and so on."""

    users: Ints
    interests: Pairs  # user, interest
    friendships: Pairs
    first_friendship: int
    groups: Ints
    members: Pairs  # group, user
    posts: Ints
    posters: Ints
    hashtags: Pairs  # post, tag
    post_likes: Pairs  # post, user
    comments: Ints
    commented: Ints
    commenters: Ints
    albums: Ints
    album_owners: Ints
    photos: Ints
    photo_albums: Ints
    user_tags: Pairs  # photo, user
    photo_likes: Pairs  # photo, user


def make_network(users: int, *, seed: int = 11, activity: float = 1.0) -> SocialNetwork:
    """A network of users; with less activity they know as many others, but post and photograph less."""
    random = np.random.default_rng([seed, _NETWORK])
    friendships = _friendships(random, users)
    albums = _times(random, random.integers(0, MOST_ALBUMS + 1, users), activity)
    posts = random.poisson(random.uniform(*POSTS, users) * activity)
    groups = max(2, round(users * GROUPS_PER_USER))
    return SocialNetwork(
        seed=seed,
        users=users,
        countries=_countries(random, users),
        friendships=friendships,
        friends=_friends(random, friendships, users),
        post_firsts=_firsts(posts),
        album_firsts=_firsts(albums),
        photo_firsts=_firsts(random.integers(0, MOST_PHOTOS + 1, int(albums.sum()))),
        comment_firsts=_firsts(random.poisson(posts * COMMENTED * COMMENTS)),
        group_founders=np.sort(random.integers(0, users, groups)),
        member_firsts=_firsts(random.integers(1, 1 + min(MOST_MEMBERS, users), groups)),
    )


def make_block(network: SocialNetwork, number: int) -> Block:
    """One block: what users do that others need not know of."""
    random = np.random.default_rng([network.seed, _BLOCK, number])
    first, end = number * BLOCK_USERS, min((number + 1) * BLOCK_USERS, network.users)
    users = np.arange(first, end)
    groups = np.arange(*network.group_founders.searchsorted([first, end]))
    posts = np.arange(network.post_firsts[first], network.post_firsts[end])
    posters = _owners(network.post_firsts, first, end)
    albums = np.arange(network.album_firsts[first], network.album_firsts[end])
    photos = np.arange(
        network.photo_firsts[network.album_firsts[first]], network.photo_firsts[network.album_firsts[end]]
    )
    photo_albums = network.photo_firsts.searchsorted(photos, "right") - 1
    album_owners = _owners(network.album_firsts, first, end)
    photographers = album_owners[photo_albums - albums[0]] if albums.size else photo_albums
    comments, commented = _comments(random, network, first, end)
    return Block(
        users=users,
        interests=_interests(random, users),
        friendships=_of_lower(network.friendships, first, end),
        first_friendship=int(network.friendships.left.searchsorted(first)),
        groups=groups,
        members=_members(random, network, groups),
        posts=posts,
        posters=posters,
        hashtags=hashtags(random, posts, posters),
        post_likes=likes(random, network, posts, posters, again=True),
        comments=comments,
        commented=commented,
        commenters=some_friend(random, network, network.makers(commented)),
        albums=albums,
        album_owners=album_owners,
        photos=photos,
        photo_albums=photo_albums,
        user_tags=user_tags(random, network, photos, photographers),
        photo_likes=likes(random, network, photos, photographers),
    )


def hashtags(random: np.random.Generator, posts: Ints, posters: Ints) -> Pairs:
    """The tags of posts: few that everybody uses, and some that a user uses again and again."""
    rows = np.repeat(np.arange(posts.size), 1 + _draw_shares(random, HASHTAG_SHARES, posts.size))
    own = random.random(rows.size) < FAVOURITE_SHARE
    favourites = _scattered(posters[rows] * FAVOURITES + random.integers(0, FAVOURITES, rows.size))
    return _once(posts[rows], _tag(np.where(own, favourites, random.random(rows.size))))


def user_tags(random: np.random.Generator, network: SocialNetwork, photos: Ints, photographers: Ints) -> Pairs:
    """Who is seen on photos: friends of who took them."""
    counts = random.integers(0, MOST_USER_TAGS + 1, photos.size)
    rows, users = network.friends.choose(random, photographers, counts)
    return Pairs(photos[rows], users)


def likes(
    random: np.random.Generator, network: SocialNetwork, items: Ints, makers: Ints, *, again: bool = False
) -> Pairs:
    """Who likes items: friends of who made them. Where they may be drawn again, they are fewer in the end."""
    counts = random.integers(0, MOST_LIKES + 1, items.size)
    if not again:
        rows, users = network.friends.choose(random, makers, counts)
        return Pairs(items[rows], users)
    rows = np.repeat(np.arange(items.size), np.where(network.friends.of(makers) > 0, counts, 0))
    return _once(items[rows], some_friend(random, network, makers[rows]))


def some_friend(random: np.random.Generator, network: SocialNetwork, users: Ints) -> Ints:
    """For each user one of the friends, or the user where there are none."""
    friends = network.friends
    known = friends.of(users)
    picked = friends.firsts[users] + (random.random(users.size) * known).astype(np.int64)
    return np.where(known > 0, friends.friends[np.minimum(picked, friends.friends.size - 1)], users)


def _friendships(random: np.random.Generator, users: int) -> Pairs:
    """Pairs of users who are near one another, the lower number first.

    Everybody has as many hands as friends; all hands are laid out in a row, each near its user, and neighbours shake.
    """
    wanted = random.normal(*FRIENDS, users).round().astype(np.int64).clip(FEWEST_FRIENDS, MOST_FRIENDS)
    hands = np.repeat(np.arange(users), wanted)
    hands = hands[np.argsort((hands + random.laplace(0, NEARNESS, hands.size)) % users, kind="stable")]
    left, right = hands[: hands.size // 2 * 2].reshape(-1, 2).T
    apart = left != right
    return _once(np.minimum(left, right)[apart], np.maximum(left, right)[apart])


def _friends(random: np.random.Generator, friendships: Pairs, users: int) -> Friends:
    left, right = np.concatenate(friendships), np.concatenate(friendships[::-1])
    shuffled = random.permutation(left.size)
    order = shuffled[np.argsort(left[shuffled], kind="stable")]
    return Friends(_firsts(np.bincount(left, minlength=users)), right[order])


def _members(random: np.random.Generator, network: SocialNetwork, groups: Ints) -> Pairs:
    """Of each group as many users as it has members, in even steps from the founder on so that none comes twice."""
    counts = network.member_firsts[groups + 1] - network.member_firsts[groups]
    rows = np.repeat(np.arange(groups.size), counts)
    steps = 1 + (random.random(groups.size) * (network.users // (MOST_MEMBERS + 1))).astype(np.int64).clip(0, 9)
    return Pairs(groups[rows], (network.group_founders[groups][rows] + _within(counts) * steps[rows]) % network.users)


def _comments(random: np.random.Generator, network: SocialNetwork, first: int, end: int) -> tuple[Ints, Ints]:
    """Comments, and the posts they are about: most of those of a user are about one."""
    comments = np.arange(network.comment_firsts[first], network.comment_firsts[end])
    owners = _owners(network.comment_firsts, first, end)
    posts = np.diff(network.post_firsts)[owners]
    picked = (random.random(network.users)[owners] * posts).astype(np.int64)
    return comments, network.post_firsts[owners] + picked


def _interests(random: np.random.Generator, users: Ints) -> Pairs:
    counts = 1 + _draw_shares(random, INTEREST_SHARES, users.size)
    rows = np.repeat(np.arange(users.size), counts)
    starts = random.integers(0, INTERESTS, users.size)
    return Pairs(users[rows], (starts[rows] + 3 * _within(counts)) % INTERESTS)


def _countries(random: np.random.Generator, users: int) -> Ints:
    rest = (1.0 - sum(COUNTRIES.values())) / len(OTHER_COUNTRIES)
    return _draw_shares(random, (*COUNTRIES.values(), *[rest] * len(OTHER_COUNTRIES)), users)


def _draw_shares(random: np.random.Generator, shares: tuple[float, ...], count: int) -> Ints:
    ends = np.cumsum(shares)
    chosen: Ints = (ends / ends[-1]).searchsorted(random.random(count), "right")
    return chosen


def _times(random: np.random.Generator, counts: Ints, factor: float) -> Ints:
    """Counts times a factor, rounded up or down by chance."""
    return np.floor(counts * factor + random.random(counts.size)).astype(np.int64)


def _tag(evenly: NDArray[np.float64]) -> Ints:
    """Numbers from 0 to 1 as tags."""
    tags: Ints = np.power(float(TAGS + 1), evenly).astype(np.int64) - 1
    return tags


def _scattered(numbers: Ints) -> NDArray[np.float64]:
    """For each number always the same one from 0 to 1."""
    mixed = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ mixed >> np.uint64(29)) * np.uint64(0xBF58476D1CE4E5B9)
    return (mixed >> np.uint64(11)).astype(np.float64) / 2.0**53


def _owners(firsts: Ints, first: int, end: int) -> Ints:
    """For each thing of some owners, whose it is."""
    return np.repeat(np.arange(first, end), np.diff(firsts[first : end + 1]))


def _of_lower(friendships: Pairs, first: int, end: int) -> Pairs:
    rows = slice(*friendships.left.searchsorted([first, end]))
    return Pairs(friendships.left[rows], friendships.right[rows])


def _firsts(counts: Ints) -> Ints:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


def _within(counts: Ints) -> Ints:
    """0, 1, 2... for each count as far as it goes."""
    ends = np.cumsum(counts)
    return np.arange(int(ends[-1]) if ends.size else 0) - np.repeat(ends - counts, counts)


def _once(left: Ints, right: Ints) -> Pairs:
    """The pairs without repetition, in order."""
    packed = np.sort(left << 32 | right)
    packed = packed[np.diff(packed, prepend=-1) != 0]
    return Pairs(packed >> 32, packed & 0xFFFFFFFF)
