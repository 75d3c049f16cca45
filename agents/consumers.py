"""The sockets of the pages: one run's tree as it works, and a workspace's pulse."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any
from uuid import UUID

from agents.choices import LIVE
from agents.errors import RunNotFoundError
from agents.live.member import ABSENT, MALFORMED, SILENT, MemberConsumer
from agents.live.watchers import watch
from agents.models import Run
from agents.querysets import calls_in_doubt, calls_waiting, find_run
from heartbit_site.base import orm

if TYPE_CHECKING:
    from collections.abc import Mapping

ASK_SECONDS = 10.0
PULSE_SECONDS = 1.0


class RunConsumer(MemberConsumer):
    """Everything about a run's tree: what the journal has, then what comes.

    The page asks once, with what it has: ``{"type": "resume", "after": {"<run>": seq}}``. It is
    sent ``{"type": "lines", "lines": [...]}`` (``agents.live.shown``), and at last ``{"type":
    "end"}``. A page whose socket was cut off asks again, and misses nothing.
    """

    async def admitted(self) -> int | None:
        """Find the run, and wait for the page to ask."""
        wanted = self.scope["url_route"]["kwargs"]["run"]
        try:
            run = await orm.in_thread(lambda: find_run(self.access.workspace, wanted))
        except RunNotFoundError:
            return ABSENT
        self._root_id = run.root_id
        self._asked = asyncio.Event()
        self.alongside(self._hurry())
        return None

    async def receive_json(self, content: Any, **kwargs: Any) -> None:
        """Take the one request."""
        after = _after(content)
        if after is None or self._asked.is_set():
            await self.close(MALFORMED)
            return
        self._asked.set()
        self.alongside(self._tell(after))

    async def _hurry(self) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._asked.wait(), ASK_SECONDS)
        if not self._asked.is_set():
            await self.close(SILENT)

    async def _tell(self, after: Mapping[UUID, int]) -> None:
        async with contextlib.aclosing(watch(self._root_id, after=after)) as batches:
            async for batch in batches:
                await self.send(text_data=await batch.text())
        await self.send_json({"type": "end"})
        await self.close()


class WorkspaceConsumer(MemberConsumer):
    """What moves in a workspace, in numbers: sent at first, and whenever one of them changes.

    ``{"type": "pulse", "waiting": 2, "newest_waiting": 17, "live": 3, "newest_run": "0199..."}``
    """

    async def admitted(self) -> int | None:
        """Begin."""
        self.alongside(self._beat())
        return None

    async def receive_json(self, content: Any, **kwargs: Any) -> None:
        """Nothing is asked here."""
        await self.close(MALFORMED)

    async def _beat(self) -> None:
        last: dict[str, Any] = {}
        while True:
            now = await orm.in_thread(self._pulse)
            if now != last:
                await self.send_json({"type": "pulse", **now})
                last = now
            await asyncio.sleep(PULSE_SECONDS)

    def _pulse(self) -> dict[str, Any]:
        workspace = self.access.workspace
        found = [
            one.order_by().values_list("pk", flat=True)
            for one in (calls_waiting(workspace), calls_in_doubt(workspace))
        ]
        waiting = list(found[0].union(found[1]))
        runs = Run.objects.filter(workspace=workspace)
        newest = runs.order_by("-created_at").values_list("pk", flat=True).first()
        return {
            "waiting": len(waiting),
            "newest_waiting": max(waiting, default=0),
            "live": runs.filter(status__in=LIVE, parent__isnull=True).count(),
            "newest_run": str(newest) if newest else None,
        }


def _after(content: Any) -> dict[UUID, int] | None:
    """What a page says that it has; None: it says something else."""
    after = content.get("after", {})
    if content.get("type") != "resume" or not isinstance(after, dict):
        return None
    found = {}
    for run, seq in after.items():
        if isinstance(seq, bool) or not isinstance(seq, int) or not 0 <= seq < 2**31:
            return None
        try:
            found[UUID(run)] = seq
        except ValueError:
            return None
    return found
