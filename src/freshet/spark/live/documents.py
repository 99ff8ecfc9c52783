"""Messages as documents: text, or a mark where the bytes are no text, so that they are rejected with a reason."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from freshet.sources.registry_messages import NOT_DECODED

# No JSON, XML or N-Triples begins like this, and no person writes it.
_MARK = "\ufffd\ufffd\ufffd "
NOT_TEXT = f"{_MARK}not UTF-8 {_MARK}"
NOT_TEXT_REASON = "not UTF-8 text"


def text_of(payload: bytes) -> str:
    """The text of a message.

    >>> text_of("é".encode())
    'é'
    """
    try:
        return payload.decode()
    except UnicodeDecodeError:
        return NOT_TEXT + payload.decode(errors="replace")


def text_column(payload: Column) -> Column:
    """The same of a column of bytes."""
    text = payload.cast("string")
    return F.when(F.is_valid_utf8(text), text).otherwise(F.concat(F.lit(NOT_TEXT), F.make_valid_utf8(text)))


def not_text(line: Column) -> Column:
    """The reason to reject a line that is no text, or could not be decoded; null for others."""
    reason = F.substr(line, F.lit(len(_MARK) + 1))
    return F.when(line.startswith(NOT_TEXT), F.lit(NOT_TEXT_REASON)).when(line.startswith(NOT_DECODED), reason)
