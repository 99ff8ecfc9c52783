"""Documents of the Web as files: pages, headers, what may not be asked, and what goes wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from freshet.federation.downloads import Downloads
from freshet.federation.errors import RefusedError, ServiceError
from freshet.federation.settings import ServiceSettings
from freshet.rml.sources import FileSource, WebPlace
from web_documents import Document, web_server


@pytest.fixture
def web():
    with web_server() as server:
        yield server


@pytest.fixture
def fetch(web, tmp_path):
    settings = ServiceSettings((web.host,), backoff_seconds=0.001, most_bytes=1000)
    downloads = Downloads(settings, tmp_path)
    return lambda path, name="a.csv", **options: downloads.fetch(
        FileSource(Path(name), web=WebPlace(web.url + path, **options))
    )


def test_a_document_is_fetched_once(web, fetch):
    web.documents["/a.csv"] = Document(b"a\n1\n")
    found = fetch("/a.csv")
    assert found.path.read_bytes() == b"a\n1\n"
    assert found.web is None
    assert (found.path.name, found.path.parent.name) == ("a.csv", web.host.replace(":", "_"))
    assert fetch("/a.csv") == found
    assert len(web.requests) == 1


def test_headers_go_to_the_host_that_they_are_for(web, fetch, tmp_path):
    with web_server() as other:
        other.documents["/a.csv"] = Document(b"a\n")
        web.documents["/a.csv"] = Document(b"", {"Location": f"{other.url}/a.csv"}, 302)
        settings = ServiceSettings((web.host, other.host))
        place = WebPlace(f"{web.url}/a.csv", "text/csv", (("X-Key", "secret"),))
        Downloads(settings, tmp_path / "two").fetch(FileSource(Path("a.csv"), web=place))
        assert web.requests[0].headers["x-key"] == "secret"
        assert web.requests[0].headers["accept"] == "text/csv"
        assert "x-key" not in other.requests[0].headers
        with pytest.raises(RefusedError, match="may not ask"):
            fetch("/a.csv")
    with pytest.raises(ServiceError, match="cannot be asked with the header 'X-Key'"):
        fetch("/b.csv", headers=(("X-Key", "a\r\nHost: b"),))


def test_pages_follow_the_links(web, fetch):
    web.documents["/a.csv"] = Document(b"a\n1\n", {"Link": '</help>; rel="help", </a.csv?page=2>; rel="next"'})
    web.documents["/a.csv?page=2"] = Document(b"a\n2\n", {"Link": f"<{web.url}/last>; title=x; rel=next"})
    web.documents["/last"] = Document(b"a\n3\n", {"Link": '</a.csv>; rel="first"'})
    found = fetch("/a.csv", headers=(("X-Key", "secret"),))
    assert [file.read_bytes() for file in sorted(found.path.iterdir())] == [b"a\n1\n", b"a\n2\n", b"a\n3\n"]
    assert [request.headers["x-key"] for request in web.requests] == ["secret"] * 3


def test_pages_that_never_end(web, fetch):
    web.documents["/a.csv"] = Document(b"a\n1\n", {"Link": '</b.csv>; rel="next"'})
    web.documents["/b.csv"] = Document(b"a\n1\n", {"Link": '</a.csv>; rel="next"'})
    with pytest.raises(ServiceError, match="pages without an end"):
        fetch("/a.csv")


def test_a_page_on_a_host_that_may_not_be_asked(web, fetch):
    web.documents["/a.csv"] = Document(b"a\n1\n", {"Link": '<http://other.example/b>; rel="next"'})
    with pytest.raises(RefusedError, match=r"other\.example"):
        fetch("/a.csv")


def test_what_goes_wrong(web, fetch):
    web.documents["/long.csv"] = Document(b"a" * 2000)
    web.documents["/short.csv"] = Document(b"a\n", {"Content-Length": "100"})
    with pytest.raises(ServiceError, match="answers with status 404"):
        fetch("/none.csv")
    with pytest.raises(ServiceError, match="more than 1000 bytes"):
        fetch("/long.csv")
    with pytest.raises(ServiceError, match="stopped in the middle"):
        fetch("/short.csv")


def test_a_server_that_is_busy_is_asked_again(web, fetch):
    answers = iter([Document(b"wait, this is long", {}, 503), Document(b"a\n1\n")])
    web.documents["/a.csv"] = lambda request: next(answers)
    assert fetch("/a.csv").path.read_bytes() == b"a\n1\n"


def test_what_the_media_type_says(web, fetch):
    web.documents["/graph"] = Document(b"<urn:a> <urn:b> 1 .", {"Content-Type": "text/turtle; charset=utf-8"})
    assert fetch("/graph", "graph").path.name == "graph.ttl"
    web.documents["/a.csv"] = Document("a\né\n".encode("latin-1"), {"Content-Type": 'text/csv; charset="ISO-8859-1"'})
    assert fetch("/a.csv").encoding == "ISO-8859-1"


def test_answers_of_endpoints(web, fetch):
    kind = {"Content-Type": "application/sparql-results+xml; charset=utf-8"}
    web.documents["/sparql"] = Document(b"<sparql/>", kind)
    accept = "application/sparql-results+json"
    found = fetch("/sparql", "results.srj", query="SELECT * {}", accept=accept)
    assert found.path.name == "results.srx"
    assert web.requests[0].query == "SELECT * {}"
    web.documents["/sparql"] = Document(b"<html>", {"Content-Type": "text/html"})
    with pytest.raises(ServiceError, match="answers with 'text/html'"):
        fetch("/sparql", "results.srj", query="ASK {}", accept=accept)
