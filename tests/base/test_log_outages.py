"""An outage in the log: one line for each cause and component, with a count."""

from __future__ import annotations

import io
import logging

import psycopg
import redis

from heartbit_site.base.log_output import CleanFormatter, OutageHandler

AWAY = psycopg.OperationalError("connection refused\n\tIs the server running?")


class Log:
    """A logger whose handler has a clock of the test's own."""

    def __init__(self) -> None:
        self.now = 100.0
        self._out = io.StringIO()
        self.handler = OutageHandler(self._out, window_seconds=10.0, clock=lambda: self.now)
        self.handler.setFormatter(CleanFormatter("%(name)s: %(message)s"))

    def say(self, message: str, *args: object, name: str = "sweeper", **more: object) -> None:
        logger = logging.Logger(name)
        logger.addHandler(self.handler)
        logger.error(message, *args, **more)  # type: ignore[arg-type]

    @property
    def lines(self) -> list[str]:
        return self._out.getvalue().splitlines()


def test_an_outage_has_one_line_a_component_and_a_count() -> None:
    log = Log()
    for number in range(38):
        log.say("sweep %d failed", number, exc_info=AWAY)
        log.say("heartbeat failed (%s)", AWAY, name="control")
    assert log.lines == [
        "sweeper: sweep 0 failed (connection refused Is the server running?)",
        "control: heartbeat failed (connection refused Is the server running?)",
    ]
    log.now += 12
    log.say("sweep %d failed", 38, exc_info=AWAY)
    assert log.lines[2:] == [
        "sweeper: sweep 37 failed (connection refused Is the server running?) "
        "(repeated 37 times in 12 s)",
        "sweeper: sweep 38 failed (connection refused Is the server running?)",
    ]


def test_the_count_is_written_although_the_outage_is_over() -> None:
    log = Log()
    for _ in range(3):
        log.say("no broker", exc_info=redis.ConnectionError("gone"))
    log.now += 10
    log.handler.write_count(("sweeper", "no broker"))
    log.handler.write_count(("sweeper", "no broker"))
    assert log.lines == [
        "sweeper: no broker (gone)",
        "sweeper: no broker (gone) (repeated 2 times in 10 s)",
    ]


def test_a_defect_keeps_its_traceback_each_time() -> None:
    log = Log()
    for _ in range(2):
        try:
            raise ValueError("a defect")
        except ValueError:
            log.say("it failed", exc_info=True)
    assert [line for line in log.lines if line.startswith("Traceback")] == [
        "Traceback (most recent call last):"
    ] * 2


def test_the_pools_connections_and_answers_of_503_are_counted() -> None:
    log = Log()
    for number in range(9):
        log.say("discarding broken connection: %s", number, name="psycopg.pool")
        log.say("%s: %s", "Unavailable", number, name="django.request", extra={"status_code": 503})
    assert len(log.lines) == 2
