"""Spark's JVM, started before PySpark is imported, and with what Freshet needs of Spark.

PySpark starts it by `bin/spark-submit`: two shell scripts, a Python process that looks for Spark and a JVM that makes
the command line of the next. Here that is made directly, if nothing in the environment or in the settings wants
something else. MLlib is left out: Spark would register its functions in every session, with Scala's reflection, which
takes as long as all else that a session does. Jars with the most classes come first: Hadoop looks through the jars for
one of them whenever a folder is listed.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from freshet.rdf.errors import InputError
from freshet.spark.class_archive import java, spark_folder
from freshet.spark.settings import JAVA_OPTIONS

# What Spark's launcher adds (its `JavaModuleOptions`), without the module for MLlib's vectors.
MODULE_OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(
        f"--add-opens={package}=ALL-UNNAMED"
        for package in (
            *("java.base/java.lang", "java.base/java.lang.invoke", "java.base/java.lang.reflect", "java.base/java.io"),
            *("java.base/java.net", "java.base/java.nio", "java.base/java.util", "java.base/java.util.concurrent"),
            *("java.base/java.util.concurrent.atomic", "java.base/jdk.internal.ref", "java.base/sun.nio.ch"),
            *("java.base/sun.nio.cs", "java.base/sun.security.action", "java.base/sun.util.calendar"),
            "java.security.jgss/sun.security.krb5",
        )
    ),
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
    "-Dderby.connection.requireAuthentication=false",
)
_MAIN = "org.apache.spark.deploy.SparkSubmit"
_MEMORY = "spark.driver.memory"
_FIRST = ("slf4j-api-", "spark-sql_", "spark-catalyst_", "spark-core_", "scala-library-", "hadoop-client-api-")
_LEFT_OUT = ("spark-mllib_",)

# Who uses one of these leaves it to PySpark and spark-submit.
_VARIABLES = (
    *("SPARK_HOME", "SPARK_CONF_DIR", "SPARK_SUBMIT_OPTS", "SPARK_DIST_CLASSPATH", "SPARK_DRIVER_MEMORY"),
    *("SPARK_PREPEND_CLASSES", "SPARK_TESTING", "SPARK_SCALA_VERSION", "SPARK_REMOTE", "SPARK_CONNECT_MODE"),
    *("HADOOP_CONF_DIR", "YARN_CONF_DIR", "PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT"),
)
_SETTINGS = (
    *("spark.driver.extraClassPath", "spark.driver.extraLibraryPath", "spark.driver.defaultJavaOptions"),
    *("spark.driver.defaultExtraClassPath", "spark.sql.catalogImplementation", "spark.remote"),
)
_ELSEWHERE = ("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE")  # Spark runs already
_LOOK_SECONDS = 0.01

_OLDEST_JAVA = 17
_WANTED = f"Spark needs Java {_OLDEST_JAVA} or newer"
_INSTALL = f"install openjdk-{_OLDEST_JAVA}-jre-headless (or newer)"

_NOISE = (
    *(b"WARNING: Using incubator modules", b"Exception in thread", b"\t", b"Caused by:"),
    *(b"Starting Streaming TransformWithState", b"Streaming TransformWithState"),
)


class Jvm:
    """A JVM that was started with the `settings` of a session. It ends with its standard input, a pipe from here."""

    def __init__(self, command: list[str], environment: Mapping[str, str], settings: Mapping[str, str]) -> None:
        self.settings = settings
        self._folder = tempfile.mkdtemp(prefix="freshet-jvm-")
        self._connection = Path(self._folder, "connection")
        self._offer: dict[str, str] = {}
        errors = _filtering_pipe()
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stderr=errors,
            env={**environment, "_PYSPARK_DRIVER_CONN_INFO_PATH": str(self._connection)},
            preexec_fn=_ignore_interrupts,
        )
        if errors is not None:
            os.close(errors)

    def connect(self) -> bool:
        """Wait until it can be connected to. False where it has ended instead."""
        while self.process.poll() is None and not self._connection.is_file():
            time.sleep(_LOOK_SECONDS)
        if self._connection.is_file():
            data = self._connection.read_bytes()
            port, length = struct.unpack(">ii", data[:8])
            secret = data[8 : 8 + length].decode()
            self._offer = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
        shutil.rmtree(self._folder, ignore_errors=True)
        return bool(self._offer)

    @contextmanager
    def offered(self) -> Iterator[None]:
        """Within this, PySpark connects to it instead of starting one."""
        os.environ.update(self._offer)
        try:
            yield
        finally:
            for name in self._offer:
                os.environ.pop(name, None)


def start_jvm(settings: Mapping[str, str], master: str) -> Jvm | None:
    """Start Spark's JVM with all settings of a session. None if there is one, or if PySpark is to start it.

    Raises InputError where there is no Java, or only one that is too old.
    """
    if _has_one() or "spark.remote" in settings or any(os.environ.get(name) for name in _ELSEWHERE):
        return None
    home, found = spark_folder(), _checked_java()
    if not master.startswith("local") or (home / "conf").exists():
        return None
    if any(os.environ.get(name) for name in _VARIABLES) or any(name in settings for name in _SETTINGS):
        return None
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_ENV_LOADED": "1",
        "SPARK_CONNECT_MODE": "0",
        "SPARK_SCALA_VERSION": "2.13",
        "PYTHONHASHSEED": "0",  # Python workers must agree on it
    }
    return Jvm(java_command(found, home, {**settings, "spark.master": master}), environment, settings)


def _checked_java() -> Path:
    found = java()
    if found is None:
        place = os.environ.get("JAVA_HOME")
        problem = f"there is none in JAVA_HOME ({place})" if place else "there is none here"
        raise InputError(f"{_WANTED}, and {problem}: {_INSTALL}")
    version = _java_version(found)
    if version is not None and version < _OLDEST_JAVA:
        raise InputError(f"{_WANTED}, and {found} is Java {version}: {_INSTALL}")
    return found


def _java_version(program: Path) -> int | None:
    """The version that a Java states in a file beside its programs. None where it has no such file."""
    try:
        text = (program.parents[1] / "release").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    stated = re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', text, re.MULTILINE)
    return None if stated is None else int(stated[1])


def _has_one() -> bool:
    """Whether this process is connected to a JVM."""
    context = sys.modules.get("pyspark.core.context")
    return context is not None and context.SparkContext._gateway is not None


def java_command(program: Path, home: Path, settings: Mapping[str, str]) -> list[str]:
    """What `spark-submit` would run."""
    options = shlex.split(settings.get(JAVA_OPTIONS, ""))
    memory = [f"-Xmx{settings[_MEMORY]}"] if _MEMORY in settings else []
    passed = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
    path = ":".join(map(str, class_path(home)))
    return [str(program), "-cp", path, *memory, *options, *MODULE_OPTIONS, _MAIN, *passed, "pyspark-shell"]


def class_path(home: Path) -> list[Path]:
    """Spark's jars, those with the most classes first, without those that are left out."""
    jars = [jar for jar in (home / "jars").glob("*.jar") if not jar.name.startswith(_LEFT_OUT)]
    return sorted(jars, key=lambda jar: (_rank(jar.name), jar.name))


def _rank(name: str) -> int:
    return next((rank for rank, first in enumerate(_FIRST) if name.startswith(first)), len(_FIRST))


def _ignore_interrupts() -> None:
    """Ctrl-C is for Python, which stops the JVM."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def filter_errors() -> Iterator[None]:
    """The same for processes that others start here: they inherit standard error."""
    writing = _filtering_pipe()
    if writing is None:
        yield
        return
    real = os.dup(2)
    os.dup2(writing, 2)
    os.close(writing)
    try:
        yield
    finally:
        os.dup2(real, 2)
        os.close(real)


def _filtering_pipe() -> int | None:
    """A pipe to standard error for what a JVM says, without stack traces and notes on its own start.

    None, for standard error itself, with FRESHET_TRACEBACK=1.
    """
    if os.environ.get("FRESHET_TRACEBACK"):
        return None
    reading, writing = os.pipe()
    threading.Thread(target=_forward, args=(reading, os.dup(2)), name="freshet-jvm-errors", daemon=True).start()
    return writing


def _forward(reading: int, real: int) -> None:
    with os.fdopen(reading, "rb") as lines:
        in_traceback = False  # of one of Spark's Python workers, which say so when they are stopped
        for line in lines:
            if in_traceback:
                in_traceback = line.startswith(b" ")  # the line that is not indented is its last
            elif line.startswith(b"Traceback"):
                in_traceback = True
            elif not line.startswith(_NOISE):
                os.write(real, line)
