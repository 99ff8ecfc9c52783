"""`freshet serve`: from options to a server that runs."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass, replace
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


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """What the command line says; a pipeline file may say the same."""

    listen: str | None = None
    checkpoint: Path | None = None
    data: tuple[tuple[Path, str | None], ...] = ()  # with the named graph of each
    service: tuple[str, ...] = ()
    tokens: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    host: tuple[str, ...] = ()
    origin: tuple[str, ...] = ()
    log_format: str = "text"

    def settings(self) -> ServerSettings:
        """Where to listen, and who may do what."""
        address, port = parse_listen(self.listen or "127.0.0.1")
        tokens = _tokens(self.tokens)
        settings = ServerSettings(address, port, tokens, self.certificate, self.key, self.host, self.origin)
        settings.check()
        return settings


def run_server(pipeline: Path | None, options: ServeOptions) -> None:
    """Serve a session, or a pipeline, until a signal stops the process."""
    if pipeline is not None:
        _run_pipeline(pipeline, options)
        return
    settings = options.settings()
    start_logs(options.log_format)
    with Session(services=options.service, checkpoint=options.checkpoint, on_failure=_log_failure) as session:
        if session.is_restored and options.data:
            _LOG.info("the checkpoint has the stored graph: the files of -d are not loaded again")
        elif options.data:
            for path, graph in options.data:
                session.load(path, graph=graph)
        shared = serve_session(session, settings)
        try:
            serve(shared, _log_start)
        finally:
            shared.close()
        _LOG.info("stopped")


def _run_pipeline(path: Path, options: ServeOptions) -> None:
    from freshet.runtime.pipeline_file import read_pipeline
    from freshet.server.pipeline import served_pipeline

    for name, given in (("--checkpoint", options.checkpoint), ("-d", options.data), ("--service", options.service)):
        if given:
            raise InputError(f"{name}: the pipeline file says that")
    pipeline = read_pipeline(path, is_served=True)
    section = pipeline.server
    settings = replace(
        options,
        listen=options.listen or section.listen,
        tokens=options.tokens or section.tokens,
        certificate=options.certificate or section.certificate,
        key=options.key or section.key,
        host=options.host or section.hosts,
        origin=options.origin or section.origins,
    ).settings()
    start_logs(options.log_format)
    with served_pipeline(pipeline, settings) as shared:
        serve(shared, _log_start)
    _LOG.info("stopped")


def _log_start(url: str) -> None:
    _LOG.info("listening on %s", url)


def _log_failure(failure: QueryFailure) -> None:
    _LOG.error("query failed", extra=log_fields(query=failure.query, reason=failure.reason))


def _tokens(file: Path | None) -> tuple[Token, ...]:
    """The tokens of a file, and that of the environment, which may do everything."""
    found = () if file is None else parse_tokens(read_text(file), str(file))
    secret = os.environ.get("FRESHET_TOKEN", "")
    return (*found, make_token(secret)) if secret else found
