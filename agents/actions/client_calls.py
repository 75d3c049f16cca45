"""Results of calls that a run's client has made itself."""

from __future__ import annotations

import json
from collections.abc import Mapping

from django.db import transaction

from agents.actions.fleet import wake_run
from agents.journal.waits import EXTERNAL
from agents.live.changes import notify_on_commit
from agents.models import Run, Wait
from agents.runs.sql_functions import call_function
from heartbit_site.base.audit import Actor
from heartbit_site.base.rights import require
from heartbit_site.base.untrusted import clean_text


def return_results(run: Run, results: Mapping[str, str], *, by: Actor) -> None:
    """Give a run the results of calls that its client has made, and let it continue.

    A result that was returned before is left out, so that a request may be repeated.

    Args:
        run: The run.
        results: Results as text, by call id.
        by: The client.

    Raises:
        ForbiddenError: The client may not start runs.
    """
    require(by, "runs:write", workspace_id=run.workspace_id)
    with transaction.atomic():
        waits = Wait.objects.filter(run=run, kind=EXTERNAL.name, resolved_at=None)
        for wait in waits.filter(call_id__in=results).order_by("pk"):
            value = {
                "subject": "client",
                "status": "answered",
                "result": clean_text(results[wait.call_id]),
                "by": by.name,
            }
            query = "SELECT heartbit_resolve_wait(%s, %s, %s)"
            wake_run(call_function(query, (run.pk, wait.key, json.dumps(value))))
        notify_on_commit(run.workspace_id, "runs", "calls")


def open_client_calls(run: Run) -> list[str]:
    """Return the ids of the calls that a run waits for its client to make."""
    waits = Wait.objects.filter(run=run, kind=EXTERNAL.name, resolved_at=None)
    return list(waits.order_by("pk").values_list("call_id", flat=True))
