"""Stories of tasks: what streams tell until a task rests."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from functools import partial
from typing import Any, Final

from agents.delivery.task_states import artifact
from agents.journal.events import (
    ApprovalRequested,
    BudgetAsked,
    CallWaiting,
    Closing,
    OutcomeRequested,
    ReviewRequested,
    RunStarted,
    WaitResolved,
)
from agents.live.updates import EventUpdate
from agents.models import Run
from heartbit_site.base import orm
from heartbit_site.base.access import Access
from heartbit_site.doors.a2a.tasks import ENDED, RESTING, task_of
from heartbit_site.doors.runs import updates_of
from heartbit_site.doors.spoken import SpokenText

#: Events after which the state of a task may be another one.
_TURNS: Final = (
    RunStarted,
    ApprovalRequested,
    CallWaiting,
    OutcomeRequested,
    ReviewRequested,
    BudgetAsked,
    WaitResolved,
    Closing,
)
#: A piece of a story, and the sequence number of the last event that it covers; None: a silence.
Piece = tuple[int, dict[str, Any] | None]


async def story_of(access: Access, run: Run, *, after: int) -> AsyncGenerator[Piece, None]:
    """Yield a task as it is, then what it says and its states, until it ends or asks something.

    Text comes as pieces of the artifact ``answer``, which the whole answer replaces at the end.

    Args:
        access: The reader.
        run: The task's run.
        after: Sequence number of the last event of the run that the reader knows.
    """
    read = partial(orm.run_in_thread, partial(task_of, access, run))
    task = await read()
    yield after, {"task": task}
    if task["status"]["state"] in RESTING:
        return
    said, is_begun, has_closed = SpokenText(run.pk, after=after), False, False
    async with contextlib.aclosing(updates_of(access, run.pk)) as news:
        async for updates in news:
            text = "".join(map(said.take, updates))
            events = [one for one in updates if isinstance(one, EventUpdate)]
            own = [one.recorded for one in events if one.run_id == run.pk]
            after = max([after, *(one.seq for one in own)])
            has_closed = has_closed or any(isinstance(one.event, Closing) for one in own)
            if text:
                piece = {"artifact": artifact([{"text": text}]), "append": is_begun}
                yield after, {"artifactUpdate": {**_ids(task), **piece}}
                is_begun = True
            if not updates:
                yield after, None
            if not updates or any(isinstance(one.recorded.event, _TURNS) for one in events):
                now = await read()
                if now["status"]["state"] in ENDED and not has_closed:
                    continue  # it says more before its last event comes
                before, task = task, now
                for told in _turn(before, task):
                    yield after, told
                if task["status"]["state"] in RESTING:
                    return


def _turn(before: dict[str, Any], task: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what to tell of a task that was read again."""
    if task["status"] == before["status"]:
        return []
    whole = [
        {"artifactUpdate": {**_ids(task), "artifact": one, "append": False, "lastChunk": True}}
        for one in task.get("artifacts", ())
    ]
    return [*whole, {"statusUpdate": {**_ids(task), "status": task["status"]}}]


def _ids(task: dict[str, Any]) -> dict[str, Any]:
    return {"taskId": task["id"], "contextId": task.get("contextId", "")}
