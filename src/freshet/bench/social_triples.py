"""Writes a social network as N-Triples. Lines are put together by pyarrow from columns: a million take seconds.

What is said about one thing stands together, as in the files of LSBench.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from freshet.bench.social import (
    COUNTRIES,
    FORUMS_PER_USER,
    OTHER_COUNTRIES,
    TAGS,
    TRIPLES_PER_USER,
    Ints,
    SocialNetwork,
    make_network,
)

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
FOAF = "http://xmlns.com/foaf/0.1/"
DC = "http://purl.org/dc/elements/1.1/"
DCTERMS = "http://purl.org/dc/terms/"
SIOC = "http://rdfs.org/sioc/ns#"
SIOCT = "http://rdfs.org/sioc/type#"
DBP = "http://dbpedia.org/resource/"
DBPO = "http://dbpedia.org/ontology/"
DBPPROP = "http://dbpedia.org/property/"
XSD = "http://www.w3.org/2001/XMLSchema#"
SIB = "http://www.ins.cwi.nl/sib/"
VOCABULARY = SIB + "vocabulary/"

USER, PERSON = SIB + "user/u", SIB + "person/p"
FORUM, GROUP, MEMBERSHIP = SIB + "forum/fo", SIB + "group/g", SIB + "group/membership/gm"
POST, COMMENT = SIB + "post/po", SIB + "post/comment/c"
ALBUM, PHOTO = SIB + "photoalbum/pa", SIB + "photoalbum/photo/pho"
FRIENDSHIP, POSITION = SIB + "friendship/fr", SIB + "gps/gps"

FIRST_MS = 1_264_982_400_000  # 1 February 2010
SPAN_MS = 10 * 86_400_000
CHUNK = 200_000
PLACES = 2_000

_FIRST_NAMES = ("Ada", "Bela", "Chen", "Dara", "Emil", "Fatima", "Goran", "Hana", "Ivo", "Jun", "Kofi", "Lena", "Mei")
_LAST_NAMES = ("Abe", "Brandt", "Costa", "Dube", "Eriksen", "Fofana", "Gupta", "Hill", "Ito", "Jansen", "Kaya", "Li")
_BROWSERS = ("Firefox", "Chrome", "Safari", "Opera", "Internet Explorer")
_AGENTS = ("iPhone", "Nokia", "HTC", "BlackBerry")
_STATUSES = ("Single", "Engaged", "Married", "In a relationship")
_WORDS = ("river", "concert", "album", "morning", "harbour", "record", "guitar", "city", "summer", "winter", "night")

# Statements that are about their object: who made it, and what it is in.
_SAID_WITH_OBJECT = (SIOC + "creator_of", SIOC + "container_of", VOCABULARY + "trackedAt")

Statement = tuple[pa.Array, str, pa.Array | str]


def write_social(path: Path, *, triples: int = 1_000_000, seed: int = 11) -> int:
    """Write a network of about so many triples as N-Triples; gives the number of lines.

    From 700,000 on it has the users that `social_queries` name.
    """
    with path.open("wb") as file:
        return write_network(file, make_network(max(2, round(triples / TRIPLES_PER_USER)), seed=seed))


def write_network(file: BinaryIO, network: SocialNetwork, *, times_liked: int = 1) -> int:
    """Write a network as N-Triples; gives the number of lines.

    No line is written twice, but likes where they are asked for `times_liked` times: LSBench's streams have each about
    five times.
    """
    random = np.random.default_rng([network.seed, 1])
    written = 0
    for part in (_people, _users, _friendships, _groups, _posts, _comments, _albums, _photos, _positions):
        written += _write(file, part(network, random))
    for _ in range(times_liked):
        written += _write(file, _likes(network))
    return written


def _write(file: BinaryIO, statements: Iterator[Statement]) -> int:
    lines: list[pa.Array] = []
    things: list[pa.Array] = []
    for subjects, predicate, objects in statements:
        lines.append(_joined(subjects, f" <{predicate}> ", objects, " .\n").cast(pa.large_string()))
        thing = objects if predicate in _SAID_WITH_OBJECT and not isinstance(objects, str) else subjects
        things.append(thing.cast(pa.large_string()))
    order = pc.sort_indices(pa.chunked_array(things))
    every = pa.chunked_array(lines)
    for start in range(0, len(order), CHUNK):
        file.write(_bytes(every.take(order.slice(start, CHUNK)).combine_chunks()))
    return len(order)


def _people(network: SocialNetwork, random: np.random.Generator) -> Iterator[Statement]:
    numbers = np.arange(network.users)
    people = _iris(PERSON, numbers)
    names = _chosen(random, _FIRST_NAMES, network.users)
    yield people, RDF + "type", f"<{FOAF}Person>"
    yield people, FOAF + "firstName", _plain(names)
    yield people, FOAF + "lastName", _plain(_chosen(random, _LAST_NAMES, network.users))
    yield people, FOAF + "based_near", _countries(network)
    yield (
        people,
        FOAF + "based_near",
        _plain(_country_names(network)),
    )
    yield people, DBPPROP + "latd", _degrees(random, network.users, 60)
    yield people, DBPPROP + "longd", _degrees(random, network.users, 170)
    yield people, VOCABULARY + "browser", _plain(_chosen(random, _BROWSERS, network.users))
    yield people, SIOC + "ip_address", _addresses(numbers)
    for share, predicate, objects in (
        (0.81, FOAF + "organization", _plain(_joined("University ", _text(numbers % 97)))),
        (0.65, VOCABULARY + "class_year", _typed(_text(1960 + numbers % 45), XSD + "date")),
        (0.79, FOAF + "gender", _plain(_chosen(random, ("female", "male"), network.users))),
        (0.81, FOAF + "birthday", _days(random, network.users)),
        (0.80, SIOC + "email", _plain(_joined(names, _text(numbers), "@example.org"))),
        (0.80, VOCABULARY + "workAt", _plain(_joined("Company ", _text(numbers % 211)))),
        (0.80, VOCABULARY + "workFrom", _typed(_text(1970 + numbers % 40), XSD + "date")),
    ):
        rows = pa.array(np.flatnonzero(random.random(network.users) < share))
        yield people.take(rows), predicate, objects.take(rows)


def _users(network: SocialNetwork, random: np.random.Generator) -> Iterator[Statement]:
    numbers = np.arange(network.users)
    users = _iris(USER, numbers)
    yield users, RDF + "type", f"<{VOCABULARY}User>"
    yield users, RDF + "type", f"<{SIOC}user>"
    yield users, SIOC + "account_of", _iris(PERSON, numbers)
    # LSBench's generator says this of persons only, where query 6, which asks for users, has no answers.
    yield users, FOAF + "based_near", _countries(network)
    yield users, DC + "date", _moments(random, network.users)
    for forum in range(FORUMS_PER_USER):
        forums = _iris(FORUM, numbers * FORUMS_PER_USER + forum)
        yield users, SIOC + "moderator_of", forums
        yield users, SIOC + "subscriber_of", forums
    single = np.flatnonzero(random.random(network.users) < 0.48)
    yield _iris(USER, single), VOCABULARY + "status", _plain(_chosen(random, _STATUSES, single.size))
    yield _iris(USER, network.interests.left), VOCABULARY + "interest", _tags(network.interests.right)
    yield _iris(USER, network.knows.left), FOAF + "knows", _iris(USER, network.knows.right)


def _friendships(network: SocialNetwork, random: np.random.Generator) -> Iterator[Statement]:
    left, right = network.friendships
    friendships = _iris(FRIENDSHIP, np.arange(left.size))
    for member in (left, right):
        yield friendships, VOCABULARY + "memb", _iris(USER, member)
    yield friendships, VOCABULARY + "initiator", _iris(USER, np.where(random.random(left.size) < 0.5, left, right))
    yield friendships, VOCABULARY + "requested", _moments(random, left.size)
    yield friendships, VOCABULARY + "approved", _moments(random, left.size)


def _groups(network: SocialNetwork, random: np.random.Generator) -> Iterator[Statement]:
    numbers = np.arange(network.group_founders.size)
    groups = _iris(GROUP, numbers)
    yield groups, RDF + "type", f"<{VOCABULARY}Group>"
    yield groups, RDF + "type", f"<{SIOC}Usergroup>"
    yield groups, SIOC + "name", _plain(_joined("Friends of ", _text(numbers)))
    yield groups, DC + "created", _moments(random, numbers.size)
    yield groups, VOCABULARY + "tag", _tags(numbers % TAGS)
    yield groups, SIOC + "subscriber_of", _iris(FORUM, network.users * FORUMS_PER_USER + numbers)
    yield _iris(USER, network.group_founders), SIOC + "creator_of", groups
    group, user = network.members
    memberships = _iris(MEMBERSHIP, np.arange(group.size))
    yield _iris(GROUP, group), SIOC + "has_member", _iris(USER, user)
    yield memberships, VOCABULARY + "group_of_membership", _iris(GROUP, group)
    yield memberships, VOCABULARY + "member_of_membership", _iris(USER, user)
    yield memberships, VOCABULARY + "added", _moments(random, group.size)


def _posts(network: SocialNetwork, random: np.random.Generator) -> Iterator[Statement]:
    numbers = np.arange(network.posters.size)
    posts = _iris(POST, numbers)
    forums = network.posters * FORUMS_PER_USER + random.integers(0, FORUMS_PER_USER, numbers.size)
    yield posts, RDF + "type", f"<{VOCABULARY}Post>"
    yield posts, RDF + "type", f"<{SIOC}Post>"
    yield posts, DCTERMS + "title", _plain(_joined("Post ", _text(numbers)))
    yield from _sent(random, posts, network.posters)
    yield posts, SIOC + "content", _sentences(random, numbers)
    yield _iris(FORUM, forums), SIOC + "container_of", posts
    yield _iris(USER, network.posters), SIOC + "creator_of", posts
    yield _iris(POST, network.hashtags.left), VOCABULARY + "hashtag", _tags(network.hashtags.right)


def _comments(network: SocialNetwork, random: np.random.Generator) -> Iterator[Statement]:
    numbers = np.arange(network.commented.size)
    comments, posts = _iris(COMMENT, numbers), _iris(POST, network.commented)
    yield comments, RDF + "type", f"<{VOCABULARY}Comment>"
    yield comments, RDF + "type", f"<{SIOC}Item>"
    yield from _sent(random, comments, network.commenters)
    yield comments, SIOC + "content", _sentences(random, numbers)
    yield comments, SIOC + "reply_of", posts
    yield posts, SIOC + "container_of", comments
    yield _iris(USER, network.commenters), SIOC + "creator_of", comments


def _albums(network: SocialNetwork, random: np.random.Generator) -> Iterator[Statement]:
    numbers = np.arange(network.album_owners.size)
    albums = _iris(ALBUM, numbers)
    yield albums, RDF + "type", f"<{SIOCT}ImageGallery>"
    yield albums, DCTERMS + "title", _plain(_joined("Album ", _text(numbers)))
    yield albums, DC + "created", _moments(random, numbers.size)
    yield _iris(USER, network.album_owners), SIOC + "creator_of", albums


def _photos(network: SocialNetwork, random: np.random.Generator) -> Iterator[Statement]:
    numbers = np.arange(network.photo_albums.size)
    photos = _iris(PHOTO, numbers)
    yield photos, RDF + "type", f"<{VOCABULARY}Photo>"
    yield photos, RDF + "type", f"<{SIOC}Item>"
    places = random.integers(0, PLACES, numbers.size)
    yield photos, DBPO + "location", _plain(_joined("Place ", _text(places)))
    yield photos, DBPPROP + "latd", _degrees(random, PLACES, 60).take(pa.array(places))
    yield photos, DBPPROP + "longd", _degrees(random, PLACES, 170).take(pa.array(places))
    yield from _sent(random, photos, network.album_owners[network.photo_albums])
    yield _iris(ALBUM, network.photo_albums), SIOC + "container_of", photos
    yield _iris(PHOTO, network.user_tags.left), VOCABULARY + "usertag", _iris(USER, network.user_tags.right)


def _likes(network: SocialNetwork) -> Iterator[Statement]:
    for likes, liked in ((network.post_likes, POST), (network.photo_likes, PHOTO)):
        yield _iris(USER, likes.left), VOCABULARY + "like", _iris(liked, likes.right)


def _positions(network: SocialNetwork, random: np.random.Generator) -> Iterator[Statement]:
    numbers = np.arange(network.trackers.size)
    positions = _iris(POSITION, numbers)
    yield _iris(USER, network.trackers), VOCABULARY + "trackedAt", positions
    yield positions, DBPPROP + "latd", _degrees(random, numbers.size, 60)
    yield positions, DBPPROP + "longd", _degrees(random, numbers.size, 170)
    yield positions, VOCABULARY + "trackedTime", _moments(random, numbers.size)
    yield positions, VOCABULARY + "trackedLocation", _plain(_joined("Place ", _text(numbers % PLACES)))


def _sent(random: np.random.Generator, things: pa.Array, users: Ints) -> Iterator[Statement]:
    """When, from where and with what users sent something."""
    yield things, DC + "created", _moments(random, users.size)
    yield things, VOCABULARY + "browser", _plain(_chosen(random, _BROWSERS, users.size))
    yield things, SIOC + "ip_address", _addresses(users)
    mobile = pa.array(np.flatnonzero(random.random(users.size) < 0.4))
    yield things.take(mobile), VOCABULARY + "agent", _plain(_chosen(random, _AGENTS, len(mobile)))


def _joined(*parts: pa.Array | str) -> pa.Array:
    return pc.binary_join_element_wise(*parts, "")


def _text(numbers: Ints) -> pa.Array:
    return pa.array(numbers).cast(pa.string())


def _iris(start: str, numbers: Ints) -> pa.Array:
    return _joined("<" + start, _text(numbers), ">")


def _plain(texts: pa.Array) -> pa.Array:
    return _joined('"', texts, '"')


def _typed(texts: pa.Array, datatype: str) -> pa.Array:
    return _joined('"', texts, f'"^^<{datatype}>')


def _tags(numbers: Ints) -> pa.Array:
    return _plain(_joined("tag", _text(numbers)))


def _countries(network: SocialNetwork) -> pa.Array:
    return _joined("<" + DBP, _country_names(network), ">")


def _country_names(network: SocialNetwork) -> pa.Array:
    return pa.array([*COUNTRIES, *OTHER_COUNTRIES]).take(pa.array(network.countries))


def _chosen(random: np.random.Generator, texts: tuple[str, ...], count: int) -> pa.Array:
    return pa.array(texts).take(pa.array(random.integers(0, len(texts), count)))


def _sentences(random: np.random.Generator, numbers: Ints) -> pa.Array:
    """Texts that differ from one another."""
    words: list[pa.Array | str] = []
    for _ in range(8):
        words += [_chosen(random, _WORDS, numbers.size), " "]
    return _plain(_joined(*words, _text(numbers)))


def _degrees(random: np.random.Generator, count: int, most: int) -> pa.Array:
    return _typed(pa.array(random.uniform(-most, most, count)).cast(pa.string()), XSD + "double")


def _moments(random: np.random.Generator, count: int) -> pa.Array:
    times = FIRST_MS // 1000 + random.integers(0, SPAN_MS // 1000, count)
    return _typed(pc.strftime(pa.array(times).cast(pa.timestamp("s")), "%Y-%m-%dT%H:%M:%SZ"), XSD + "dateTime")


def _days(random: np.random.Generator, count: int) -> pa.Array:
    days = random.integers(-10_000, 10_000, count).astype(np.int32)
    return _typed(pa.array(days).cast(pa.date32()).cast(pa.string()), XSD + "date")


def _addresses(numbers: Ints) -> pa.Array:
    high, middle, low = (_text(numbers >> bits & 255) for bits in (16, 8, 0))
    return _plain(_joined("10.", high, ".", middle, ".", low))


def _bytes(lines: pa.Array) -> pa.Buffer:
    """The text of all lines, which lies in one piece behind the array."""
    return lines.buffers()[2]
