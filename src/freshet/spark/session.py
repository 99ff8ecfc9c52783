"""The Spark session, with the settings that make small batches quick."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from py4j.java_gateway import JVMView
from pyspark.errors import IllegalArgumentException
from pyspark.sql import SparkSession

from freshet.spark.class_archive import end_with_archive, makes_archive
from freshet.spark.jvm import Jvm, filter_errors, start_jvm
from freshet.spark.settings import JAVA_OPTIONS, SETTINGS, all_settings

__all__ = ["SETTINGS", "SparkSession", "spark_session"]


def _leave_stopping_to_python(jvm: JVMView) -> None:
    """Let the JVM ignore SIGTERM, as PySpark lets it ignore SIGINT.

    Supervisors send it to all processes of a run, and without its JVM a run cannot end in order. The JVM ends when this
    process does, however that comes: its standard input is a pipe from here.
    """
    signals = jvm.sun.misc
    with suppress(IllegalArgumentException):  # with -Xrs it has nothing to do with signals
        signals.Signal.handle(signals.Signal("TERM"), signals.SignalHandler.SIG_IGN)


def spark_session(
    settings: Mapping[str, str] | None = None, *, master: str = "local[*]", jvm: Jvm | None = None
) -> SparkSession:
    """A session with Freshet's settings, those given on top, in a `jvm` that was started with the same ones, or one
    that is started here."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    every = all_settings(settings) if jvm is None else jvm.settings
    jvm = jvm or start_jvm(every, master)
    builder = SparkSession.builder.master(master).appName("freshet")
    for key, value in every.items():
        builder = builder.config(key, value)
    if jvm is not None and jvm.connect():
        process: Any = jvm.process
        with jvm.offered():
            spark = builder.getOrCreate()
    else:
        with filter_errors():
            spark = builder.getOrCreate()
        gateway: Any = spark.sparkContext._gateway
        process = gateway.proc
    found = spark.sparkContext._jvm
    assert found is not None
    if "PYSPARK_GATEWAY_PORT" not in os.environ:  # else it is the JVM that has started Python
        _leave_stopping_to_python(found)
        if process is not None and makes_archive(every[JAVA_OPTIONS].split()):
            atexit.register(end_with_archive, process)
    home = found.org.apache.hadoop.fs.FileSystem.getLocal(spark.sparkContext._jsc.hadoopConfiguration())
    home.setWriteChecksum(False)
    home.setVerifyChecksum(False)
    return spark
