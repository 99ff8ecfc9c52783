"""`freshet serve`: from options to a server that runs."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from freshet.rdf.errors import InputError
from freshet.runtime.query_failure import QueryFailure
from freshet.runtime.session import Session
from freshet.runtime.text_file import read_text
from freshet.server.logs import log_fields, start_logs
from freshet.server.served import serve_session
from freshet.server.serving import serve
from freshet.server.settings import ServerSettings, Token, make_token, parse_listen, parse_tokens

_LOG = logging.getLogger("freshet.server")


def run_server(
    pipeline: Path | None,
    *,
    listen: str,
    checkpoint: Path | None,
    data: tuple[Path, ...],
    service: tuple[str, ...],
    tokens: Path | None,
    certificate: Path | None,
    key: Path | None,
    host: tuple[str, ...],
    origin: tuple[str, ...],
    log_format: str,
) -> None:
    """Serve a session until the process is told to stop."""
    address, port = parse_listen(listen)
    settings = ServerSettings(address, port, _tokens(tokens), certificate, key, host, origin)
    settings.check()
    start_logs(log_format)
    if pipeline is not None:
        raise InputError("a pipeline file cannot be served yet")
    with Session(services=service, checkpoint=checkpoint, on_failure=_log_failure) as session:
        if session.is_restored and data:
            _LOG.info("the checkpoint has the stored graph: the files of -d are not loaded again")
        elif data:
            session.load(*data)
        shared = serve_session(session, settings)
        try:
            serve(shared, lambda url: _LOG.info("listening on %s", url))
        finally:
            shared.close()
        _LOG.info("stopped")


def _log_failure(failure: QueryFailure) -> None:
    _LOG.error("query failed", extra=log_fields(query=failure.query, reason=failure.reason))


def _tokens(file: Path | None) -> tuple[Token, ...]:
    """The tokens of a file, and that of the environment, which may do everything."""
    found = () if file is None else parse_tokens(read_text(file), str(file))
    secret = os.environ.get("FRESHET_TOKEN", "")
    return (*found, make_token(secret)) if secret else found
