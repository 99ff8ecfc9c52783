"""The queries of table 1 of operator-aware structures in CQELS-QL, and others over the same data.

The paper replaced the benchmarks' time windows by windows of the last n triples, but does not say of how many. Here
windows of observations, posts and photos have 10,000 triples, those of likes 1,000.
"""

from __future__ import annotations

from dataclasses import dataclass

from freshet_benchmarks.social_vocabulary import (
    FOAF,
    PERSON,
    PHOTO_LIKE_STREAM,
    PHOTO_STREAM,
    POST_LIKE_STREAM,
    POST_STREAM,
    SIOC,
    USER,
    VOCABULARY,
)
from freshet_benchmarks.weather import OBSERVATIONS, OM_OWL, WEATHER, WGS84

WINDOWS = {
    OBSERVATIONS: 10_000,
    POST_STREAM: 10_000,
    POST_LIKE_STREAM: 1_000,
    PHOTO_STREAM: 10_000,
    PHOTO_LIKE_STREAM: 1_000,
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A query, the streams that it reads, and the triples a second that the paper reports for CQELS."""

    name: str
    text: str
    streams: tuple[str, ...]
    published: int | None = None

    @property
    def weather(self) -> bool:
        return OBSERVATIONS in self.streams


_WEATHER_PREFIXES = f"""PREFIX om-owl: <{OM_OWL}>
PREFIX weather: <{WEATHER}>
PREFIX wgs84: <{WGS84}>
"""
_SOCIAL_PREFIXES = f"""PREFIX foaf: <{FOAF}>
PREFIX sioc: <{SIOC}>
PREFIX sib: <{VOCABULARY}>
"""


def _observed(kind: str, value: str) -> str:
    """The patterns of one observation of a kind; names come from its value's."""
    return (
        f"?{value}Obs a weather:{kind}Observation . ?{value}Obs om-owl:procedure ?sensor . "
        f"?{value}Obs om-owl:result ?{value}Result . ?{value}Result om-owl:floatValue ?{value} ."
    )


def weather_queries(windows: dict[str, int] = WINDOWS) -> list[Asked]:
    """SRBench's queries that table 1 has, and one with each other operator."""

    def asked(name: str, form: str, published: int | None = None) -> Asked:
        text = form.replace("{STREAM}", f"STREAM <{OBSERVATIONS}> [TRIPLES {windows[OBSERVATIONS]}]")
        return Asked(name, _WEATHER_PREFIXES + text, (OBSERVATIONS,), published)

    place = "?sensor om-owl:processLocation ?place . ?place wgs84:lat ?lat . ?place wgs84:long ?long ."
    temperature, wind = _observed("Temperature", "temperature"), _observed("WindSpeed", "wind")
    return [
        asked(
            "sr_q1",
            "SELECT DISTINCT ?sensor ?rain ?unit WHERE { {STREAM} { "
            + _observed("Rainfall", "rain")
            + " ?rainResult om-owl:uom ?unit } }",
            25_147,
        ),
        asked(
            "sr_q4",
            "SELECT ?sensor (AVG(?wind) AS ?meanWind) (AVG(?temperature) AS ?meanTemperature) "
            f"WHERE {{ {{STREAM}} {{ {temperature} {wind} FILTER (?temperature > 32) }} }} GROUP BY ?sensor",
            20_161,
        ),
        asked(
            "sr_q5",
            "SELECT ?sensor (MIN(?wind) AS ?leastWind) (AVG(?temperature) AS ?meanTemperature) "
            f"WHERE {{ {{STREAM}} {{ ?snowObs a weather:SnowfallObservation . ?snowObs om-owl:procedure ?sensor . "
            f"{temperature} {wind} }} }} GROUP BY ?sensor "
            "HAVING (AVG(?temperature) < 50 && MIN(?wind) > 10)",
            13_966,
        ),
        asked(
            "sr_q8",
            "SELECT ?sensor (MIN(?temperature) AS ?least) (MAX(?temperature) AS ?most) "
            f"WHERE {{ {{STREAM}} {{ {temperature} }} "
            f"{place} FILTER (?lat = 30) }} GROUP BY ?sensor",
            22_278,
        ),
        asked(
            "sr_q10",
            "SELECT DISTINCT ?lat ?long ?alt WHERE { {STREAM} { ?obs a weather:SnowfallObservation . "
            f"?obs om-owl:procedure ?sensor }} {place} ?place wgs84:alt ?alt }}",
            29_463,
        ),
        asked(
            "sr_negation",
            f"SELECT ?sensor ?temperature WHERE {{ {{STREAM}} {{ {temperature} }} MINUS {{ {{STREAM}} {{ "
            "?snowObs a weather:SnowfallObservation . ?snowObs om-owl:procedure ?sensor } } }",
        ),
        asked(
            "sr_union",
            f"SELECT ?sensor ?temperature ?wind WHERE {{ {{ {{STREAM}} {{ {temperature} }} }} "
            f"UNION {{ {{STREAM}} {{ {wind} }} }} }}",
        ),
        asked(
            "sr_optional",
            f"SELECT ?sensor ?temperature ?wind WHERE {{ {{STREAM}} {{ {temperature} }} "
            f"OPTIONAL {{ {{STREAM}} {{ {wind} }} }} }}",
        ),
        asked(
            "sr_sub_select",
            f"SELECT ?sensor ?wind ?mean WHERE {{ {{STREAM}} {{ {wind} }} "
            "{ SELECT ?sensor (AVG(?temperature) AS ?mean) "
            f"WHERE {{ {{STREAM}} {{ {temperature} }} }} GROUP BY ?sensor }} }}",
        ),
        asked(
            "sr_top_k",
            f"SELECT ?sensor ?wind WHERE {{ {{STREAM}} {{ {wind} }} }} ORDER BY DESC(?wind) ?sensor LIMIT 10",
        ),
    ]


def social_queries(user: int, tag: str, windows: dict[str, int] = WINDOWS) -> list[Asked]:
    """LSBench's queries that table 1 has, about a user and a tag, and one with each other operator."""
    names = {
        "{POSTS}": POST_STREAM,
        "{POST_LIKES}": POST_LIKE_STREAM,
        "{PHOTOS}": PHOTO_STREAM,
        "{PHOTO_LIKES}": PHOTO_LIKE_STREAM,
    }

    def asked(name: str, form: str, published: int | None = None) -> Asked:
        text = form.replace("{user}", f"<{USER}{user}>").replace("{person}", f"<{PERSON}{user}>").replace("{tag}", tag)
        for mark, stream in names.items():
            text = text.replace(mark, f"STREAM <{stream}> [TRIPLES {windows[stream]}]")
        return Asked(
            name, _SOCIAL_PREFIXES + text, tuple(stream for mark, stream in names.items() if mark in form), published
        )

    return [
        asked("ls_q1", "SELECT ?p ?o WHERE { {POSTS} { {user} ?p ?o } }", 118_924),
        asked(
            "ls_q2",
            "SELECT ?post WHERE { {POSTS} { ?user sioc:creator_of ?post } ?user sioc:account_of {person} }",
            96_789,
        ),
        asked(
            "ls_q3",
            "SELECT ?friend ?post WHERE { {POSTS} { ?friend sioc:creator_of ?post } "
            "?user foaf:knows ?friend . ?user sioc:account_of {person} }",
            88_647,
        ),
        asked(
            "ls_q4",
            "SELECT ?post1 ?post2 ?tag WHERE { {POSTS} { ?post1 sib:hashtag ?tag . ?user sioc:creator_of ?post1 } "
            "{POSTS} { ?post2 sib:hashtag ?tag . ?user sioc:creator_of ?post2 } FILTER (?post1 != ?post2) }",
            60_467,
        ),
        asked(
            "ls_q5",
            "SELECT ?friend1 ?friend2 ?photo WHERE { {PHOTO_LIKES} { ?friend2 sib:like ?photo } "
            "{PHOTOS} { ?photo sib:usertag ?friend1 } ?friend1 foaf:knows ?friend2 }",
            52_890,
        ),
        asked(
            "ls_q6",
            "SELECT ?user ?friend ?post ?channel WHERE { {POSTS} { ?channel sioc:container_of ?post } "
            "{POST_LIKES} { ?friend sib:like ?post } ?user foaf:knows ?friend . ?user sioc:subscriber_of ?channel }",
            44_391,
        ),
        asked("ls_q10", "SELECT (COUNT(?post) AS ?posts) WHERE { {POSTS} { ?post sib:hashtag {tag} } }", 103_698),
        asked(
            "ls_negation",
            "SELECT ?tagged ?fan ?photo WHERE { {PHOTO_LIKES} { ?fan sib:like ?photo } "
            "{PHOTOS} { ?photo sib:usertag ?tagged } FILTER NOT EXISTS { ?tagged foaf:knows ?fan } }",
        ),
        asked(
            "ls_union",
            "SELECT ?user ?item WHERE { { {POST_LIKES} { ?user sib:like ?item } } "
            "UNION { {PHOTO_LIKES} { ?user sib:like ?item } } }",
        ),
        asked(
            "ls_optional",
            "SELECT ?photo ?tagged ?fan WHERE { {PHOTOS} { ?photo sib:usertag ?tagged } "
            "OPTIONAL { {PHOTO_LIKES} { ?fan sib:like ?photo } } }",
        ),
        asked(
            "ls_sub_select",
            "SELECT ?user ?post ?fans WHERE { {POSTS} { ?user sioc:creator_of ?post } "
            "{ SELECT ?post (COUNT(?fan) AS ?fans) WHERE { {POST_LIKES} { ?fan sib:like ?post } } GROUP BY ?post } }",
        ),
        asked(
            "ls_top_k",
            "SELECT ?tag (COUNT(?post) AS ?posts) WHERE { {POSTS} { ?post sib:hashtag ?tag } } "
            "GROUP BY ?tag ORDER BY DESC(?posts) ?tag LIMIT 10",
        ),
    ]
