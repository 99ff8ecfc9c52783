"""Messages by the schemas of a registry: Avro, Protobuf and JSON, and what cannot be decoded."""

from __future__ import annotations

import io
import json
import pickle
from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal

import fastavro
import pyarrow as pa
import pytest
from google.protobuf import descriptor_pool, message_factory, timestamp_pb2
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto

from freshet.rdf.errors import InputError
from freshet.sources.registry_messages import NOT_DECODED, RegistryMessages
from schema_registry import SchemaRegistry, framed, schema_registry

READING = {
    "type": "record",
    "name": "Reading",
    "fields": [
        {"name": "room", "type": "string"},
        {"name": "degrees", "type": ["null", "double"]},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
    ],
}


@pytest.fixture
def registry() -> Iterator[SchemaRegistry]:
    with schema_registry() as running:
        yield running


def avro(schema: object, record: object) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), record)
    return stream.getvalue()


def texts(registry: SchemaRegistry, *messages: bytes | None, **headers: str) -> list[str | None]:
    return RegistryMessages(registry.url, headers).texts(pa.array(messages, pa.binary())).to_pylist()


def test_avro_by_many_schemas(registry: SchemaRegistry) -> None:
    other = {"type": "record", "name": "Reading", "fields": [{"name": "floor", "type": "long"}]}
    registry.add(7, json.dumps(READING))
    registry.add(70_000, json.dumps(other))
    readings = [{"room": f"r{at}", "degrees": None if at % 3 else at / 4, "tags": ["a"] * at} for at in range(300)]
    sent = [framed(7, avro(READING, each)) for each in readings]
    sent[1:1] = [framed(70_000, avro(other, {"floor": 3})), None]
    found = texts(registry, *sent, authorization="Bearer x")
    assert found[2] is None
    assert [json.loads(each) for each in found if each is not None] == [readings[0], {"floor": 3}, *readings[1:]]
    assert sorted(registry.asked) == ["/schemas/ids/7", "/schemas/ids/70000"]
    assert {each["authorization"] for each in registry.headers} == {"Bearer x"}


def test_values_that_json_has_no_form_for(registry: SchemaRegistry) -> None:
    kinds = {
        "at": {"type": "long", "logicalType": "timestamp-millis"},
        "on": {"type": "int", "logicalType": "date"},
        "price": {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2},
        "raw": "bytes",
    }
    schema = {"type": "record", "name": "R", "fields": [{"name": name, "type": kind} for name, kind in kinds.items()]}
    registry.add(1, json.dumps(schema))
    record = {
        "at": datetime(2026, 1, 2, 3, 4, 5, 500_000, UTC),
        "on": date(2026, 1, 2),
        "price": Decimal("12.50"),
        "raw": b"\x01\xff",
    }
    [found] = texts(registry, framed(1, avro(schema, record)))
    assert json.loads(found or "") == {
        "at": "2026-01-02T03:04:05.5Z",
        "on": "2026-01-02",
        "price": "12.50",
        "raw": "01FF",
    }


def test_a_schema_that_refers_to_another(registry: SchemaRegistry) -> None:
    place = {"type": "record", "name": "Place", "fields": [{"name": "floor", "type": "int"}]}
    schema = {"type": "record", "name": "R", "fields": [{"name": "in", "type": "Place"}]}
    registry.answers["/subjects/place/versions/2"] = {"schema": json.dumps(place)}
    registry.add(1, json.dumps(schema), references=[{"name": "Place", "subject": "place", "version": 2}])
    whole = {"type": "record", "name": "R", "fields": [{"name": "in", "type": place}]}
    sent = framed(1, avro(whole, {"in": {"floor": 4}}))
    assert texts(registry, sent, sent) == ['{"in":{"floor":4}}'] * 2


def test_what_cannot_be_decoded_is_marked_alone(registry: SchemaRegistry) -> None:
    registry.add(7, json.dumps(READING))
    good = framed(7, avro(READING, {"room": "a", "degrees": 1.5, "tags": []}))
    found = texts(registry, good, good[:-2], good + b"\0", b"{}", framed(8, b""), b"", good)
    assert found[0] == found[-1] == '{"room":"a","degrees":1.5,"tags":[]}'
    assert all(each is not None and each.startswith(NOT_DECODED) for each in found[1:-1])
    assert found[2] == NOT_DECODED + "it has more bytes than its schema says"
    assert found[3] == NOT_DECODED + "it has no header with the number of a schema"
    assert found[4] == NOT_DECODED + "the schema registry has no schemas/ids/8"


def test_json_with_a_header(registry: SchemaRegistry) -> None:
    registry.add(3, "{}", "JSON")
    found = texts(registry, framed(3, b'{"a": 1}'), framed(3, b"\xff"))
    assert found[0] == '{"a": 1}'
    assert (found[1] or "").startswith(NOT_DECODED)


def reading_file() -> FileDescriptorProto:
    """message Other { }  message Reading { message Place { int32 floor = 1; }  string room = 1; Place place = 2;
    google.protobuf.Timestamp at = 3; }"""
    text, number, message = (
        FieldDescriptorProto.TYPE_STRING,
        FieldDescriptorProto.TYPE_INT32,
        FieldDescriptorProto.TYPE_MESSAGE,
    )
    optional = FieldDescriptorProto.LABEL_OPTIONAL
    place = DescriptorProto(name="Place")
    place.field.add(name="floor", number=1, type=number, label=optional)
    reading = DescriptorProto(name="Reading", nested_type=[place])
    reading.field.add(name="room", number=1, type=text, label=optional)
    reading.field.add(name="place", number=2, type=message, type_name=".house.Reading.Place", label=optional)
    reading.field.add(name="at", number=3, type=message, type_name=".google.protobuf.Timestamp", label=optional)
    return FileDescriptorProto(
        name="reading.proto",
        package="house",
        syntax="proto3",
        dependency=["google/protobuf/timestamp.proto"],
        message_type=[DescriptorProto(name="Other"), reading],
    )


def test_protobuf_by_the_indexes_of_its_message(registry: SchemaRegistry) -> None:
    file = reading_file()
    registry.add(5, "...", "PROTOBUF", serialized=b64encode(file.SerializeToString()).decode())
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    message = message_factory.GetMessageClass(pool.FindMessageTypeByName("house.Reading"))(room="a")
    message.place.floor = 3
    message.at.FromJsonString("2026-01-02T03:04:05Z")
    second = bytes((2, 2)) + message.SerializeToString()  # one index, the second message
    nested = bytes((4, 2, 0)) + message.place.SerializeToString()
    first = bytes((0,))
    found = texts(registry, *(framed(5, each) for each in (second, nested, first, second[:-1])))
    wanted = {"room": "a", "place": {"floor": 3}, "at": "2026-01-02T03:04:05Z"}
    assert [json.loads(each or "") for each in found[:3]] == [wanted, {"floor": 3}, {}]
    assert (found[3] or "").startswith(NOT_DECODED)


def test_a_registry_that_does_not_answer(registry: SchemaRegistry) -> None:
    messages = RegistryMessages(registry.url, {})
    registry.answers["/schemas/ids/1"] = ["no schema"]
    with pytest.raises(InputError, match="has no schema in its answer"):
        messages.texts(pa.array([framed(1, b"")], pa.binary()))
    with pytest.raises(InputError, match="does not answer"):
        RegistryMessages("http://127.0.0.1:9", {}).texts(pa.array([framed(1, b"")], pa.binary()))


def test_it_goes_to_other_processes(registry: SchemaRegistry) -> None:
    registry.add(3, "{}", "JSON")
    messages = RegistryMessages(registry.url, {"x": "y"})
    sent = pa.array([framed(3, b"{}")], pa.binary())
    assert messages.texts(sent).to_pylist() == ["{}"]
    assert pickle.loads(pickle.dumps(messages)).texts(sent.slice(0)).to_pylist() == ["{}"]
    assert messages.texts(pa.array([], pa.binary())).to_pylist() == []
