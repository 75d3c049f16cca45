"""`heartbit beat`: the clock that starts periodic tasks."""

from __future__ import annotations

from heartbit_site.base.log_output import log_to_stderr
from heartbit_site.cli.installation.startup import ensure_ready, kept
from heartbit_site.cli.options import common
from heartbit_site.cli.terminal.errors import OK


def beat(*, loglevel: common.LogLevel = common.LOG_LEVEL) -> int:
    """Send periodic tasks to the workers when they are due.

    They start people's schedules, deliver results and webhooks, read mailboxes and delete what is
    past its retention. One beat an installation is enough.
    """
    ensure_ready(waits=True)
    from django.conf import settings

    from heartbit_site.celery import app as celery
    from heartbit_site.celery_beat import PatientBeat

    log_to_stderr(loglevel.upper(), force=True)  # else Celery does, and raw
    with kept(settings.ENVIRONMENT):
        PatientBeat(app=celery, loglevel=loglevel.upper(), quiet=True).run()
    return OK
