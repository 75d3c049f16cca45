"""A person who is asked what became of a call, and says what the case wants said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.actions.resolve_wait import resolve_call
from agents.choices import CallResolution
from agents.journal.waits import OUTCOME
from agents.models import ToolCall, Wait
from heartbit_site.base.audit import Actor

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.chaos.crash_points.stage import Play

ANNA = Actor("anna", "api")


def speak(plays: Iterable[Play]) -> None:
    """Answer what is asked now."""
    words = {play.root: play.case.word.said for play in plays if play.case.word.said}
    waits = Wait.objects.filter(kind=OUTCOME.name, resolved_at__isnull=True, run_id__in=list(words))
    for wait in waits:
        call = ToolCall.objects.get(run_id=wait.run_id, call_id=wait.call_id)
        resolve_call(call, CallResolution(words[wait.run_id]), by=ANNA)
