from __future__ import annotations

from pathlib import Path

import pytest

import freshet
from freshet.rdf.errors import InputError

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
NESTED = "".join(f'<!ENTITY a{at} "{f"&a{at - 1};" * 10}">\n' for at in range(1, 12))


def document(declarations: str, text: str, folder: Path) -> Path:
    file = folder / "data.rdf"
    file.write_text(
        f'<?xml version="1.0"?>\n<!DOCTYPE rdf [\n{declarations}]>\n<rdf:RDF xmlns:rdf="{RDF}" xmlns:e="http://e/">'
        f'<rdf:Description rdf:about="http://e/a"><e:b>{text}</e:b></rdf:Description></rdf:RDF>'
    )
    return file


@pytest.mark.parametrize(
    ("declarations", "text", "message", "line"),
    [
        (f'<!ENTITY a0 "ha">\n{NESTED}', "&a11;", "stand for more than 16.0 MiB", 14),
        (f'<!ENTITY big "{"a" * 100_000}">\n', "&big;" * 1000, "&big; and others stand for more", 3),
        ('<!ENTITY x "&y;">\n<!ENTITY y "&x;">\n', "&x;", "is nested more than 16 deep", 3),
    ],
)
def test_entities_without_end_are_refused(
    declarations: str, text: str, message: str, line: int, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        freshet.Session().load(document(declarations, text, tmp_path))
    assert caught.value.line == line
    assert caught.value.file == str(tmp_path / "data.rdf")


def test_ordinary_entities_are_expanded(tmp_path: Path) -> None:
    session = freshet.Session()
    session.load(document('<!ENTITY e "http://e/">\n<!ENTITY long "&e;&e;">\n', "&long;x" * 100, tmp_path))
    answer = session.query("SELECT ?o { ?s ?p ?o }")
    assert answer.to_arrow().to_pydict() == {"o": ["http://e/http://e/x" * 100]}  # type: ignore[union-attr]


def test_a_nul_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="NUL") as caught:
        freshet.Session().load(document("", "a\0b", tmp_path))
    assert caught.value.line == 4
