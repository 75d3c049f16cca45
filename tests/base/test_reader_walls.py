"""A reader that an outsider's file took over gets nowhere, and none costs more than its limits."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from heartbit_site.base import pictures, reader_process
from heartbit_site.base.pictures import reencode
from heartbit_site.base.reader_process import (
    MOST_AT_ONCE,
    MOST_OF_ONE,
    MOST_WAITING,
    ReaderError,
    ReaderLimits,
    ReadersBusyError,
    ReadingTimeError,
    read,
    read_aside,
    read_on_loop,
)
from memory.errors import UnreadableDocumentError
from memory.knowledge import reader as documents
from tests.fleet import wait_until
from tests.security.measured import measured
from tools.connectors import page_reader, web_fetch
from tools.connectors.calendars import icalendar_process
from tools.connectors.calendars.events import CalendarError

if TYPE_CHECKING:
    from collections.abc import Iterator

BREAKOUT = Path(__file__).with_name("breakout.py")
LIMITS = ReaderLimits(seconds=20, cpu_seconds=10, memory_bytes=500_000_000, output_bytes=5_000_000)


@pytest.fixture
def given(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """What is to be reached: a file, a port, a socket, and this process."""
    secret = tmp_path / "secret"
    secret.write_text("canary")
    place = str(tmp_path / "socket")
    with (
        socket.create_server(("127.0.0.1", 0)) as port,
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as unix,
    ):
        unix.bind(place)
        unix.listen()
        yield {
            "secret": str(secret),
            "parent": os.getpid(),
            "port": port.getsockname()[1],
            "socket": place,
        }


def of_documents(given: dict[str, Any]) -> str:
    with pytest.raises(UnreadableDocumentError) as refused:
        documents.read_part("It reached", "text", json.dumps(given).encode(), pages_read=0)
    return str(refused.value).removeprefix("It reached ").removesuffix(".")


def of_pages(given: dict[str, Any]) -> str:
    return asyncio.run(web_fetch._main_text(json.dumps(given), "http://a.example/"))[0]


def of_calendars(given: dict[str, Any]) -> str:
    with pytest.raises(CalendarError) as refused:
        asyncio.run(icalendar_process.run("expand", **given))
    return str(refused.value)


@pytest.mark.parametrize("reached", [of_documents, of_pages, of_calendars])
def test_a_reader_that_was_taken_over_reaches_nothing(
    reached: Any, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "_SCRIPT", BREAKOUT)
    monkeypatch.setattr(icalendar_process, "_SCRIPT", BREAKOUT)
    monkeypatch.setattr(page_reader, "__file__", str(BREAKOUT))
    assert reached(given) == "nothing"
    assert Path(given["secret"]).read_text() == "canary"


def test_output_without_end_is_cut_off(given: dict[str, Any]) -> None:
    data = json.dumps({**given, "flood": True}).encode()
    with measured() as amounts, pytest.raises(ReaderError, match="wrote more than 5000000 bytes"):
        read(BREAKOUT, [], data, LIMITS)
    assert amounts.megabytes < 40, str(amounts)


def test_a_reader_that_never_ends_is_ended(tmp_path: Path) -> None:
    script = tmp_path / "endless.py"
    script.write_text("import time\nwhile True: time.sleep(1)")
    with pytest.raises(ReaderError, match=r"took more than 0\.5 s"):
        read(script, [], b"", replace(LIMITS, seconds=0.5))
    script.write_text("raise SystemExit(3)")
    with pytest.raises(ReaderError, match="ended without an answer"):
        read(script, [], b"", LIMITS)


async def test_no_more_readers_than_a_few_run_at_once_and_a_cancelled_one_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, most, full = set[int](), 0, threading.Event()
    real = reader_process._output

    def output(process: Any, *others: Any) -> bytes:
        nonlocal most
        running.add(process.pid)
        most = max(most, len(running))
        if len(running) == reader_process.MOST_AT_ONCE:
            full.set()
        try:
            return real(process, *others)
        finally:
            running.discard(process.pid)

    monkeypatch.setattr(reader_process, "_output", output)
    script = tmp_path / "endless.py"
    script.write_text("import time\nwhile True: time.sleep(1)")
    readings = [asyncio.create_task(read_on_loop(script, [], b"", LIMITS)) for _ in range(10)]
    # The loop's own threads, which look up names, are free meanwhile.
    assert await asyncio.to_thread(full.wait, 20)
    for reading in readings:
        reading.cancel()
    await asyncio.gather(*readings, return_exceptions=True)
    script.write_text("print('free')")
    assert await read_on_loop(script, [], b"", LIMITS) == b"free\n"
    assert most == reader_process.MOST_AT_ONCE


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    script = tmp_path / "endless.py"
    script.write_text("import time\nwhile True: time.sleep(1)")
    return script


def test_a_process_has_few_readers_whoever_starts_them(endless: Path) -> None:
    stop = threading.Event()
    with ThreadPoolExecutor() as threads:
        held = [threads.submit(read, endless, [], b"", LIMITS, stop) for _ in range(MOST_AT_ONCE)]
        try:
            wait_until(lambda: reader_process._slots._value == 0, what="all of them")
            with pytest.raises(ReadersBusyError, match="busy with others: try again in 10 seconds"):
                read(endless, [], b"", LIMITS, patience=0.3)
        finally:
            stop.set()
        ends = [one.exception() for one in held]
    assert {type(one) for one in ends} == {ReaderError}
    assert reader_process._slots._value == MOST_AT_ONCE


async def test_requests_wait_for_a_reader_a_while_and_in_small_numbers(
    endless: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader_process, "WAIT_SECONDS", 1.5)
    places = MOST_AT_ONCE + MOST_WAITING
    work = partial(read, endless, [], b"", LIMITS)
    tasks = [asyncio.create_task(read_aside(work, owner)) for owner in range(places)]
    await asyncio.sleep(0.5)
    with pytest.raises(ReadersBusyError):
        await read_aside(work, "me")  # at once
    assert not any(task.done() for task in tasks)
    await asyncio.sleep(3)
    refused = [task for task in tasks if task.done()]
    assert [type(task.exception()) for task in refused] == [ReadersBusyError] * MOST_WAITING
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert await read_aside(lambda: 1, "me") == 1, "the readers of those who left have ended"


async def test_hostile_files_of_one_owner_leave_a_reader_to_others(endless: Path) -> None:
    work = partial(read, endless, [], b"", LIMITS)
    hostile = [asyncio.create_task(read_aside(work, "hostile")) for _ in range(MOST_OF_ONE)]
    await asyncio.sleep(0)  # each has begun
    with pytest.raises(ReadersBusyError):
        await read_aside(work, "hostile")
    assert await read_aside(lambda: 1, "me") == 1
    assert not any(task.done() for task in hostile)
    for task in hostile:
        task.cancel()
    await asyncio.gather(*hostile, return_exceptions=True)
    assert await read_aside(lambda: 2, "hostile") == 2, "those who left give their share back"


async def test_the_files_of_a_request_have_one_time_together(
    endless: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader_process, "REQUEST_SECONDS", 1.5)
    monkeypatch.setattr(pictures, "_SCRIPT", endless)
    png, kept = b"\x89PNG\r\n\x1a\n", []

    def all_files() -> None:
        for _ in range(20):
            kept.append(1)
            reencode(png, "x")

    with pytest.raises(ReadingTimeError, match=r"more than 1\.5 seconds together: attach fewer"):
        await read_aside(all_files, "me")
    assert kept == [1]
