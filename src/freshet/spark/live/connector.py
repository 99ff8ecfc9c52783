"""Spark's Kafka connector, which is not among the jars of the PyPI package."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pyspark
from pyspark.sql import SparkSession

from freshet.rdf.errors import InputError
from freshet.spark.live.packages import Package, fetch, is_complete, jars_folder, spark_jars

_SPARK, _CONNECTOR, _TOKENS = "org.apache.spark", "spark-sql-kafka-0-10_2.13", "spark-token-provider-kafka-0-10_2.13"
# Connector and its helper, best first. Not every version of Spark is everywhere; these work with Spark 4.3.
_VERSIONS = ((pyspark.__version__, pyspark.__version__), ("4.2.0", "4.2.0"), ("4.2.0", "4.0.0"))
_IN_SPARK = (
    ("org.apache.hadoop", "*"),
    ("org.scala-lang", "*"),
    ("org.scala-lang.modules", "*"),
    ("org.slf4j", "*"),
    ("org.xerial.snappy", "*"),
    ("at.yawk.lz4", "*"),
    ("org.lz4", "*"),
    ("com.github.luben", "*"),
    ("com.google.code.findbugs", "*"),
    (_SPARK, "spark-tags_2.13"),
    (_SPARK, "spark-sql_2.13"),
    (_SPARK, "spark-core_2.13"),
)
_WHERE = ("spark.jars", "spark.jars.packages", "spark.driver.extraClassPath")


def kafka_settings(given: Mapping[str, str]) -> dict[str, str]:
    """What a session needs besides its settings so that Kafka can be read and written.

    Nothing where the connector is among Spark's jars, or the settings bring it by themselves.
    """
    named = any("kafka" in given.get(key, "") for key in _WHERE)
    if named or any(spark_jars().glob("spark-sql-kafka-*.jar")):
        return {}
    jars = [str(jar) for jar in _fetch()]
    return {"spark.jars": ",".join([*filter(None, [given.get("spark.jars")]), *jars])}


def _fetch() -> list[str]:
    reasons = []
    choices = [(*versions, jars_folder() / "-".join(["kafka-connector", *versions])) for versions in _VERSIONS]
    for connector, tokens, folder in sorted(choices, key=lambda choice: not is_complete(choice[2])):
        try:
            found = fetch(
                [Package(_SPARK, _CONNECTOR, connector)],
                folder,
                instead=[Package(_SPARK, _TOKENS, tokens)],
                without=_IN_SPARK,
            )
            return [str(jar) for jar in found]
        except InputError as error:
            reasons.append(error.message)
    raise InputError(
        f"Kafka needs Spark's connector: {reasons[0]}",
        hint=f"put the jars of {_SPARK}:{_CONNECTOR} into spark.jars, or its name into spark.jars.packages",
    )


def add_connector(spark: SparkSession) -> None:
    """Bring the connector to a session that was started without it."""
    context = spark.sparkContext
    jvm: Any = context._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    with suppress(Exception):  # Java's, that there is no such class
        loader.loadClass("org.apache.spark.sql.kafka010.KafkaSourceProvider")
        return
    for jar in _fetch():
        loader.addURL(jvm.java.io.File(jar).toURI().toURL())
        context._jsc.addJar(jar)
