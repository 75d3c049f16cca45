"""Run trees of this installation, watched and read through its database."""

from __future__ import annotations

import asyncio
from functools import partial
from uuid import UUID

from django.conf import settings
from django.db import connections

from agents.live.follow import TreeReader, follow
from agents.live.updates import Update
from agents.live.valkey import ValkeySubscriber, connect
from heartbit_site.cli.following.local_runs import attendant_of
from heartbit_site.cli.following.stream import Ending
from heartbit_site.cli.following.watch import watch_until_left
from heartbit_site.cli.views.display import watched


class LocalStream:
    """See ``stream.Stream``."""

    def recorded(self, root: str) -> list[Update]:
        """Return what the journals of a tree hold by now."""
        return TreeReader(UUID(root)).read_new()

    def watch(self, root: str, *, plain: bool, leaves: bool) -> Ending:
        """Show a tree until all of its runs have ended, or the person leaves it."""
        display = watched(plain_lines=plain)
        attendant = attendant_of(display, leaves=leaves)
        connections.close_all()  # the next one is new, whatever becomes of the database meanwhile
        root_id = UUID(root)

        async def watch() -> Ending:
            valkey = connect(settings.REDIS_URL)
            try:
                updates = partial(follow, root_id, ValkeySubscriber(valkey))
                return await watch_until_left(root_id, updates, display, attendant)
            finally:
                await valkey.aclose()

        return asyncio.run(watch())
