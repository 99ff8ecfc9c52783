"""LSBench's published queries, and the part of its sample that they are answered over: some people and what they do.

The person that the queries name, her friends and some others; their posts and photos and who of them likes what, in
event time: that of the item that a statement is about. Likes have no time; they come a while after the item.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import islice
from typing import NamedTuple

import pyoxigraph as ox

from shared_data import ROOT

FOLDER = ROOT.parent / "shared/data/lsbench"
PAGES = {"cqels": "qe_cqels.wiki", "csparql": "qe_csparql.wiki"}
SAMPLE = "sample-1000users"

SIB = "http://www.ins.cwi.nl/sib/"
LIKE = f"{SIB}vocabulary/like"
KNOWS = "http://xmlns.com/foaf/0.1/knows"
CREATED = "http://purl.org/dc/elements/1.1/created"
SIOC = "http://rdfs.org/sioc/ns#"
ASKED_FOR = f"{SIB}user/u984"
FIRST_MS = 1_264_982_400_000  # 1 February 2010
DAY_MS = 86_400_000
LIKED_AFTER_MS = DAY_MS * 6 // 5  # when a day is a second, in the second after the next
MOST_LINES = 60_000  # of a stream's file: more than the excerpts reach


class Excerpt(NamedTuple):
    """How many people, how many days from the first on, and how many recorded milliseconds are one."""

    people: int
    days: float
    speed: int


USUAL = Excerpt(60, 6, 86_400)  # a day is a second: windows of a second hold what happens in a day
EXCERPTS = {
    # Fifteen thousand reports of what is found last, since the window closes every millisecond: little is enough.
    ("csparql", 4): USUAL._replace(days=3),
}


@dataclass(frozen=True)
class World:
    """Timed N-Triples by stream, and the stored graph as N-Triples."""

    streams: Mapping[str, bytes]
    stored: bytes


@dataclass(frozen=True)
class Recording:
    """A stream's statements, each with its time in recorded milliseconds and who made what it is about."""

    statements: tuple[tuple[int, str, ox.Triple], ...]


def queries(dialect: str) -> list[str]:
    """Q1 to Q6 as the wiki has them: what stands between triple braces that have lines of their own."""
    text = (FOLDER / "wiki" / PAGES[dialect]).read_text(encoding="utf-8")
    return re.findall(r"^\{\{\{\n(.*?)^\}\}\}", text, re.DOTALL | re.MULTILINE)


def world_of(dialect: str, number: int, streams: Iterable[str]) -> World:
    """What query `number` reads of the streams it names, and what is stored."""
    excerpt = EXCERPTS.get((dialect, number), USUAL)
    people = chosen_people(excerpt.people)
    return World(
        {iri: _replayed(recording(iri.rpartition("/")[2]), people, excerpt) for iri in streams}, _stored(people)
    )


def _replayed(recorded: Recording, people: frozenset[str], excerpt: Excerpt) -> bytes:
    end_ms = excerpt.days * DAY_MS
    kept = [
        (time_ms // excerpt.speed, triple)
        for time_ms, owner, triple in recorded.statements
        if time_ms < end_ms and owner in people and (triple.predicate.value != LIKE or triple.subject.value in people)
    ]
    return "".join(
        f"{time_ms}\t{triple.subject} {triple.predicate} {kept_form(triple.object)} .\n" for time_ms, triple in kept
    ).encode()


@cache
def kept_form(term: ox.NamedNode | ox.Literal) -> ox.NamedNode | ox.Literal:
    """A number as pyoxigraph writes it, which the reference needs: `52` for `52.0`."""
    store = ox.Store()
    store.add(ox.Quad(ox.NamedNode("urn:s"), ox.NamedNode("urn:p"), term))
    return next(iter(store)).object


def _stored(people: frozenset[str]) -> bytes:
    kept = (KNOWS, f"{SIOC}account_of", f"{SIOC}subscriber_of")
    lines = [
        f"{triple} .\n"
        for triple in statements("static")
        if triple.predicate.value in kept
        and triple.subject.value in people
        and (triple.predicate.value != KNOWS or triple.object.value in people)
    ]
    return "".join(lines).encode()


@cache
def chosen_people(count: int) -> frozenset[str]:
    """The user that the queries name, those she knows, and others."""
    known = [triple for triple in statements("static") if triple.predicate.value == KNOWS]
    first = dict.fromkeys([ASKED_FOR, *(one.object.value for one in known if one.subject.value == ASKED_FOR)])
    return frozenset(list(first | dict.fromkeys(one.subject.value for one in known))[:count])


@cache
def statements(name: str) -> list[ox.Triple]:
    """What a file of the sample says."""
    [path] = (FOLDER / SAMPLE).glob(f"{name}*.ttl.gz")
    with gzip.open(path) as file:
        lines = file if name == "static" else islice(file, MOST_LINES)
        return [quad.triple for quad in ox.parse(b"".join(lines), ox.RdfFormat.TURTLE)]


@cache
def recording(name: str) -> Recording:
    """A stream in the order of its times, which the sample's order follows but for a few comments."""
    items = statements(name.removeprefix("liked"))
    times = {one.subject: _milliseconds(one.object.value) for one in items if one.predicate.value == CREATED}
    owners = {one.object: one.subject.value for one in items if one.predicate.value == f"{SIOC}creator_of"}
    for one in items:  # a photo is its album's owner's
        if one.predicate.value == f"{SIOC}container_of" and one.subject in owners:
            owners.setdefault(one.object, owners[one.subject])
    timed = []
    for triple in statements(name):
        about = max((triple.subject, triple.object), key=lambda term: times.get(term, -1))
        if about in times:  # else a like of what comes after the lines read
            later_ms = LIKED_AFTER_MS if triple.predicate.value == LIKE else 0
            timed.append((times[about] + later_ms, owners[about], triple))
    return Recording(tuple(sorted(timed, key=lambda row: row[0])))


def _milliseconds(moment: str) -> int:
    return int(datetime.fromisoformat(moment).timestamp() * 1000) - FIRST_MS
