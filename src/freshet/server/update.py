"""SPARQL Update over HTTP (SPARQL 1.1 Protocol, 2.2)."""

from __future__ import annotations

from dataclasses import replace

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from freshet.algebra.updates import Modify, Operation, Update
from freshet.rdf.deadline import Deadline
from freshet.rdf.terms import Iri
from freshet.runtime.updating import can_delete
from freshet.server.problems import Problem
from freshet.server.protocol_request import ProtocolRequest
from freshet.server.security import ADDING, DELETING, check_right
from freshet.server.served import Served


async def update(request: Request, shared: Served, asked: ProtocolRequest, deadline: Deadline) -> Response:
    """Do an update. With a checkpoint, it is in the journal when this answers. To delete takes a right of its own."""
    check_right(request.scope, ADDING)
    base = str(request.url.replace(query=""))
    parsed = await shared.asking.submit(_parsed, shared, asked, base, deadline)
    if can_delete(parsed):
        check_right(request.scope, DELETING)
    await shared.wait_for_start()
    counts = await shared.changing.submit(shared.session.update, parsed, deadline=deadline, files=False)
    return JSONResponse(counts._asdict(), headers={"Cache-Control": "no-cache"})


def _parsed(shared: Served, asked: ProtocolRequest, base: str, deadline: Deadline) -> Update:
    """In a thread, as data of megabytes take seconds to parse."""
    with deadline.running():
        return _with_dataset(shared.session.prepare_update(asked.text, base=base), asked)


def _with_dataset(update: Update, asked: ProtocolRequest) -> Update:
    """The update over the graphs that the request names (2.2.3)."""
    if not asked.default_graphs and not asked.named_graphs:
        return update
    using, using_named = (tuple(map(Iri, names)) for names in (asked.default_graphs, asked.named_graphs))
    return replace(update, operations=tuple(_over(each, using, using_named) for each in update.operations))


def _over(operation: Operation, using: tuple[Iri, ...], using_named: tuple[Iri, ...]) -> Operation:
    if not isinstance(operation, Modify):
        return operation
    if operation.written is not None or operation.using or operation.using_named:
        raise Problem(400, "the dataset is named by the request, and by USING or WITH in the update")
    return replace(operation, using=using, using_named=using_named)
