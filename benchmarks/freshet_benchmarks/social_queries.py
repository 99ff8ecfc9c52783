"""Six questions to the social network, of the shape and selectivity of Wukong+S's one-shot queries over LSBench.

S1 to S3 and S5 begin at one user and touch a few hundred triples; S4 begins at a group and S6 at a country, and both
go through thousands.
"""

from __future__ import annotations

from freshet_benchmarks.social_vocabulary import DBP, FOAF, SIB, SIOC, VOCABULARY

_PREFIXES = f"""\
PREFIX foaf: <{FOAF}>
PREFIX sioc: <{SIOC}>
PREFIX sib: <{VOCABULARY}>
PREFIX dbp: <{DBP}>
PREFIX user: <{SIB}user/>
PREFIX person: <{SIB}person/>
PREFIX group: <{SIB}group/>
"""

HEAVY = ("S4", "S6")

_FORMS = {
    # Everything said of a user.
    "S1": "SELECT ?property ?value WHERE { user:u{user} ?property ?value }",
    # What a person has made.
    "S2": "SELECT ?made WHERE { ?account sioc:account_of person:p{maker} . ?account sioc:creator_of ?made }",
    # What those whom a person knows have made.
    "S3": """SELECT ?known ?made WHERE {
  ?account sioc:account_of person:p{user} .
  ?account foaf:knows ?known .
  ?known sioc:creator_of ?made
}""",
    # The photos that show members of a group, and in whose albums they are.
    "S4": """SELECT ?member ?photo ?album ?owner WHERE {
  group:g1 sioc:has_member ?member .
  ?photo sib:usertag ?member .
  ?album sioc:container_of ?photo .
  ?owner sioc:creator_of ?album
}""",
    # Who they are whom a user knows, as far as they tell.
    "S5": """SELECT ?known ?person ?gender ?born ?mail WHERE {
  user:u{user} foaf:knows ?known .
  ?known sioc:account_of ?person .
  ?person foaf:gender ?gender .
  ?person foaf:birthday ?born .
  ?person sioc:email ?mail
}""",
    # What is made in China and liked in the United States, and under which hashtags.
    "S6": """SELECT ?maker ?post ?reader ?hashtag WHERE {
  ?maker foaf:based_near dbp:Peoples_Republic_of_China .
  ?maker sioc:creator_of ?post .
  ?reader sib:like ?post .
  ?reader foaf:based_near dbp:United_States .
  ?post sib:hashtag ?hashtag
}""",
}


def one_shot_queries(user: int = 984, maker: int = 781) -> dict[str, str]:
    """The queries by their names, about a user, and S2 about who made something."""
    return {
        name: _PREFIXES + text.replace("{user}", str(user)).replace("{maker}", str(maker))
        for name, text in _FORMS.items()
    }


QUERIES = one_shot_queries()
