"""What the people of a generated network are called, where they live, and what they write."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa

from freshet_benchmarks.social import COUNTRIES, INTERESTS, OTHER_COUNTRIES, TAGS
from freshet_benchmarks.social_columns import (
    Chosen,
    Degrees,
    Ints,
    Moments,
    Texts,
    Words,
    joined,
    string_literals,
    text,
    typed,
)
from freshet_benchmarks.social_vocabulary import DBP, XSD

ADDRESSES = 1 << 16
PLACES = 2_000
FIRST_SECONDS = 1_264_982_400  # 1 February 2010
SPAN_SECONDS = 10 * 86_400

_COUNTRY_NAMES = pa.array([*COUNTRIES, *OTHER_COUNTRIES])
_SENTENCE = (
    ("river", "concert", "album", "morning", "harbour", "record", "guitar", "city"),
    ("of the", "in the", "from a", "near that", "without a", "like this"),
    ("summer", "winter", "night", "station", "market", "bridge", "garden", "island"),
    ("was sold", "came back", "made them laugh", "is still played", "fell asleep", "was never heard again"),
)


def _strings(*texts: str) -> Words:
    return Words(string_literals(pa.array(texts)))


FIRST_NAMES = _strings("Ada", "Bela", "Chen", "Dara", "Emil", "Fatima", "Goran", "Hana", "Ivo", "Jun", "Kofi", "Lena")
LAST_NAMES = _strings("Abe", "Brandt", "Costa", "Dube", "Eriksen", "Fofana", "Gupta", "Hill", "Ito", "Jansen", "Kaya")
GENDERS = _strings("female", "male")
BROWSERS = _strings("Firefox", "Chrome", "Safari", "Opera", "Internet Explorer")
AGENTS = _strings("iPhone", "Nokia", "HTC", "BlackBerry")
STATUSES = _strings("Single", "Engaged", "Married", "In a relationship")
UNIVERSITIES = Words(string_literals(joined("University ", text(np.arange(700)))))
COMPANIES = Words(string_literals(joined("Company ", text(np.arange(500)))))
YEARS = Words(typed(text(np.arange(1950, 2010)), XSD + "date"))
TAG_WORDS = Words(string_literals(joined("tag", text(np.arange(TAGS)))))
INTEREST_WORDS = Words(string_literals(joined("singer", text(np.arange(INTERESTS)))))
PLACE_NAMES = Words(string_literals(joined("Place ", text(np.arange(PLACES)))))
COUNTRY_IRIS = Words(joined(f"<{DBP}", _COUNTRY_NAMES, ">"))
COUNTRY_NAMES = Words(string_literals(_COUNTRY_NAMES))
ALBUM_TITLES = Words(string_literals(joined("Album ", _COUNTRY_NAMES)))


@cache
def addresses() -> Words:
    """Internet addresses; a user always has the same."""
    numbers = np.arange(ADDRESSES)
    return Words(string_literals(joined("10.20.", text(numbers >> 8), ".", text(numbers & 255))))


@cache
def days() -> Words:
    """The days on which people are born."""
    dates = pa.array(np.arange(-10_000, 10_000, dtype=np.int32)).cast(pa.date32()).cast(pa.string())
    return Words(typed(dates, XSD + "date"))


def choose_words(random: np.random.Generator, words: Words, count: int) -> Chosen:
    """A number of words by chance."""
    return Chosen(words, random.integers(0, len(words.keys), count))


def address(users: Ints) -> Chosen:
    """The addresses of users."""
    return Chosen(addresses(), users % ADDRESSES)


def degrees(random: np.random.Generator, count: int, most: int) -> Degrees:
    """A number of random degrees."""
    return Degrees(random.integers(-most * 10**6, most * 10**6, count))


def moments(random: np.random.Generator, count: int) -> Moments:
    """Moments of the days that are generated."""
    return Moments(FIRST_SECONDS + random.integers(0, SPAN_SECONDS, count))


def sentences(random: np.random.Generator, numbers: Ints) -> Texts:
    """Texts that differ from one another."""
    words: list[pa.Array | str] = []
    for choice in _SENTENCE * 2:
        words += [pa.array(choice).take(pa.array(random.integers(0, len(choice), numbers.size))), " "]
    return Texts(string_literals(joined(*words, text(numbers))))
