"""Pay an order in a process that dies: ``python -m tests.chaos.triggers.payment MOMENT KEY``."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any, Final
from unittest.mock import patch

from heartbit_site.extra_apps import load_apps

#: Moments of a payment: the row is written, the run is too, both are committed.
MOMENTS: Final = ("written", "started", "committed")


def die(*_: Any, **__: Any) -> None:
    """Leave without a word."""
    os.kill(os.getpid(), signal.SIGKILL)


def main(moment: str, key: str) -> None:
    """Pay, and die at the moment."""
    load_apps()
    # They need the apps.
    from django.contrib.auth.models import Group  # noqa: PLC0415

    from agents.actions import triggered_runs  # noqa: PLC0415
    from agents.actions.admit import admit  # noqa: PLC0415
    from tests.chaos.triggers.orders import PAID, follow_orders  # noqa: PLC0415

    follow_orders()

    def admit_and_die(*arguments: Any, **named: Any) -> None:
        admit(*arguments, **named)
        die()

    if moment != "committed":
        admitting = die if moment == "written" else admit_and_die
        patch.object(triggered_runs, "admit", admitting).start()
    order = Group.objects.get(pk=int(key))
    order.name = f"{PAID}{order.pk}"
    order.save()
    die()


if __name__ == "__main__":
    main(*sys.argv[1:])
