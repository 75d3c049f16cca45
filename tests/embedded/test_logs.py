"""What is quoted from a log, and how large it gets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heartbit_site.embedded import logs

if TYPE_CHECKING:
    from pathlib import Path


def test_the_reason_is_the_telling_line_not_the_orderly_exit() -> None:
    text = "LOG:  starting\nFATAL:  no space\nLOG:  database system is shut down\n"
    assert logs.reason(text) == "FATAL:  no space"


def test_the_reason_is_else_the_last_line() -> None:
    assert logs.reason("one\ntwo\n\n") == "two"
    assert logs.reason("") == "it wrote nothing"


def test_only_what_was_logged_since_the_start_counts(tmp_path: Path) -> None:
    log = tmp_path / "s.log"
    log.write_text("FATAL: of yesterday\n")
    offset = logs.size(log)
    with log.open("a") as file:
        file.write("of today\n")
    assert logs.reason_since(log, offset) == "of today"


def test_a_large_log_starts_anew_and_keeps_one_generation(tmp_path: Path) -> None:
    log = tmp_path / "s.log"
    log.write_bytes(b"x" * (8 * 2**20 + 1))
    logs.bound(log)
    assert log.stat().st_size == 0
    assert (tmp_path / "s.log.1").stat().st_size == 8 * 2**20 + 1
