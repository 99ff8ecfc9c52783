"""Messages whose schemas are in a schema registry, as JSON: Avro, Protobuf and JSON with a header (Confluent's format).

The header is a byte that is 0 and the number of the schema. The messages of a schema are decoded together: those of
Avro as one block of a container.
"""

from __future__ import annotations

import io
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import urllib3
from urllib3.exceptions import HTTPError

from freshet.rdf.errors import InputError
from freshet.sources.typed import to_typed

# No JSON begins like this, and no person writes it; the reason follows.
NOT_DECODED = "\ufffd\ufffd\ufffd not decoded: "

_HEADER_BYTES = 5
_SYNC = bytes(16)
_SECONDS = 10.0
_RETRIES = urllib3.Retry(3, backoff_factor=0.2, status_forcelist=(500, 502, 503, 504), raise_on_status=False)
_ACCEPT = "application/vnd.schemaregistry.v1+json, application/json"

Decoder = Callable[[Sequence[bytes]], list[str]]
"""Messages without their headers as JSON, or as marks with the reason why they are none."""


class UnknownSchemaError(Exception):
    """A registry has no such schema, or one that cannot be used."""


class RegistryMessages:
    """Decodes messages by the schemas of a registry, each of which is asked for once."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._url = url.rstrip("/")
        self._headers = {"accept": _ACCEPT, **headers}
        self._pool: urllib3.PoolManager | None = None
        self._decoders: dict[int, Decoder] = {}

    def __getstate__(self) -> tuple[str, dict[str, str]]:
        return self._url, self._headers  # Spark's workers have connections of their own

    def __setstate__(self, state: tuple[str, dict[str, str]]) -> None:
        self._url, self._headers = state
        self._pool, self._decoders = None, {}

    def texts(self, messages: pa.Array) -> pa.Array:
        """JSON for each message of a column of bytes; null for null.

        Raises:
            InputError: The registry does not answer.
        """
        bodies = np.array([None, *messages.to_pylist()], object)[1:]
        found = np.full(len(bodies), None, object)
        numbers = schema_numbers(messages)
        for number in np.unique(numbers).tolist():
            rows = np.flatnonzero(numbers == number)
            if number == _NULL:
                continue
            if number == _NO_HEADER:
                found[rows] = NOT_DECODED + "it has no header with the number of a schema"
                continue
            cut = [body[_HEADER_BYTES:] for body in bodies[rows]]
            found[rows] = self._decoder(number)(cut)
        return pa.array(found, pa.string())

    def _decoder(self, number: int) -> Decoder:
        if number not in self._decoders:
            try:
                self._decoders[number] = self._new_decoder(number)
            except UnknownSchemaError as error:
                return partial(_refuse, str(error))
        return self._decoders[number]

    def _new_decoder(self, number: int) -> Decoder:
        path = f"schemas/ids/{number}"
        described = self._ask(path)
        kind = described.get("schemaType", "AVRO")
        if kind == "JSON":
            return _decode_json
        if kind == "AVRO":
            return _avro_decoder(described["schema"], [each["schema"] for each in self._references(described)])
        if kind == "PROTOBUF":
            files = [each["schema"] for each in self._references(described, "?format=serialized")]
            return _protobuf_decoder(self._ask(path + "?format=serialized")["schema"], files)
        raise UnknownSchemaError(f"schema {number} is of the type {kind}")

    def _references(self, described: Mapping[str, Any], form: str = "") -> Iterator[Mapping[str, Any]]:
        """The schemas that one refers to, each behind those that it refers to itself."""
        for each in described.get("references", ()):
            found = self._ask(f"subjects/{each['subject']}/versions/{each['version']}{form}")
            yield from self._references(found, form)
            yield found

    def _ask(self, path: str) -> Mapping[str, Any]:
        if self._pool is None:
            self._pool = urllib3.PoolManager(retries=_RETRIES, timeout=_SECONDS)
        address = f"{self._url}/{path}"
        try:
            response = self._pool.request("GET", address, headers=self._headers)
        except HTTPError as error:
            raise InputError(f"the schema registry {self._url} does not answer: {error}") from None
        if response.status == 404:
            raise UnknownSchemaError(f"the schema registry has no {path}")
        if response.status != 200:
            raise InputError(f"the schema registry answers {address} with the status {response.status}")
        try:
            found = orjson.loads(response.data)
        except orjson.JSONDecodeError:
            found = None
        if not isinstance(found, dict) or not isinstance(found.get("schema"), str):
            raise InputError(f"the schema registry has no schema in its answer to {address}")
        return found


_NULL, _NO_HEADER = -2, -1


def schema_numbers(messages: pa.Array) -> np.typing.NDArray[np.int64]:
    """The numbers of the schemas in the headers of messages.

    >>> schema_numbers(pa.array([bytes([0, 0, 0, 1, 2, 9]), b"{}", None])).tolist()
    [258, -1, -2]
    """
    messages = messages.cast(pa.large_binary())
    offsets = np.frombuffer(messages.buffers()[1], np.int64)[messages.offset : messages.offset + len(messages) + 1]
    data = messages.buffers()[2]
    content = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    starts, sizes = offsets[:-1], np.diff(offsets)
    numbers = np.full(len(messages), _NO_HEADER, np.int64)
    long = np.flatnonzero(sizes >= _HEADER_BYTES)
    framed = long[content[starts[long]] == 0]
    numbers[framed] = 0
    for at in range(1, _HEADER_BYTES):
        numbers[framed] = numbers[framed] * 256 + content[starts[framed] + at]
    numbers[messages.is_null().to_numpy(zero_copy_only=False)] = _NULL
    return numbers


def _refuse(reason: str, bodies: Sequence[bytes]) -> list[str]:
    return [NOT_DECODED + reason] * len(bodies)


def _each(decode: Callable[[bytes], str], errors: type[Exception] | tuple[type[Exception], ...], body: bytes) -> str:
    """A message alone, so that what is wrong with it is its own."""
    try:
        return decode(body)
    except errors as error:
        return f"{NOT_DECODED}{type(error).__name__ if not str(error) else error}"


def _decode_json(bodies: Sequence[bytes]) -> list[str]:
    return list(map(partial(_each, bytes.decode, UnicodeDecodeError), bodies))


# ---- Avro


def _avro_decoder(schema: str, references: Sequence[str]) -> Decoder:
    try:
        import fastavro
    except ImportError:
        raise InputError("messages of Avro need fastavro: pip install 'freshet[avro]'") from None
    named: dict[str, Any] = {}
    try:
        for each in references:
            fastavro.parse_schema(orjson.loads(each), named_schemas=named)
        parsed = fastavro.parse_schema(orjson.loads(schema), named_schemas=named, expand=bool(references))
    except Exception as error:  # fastavro has exceptions of its own
        raise UnknownSchemaError(f"the schema cannot be read: {error}") from None
    header = io.BytesIO()
    fastavro.writer(header, parsed, [], sync_marker=_SYNC)
    broken = (OSError, ValueError, EOFError, LookupError, TypeError, ArithmeticError)

    def decode_one(body: bytes) -> str:
        stream = io.BytesIO(body)
        record = fastavro.schemaless_reader(stream, parsed, None)
        if stream.tell() != len(body):
            raise ValueError("it has more bytes than its schema says")
        return _json(record)

    def decode(bodies: Sequence[bytes]) -> list[str]:
        block = b"".join((_long(len(bodies)), _long(sum(map(len, bodies))), *bodies, _SYNC))
        try:
            return list(map(_json, fastavro.reader(io.BytesIO(header.getvalue() + block))))
        except broken:  # the bytes of one are read as those of the next
            return list(map(partial(_each, decode_one, broken), bodies))

    return decode


def _long(number: int) -> bytes:
    """A number that is not negative, as Avro writes it.

    >>> _long(1), _long(300)
    (b'\\x02', b'\\xd8\\x04')
    """
    rest, parts = 2 * number, []
    while rest > 127:
        parts.append(rest & 127 | 128)
        rest >>= 7
    return bytes((*parts, rest))


def _json(record: Any) -> str:
    return orjson.dumps(record, default=_plain, option=_OPTIONS).decode()


_OPTIONS = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_NON_STR_KEYS


def _plain(value: Any) -> str | None:
    """What JSON has no form for: the text that columns with types have."""
    return to_typed(value).text


# ---- Protobuf


def _protobuf_decoder(schema: str, references: Sequence[str]) -> Decoder:
    from google.protobuf import descriptor_pool, json_format, message, message_factory
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    pool = descriptor_pool.DescriptorPool()
    try:
        files = [FileDescriptorProto.FromString(b64decode(each)) for each in (*references, schema)]
        named = {file.name for file in files}
        for file in files:
            _add_well_known(pool, file, named)
            pool.Add(file)
        whole = pool.FindFileByName(files[-1].name)
    except Exception as error:  # protobuf has exceptions of its own
        raise UnknownSchemaError(f"the schema cannot be read: {error}") from None
    kinds = list(files[-1].message_type)

    def decode_one(body: bytes) -> str:
        indexes, start = _message_indexes(body)
        level, names = kinds, []
        for index in indexes:
            names.append(level[index].name)
            level = list(level[index].nested_type)
        found = whole.message_types_by_name[names[0]]
        for name in names[1:]:
            found = found.nested_types_by_name[name]
        read = message_factory.GetMessageClass(found).FromString(body[start:])
        return str(json_format.MessageToJson(read, preserving_proto_field_name=True, indent=None))

    errors = (message.DecodeError, json_format.Error, LookupError, ValueError, TypeError)
    return lambda bodies: list(map(partial(_each, decode_one, errors), bodies))


def _add_well_known(pool: Any, file: Any, named: set[str]) -> None:
    """The files of Google's own that a file imports, which come with protobuf."""
    from google.protobuf import descriptor_pb2

    for name in file.dependency:
        if name in named or not name.startswith("google/protobuf/"):
            continue
        module = import_module(name.removesuffix(".proto").replace("/", ".") + "_pb2")
        proto = descriptor_pb2.FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(proto)
        _add_well_known(pool, proto, named)
        pool.Add(proto)
        named.add(name)


def _message_indexes(body: bytes) -> tuple[list[int], int]:
    """Which message of the file it is, from the outermost on, and where its bytes begin."""
    count, at = _varint(body, 0)
    if count == 0:
        return [0], at
    indexes = []
    for _ in range(count):
        index, at = _varint(body, at)
        indexes.append(index)
    return indexes, at


def _varint(body: bytes, at: int) -> tuple[int, int]:
    """A number with a sign as Avro and Kafka write it, and what follows it."""
    number = shift = 0
    while True:
        byte = body[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return (number >> 1) ^ -(number & 1), at
        shift += 7
