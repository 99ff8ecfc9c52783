"""A social network as RDF: N-Triples, or encoded triples, which take no text to make.

What is said about one thing stands together in a file, as in the files of LSBench. Triples are handed over a block of
users after the other, so that memory is bounded whatever the size of the network.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.triples import Triples
from freshet_benchmarks.social import (
    FORUMS_PER_GROUP,
    FORUMS_PER_USER,
    TRIPLES_PER_USER,
    Block,
    SocialNetwork,
    make_network,
)
from freshet_benchmarks.social_columns import (
    Chosen,
    Encoder,
    Ints,
    Numbered,
    Same,
    Statements,
    Texts,
    joined,
    lines,
    string_literals,
    text,
)
from freshet_benchmarks.social_items import (
    album_statements,
    comment_statements,
    like_statements,
    photo_statements,
    post_statements,
)
from freshet_benchmarks.social_vocabulary import (
    DBPPROP,
    DC,
    FOAF,
    FORUM,
    FRIENDSHIP,
    GROUP,
    MEMBERSHIP,
    PERSON,
    PHOTO,
    POST,
    RDF,
    SIOC,
    USER,
    VOCABULARY,
)
from freshet_benchmarks.social_words import (
    BROWSERS,
    COMPANIES,
    COUNTRY_IRIS,
    COUNTRY_NAMES,
    FIRST_NAMES,
    GENDERS,
    INTEREST_WORDS,
    LAST_NAMES,
    STATUSES,
    TAG_WORDS,
    UNIVERSITIES,
    YEARS,
    address,
    choose_words,
    days,
    degrees,
    moments,
)

CHUNK = 200_000
_TOLD = 2  # what random numbers are for: those of this module


def write_social(path: Path, *, triples: int = 1_000_000, seed: int = 11) -> int:
    """Write a network of about this many triples as N-Triples; gives the number of lines.

    From 600,000 on it has the users that `social_queries` name.
    """
    with path.open("wb") as file:
        return write_network(file, network_of(triples, seed=seed))


def network_of(triples: int, *, seed: int = 11) -> SocialNetwork:
    """A network of about this many triples."""
    return make_network(max(2, round(triples / TRIPLES_PER_USER)), seed=seed)


def write_network(file: BinaryIO, network: SocialNetwork) -> int:
    """Write a network as N-Triples; gives the number of lines. None is written twice."""
    written = 0
    for block in network.blocks():
        for statements in sections(network, block):
            written += sum(each.about.size for each in statements)
            for buffer in lines(statements, at_once=CHUNK):
                file.write(buffer)
    return written


def encoded_network(network: SocialNetwork, dictionary: Dictionary) -> Iterator[Triples]:
    """A network as triples of ids, a block at a time. No triple comes twice."""
    encoder = Encoder(dictionary)
    for block in network.blocks():
        statements = [each for section in sections(network, block) for each in section]
        yield encoded(statements, encoder)


def encoded(statements: list[Statements], encoder: Encoder) -> Triples:
    """Statements as triples of ids, in the order in which they are given."""
    count = sum(each.about.size for each in statements)
    columns = Triples(*(np.empty(count, np.int64) for _ in range(3)))
    end = 0
    for subjects, predicate, objects, about in statements:
        rows = slice(end, end + about.size)
        end = rows.stop
        columns.subjects[rows] = subjects.ids(encoder)
        columns.predicates[rows] = encoder.iri(predicate)
        columns.objects[rows] = objects.ids(encoder)
    return columns


def sections(network: SocialNetwork, block: Block) -> Iterator[list[Statements]]:
    """What is said of a block, by the kind of thing it is about."""
    random = np.random.default_rng([network.seed, _TOLD, int(block.users[0])])
    yield list(_people(random, network, block))
    yield list(_users(random, network, block))
    yield list(_friendships(random, block))
    yield list(_groups(random, network, block))
    created = moments(random, block.posts.size)
    yield list(post_statements(random, block.posts, block.posters, block.hashtags, created))
    created = moments(random, block.comments.size)
    yield list(comment_statements(random, block.comments, block.commented, block.commenters, created))
    created, countries = moments(random, block.albums.size), network.countries[block.album_owners]
    yield list(album_statements(block.albums, block.album_owners, countries, created))
    created = moments(random, block.photos.size)
    takers = network.photographers(block.photos)
    yield list(photo_statements(random, block.photos, block.photo_albums, takers, block.user_tags, created))
    for likes, liked in ((block.post_likes, POST), (block.photo_likes, PHOTO)):
        yield list(like_statements(likes, liked))


def _people(random: np.random.Generator, network: SocialNetwork, block: Block) -> Iterator[Statements]:
    numbers, count = block.users, block.users.size
    about, people, countries = np.arange(count), Numbered(f"<{PERSON}", block.users), network.countries[block.users]
    names = choose_words(random, FIRST_NAMES, count)
    yield Statements(people, RDF + "type", Same(f"<{FOAF}Person>", count), about)
    yield Statements(people, FOAF + "firstName", names, about)
    yield Statements(people, FOAF + "lastName", choose_words(random, LAST_NAMES, count), about)
    yield Statements(people, FOAF + "based_near", Chosen(COUNTRY_IRIS, countries), about)
    yield Statements(people, FOAF + "based_near", Chosen(COUNTRY_NAMES, countries), about)
    yield Statements(people, DBPPROP + "latd", degrees(random, count, 60), about)
    yield Statements(people, DBPPROP + "longd", degrees(random, count, 170), about)
    yield Statements(people, VOCABULARY + "browser", choose_words(random, BROWSERS, count), about)
    yield Statements(people, SIOC + "ip_address", address(numbers), about)
    for share, predicate, words in (
        (0.81, FOAF + "organization", UNIVERSITIES),
        (0.65, VOCABULARY + "class_year", YEARS),
        (0.79, FOAF + "gender", GENDERS),
        (0.81, FOAF + "birthday", days()),
        (0.80, VOCABULARY + "workAt", COMPANIES),
        (0.80, VOCABULARY + "workFrom", YEARS),
    ):
        rows = _share(random, share, count)
        yield Statements(Numbered(f"<{PERSON}", numbers[rows]), predicate, choose_words(random, words, rows.size), rows)
    rows = _share(random, 0.80, count)
    mail = Texts(string_literals(joined("mail", text(numbers[rows]), "@example.org")))
    yield Statements(Numbered(f"<{PERSON}", numbers[rows]), SIOC + "email", mail, rows)


def _users(random: np.random.Generator, network: SocialNetwork, block: Block) -> Iterator[Statements]:
    numbers, count, first = block.users, block.users.size, int(block.users[0])
    about, users = np.arange(count), Numbered(f"<{USER}", block.users)
    yield Statements(users, RDF + "type", Same(f"<{VOCABULARY}User>", count), about)
    yield Statements(users, RDF + "type", Same(f"<{SIOC}user>", count), about)
    yield Statements(users, SIOC + "account_of", Numbered(f"<{PERSON}", numbers), about)
    # LSBench's generator says this of persons only, where query S6, which asks for users, has no answers.
    yield Statements(users, FOAF + "based_near", Chosen(COUNTRY_IRIS, network.countries[numbers]), about)
    yield Statements(users, DC + "date", moments(random, count), about)
    for forum in range(FORUMS_PER_USER):
        forums = Numbered(f"<{FORUM}", numbers * FORUMS_PER_USER + forum)
        yield Statements(users, SIOC + "moderator_of", forums, about)
        yield Statements(users, SIOC + "subscriber_of", forums, about)
    rows = _share(random, 0.48, count)
    told = Numbered(f"<{USER}", numbers[rows])
    yield Statements(told, VOCABULARY + "status", choose_words(random, STATUSES, rows.size), rows)
    left, interests = block.interests
    interested = Numbered(f"<{USER}", left)
    yield Statements(interested, VOCABULARY + "interest", Chosen(INTEREST_WORDS, interests), left - first)
    known = slice(*network.friends.firsts[[first, first + count]])
    left = np.repeat(numbers, network.friends.of(numbers))
    friends = Numbered(f"<{USER}", network.friends.friends[known])
    yield Statements(Numbered(f"<{USER}", left), FOAF + "knows", friends, left - first)


def _friendships(random: np.random.Generator, block: Block) -> Iterator[Statements]:
    left, right = block.friendships
    count = left.size
    about = np.arange(count)
    numbers = block.first_friendship + about
    named = Numbered(f"<{FRIENDSHIP}", numbers)
    for member in (left, right):
        yield Statements(named, VOCABULARY + "memb", Numbered(f"<{USER}", member), about)
    initiators = np.where(random.random(count) < 0.5, left, right)
    yield Statements(named, VOCABULARY + "initiator", Numbered(f"<{USER}", initiators), about)
    yield Statements(named, VOCABULARY + "requested", moments(random, count), about)
    yield Statements(named, VOCABULARY + "approved", moments(random, count), about)


def _groups(random: np.random.Generator, network: SocialNetwork, block: Block) -> Iterator[Statements]:
    numbers, count = block.groups, block.groups.size
    about, groups = np.arange(count), Numbered(f"<{GROUP}", block.groups)
    founders = Numbered(f"<{USER}", network.group_founders[numbers])
    yield Statements(groups, RDF + "type", Same(f"<{VOCABULARY}Group>", count), about)
    yield Statements(groups, RDF + "type", Same(f"<{SIOC}Usergroup>", count), about)
    yield Statements(groups, SIOC + "name", Texts(string_literals(joined("Friends of ", text(numbers)))), about)
    yield Statements(groups, DC + "created", moments(random, count), about)
    yield Statements(groups, VOCABULARY + "tag", choose_words(random, TAG_WORDS, count), about)
    yield Statements(founders, SIOC + "creator_of", groups, about)
    for forum in range(FORUMS_PER_GROUP):
        forums = Numbered(f"<{FORUM}", network.users * FORUMS_PER_USER + numbers * FORUMS_PER_GROUP + forum)
        yield Statements(forums, RDF + "type", Same(f"<{SIOC}Forum>", count), about)
        yield Statements(founders, SIOC + "moderator_of", forums, about)
        yield Statements(groups, SIOC + "subscriber_of", forums, about)
    group, user = block.members
    rows = numbers.searchsorted(group)
    first = int(network.member_firsts[numbers[0]]) if count else 0
    memberships = Numbered(f"<{MEMBERSHIP}", first + np.arange(group.size))
    yield Statements(Numbered(f"<{GROUP}", group), SIOC + "has_member", Numbered(f"<{USER}", user), rows)
    yield Statements(memberships, VOCABULARY + "group_of_membership", Numbered(f"<{GROUP}", group), rows)
    yield Statements(memberships, VOCABULARY + "member_of_membership", Numbered(f"<{USER}", user), rows)
    yield Statements(memberships, VOCABULARY + "added", moments(random, group.size), rows)


def _share(random: np.random.Generator, share: float, count: int) -> Ints:
    """A random share of a number of rows, in order."""
    return np.flatnonzero(random.random(count) < share)
