"""Steer a running run with a message, which its next model call contains."""

from __future__ import annotations

from django.db import transaction

from agents.actions.refuse_reader import refuse_reader
from agents.choices import RunKind
from agents.errors import EmptyTaskError, RunStateError
from agents.models import Run
from agents.runs.run_audit import record_of_run
from agents.runs.sql_functions import call_function
from heartbit_site.base.audit import NOBODY, Actor
from heartbit_site.base.rights import require
from heartbit_site.base.untrusted import clean_text


@transaction.atomic
def steer_run(run: Run, text: str, *, by: Actor = NOBODY) -> None:
    """Add a message to a live run; one of another person makes it work for no one from there on.

    Raises:
        EmptyTaskError: ``text`` is blank.
        CallClosedError: The run has ended.
        ForbiddenError: The run has recalled memories that the author may not read.
        RunStateError: The run is not of the kind agent.
    """
    require(by, "runs:write", workspace_id=run.workspace_id)
    words = clean_text(text).strip()
    if not words:
        raise EmptyTaskError("The message is empty: say what the run should know.")
    if run.kind != RunKind.AGENT:
        raise RunStateError(
            f"The kind of run {run.pk} is {run.kind}: only an agent's run can be steered."
        )
    refuse_reader(run, by)
    parameters = [run.pk, words, by.name, by.user_id]
    call_function("SELECT heartbit_steer(%s, %s, %s, p_user => %s)", parameters)
    record_of_run(by, "steer", run)
