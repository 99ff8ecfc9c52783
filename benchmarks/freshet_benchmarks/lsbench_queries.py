"""The continuous queries L1 to L6 of Wukong+S over LSBench, in RSP-QL: windows of a second, every 100 ms.

Which patterns are asked of which stream, and which of the stored graph, is as the plans say that the paper's authors
published with the queries: what is posted, tagged and liked is asked of the streams; accounts, friends and
subscriptions are stored.
"""

from __future__ import annotations

from freshet_benchmarks.social_vocabulary import (
    FOAF,
    GPS_STREAM,
    PERSON,
    PHOTO_LIKE_STREAM,
    PHOTO_STREAM,
    POST_LIKE_STREAM,
    POST_STREAM,
    SIOC,
    USER,
    VOCABULARY,
)

RANGE_MS, STEP_MS = 1000, 100

_PREFIXES = f"""\
PREFIX foaf: <{FOAF}>
PREFIX sioc: <{SIOC}>
PREFIX sib: <{VOCABULARY}>
"""

# The window that each query has on each stream, and its form; `{user}` and `{person}` stand for one user.
_QUERIES = {
    # What a user does.
    "L1": (
        "?p ?o",
        {"posts": POST_STREAM, "gps": GPS_STREAM},
        "{ WINDOW :posts { {user} ?p ?o } } UNION { WINDOW :gps { {user} ?p ?o } }",
    ),
    # What a person posts.
    "L2": (
        "?post",
        {"posts": POST_STREAM},
        "?user sioc:account_of {person} . WINDOW :posts { ?user sioc:creator_of ?post }",
    ),
    # What those post whom a person knows.
    "L3": (
        "?friend ?post",
        {"posts": POST_STREAM},
        "?user sioc:account_of {person} . ?user foaf:knows ?friend . WINDOW :posts { ?friend sioc:creator_of ?post }",
    ),
    # Posts of one user with a common tag.
    "L4": (
        "?post1 ?post2 ?tag",
        {"posts": POST_STREAM},
        """WINDOW :posts { ?post1 sib:hashtag ?tag . ?user sioc:creator_of ?post1 .
  ?user sioc:creator_of ?post2 . ?post2 sib:hashtag ?tag . FILTER (?post1 != ?post2) }""",
    ),
    # Photos of users that are liked by those whom they know.
    "L5": (
        "?friend1 ?friend2 ?photo",
        {"photos": PHOTO_STREAM, "likes": PHOTO_LIKE_STREAM},
        """WINDOW :photos { ?photo sib:usertag ?friend1 } ?friend1 foaf:knows ?friend2 .
  WINDOW :likes { ?friend2 sib:like ?photo }""",
    ),
    # Posts in the channels of users that are liked by those whom they know.
    "L6": (
        "?user ?friend ?post ?channel",
        {"posts": POST_STREAM, "likes": POST_LIKE_STREAM},
        """WINDOW :posts { ?channel sioc:container_of ?post } ?user sioc:subscriber_of ?channel .
  ?user foaf:knows ?friend . WINDOW :likes { ?friend sib:like ?post }""",
    ),
}
NAMES = tuple(_QUERIES)
SELECTIVE = ("L1", "L2", "L3")  # begin at one user


def continuous_query(name: str, user: int, registered: str | None = None) -> str:
    """A query by its name, where it needs one about a user, to be registered under its own name or another."""
    variables, windows, pattern = _QUERIES[name]
    declared = "\n".join(
        f"FROM NAMED WINDOW :{window} ON <{stream}> [RANGE PT{RANGE_MS / 1000:g}S STEP PT{STEP_MS / 1000:g}S]"
        for window, stream in windows.items()
    )
    asked = pattern.replace("{user}", f"<{USER}{user}>").replace("{person}", f"<{PERSON}{user}>")
    return f"""{_PREFIXES}PREFIX : <urn:lsbench:>
REGISTER RSTREAM :{registered or name} AS SELECT {variables}
{declared}
WHERE {{ {asked} }}"""


def streams_of(name: str) -> tuple[str, ...]:
    """The streams that a query reads."""
    return tuple(_QUERIES[name][1].values())
