"""Celery's beat, which ends after what it is doing with the database."""

from __future__ import annotations

from types import FrameType

from celery import beat, platforms
from celery.apps.beat import Beat


class PatientBeat(Beat):
    """Beat whose SIGTERM and SIGINT interrupt only its sleep.

    Celery's own handler writes the schedule at once. In the middle of a statement it then waits for
    the connection that this very statement holds, and the process never ends.
    """

    def install_sync_handler(self, service: beat.Service) -> None:
        """See above; the schedule is written by ``Service.start``, when its loop has ended."""

        def end(number: int, frame: FrameType | None) -> None:
            service.stop()
            if frame is not None and frame.f_code is beat.Service.start.__code__:
                raise SystemExit

        platforms.signals.update(SIGTERM=end, SIGINT=end)
