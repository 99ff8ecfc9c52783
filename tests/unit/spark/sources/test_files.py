"""Files through Spark: packed, encoded, cut into ranges, missing, damaged."""

import gzip
import io
import json
import tarfile
import zipfile

import pytest

from freshet.rdf.errors import InputError
from freshet.rml.sources import Compression, FileSource, Formulation, LogicalSource
from freshet.sources import file_ranges
from freshet.spark.sources.open import open_records
from source_rows import rows, spark_rows

TEXT = "id,name\n1,Zoë\n2,Ann\n"


def csv_source(path, **options):
    return LogicalSource(FileSource(path, **options), Formulation.CSV)


def json_source(path, iterator=None, **options):
    return LogicalSource(FileSource(path, **options), Formulation.JSON, iterator)


def pack(path, compression, data):
    match compression:
        case Compression.GZIP:
            path.write_bytes(gzip.compress(data))
        case Compression.ZIP:
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("a.csv", data)
        case Compression.NONE:
            path.write_bytes(data)
        case _:
            with tarfile.open(path, "w:gz" if compression is Compression.TAR_GZIP else "w:xz") as archive:
                member = tarfile.TarInfo("a.csv")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))


@pytest.mark.parametrize("compression", Compression)
@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16", "latin-1"])
def test_packed_and_encoded(tmp_path, compression, encoding):
    pack(tmp_path / "a", compression, TEXT.encode(encoding))
    source = csv_source(tmp_path / "a", encoding=encoding, compression=compression)
    assert rows(source, ["id", "name"]) == ([("1", "Zoë"), ("2", "Ann")], [])


def test_several_files(spark, tmp_path):
    (tmp_path / "a.csv").write_text("id,name\n1,A\n")
    (tmp_path / "b.csv").write_text("name,id\nB,2\n")
    (tmp_path / "c.csv").write_text("id\n3\n4\n")
    (tmp_path / "d.csv").write_bytes(b"\xff\n")
    (tmp_path / ".hidden").write_text("x")
    for path in (tmp_path, tmp_path / "*.csv"):
        good, bad = spark_rows(spark, csv_source(path), ["id", "name"])
        assert sorted(good) == [("1", "A"), ("2", "B")]
        assert [reason.partition(";")[0] for reason, _ in bad] == [
            "there is no column name", "there is no column name", "cannot be read: the header is not UTF-8",
        ]  # fmt: skip


@pytest.mark.parametrize("name", ["none.csv", "none-*.csv", "empty"])
def test_a_missing_file_is_named(spark, tmp_path, name):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=f"{name.replace('*', '.')}: there is no"):
        open_records(spark, csv_source(tmp_path / name), ["id"])


def test_what_is_known_to_be_wrong_is_an_error(spark, tmp_path):
    (tmp_path / "a.csv").write_text(TEXT)
    (tmp_path / "b.csv").write_text("")
    with pytest.raises(InputError, match=r"a\.csv: there is no column age; the header has id, name"):
        open_records(spark, csv_source(tmp_path / "a.csv"), ["age"])
    with pytest.raises(InputError, match="there is no header"):
        open_records(spark, csv_source(tmp_path / "b.csv"), ["id"])
    with pytest.raises(InputError, match="the encoding UTF-9 is not known"):
        open_records(spark, csv_source(tmp_path / "a.csv", encoding="UTF-9"), ["id"])
    with pytest.raises(InputError, match=r"\$\.a\[ is no JSONPath"):
        open_records(spark, json_source(tmp_path / "a.csv", "$.a["), ["id"])
    with pytest.raises(InputError, match="cannot be read"):
        open_records(spark, csv_source(tmp_path / "a.csv", compression=Compression.GZIP), ["id"])


def test_a_damaged_file_is_rejected_where_it_breaks(tmp_path):
    lines = "".join(json.dumps({"id": number, "text": str(hash(str(number)))}) + "\n" for number in range(2000))
    (tmp_path / "a.gz").write_bytes(gzip.compress(lines.encode())[:-2000])
    good, bad = rows(json_source(tmp_path / "a.gz", compression=Compression.GZIP), ["id"])
    assert [reason for reason, _ in bad] == [
        "cannot be read: Compressed file ended before the end-of-stream marker was reached"
    ]
    assert good == [] or good[0] == ("0",)


def test_bytes_of_another_encoding(tmp_path):
    (tmp_path / "a.csv").write_bytes(
        "id,name\n1,a\n2,b\n".encode("utf-16-le") + b"\x00\xd8" + "3,c\n".encode("utf-16-le")
    )
    good, bad = rows(csv_source(tmp_path / "a.csv", encoding="UTF-16LE"), ["id"])
    assert good == [("1",), ("2",)]
    assert [reason for reason, _ in bad] == ["not UTF-16LE, in the record at byte 16"]


@pytest.mark.parametrize("size", [7, 16, 50, 1000])
def test_large_files_are_cut_between_records(tmp_path, monkeypatch, size):
    monkeypatch.setattr(file_ranges, "LEAST", size)
    monkeypatch.setattr(file_ranges, "MOST", size)
    monkeypatch.setattr(file_ranges, "BLOCK", 5)
    records = [(str(number), "x\n" * (number % 5)) for number in range(40)]
    (tmp_path / "a.csv").write_text("\ufeffid,text\n" + "".join(f'{a},"{b}"\n' for a, b in records), encoding="utf-8")
    assert rows(csv_source(tmp_path / "a.csv"), ["id", "text"]) == (records, [])
    (tmp_path / "a.json").write_text("\ufeff" + "\n".join(json.dumps({"id": a, "text": b}) for a, b in records))
    assert rows(json_source(tmp_path / "a.json"), ["id", "text"]) == (records, [])


def test_parts_in_spark(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(file_ranges, "LEAST", 300)
    monkeypatch.setattr(file_ranges, "MOST", 300)
    (tmp_path / "a.json").write_text("\n".join(json.dumps({"id": number}) for number in range(100)))
    source = json_source(tmp_path / "a.json")
    assert open_records(spark, source, ["id"]).frame.rdd.getNumPartitions() > 3
    assert spark_rows(spark, source, ["id"]) == ([(str(number),) for number in range(100)], [])


def test_text_and_file_of_every_record_where_they_are_asked_for(spark, tmp_path):
    (tmp_path / "a.csv").write_text(TEXT)
    (tmp_path / "a.json").write_text('{"l": [{"id": 1}, {"id": 2}]}')
    for source, lines in (
        (csv_source(tmp_path / "a.csv"), ["1,Zoë", "2,Ann"]),
        (json_source(tmp_path / "a.json", "$.l[*]"), ['{"id": 1}', '{"id": 2}']),
    ):
        found = open_records(spark, source, ["id"], keep=True).frame.collect()
        assert [row["line"] for row in found] == lines
        assert {row["file"] for row in found} == {source.source.path.as_uri()}


def test_lines_and_documents_are_told_apart(tmp_path):
    file = tmp_path / "a.json"
    expected = [("1",), ("2",)]
    for text in (
        '{"id":1}\n{"id":2}\n', '\n{"id":1}\n\n{"id":2}', '{"id":1} {"id":2}', '{"id":\n1} {\n"id":2}',
    ):  # fmt: skip
        file.write_text(text)
        assert rows(json_source(file), ["id"]) == (expected, []), text
    file.write_text('{"id":\n{"id":1}\n{"id":2}\nx\n')
    good, bad = rows(json_source(file), ["id"])
    assert (good, [line for _, line in bad]) == (expected, ['{"id":', "x"])
    file.write_text("")
    assert rows(json_source(file), ["id"]) == ([], [])
