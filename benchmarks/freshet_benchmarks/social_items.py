"""What is said of posts, comments, albums, photos, likes and positions, stored or in streams."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from freshet_benchmarks.social import FORUMS_PER_USER, Pairs
from freshet_benchmarks.social_columns import Chosen, Column, Degrees, Ints, Numbered, Same, Statements
from freshet_benchmarks.social_vocabulary import (
    ALBUM,
    COMMENT,
    DBPO,
    DBPPROP,
    DC,
    DCTERMS,
    FORUM,
    PHOTO,
    POSITION,
    POST,
    RDF,
    SIOC,
    SIOCT,
    USER,
    VOCABULARY,
)
from freshet_benchmarks.social_words import (
    AGENTS,
    ALBUM_TITLES,
    BROWSERS,
    PLACE_NAMES,
    PLACES,
    TAG_WORDS,
    address,
    choose_words,
    degrees,
    sentences,
)

SENT_FROM_PHONE = 0.4


def post_statements(
    random: np.random.Generator, posts: Ints, posters: Ints, hashtags: Pairs, created: Column
) -> Iterator[Statements]:
    """Posts, each in the first forum of its maker."""
    about, named = np.arange(posts.size), Numbered(f"<{POST}", posts)
    yield Statements(named, RDF + "type", Same(f"<{VOCABULARY}Post>", posts.size), about)
    yield Statements(named, RDF + "type", Same(f"<{SIOC}Post>", posts.size), about)
    yield Statements(named, DCTERMS + "title", Same('"null"', posts.size), about)
    yield from sending_statements(random, named, posters, created)
    yield Statements(named, SIOC + "content", sentences(random, posts), about)
    yield Statements(Numbered(f"<{FORUM}", posters * FORUMS_PER_USER), SIOC + "container_of", named, about)
    yield Statements(Numbered(f"<{USER}", posters), SIOC + "creator_of", named, about)
    tagged, tags = hashtags
    rows = posts.searchsorted(tagged)
    yield Statements(Numbered(f"<{POST}", tagged), VOCABULARY + "hashtag", Chosen(TAG_WORDS, tags), rows)


def comment_statements(
    random: np.random.Generator, comments: Ints, commented: Ints, commenters: Ints, created: Column
) -> Iterator[Statements]:
    """Comments on posts."""
    about, named = np.arange(comments.size), Numbered(f"<{COMMENT}", comments)
    posts = Numbered(f"<{POST}", commented)
    yield Statements(named, RDF + "type", Same(f"<{VOCABULARY}Comment>", comments.size), about)
    yield Statements(named, RDF + "type", Same(f"<{SIOC}Item>", comments.size), about)
    yield from sending_statements(random, named, commenters, created)
    yield Statements(named, SIOC + "content", sentences(random, comments), about)
    yield Statements(named, SIOC + "reply_of", posts, about)
    yield Statements(posts, SIOC + "container_of", named, about)
    yield Statements(Numbered(f"<{USER}", commenters), SIOC + "creator_of", named, about)


def album_statements(albums: Ints, owners: Ints, countries: Ints, created: Column) -> Iterator[Statements]:
    """Albums, which are called after a country."""
    about, named = np.arange(albums.size), Numbered(f"<{ALBUM}", albums)
    yield Statements(named, RDF + "type", Same(f"<{SIOCT}ImageGallery>", albums.size), about)
    yield Statements(named, DCTERMS + "title", Chosen(ALBUM_TITLES, countries), about)
    yield Statements(named, DC + "created", created, about)
    yield Statements(Numbered(f"<{USER}", owners), SIOC + "creator_of", named, about)


def photo_statements(
    random: np.random.Generator,
    photos: Ints,
    albums: Ints,
    photographers: Ints,
    user_tags: Pairs,
    created: Column,
) -> Iterator[Statements]:
    """Photos, where they were taken, and who is on them."""
    about, named = np.arange(photos.size), Numbered(f"<{PHOTO}", photos)
    yield Statements(named, RDF + "type", Same(f"<{VOCABULARY}Photo>", photos.size), about)
    yield Statements(named, RDF + "type", Same(f"<{SIOC}Item>", photos.size), about)
    places = random.integers(0, PLACES, photos.size)
    yield Statements(named, DBPO + "location", Chosen(PLACE_NAMES, places), about)
    for predicate, most in (("latd", 60), ("longd", 170)):
        yield Statements(named, DBPPROP + predicate, _where(places, most), about)
    yield from sending_statements(random, named, photographers, created)
    yield Statements(Numbered(f"<{ALBUM}", albums), SIOC + "container_of", named, about)
    tagged, users = user_tags
    rows = photos.searchsorted(tagged)
    yield Statements(Numbered(f"<{PHOTO}", tagged), VOCABULARY + "usertag", Numbered(f"<{USER}", users), rows)


def like_statements(likes: Pairs, liked: str) -> Iterator[Statements]:
    """Who likes what: pairs of an item and a user."""
    items, users = likes
    about = np.arange(items.size)
    yield Statements(Numbered(f"<{USER}", users), VOCABULARY + "like", Numbered(f"<{liked}", items), about)


def position_statements(
    random: np.random.Generator, positions: Ints, tracked: Ints, created: Column
) -> Iterator[Statements]:
    """Where users are."""
    about, named = np.arange(positions.size), Numbered(f"<{POSITION}", positions)
    yield Statements(Numbered(f"<{USER}", tracked), VOCABULARY + "trackedAt", named, about)
    yield Statements(named, DBPPROP + "latd", degrees(random, positions.size, 60), about)
    yield Statements(named, DBPPROP + "longd", degrees(random, positions.size, 170), about)
    yield Statements(named, VOCABULARY + "trackedTime", created, about)
    yield Statements(named, VOCABULARY + "trackedLocation", Chosen(PLACE_NAMES, tracked % PLACES), about)


def sending_statements(
    random: np.random.Generator, things: Numbered, users: Ints, created: Column
) -> Iterator[Statements]:
    """When, from where and with what users sent something."""
    about = np.arange(users.size)
    yield Statements(things, DC + "created", created, about)
    yield Statements(things, VOCABULARY + "browser", choose_words(random, BROWSERS, users.size), about)
    yield Statements(things, SIOC + "ip_address", address(users), about)
    phones = np.flatnonzero(random.random(users.size) < SENT_FROM_PHONE)
    with_phones = Numbered(things.before, things.numbers[phones])
    yield Statements(with_phones, VOCABULARY + "agent", choose_words(random, AGENTS, phones.size), phones)


def _where(places: Ints, most: int) -> Degrees:
    """The degrees of places: always the same for one."""
    return Degrees((places * 7_368_787 + 17) % (2 * most * 10**6) - most * 10**6)
