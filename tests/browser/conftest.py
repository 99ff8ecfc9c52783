"""Debian's Chromium, driven by Playwright."""

import os
from pathlib import Path

import pytest

from debian_packages import program
from required import lacking

_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

_PATIENCE_MS = 60_000  # for which only a failure waits


@pytest.fixture(scope="module")
def chromium():
    playwright = pytest.importorskip("playwright.sync_api")
    playwright.expect.set_options(timeout=_PATIENCE_MS)
    path = program("chromium", "browser")
    with playwright.sync_playwright() as driver:
        try:
            browser = driver.chromium.launch(executable_path=path, args=_ARGUMENTS)
        except playwright.Error as error:
            lacking("browser", str(error).splitlines()[0])
        yield browser
        browser.close()


@pytest.fixture
def page(chromium):
    """A page of its own, which fails the test where a script raises or something is fetched from another host."""
    context = chromium.new_context(viewport={"width": 1200, "height": 850}, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(_PATIENCE_MS)
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(f"a script raised: {error}"))
    page.on(
        "request",
        lambda request: None if "//127.0.0.1:" in request.url else problems.append(f"fetched {request.url}"),
    )
    yield page
    context.close()
    assert problems == []


@pytest.fixture
def screenshot(page):
    """Takes a picture for the documents where FRESHET_SCREENSHOTS names a folder."""

    def take(name: str) -> None:
        if folder := os.environ.get("FRESHET_SCREENSHOTS"):
            page.screenshot(path=str(Path(folder, f"{name}.png")))

    return take
