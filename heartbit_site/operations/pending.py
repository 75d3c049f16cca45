"""Waiting on behalf of a pending answer."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heartbit_site.contract.operation import PendingAnswer


async def wait_for_end(pending: PendingAnswer[Any]) -> None:
    """Wait until the run has ended, or for as long as the answer may wait.

    Raises:
        RunNotFoundError: The run was deleted meanwhile.
    """
    # Slow to import, for the only operations that wait.
    from agents.live import valkey_ends  # noqa: PLC0415

    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(pending.seconds):
            await valkey_ends.shared().result(pending.run_id)
