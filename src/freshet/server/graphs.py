"""SPARQL 1.1 Graph Store HTTP Protocol, https://www.w3.org/TR/sparql11-http-rdf-update/: stored graphs as resources."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from email.parser import BytesParser
from email.policy import HTTP
from functools import partial

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from freshet.algebra.updates import Clear, GraphKind, Update
from freshet.rdf.deadline import Deadline
from freshet.rdf.formats import FORMATS
from freshet.rdf.reading import Document
from freshet.rdf.terms import Iri, is_absolute_iri
from freshet.results.report import GraphAnswer
from freshet.results.write import write_pieces
from freshet.runtime.updating import ReplaceRefusedError
from freshet.server.bodies import media_type, read_body, reading_deadline, text_of
from freshet.server.description import service_description
from freshet.server.holders import check_size, limits_of
from freshet.server.negotiation import GRAPHS, choose
from freshet.server.problems import Problem
from freshet.server.security import DELETING, check_right, has_right
from freshet.server.served import Served, served
from freshet.server.sparql import Written, pieces_of, with_charset, written_pieces

_PATH = "/graphs"
_ALL = "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }"
_FORMATS: dict[str, str] = {
    "text/plain": "nt",
    **{media: name for name in ("ttl", "n3", "nt", "rdfxml", "jsonld") for media in FORMATS[name].media_types},
}
_MULTIPART = "multipart/form-data"


@dataclass(frozen=True, slots=True)
class GraphName:
    """The graph that a request is about; the default graph has no IRI. `base` is what relative IRIs begin with."""

    iri: str | None
    base: str

    def __str__(self) -> str:
        return "the default graph" if self.iri is None else f"the graph <{self.iri}>"


async def get_graph(request: Request) -> Response:
    """The triples of a graph (5.2)."""
    shared = served(request)
    media = choose(request.headers.get("accept"), list(GRAPHS))
    headers = {"Content-Type": with_charset(media), "Vary": "Accept", "Cache-Control": "no-cache"}
    if _is_store(request):
        return Response(service_description(str(request.url), media), headers=headers)
    graph = _name(request)
    _check_exists(shared, graph)
    limits = limits_of(request)
    deadline = Deadline(limits.query_seconds, limits.query_bytes)
    written = await shared.asking.submit(_write, shared, graph, GRAPHS[media], deadline)
    if written.rest is None:
        check_size(len(written.first), limits.answer_bytes)
        return Response(written.first, headers=headers)
    return StreamingResponse(pieces_of(shared, written, limits.answer_bytes), headers=headers)


async def post_graph(request: Request) -> Response:
    """Merge triples into a graph (5.5). One that is sent to the store itself makes a graph of its own."""
    shared = served(request)
    documents = await _documents(request)
    is_store = _is_store(request)
    url = str(request.url.replace(query=""))
    graph = GraphName(own := f"{url.rstrip('/')}/{uuid.uuid4()}", own) if is_store else _name(request)
    return await _load(shared, graph, documents, reading_deadline(request))


async def put_graph(request: Request) -> Response:
    """Make a graph, or replace it (5.3). To replace triples takes the right to delete them."""
    shared, graph = served(request), _name(request)
    documents = await _documents(request)
    try:  # the session looks whether there are any when nothing else can add them
        may_delete = has_right(request.scope, DELETING)
        return await _load(shared, graph, documents, reading_deadline(request), replace=True, may_delete=may_delete)
    except ReplaceRefusedError:
        check_right(request.scope, DELETING)
        raise


async def delete_graph(request: Request) -> Response:
    """Drop a graph (5.4). The default graph is there always, and empty then."""
    shared, graph = served(request), _name(request)
    await shared.wait_for_start()
    async with shared.graph_changes:
        _check_exists(shared, graph)
        target = GraphKind.DEFAULT if graph.iri is None else Iri(graph.iri)
        await shared.changing.submit(shared.session.update, Update((Clear(target, True, True),)))
    return Response(status_code=204)


async def _load(
    shared: Served,
    graph: GraphName,
    documents: list[Document],
    deadline: Deadline,
    *,
    replace: bool = False,
    may_delete: bool = False,
) -> Response:
    """Put documents into a graph. They are in the journal when this answers, where there is one."""
    await shared.wait_for_start()
    async with shared.graph_changes:
        is_new = not _exists(shared, graph)
        load = partial(shared.session.load_documents, graph=graph.iri, base=graph.base, deadline=deadline)
        await shared.changing.submit(load, documents, replace=replace, may_delete=may_delete)
    if not is_new:
        return Response(status_code=204)
    return Response(status_code=201, headers={"Location": graph.base})


def _write(shared: Served, graph: GraphName, form: str, deadline: Deadline) -> Written:
    """In a thread: the graph, written as the client wants it."""
    query = shared.prepare(_ALL, () if graph.iri is None else (graph.iri,), ())
    answer = shared.session.query(query, deadline=deadline)
    assert isinstance(answer, GraphAnswer)
    return written_pieces(answer, write_pieces(answer, shared.session.dictionary, form), "")


def _is_store(request: Request) -> bool:
    """Whether a request is about the store, and not about one of its graphs."""
    return request.url.path.rstrip("/") == _PATH and not request.url.query


def _name(request: Request) -> GraphName:
    """The graph that a request names: by `graph=`, by `default`, or by its own URL (4.1, 4.2)."""
    given = request.query_params
    named, is_default = given.getlist("graph"), "default" in given
    url = str(request.url.replace(query=""))
    if len(named) + is_default > 1 or (given and not named and not is_default):
        raise Problem(400, "a request names one graph: ?graph=IRI, ?default, or its own URL")
    if is_default:
        return GraphName(None, url)
    if named:
        if not is_absolute_iri(named[0]):
            raise Problem(400, f"'{named[0][:200]}' is not an absolute IRI")
        return GraphName(named[0], named[0])
    if _is_store(request):
        raise Problem(400, "the graph is missing: ?graph=IRI, ?default, or its own URL")
    return GraphName(url, url)


def _exists(shared: Served, graph: GraphName) -> bool:
    if graph.iri is None:
        return True
    return shared.session.dictionary.lookup(Iri(graph.iri)) in shared.session.dataset().names()


def _check_exists(shared: Served, graph: GraphName) -> None:
    if not _exists(shared, graph):
        raise Problem(404, f"there is no graph <{graph.iri}>")


async def _documents(request: Request) -> list[Document]:
    """What the body has: one document, or several as a form sends files (RFC 7578)."""
    media, charset = media_type(request)
    _check_media(media)
    body = await read_body(request)
    if media == _MULTIPART:
        return list(_parts(request.headers["content-type"], body))
    return [_document(media, charset, body, "body")]


def _parts(content_type: str, body: bytes) -> Iterator[Document]:
    whole = BytesParser(policy=HTTP).parsebytes(b"Content-Type: %b\r\n\r\n%b" % (content_type.encode("latin-1"), body))
    if not whole.is_multipart():
        raise Problem(400, "the parts of the body cannot be found")
    for number, part in enumerate(whole.iter_parts(), 1):
        media, name = part.get_content_type().lower(), part.get_filename() or f"part {number}"
        _check_media(media)
        content = part.get_payload(decode=True)
        if not isinstance(content, bytes):
            raise Problem(400, f"{name} has parts of its own")
        yield _document(media, (part.get_content_charset() or "").lower(), content, name)


def _document(media: str, charset: str, content: bytes, name: str) -> Document:
    if media not in ("application/rdf+xml",):  # which says in itself how it is encoded
        text_of(content, charset)
    return Document(content, _FORMATS[media], name)


def _check_media(media: str) -> None:
    if media not in _FORMATS and media != _MULTIPART:
        raise Problem(415, f"a graph is sent as {', '.join(_FORMATS)}, and the Content-Type says {media or 'nothing'}")
