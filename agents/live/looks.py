"""Presence at what waits: names of people in Valkey, which expire unless repeated."""

from __future__ import annotations

import re
import time

from django.conf import settings
from redis.asyncio import Redis
from redis.exceptions import RedisError

#: A look that is not repeated is over after this time; pages repeat it every five seconds.
LOOK_SECONDS = 12
_ANSWER_SECONDS = 1.0
_KEY = re.compile(r"[\w./:|@-]{1,200}")


def is_key(call: object) -> bool:
    """Return True for a name of something that waits, as the inbox has it."""
    return isinstance(call, str) and _KEY.fullmatch(call) is not None


async def look(workspace_id: int, call: str, name: str) -> list[str]:
    """Note that a person looks at a call of the workspace, and return who else does.

    Return an empty list while Valkey does not answer: presence is only a courtesy.
    """
    key, now = f"heartbit:looks:{workspace_id}:{call}", time.time()
    client = Redis.from_url(
        settings.REDIS_URL,
        decode_responses=True,
        socket_timeout=_ANSWER_SECONDS,
        socket_connect_timeout=_ANSWER_SECONDS,
    )
    try:
        async with client, client.pipeline() as together:
            together.zadd(key, {name: now + LOOK_SECONDS})
            together.zremrangebyscore(key, "-inf", now)
            together.zrange(key, 0, -1)
            together.expire(key, LOOK_SECONDS)
            _, _, names, _ = await together.execute()
    except (RedisError, OSError):
        return []
    return sorted(set(names) - {name})


def said(names: list[str]) -> str:
    """Return who else looks as a sentence; empty without names."""
    if not names:
        return ""
    if len(names) == 1:
        return f"{names[0]} looks at it too"
    return f"{', '.join(names[:-1])} and {names[-1]} look at it too"
