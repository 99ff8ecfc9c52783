"""The process that forks Spark's Python workers (`spark.python.daemon.module`), ready for what Freshet's workers do.

PySpark's own daemon imports nothing, and from a zip file without bytecode. Each worker then compiles PySpark, imports
Arrow and Numba, and loads kernels, which takes seconds. Here that is done once, from the installed package, and workers
are forked with all of it. Arrow and Numba may be forked as long as only one thread uses them, as here.
"""

from __future__ import annotations

import gc
import sys
from importlib import import_module
from pathlib import Path

_IMPORTED_BY_WORKERS = (
    "pyspark.worker",
    "pyspark.sql.conversion",
    "pyspark.sql.pandas.serializers",
    "pyarrow.compute",
)


def use_installed_pyspark(path: list[str]) -> list[str]:
    """A search path without the zip files that an installed PySpark has of itself and of Py4J.

    >>> use_installed_pyspark(["/a/pyspark/python/lib/pyspark.zip", "/a/pyspark/python/lib/py4j-1-src.zip", "/a"])
    ['/a']
    >>> use_installed_pyspark(["/spark/python/lib/pyspark.zip", "/a"])
    ['/spark/python/lib/pyspark.zip', '/a']
    """
    packages = {str(Path(each, "pyspark")) for each in path}
    return [each for each in path if not (each.endswith(".zip") and str(Path(each).parents[2]) in packages)]


def load_ahead() -> None:
    """Import what workers import, and load the kernels that read JSON lines by reading one."""
    for name in _IMPORTED_BY_WORKERS:
        import_module(name)
    from freshet.rdf.arrow import texts
    from freshet.rml.json_lines import TimeReference, path_tree, read_lines

    read_lines(texts(['{"a": {"b": "\\n1"}}']), path_tree([("a", "b")]), TimeReference(0, True))


def main() -> None:
    sys.path[:] = use_installed_pyspark(sys.path)
    load_ahead()
    from pyspark.daemon import manager

    gc.freeze()  # else the collections of each worker copy what it shares with the others
    manager()


if __name__ == "__main__":
    main()
