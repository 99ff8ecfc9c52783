"""How Spark's JVM is started."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from freshet.rdf.errors import InputError
from freshet.spark import jvm
from freshet.spark.class_archive import java, spark_folder
from freshet.spark.jvm import Jvm, class_path, java_command, start_jvm

_SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC '-Da=b c'",
    "spark.master": "local[2]",
}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*jvm._VARIABLES, *jvm._ELSEWHERE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(jvm, "_has_one", lambda: False)


def test_the_command_is_that_of_spark_s_launcher() -> None:
    home, program = spark_folder(), java()
    if program is None:
        pytest.skip("no Java")
    main = "org.apache.spark.deploy.SparkSubmit"
    passed = [part for key, value in _SETTINGS.items() for part in ("--conf", f"{key}={value}")]
    launcher = [program, "-cp", f"{home}/jars/*", "org.apache.spark.launcher.Main", main, *passed, "pyspark-shell"]
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_SCALA_VERSION": "2.13"}
    done = subprocess.run(launcher, env=environment, check=True, capture_output=True, text=True)
    theirs = [part for part in done.stdout.split("\0") if part.strip()]
    ours = java_command(program, home, _SETTINGS)
    split, ours_split = theirs.index(main), ours.index(main)
    assert theirs[1] == ours[1] == "-cp"
    expected = {*theirs[3:split], "-Da=b c"} - {"--add-modules=jdk.incubator.vector"}  # for MLlib's vectors
    assert set(ours[3:ours_split]) == expected
    assert sorted(ours[ours_split:]) == sorted(theirs[split:])


def test_all_jars_but_mllib_are_on_the_class_path_and_large_ones_first() -> None:
    jars = class_path(spark_folder())
    missing = set((spark_folder() / "jars").glob("*.jar")) - set(jars)
    assert {jar.name.partition("_")[0] for jar in missing} == {"spark-mllib"}
    assert [jar.name.rpartition("-")[0] for jar in jars[:2]] == ["slf4j-api", "spark-sql_2.13"]


@pytest.mark.parametrize(
    ("variable", "setting", "master"),
    [
        ("SPARK_CONF_DIR", "", "local[2]"),
        ("PYSPARK_GATEWAY_PORT", "", "local[2]"),
        ("", "spark.driver.extraClassPath", "local[2]"),
        ("", "", "spark://host:7077"),
    ],
)
def test_what_is_set_otherwise_is_left_to_pyspark(
    monkeypatch: pytest.MonkeyPatch, variable: str, setting: str, master: str
) -> None:
    if variable:
        monkeypatch.setenv(variable, "1")
    monkeypatch.setattr(jvm, "java", lambda: Path(sys.executable))
    assert start_jvm({setting: "1"} if setting else {}, master) is None


def test_beside_a_jvm_none_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jvm, "_has_one", lambda: True)
    monkeypatch.setattr(jvm, "java", lambda: None)
    assert start_jvm({}, "local[2]") is None


@pytest.mark.parametrize(("home", "problem"), [("", "none here"), ("/nowhere", "none in JAVA_HOME (/nowhere)")])
def test_without_java_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, home: str, problem: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", home)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError) as raised:
        start_jvm({}, "local[2]")
    install = "install openjdk-17-jre-headless (or newer)"
    assert str(raised.value) == f"Spark needs Java 17 or newer, and there is {problem}: {install}"


@pytest.mark.parametrize(("stated", "version"), [("1.8.0_392", "8"), ("11.0.2", "11")])
def test_a_java_that_is_too_old_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stated: str, version: str
) -> None:
    program = tmp_path / "bin" / "java"
    (tmp_path / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{stated}"\n')
    monkeypatch.setattr(jvm, "java", lambda: program)
    with pytest.raises(InputError, match=re.escape(f"{program} is Java {version}: install")):
        start_jvm({}, "local[2]")


_STAND_IN = """
import os, pathlib, struct, sys
place = pathlib.Path(os.environ["_PYSPARK_DRIVER_CONN_INFO_PATH"])
part = place.with_suffix(".part")
part.write_bytes(struct.pack(">ii", 4711, 6) + b"secret")
part.rename(place)
sys.stdin.read()
"""


def test_pyspark_is_offered_the_connection() -> None:
    started = Jvm([sys.executable, "-c", _STAND_IN], os.environ, {})
    assert started.connect()
    with started.offered():
        assert os.environ["PYSPARK_GATEWAY_PORT"] == "4711"
        assert os.environ["PYSPARK_GATEWAY_SECRET"] == "secret"
    assert "PYSPARK_GATEWAY_PORT" not in os.environ
    started.process.communicate(timeout=60)  # it ends with its input


def test_a_jvm_that_ends_offers_nothing() -> None:
    started = Jvm([sys.executable, "-c", ""], os.environ, {})
    assert not started.connect()
    assert not Path(started._folder).exists()
