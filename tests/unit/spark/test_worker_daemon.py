"""Python workers of Spark begin with what they need."""

import pyarrow as pa
import pytest

from freshet.spark.worker_daemon import use_installed_pyspark

pytestmark = pytest.mark.spark


def test_workers_are_forked_with_installed_modules_and_kernels(spark):
    def look(batches):
        import sys

        from freshet.kernels.json_lines import scan_lines

        for _ in batches:
            found = {
                "pyspark": sys.modules["pyspark.worker"].__file__,
                "kernels": str(len(scan_lines.signatures)),
                "pandas": str("pandas" in sys.modules),
            }
            yield pa.RecordBatch.from_pydict({"name": list(found), "value": list(found.values())})

    found = dict(map(tuple, spark.range(1).mapInArrow(look, "name string, value string").collect()))
    assert ".zip" not in found["pyspark"]
    assert found["kernels"] == "1"
    assert found["pandas"] == "False"


def test_an_unpacked_spark_keeps_its_zip_files():
    path = ["/spark/python/lib/pyspark.zip", "/lib/site-packages"]
    assert use_installed_pyspark(path) == path
