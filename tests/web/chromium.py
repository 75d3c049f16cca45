"""Debian's Chromium without a window, driven by Playwright, beside tests that have a loop."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from playwright._impl import _greenlets, _sync_base
from playwright._impl._greenlets import wait_for_future
from playwright.sync_api import expect, sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

#: The shell takes a third of the processor time that the whole browser takes without a window.
PROGRAMS = ("chromium-headless-shell", "chromium")
MISSING = f"There is no Chromium on this machine: run `sudo apt-get install {PROGRAMS[0]}`."
FLAGS = (
    "--no-sandbox",  # root has no other way
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--force-color-profile=srgb",
    # Fewer processes: pages of different people share one, and none is started for later.
    "--renderer-process-limit=1",
    "--in-process-gpu",
    "--disable-features=SpareRendererForSitePerProcess",
    # Whatever a page asks elsewhere is seen as a request and gets nowhere.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)

expect.set_options(timeout=30_000)  # how fast a page is drawn here is the machine's doing


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser, for as long as the block; without one, tests that ask for it are skipped."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip(MISSING)
    with sync_playwright() as playwright, _loop_apart():
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


def take_loop(browser: Browser) -> None:
    """Make Playwright's loop the thread's own."""
    asyncio.set_event_loop(browser._loop)


@contextmanager
def _loop_apart() -> Iterator[None]:
    """Let the thread have a running loop only while Playwright waits for the browser.

    Between its calls it says that its loop runs; then neither Django nor a test that is a coroutine
    would work in this thread.
    """
    own = asyncio.get_running_loop()
    current = vars(_greenlets)["greenlet"].getcurrent
    here = current()

    def wait(loop: asyncio.AbstractEventLoop, *arguments: Any) -> None:
        if current() is not here:  # a callback, while the loop does run
            wait_for_future(loop, *arguments)
            return
        asyncio._set_running_loop(loop)
        try:
            wait_for_future(loop, *arguments)
        finally:
            asyncio._set_running_loop(None)

    asyncio._set_running_loop(None)
    vars(_sync_base)["wait_for_future"] = wait
    try:
        yield
    finally:
        vars(_sync_base)["wait_for_future"] = wait_for_future
        asyncio._set_running_loop(own)
