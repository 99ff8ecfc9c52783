"""Spark's settings that make small batches quick. Known before PySpark is imported, which takes half a second."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from freshet.spark.class_archive import archive_options

_LOGGING = Path(__file__).with_name("log4j2.properties")
JAVA_OPTIONS = "spark.driver.extraJavaOptions"

# Ten times Java's own thresholds: its optimising compiler otherwise takes a third of the time to the first answer, for
# code that a start runs and nothing after it. Loops over records pass these in a moment.
_OPTIMISED_LATER = (
    *("-XX:Tier4InvocationThreshold=50000", "-XX:Tier4MinInvocationThreshold=6000"),
    *("-XX:Tier4CompileThreshold=150000", "-XX:Tier4BackEdgeThreshold=400000"),
)

# By default every micro-batch forks some two dozen processes through Hadoop's local file system; the checkpoint file
# manager and the checksum switches remove nearly all of them. The rest are waits that a local run does not need.
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


def all_settings(given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Freshet's settings, and on top those given."""
    settings = {**SETTINGS, **(given or {})}
    java = ["-XX:+UseParallelGC", "-XX:-DontCompileHugeMethods", *_OPTIMISED_LATER]
    logging = f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}"
    settings[JAVA_OPTIONS] = " ".join([*java, logging, *archive_options(), settings.get(JAVA_OPTIONS, "")]).strip()
    return settings
