"""The Spark session, with the settings that make small batches quick."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from py4j.java_gateway import JVMView
from pyspark.errors import IllegalArgumentException
from pyspark.sql import SparkSession

from freshet.spark.class_archive import archive_options, end_with_archive, makes_archive

__all__ = ["SETTINGS", "SparkSession", "spark_session"]

_LOGGING = Path(__file__).with_name("log4j2.properties")

# By default every micro-batch forks some two dozen processes through Hadoop's local file system; the checkpoint file
# manager and the checksum switches remove nearly all of them. The rest are waits that a local run does not need.
_NOISE = (
    *(b"WARNING: Using incubator modules", b"Exception in thread", b"\t", b"Caused by:"),
    *(b"Starting Streaming TransformWithState", b"Streaming TransformWithState"),
)
SETTINGS = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.python.daemon.module": "freshet.spark.worker_daemon",
    "spark.sql.streaming.pollingDelay": "1ms",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.buffer.pageSize": "2m",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    # Else every call that makes a column sends its source position to the JVM: half of all calls to the JVM.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # What follows from every column for every other one: of wide projections that takes longer than a micro-batch, and
    # filters that it finds are of no use to mappings.
    "spark.sql.constraintPropagation.enabled": "false",
    # Stateful processors need it. The changelog spares a micro-batch a snapshot.
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}


@contextmanager
def _filter_errors() -> Iterator[None]:
    """What the JVM that is started here says on standard error, without stack traces and notes on its own start.

    FRESHET_TRACEBACK=1 lets everything through.
    """
    if os.environ.get("FRESHET_TRACEBACK"):
        yield
        return
    real = os.dup(2)
    reading, writing = os.pipe()
    os.dup2(writing, 2)
    os.close(writing)
    threading.Thread(target=_forward, args=(reading, real), name="freshet-jvm-errors", daemon=True).start()
    try:
        yield
    finally:
        os.dup2(real, 2)


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


def _leave_stopping_to_python(jvm: JVMView) -> None:
    """Let the JVM ignore SIGTERM, as PySpark lets it ignore SIGINT.

    Supervisors send it to all processes of a run, and without its JVM a run cannot end in order. The JVM ends when this
    process does, however that comes: its standard input is a pipe from here.
    """
    signals = jvm.sun.misc
    with suppress(IllegalArgumentException):  # with -Xrs it has nothing to do with signals
        signals.Signal.handle(signals.Signal("TERM"), signals.SignalHandler.SIG_IGN)


def spark_session(settings: Mapping[str, str] | None = None, *, master: str = "local[*]") -> SparkSession:
    """A session with Freshet's settings, those given on top."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    given = dict(settings or {})
    java = ["-XX:+UseParallelGC", "-XX:-DontCompileHugeMethods", f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}"]
    archive = archive_options()
    java += archive
    given["spark.driver.extraJavaOptions"] = " ".join([*java, given.get("spark.driver.extraJavaOptions", "")]).strip()
    builder = SparkSession.builder.master(master).appName("freshet")
    for key, value in {**SETTINGS, **given}.items():
        builder = builder.config(key, value)
    with _filter_errors():
        spark = builder.getOrCreate()
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    if "PYSPARK_GATEWAY_PORT" not in os.environ:  # else it is the JVM that has started Python
        _leave_stopping_to_python(jvm)
        if makes_archive(archive):
            gateway: Any = spark.sparkContext._gateway
            atexit.register(end_with_archive, gateway.proc)
    home = jvm.org.apache.hadoop.fs.FileSystem.getLocal(spark.sparkContext._jsc.hadoopConfiguration())
    home.setWriteChecksum(False)
    home.setVerifyChecksum(False)
    return spark
