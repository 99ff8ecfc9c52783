"""Runs the tasks of a bulk load in this process, one after another, where a test is not about Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


class Tasks:
    """What `SparkContext.parallelize` gives, as far as a bulk load uses it."""

    def __init__(self, items: Iterable[Any]) -> None:
        self._items = list(items)

    def map(self, task: Callable[[Any], Any]) -> Tasks:
        return Tasks(map(task, self._items))

    def collect(self) -> list[Any]:
        return self._items


class TasksHere:
    """Stands in for a SparkSession and its context."""

    defaultParallelism = 2

    @property
    def sparkContext(self) -> TasksHere:
        return self

    def parallelize(self, items: Iterable[Any], slices: int) -> Tasks:
        assert slices > 0
        return Tasks(items)

    def stop(self) -> None:
        """Nothing runs."""
