"""Python workers of Spark begin with what they need."""

import subprocess
import sys

import pyarrow as pa
import pytest

from freshet.spark.worker_daemon import use_installed_pyspark

pytestmark = pytest.mark.spark


def test_workers_are_forked_with_installed_modules_and_kernels(spark):
    def look(batches):
        from freshet.kernels.json_lines import scan_lines

        for _ in batches:
            found = {
                "pyspark": sys.modules["pyspark.worker"].__file__,
                "kernels": str(len(scan_lines.signatures)),
            }
            yield pa.RecordBatch.from_pydict({"name": list(found), "value": list(found.values())})

    found = dict(map(tuple, spark.range(1).mapInArrow(look, "name string, value string").collect()))
    assert ".zip" not in found["pyspark"]
    assert found["kernels"] == "1"


def test_what_is_loaded_ahead_brings_no_pandas():
    """It would take every daemon most of a second."""
    code = "import sys; from freshet.spark import worker_daemon as it; it.load_ahead(); print('pandas' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"


def test_an_unpacked_spark_keeps_its_zip_files():
    path = ["/spark/python/lib/pyspark.zip", "/lib/site-packages"]
    assert use_installed_pyspark(path) == path
