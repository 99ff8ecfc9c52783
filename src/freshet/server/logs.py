"""Logs of a server: one namespace, `freshet`, as lines for people or as JSON for programs."""

from __future__ import annotations

import logging
import sys
import time
import warnings

import orjson

_EXTRA = "fields"  # of a record: what a JSON line has besides the message


class JsonLines(logging.Formatter):
    """A JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, _EXTRA, {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str).decode()


class TextLines(logging.Formatter):
    """`freshet: message`, with the fields behind it."""

    def format(self, record: logging.LogRecord) -> str:
        fields = " ".join(f"{name}={value}" for name, value in getattr(record, _EXTRA, {}).items())
        text = f"freshet: {record.getMessage()} {fields}".rstrip()
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


def start_logs(form: str, level: int = logging.INFO) -> None:
    """Write logs and warnings to standard error, as `text` or `json`."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    root = logging.getLogger("freshet")
    root.handlers, root.propagate = [handler], False
    root.setLevel(level)
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)  # what it says of requests, `freshet.server` says
    log = logging.getLogger("freshet.runtime")
    warnings.showwarning = lambda message, *_, **__: log.warning("%s", message)


def log_fields(**fields: object) -> dict[str, dict[str, object]]:
    """What a line has besides its message, as `extra` of a call of a logger."""
    return {_EXTRA: fields}
