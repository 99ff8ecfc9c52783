"""The vocabulary of LSBench's social network, and how its things are named."""

from __future__ import annotations

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

# What stands before the number of a thing.
USER, PERSON = SIB + "user/u", SIB + "person/p"
FORUM, GROUP, MEMBERSHIP = SIB + "forum/fo", SIB + "group/g", SIB + "group/membership/gm"
POST, COMMENT = SIB + "post/po", SIB + "post/comment/co"
ALBUM, PHOTO = SIB + "photoalbum/pa", SIB + "photoalbum/photo/pho"
FRIENDSHIP, POSITION = SIB + "friendship/fr", SIB + "gps/gps"

# The streams, as LSBench's queries call them.
STREAMS = "http://deri.org/"
POST_STREAM, POST_LIKE_STREAM = STREAMS + "poststream", STREAMS + "likedpoststream"
PHOTO_STREAM, PHOTO_LIKE_STREAM = STREAMS + "photostream", STREAMS + "likedphotostream"
GPS_STREAM = STREAMS + "gpsstream"
