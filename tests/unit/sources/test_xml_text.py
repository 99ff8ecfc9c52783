"""XML documents, streamed and whole: both find the same, and what is dangerous is refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from freshet.rdf.errors import InputError
from freshet.rml.xml_paths import stays_inside, steps_of, xpath
from freshet.sources.columns import Limits, RecordShape
from freshet.sources.xml_stream import ENTITIES
from freshet.sources.xml_text import XmlReader
from source_rows import values

SPACES = (("e", "http://example.org/"),)
SHOP = """<?xml version="1.0" encoding="ISO-8859-1"?>
<!-- a shop --><shop id="s1" xmlns:x="http://example.org/"><other><item id="0"/></other>
<item id="1"><name>caf\xe9</name><name>a<i>b</i><!-- no --><![CDATA[<c>]]></name><x:price>2</x:price></item>
<group><item id="9"/></group><item id="2"><name/></item></shop>""".encode("latin-1")


def read(text, references, iterator, size=1 << 20, encoding=None, streams=None, **options):
    reader = XmlReader(RecordShape(tuple(references), frozenset(references)), iterator, SPACES, **options)
    assert streams in (None, reader.steps is not None)
    data = text if isinstance(text, bytes) else text.encode()
    blocks = iter([data[at : at + size] for at in range(0, len(data), size)])
    return values(reader.batches("f", blocks, encoding), references)


REFERENCES = ["@id", "name", "name/text()", "e:price", "../@id", "count(name)", "name[1]", "@id > 1", "missing"]
EXPECTED = [
    (["1"], ["café", "ab<c>"], ["café", "a", "<c>"], ["2"], ["s1"], ["2"], ["café"], ["false"], []),
    (["2"], [""], [], [], ["s1"], ["1"], [""], ["true"], []),
]


@pytest.mark.parametrize("size", [1, 10, 1000])
def test_records_are_streamed(size):
    assert read(SHOP, REFERENCES, "/shop/item", size, streams=True) == (EXPECTED, [])


def test_any_iterator_and_reference_with_the_whole_document():
    assert read(SHOP, REFERENCES, "/shop/item[@id]", streams=False) == (EXPECTED, [])
    good, _ = read(SHOP, ["@id", "../../@id", "/shop/item[1]/name[1]"], "//item", streams=False)
    assert [ids for ids, _, _ in good] == [["0"], ["1"], ["9"], ["2"]]
    assert {tuple(names) for _, _, names in good} == {("café",)}
    assert [above for _, above, _ in good] == [["s1"], [], ["s1"], []]


@st.composite
def elements(draw, depth=0):
    made = etree.Element(draw(st.sampled_from(["a", "b", "c"])), id=str(draw(st.integers(0, 9))))
    made.text = draw(st.sampled_from([None, "", "x", " é & < "]))
    for child in draw(st.lists(elements(depth + 1), max_size=3)) if depth < 3 else []:
        made.append(child)
        child.tail = draw(st.sampled_from([None, "t"]))
    return made


@settings(deadline=None, max_examples=200)
@given(elements(), st.sampled_from(["/*", "/a", "/a/b", "/*/b/c", "/a/*"]), st.integers(1, 30))
def test_streams_find_what_xpath_finds(root, iterator, size):
    text = etree.tostring(root)
    expected = [
        ([each.get("id")], [str(child.xpath("string()")) for child in each.xpath("b")], each.xpath("text()"))
        for each in etree.fromstring(text).getroottree().xpath(iterator)
    ]
    got = read(text, ["@id", "b", "text()"], iterator, size, streams=True)
    assert got == (expected, [])


def test_namespaces():
    text = '<s xmlns="http://example.org/"><t a="1"/><u xmlns="">2</u></s>'
    assert read(text, ["@a"], "/e:s/e:t") == ([(["1"],)], [])
    assert read(text, ["name()"], "/e:s/e:*") == ([(["t"],)], [])
    assert read(text, ["."], "/e:s/u") == ([(["2"],)], [])
    with pytest.raises(InputError, match="the prefix f has no namespace"):
        steps_of("/f:s", SPACES)


@pytest.mark.parametrize("iterator", ["/r", "/r[1]"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize(
    "declared",
    ['<!ENTITY x SYSTEM "file:///etc/hostname">', '<!ENTITY x "ha"><!ENTITY y "&x;&x;">', '<!ENTITY % p "q">'],
)
def test_entities_are_refused(declared, encoding, iterator):
    text = f"<!DOCTYPE r [{declared}]><r>1</r>".encode(encoding)
    assert read(text, ["."], iterator) == ([], [(ENTITIES, None)])


def test_a_document_type_that_is_elsewhere_is_not_fetched(tmp_path):
    (tmp_path / "a.dtd").write_text('<!ENTITY x "secret">')
    text = f'<!DOCTYPE r SYSTEM "{(tmp_path / "a.dtd").as_uri()}"><r>1</r>'
    assert read(text, ["."], "/r") == ([(["1"],)], [])
    _, bad = read(text.replace("1<", "&x;<"), ["."], "/r")
    assert all("secret" not in str(each) for each in bad)


@pytest.mark.parametrize("iterator", ["/r/a", "/r/a[1 = 1]"])
def test_what_is_no_xml(iterator):
    good, bad = read("<r><a>1</a><a>2</b></r>", ["."], iterator)
    assert len(bad) == 1
    assert bad[0][0].startswith("not XML: Opening and ending tag mismatch")
    assert good == ([(["1"],)] if iterator == "/r/a" else [])
    good, bad = read(b"<r><a>1</a><a>\xff</a></r>", ["."], iterator)
    assert bad[0][0].startswith("not XML: ")
    assert "encod" in bad[0][0] or "UTF-8" in bad[0][0]


def test_what_must_be_in_memory_has_a_limit():
    _, bad = read("<r>" + "<a>1</a>" * 10 + "</r>", ["."], "//a", 10, limits=Limits(document_bytes=50))
    assert bad == [("longer than 50 bytes, and //a needs all of it at once", None)]


def test_texts_that_stand_for_nothing_and_texts_of_records():
    reader = XmlReader(RecordShape(("a",), frozenset("a")), "/r", nulls=frozenset([""]), keep=True)
    (batch,) = reader.batches("f", iter([b"<r><a/><a>1</a></r>"]), None)
    assert batch.to_pylist() == [{"line": "<r><a/><a>1</a></r>", "file": "f", "reason": None, "text of a": ["1"]}]


@pytest.mark.parametrize("text", ["Dh;ef", "a[", "f:a", "/r/a]"])
def test_what_is_no_xpath(text):
    with pytest.raises(InputError, match="is no XPath"):
        xpath(text, SPACES)


@pytest.mark.parametrize("text", ["..", "../a", "/r/a", "//a", "a[/r/b = 1]", "a | //b", "ancestor::b/@id", "a and /b"])
def test_references_that_leave_the_record(text):
    assert not stays_inside(text)


@pytest.mark.parametrize("text", ["a/b", "a//b", ".//b", "@id", "../../@id", "a[b = '1']/c", ".", "text()", "a | b"])
def test_references_that_stay_in_the_record(text):
    assert stays_inside(text)
