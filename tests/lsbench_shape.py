"""How many of what everything has in a social network of LSBench's kind, in its sample or in a generated one."""

from __future__ import annotations

import gzip
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

Statement = tuple[str, str, str]

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


class Relation(NamedTuple):
    """Things of a kind, and how many of another they have; where there are `inverse` ones, how many have them."""

    predicate: str
    subject: str
    object: str
    inverse: bool = False


RELATIONS = {
    "friends of a user": Relation("knows", "u", "u"),
    "posts of a user": Relation("creator_of", "u", "po"),
    "albums of a user": Relation("creator_of", "u", "pa"),
    "interests of a user": Relation("interest", "u", '"'),
    "members of a group": Relation("has_member", "g", "u"),
    "hashtags of a post": Relation("hashtag", "po", '"'),
    "likes of a post": Relation("like", "u", "po", inverse=True),
    "likes of a photo": Relation("like", "u", "pho", inverse=True),
    "posts that a user likes": Relation("like", "u", "po"),
    "photos that a user likes": Relation("like", "u", "pho"),
    "users on a photo": Relation("usertag", "pho", "u"),
    "photos of a user": Relation("usertag", "pho", "u", inverse=True),
    "photos of an album": Relation("container_of", "pa", "pho"),
}


@dataclass(frozen=True)
class Shape:
    """The statements of a network, all names short: `u12` for a user, `po3` for a post."""

    statements: frozenset[Statement]

    def degrees(self, relation: Relation) -> np.ndarray:
        """How many each thing has; things that have none count."""
        side, kind = ("object", relation.object) if relation.inverse else ("subject", relation.subject)
        counts = Counter(dict.fromkeys(self.things[kind], 0))
        for subject, object_ in self.pairs(relation):
            counts[object_ if side == "object" else subject] += 1
        return np.array(list(counts.values()))

    def pairs(self, relation: Relation) -> list[tuple[str, str]]:
        """Who has what."""
        return [
            (subject, object_)
            for subject, object_ in self.by_predicate[relation.predicate]
            if kind_of(subject) == relation.subject and kind_of(object_) == relation.object
        ]

    @cached_property
    def by_predicate(self) -> dict[str, list[tuple[str, str]]]:
        found = defaultdict(list)
        for subject, predicate, object_ in self.statements:
            found[predicate].append((subject, object_))
        return found

    @cached_property
    def things(self) -> dict[str, set[str]]:
        found = defaultdict(set)
        for subject, predicate, object_ in self.statements:
            found[kind_of(subject)].add(subject)
            if predicate in ("creator_of", "container_of"):
                found[kind_of(object_)].add(object_)
        return found

    def groups(self, relation: Relation) -> dict[str, set[str]]:
        """What each has."""
        found = defaultdict(set)
        for subject, object_ in self.pairs(relation._replace(inverse=False)):
            if relation.inverse:
                subject, object_ = object_, subject
            found[subject].add(object_)
        return found

    def clustering(self) -> float:
        """How often two friends of a user know each other."""
        knows = self.groups(RELATIONS["friends of a user"])
        pairs = [(one, other) for friends in knows.values() for one in friends for other in friends if one < other]
        return sum(other in knows[one] for one, other in pairs) / len(pairs)

    def likes_by_friends_of_the_tagged(self) -> float:
        """How often one who is on a photo knows one who likes it: the answers of L5."""
        knows, likes = self.groups(RELATIONS["friends of a user"]), self.groups(RELATIONS["likes of a photo"])
        tags = self.groups(RELATIONS["users on a photo"])
        pairs = [(one, other) for photo, users in tags.items() for one in users for other in likes[photo]]
        return sum(other in knows[one] for one, other in pairs) / len(pairs)

    def tags_in_common(self) -> float:
        """How many hashtags two posts of one user share: the answers of L4."""
        tags, posts = self.groups(RELATIONS["hashtags of a post"]), self.groups(RELATIONS["posts of a user"])
        pairs = [(one, other) for made in posts.values() for one in made for other in made if one < other]
        return sum(len(tags[one] & tags[other]) for one, other in pairs) / len(pairs)


def shape_of(lines: Iterable[str]) -> Shape:
    """The shape of statements, one a line, N-Triples or LSBench's Turtle."""
    return Shape(frozenset(_short(line) for line in lines if line.strip() and not line.startswith("@prefix")))


def shape_of_sample(folder: Path) -> Shape:
    """That of LSBench's sample without its positions, of which it has a part only."""
    paths = [path for path in sorted(folder.glob("*.ttl.gz")) if "gps" not in path.name]
    texts = [gzip.decompress(path.read_bytes()).decode() for path in paths]
    return shape_of(line for text in texts for line in text.split("\n"))


@cache
def kind_of(name: str) -> str:
    """`po` for `po3`; a quotation mark for a literal."""
    return '"' if name.startswith('"') else re.match(r"\D*", name)[0]  # type: ignore[index]


def _short(line: str) -> Statement:
    subject, predicate, object_ = line.rstrip(" .\n").split(" ", 2)
    return _name(subject), "type" if predicate == "a" else _name(predicate), _name(object_)


@cache
def _name(term: str) -> str:
    return term if term.startswith('"') else re.split(r"[:/#]", term.rstrip(">"))[-1]
