"""Hash functions of simple literals (SPARQL 1.1, 17.4.6): of the UTF-8 bytes, in lower-case hexadecimal digits."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial

from freshet.expressions.columns import Column, ColumnBatch, Keys
from freshet.expressions.distinct import apply, keys_of, read
from freshet.expressions.lexical import simple, simple_key


def _hash(algorithm: str, batch: ColumnBatch, argument: Column) -> Keys:
    def digest(lexical: str) -> str:
        # not for security: SPARQL asks for MD5 and SHA-1 by name
        return simple_key(hashlib.new(algorithm, lexical.encode(), usedforsecurity=False).hexdigest())

    return keys_of(apply(digest, read(batch, argument, simple)))


FUNCTIONS: dict[str, Callable[..., Column]] = {
    name: partial(_hash, name.lower()) for name in ("MD5", "SHA1", "SHA256", "SHA384", "SHA512")
}
