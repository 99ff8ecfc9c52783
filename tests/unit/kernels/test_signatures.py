"""The list of kernels that are compiled ahead."""

import subprocess
import sys

from numba.core import types

from freshet.kernels.dictionary import DictionaryArrays
from freshet.kernels.signatures import SECTIONS, listed, read_call, show_call


def test_every_line_names_a_kernel_and_its_types():
    for line in listed():
        assert show_call(*read_call(line)) == line


def test_sections_contain_those_before_them():
    lines = [set(listed(section)) for section in SECTIONS]
    assert lines[0] < lines[1] < lines[2]
    assert len(lines[2]) == len(listed())


def test_types_are_written_as_they_are_read():
    arrays = "dictionary.DictionaryArrays(i8[::1], u1[::1], i8[::1])"
    kernel, arguments = read_call(f"dictionary.find_records({arrays}, i8, b1)")
    tuple_type, number, truth = arguments
    assert tuple_type.instance_class is DictionaryArrays
    assert (number, truth) == (types.int64, types.boolean)
    assert kernel.py_func.__name__ == "find_records"
    for line in ("index.probe(readonly(u1[::1]), i8[:, ::1])", "index.probe(tuple(i8, f8[:]), none)"):
        read = read_call(line.replace("index.probe", "layout.pack"))
        assert show_call(*read) == line.replace("index.probe", "layout.pack")


_README = """
import freshet
session = freshet.Session()
session.stream("http://e/s")
query = session.register('''REGISTER RSTREAM <q> AS SELECT ?s (AVG(?o) AS ?n)
    FROM NAMED WINDOW <w> ON <http://e/s> [RANGE PT1S STEP PT1S]
    WHERE { ?s a ?kind . WINDOW <w> { ?s <http://e/p> ?o } FILTER (?o > 1) } GROUP BY ?s''')
session.push("http://e/s", '5\\t<http://e/a> <http://e/p> "2"^^<http://www.w3.org/2001/XMLSchema#integer> .')
session.finish()
"""


def test_what_python_calls_can_be_recorded(tmp_path, monkeypatch):
    monkeypatch.setenv("FRESHET_RECORD_KERNELS", str(tmp_path / "calls"))
    subprocess.run([sys.executable, "-c", _README], check=True)
    recorded = set((tmp_path / "calls").read_text().splitlines())
    assert recorded
    assert recorded <= set(listed())
