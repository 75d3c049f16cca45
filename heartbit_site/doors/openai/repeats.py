"""Requests that a client sends again: OpenAI's clients do after each lost connection.

They send no idempotency key, but say how often they have tried. Another try with the same body
gets the run of the first one, so that a connection or a web process that is lost repeats nothing.
"""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Final

from django.http import HttpRequest
from django.utils import timezone

from agents.models import Run
from agents.runs.idempotency_keys import InternalKey
from heartbit_site.base.access import Access
from heartbit_site.base.ids import new_id

#: Header in which OpenAI's clients count their tries, from 0.
TRIES: Final = "x-stainless-retry-count"
#: Time within which a try belongs to an earlier one.
REPEATED_WITHIN: Final = timedelta(hours=2)


def key_of(request: HttpRequest, access: Access) -> str | InternalKey:
    """Return the idempotency key of a request: the client's, or one that later tries share.

    Blocks.
    """
    sent = request.headers.get("Idempotency-Key")
    if sent:
        return sent
    parts = (str(access.key_id).encode(), request.path.encode(), request.body)
    digest = hashlib.sha256(b"\0".join(parts)).hexdigest()[:40]
    prefix = f"heartbit:openai:{digest}:"
    tries = request.headers.get(TRIES, "0")
    earlier = _earlier(access, prefix) if tries.isdecimal() and int(tries[:4]) else None
    return InternalKey(earlier or f"{prefix}{new_id()}")


def _earlier(access: Access, prefix: str) -> str | None:
    """Return the key of the newest run that an earlier try has started; None: there is none."""
    runs = Run.objects.filter(
        workspace=access.workspace,
        idempotency_key__startswith=prefix,
        created_at__gte=timezone.now() - REPEATED_WITHIN,
    )
    return runs.order_by("-pk").values_list("idempotency_key", flat=True).first()
