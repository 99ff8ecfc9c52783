"""`make demo ARGS=--web`: the town behind HTTP, with the web page, until it is stopped."""

from __future__ import annotations

import threading
from pathlib import Path

from freshet.demo.folder import write_demo
from freshet.demo.run import clear, town_writer
from freshet.runtime.pipeline_file import read_pipeline
from freshet.server.logs import start_logs
from freshet.server.pipeline import served_pipeline
from freshet.server.serving import serve
from freshet.server.settings import ServerSettings, parse_listen

_DAY_SECONDS = 86_400.0
_TRY = """
The town is at {url}/ (Ctrl-C stops it). Three things to try:
  1. {url}/#/query/spaces, then Map: free parking spaces, moving with the day.
  2. {url}/#/query: write a query of your own over <http://example.org/city/traffic>, and register it.
  3. curl -N -H 'Accept: application/x-ndjson' {url}/queries/congestion/answers
"""


def run_web_demo(folder: Path, listen: str) -> None:
    """Write a town's observations as they would arrive, and serve the pipeline over them."""
    host, port = parse_listen(listen)
    settings = ServerSettings(host, port)
    settings.check()
    clear(folder)
    town = write_demo(folder)
    pipeline = read_pipeline(folder / "pipeline.yaml")
    start_logs("text")
    stopping = threading.Event()
    writer = town_writer(folder, town, seconds=_DAY_SECONDS, stopped=stopping.is_set)
    writer.start()
    try:
        with served_pipeline(pipeline, settings) as shared:
            shared.session.register((folder / "spaces.rq").read_text(), measure=True)
            serve(shared, lambda url: print(_TRY.format(url=url), flush=True))
    finally:
        stopping.set()
        writer.join()
