"""N-Triples and N-Quads made up for tests, good and bad, and what pyoxigraph says of them."""

from __future__ import annotations

import pyoxigraph
from hypothesis import strategies as st

from freshet.rdf.errors import InputError
from freshet.rdf.oxigraph import parsed_key

IRIS = [
    *(
        "<http://a>",
        "<http://a/b?c=d&e#f>",
        "<x:y>",
        "<urn:uuid:1-2>",
        "<http://é.org/ü>",
        "<http://a:80/>",
        "<http://a:/>",
    ),
    *(
        "<http://u@h/>",
        "<http://[::1]/>",
        "<http://a/%41>",
        "<http://a/%4>",
        "<mailto:a@b>",
        "<file:///x>",
        "<a>",
        "<:a>",
    ),
    *("<http://a/\u2028>", "<http://a?\ue000>", "<http://a/\U000e0001>", "<http://a/\ufdd0>", "<http://a/\U0001f600>"),
    *("<http:///a>", "<http://>", "<http:>", "<http:?q>", "<http://a b>", "<http://a/{}>", "<http://a/~!$&'()*+,;=:@>"),
    *(
        "<h-t+p.1:x>",
        "<1h:x>",
        "<http://a/\\u00e9>",
        "<http://a#b#c>",
        "<http://a:8a/>",
        "<http://a/[>",
        "<http:////a>",
    ),
]
BLANK_NODES = ["_:b", "_:b1.", "_:1", "_:a.b", "_:-a", "_:a-", "_:a..b", "_:.a", "_:é", "_:a:b", "_:_", "_:", "_:a·"]
LITERALS = [
    *('"x"', '""', '"x"@en', '"x"@EN-gb', '"x"@e', '"x"@abcd', '"x"@zh-Hant-TW', '"x"@es-419', '"x"@en-', '"x"@x-foo'),
    *(
        '"x"@en--ltr',
        '"x"@en-GB-oed',
        '"x"@en-1',
        '"x"@deu-1996',
        '"x"@sr-Latn-',
        '"x"@zh-yue-HK',
        '"x"@en-abcde',
        '"é€😀"',
    ),
    *(
        '"a\tb\x00\x0b\x7f"',
        '"a\\nb"',
        '"\\u0041"',
        '"\\uD800"',
        '"\\x"',
        '"a\rb"',
        '"x"^^<a>',
        '"x"^^ <http://a>',
        "'x'",
    ),
    '"x"^^<http://www.w3.org/2001/XMLSchema#string>',
    '"x"^^<http://www.w3.org/2001/XMLSchema#integer>',
    '"x"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>',
]

_space = st.sampled_from([" ", " ", " ", "", "\t", "  ", "\xa0", "\x0b", "\r"])
_ends = st.sampled_from([" .", " .", ".", " . # c", ".#é", "", " ..", " . x", " .\r", '."x"'])
_broken = st.sampled_from([*list('<>"_:@.^\\# \t\r%[]-/?aZ0é'), ""])


def _mutate(line: str, at: int, put: str, cut: int) -> str:
    at %= len(line) + 1
    return line[:at] + put + line[at + cut :]


whole_lines = st.builds(
    lambda *parts: "".join(parts),
    st.sampled_from(IRIS + BLANK_NODES),
    _space,
    st.sampled_from(IRIS),
    _space,
    st.sampled_from(IRIS + BLANK_NODES + LITERALS + LITERALS),
    _space,
    st.sampled_from(["", "", "", *IRIS[:6], "_:g", '"g"']),
    _ends,
)
broken_lines = st.builds(_mutate, whole_lines, st.integers(0, 150), _broken, st.integers(0, 1))
lines = st.one_of(whole_lines, broken_lines, st.sampled_from(["", " \t", "# comment", "  # é"]))

Keys = tuple[str, str, str, str | None]


def oxigraph_keys(text: str | bytes, form: pyoxigraph.RdfFormat, blank_scope: str) -> list[Keys] | None:
    """The keys of the statements as pyoxigraph reads them, or None where it (or what RDF 1.1 is) refuses them."""
    try:
        return [
            (
                parsed_key(quad.subject, blank_scope),
                parsed_key(quad.predicate, blank_scope),
                parsed_key(quad.object, blank_scope),
                None
                if isinstance(quad.graph_name, pyoxigraph.DefaultGraph)
                else parsed_key(quad.graph_name, blank_scope),
            )
            for quad in pyoxigraph.parse(text, form)
        ]
    except (SyntaxError, InputError):
        return None
