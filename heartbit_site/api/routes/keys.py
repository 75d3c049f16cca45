"""The workspace's API keys."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest  # noqa: TC002  ninja evaluates the annotations
from django.utils import timezone
from ninja import Router
from ninja.responses import Status as Answer

from heartbit_site.api import identity_forms
from heartbit_site.api.auth import MANAGE, access_of, workspace_of
from heartbit_site.api.errors import ForbiddenError
from heartbit_site.api.identity_inputs import KeyIn  # noqa: TC001
from heartbit_site.api.identity_outputs import KeyOut, KeysOut, NewKeyOut
from heartbit_site.api.openapi import answers
from heartbit_site.base import orm
from heartbit_site.base.actions.create_api_key import create_api_key
from heartbit_site.base.actions.revoke_api_key import revoke_api_keys
from heartbit_site.base.audit import actor_of
from heartbit_site.base.errors import NotFoundError
from heartbit_site.base.models import ApiKey
from heartbit_site.contract.model import USUAL, Cursor, Limit, Word
from heartbit_site.operations.paging import page

router = Router(tags=["identity"])


class KeyNotFoundError(NotFoundError):
    """No key of the workspace begins like this."""


@router.get("/keys", auth=MANAGE, response=answers(KeysOut), summary="List keys")
async def keys(request: HttpRequest, *, cursor: Cursor = None, limit: Limit = USUAL) -> Any:
    """The workspace's keys, the newest first, revoked ones too; what is secret is kept nowhere."""
    workspace = workspace_of(request)

    def read() -> dict[str, Any]:
        rows = ApiKey.objects.filter(workspace=workspace).select_related("user")
        found, following = page(rows, "-pk", cursor, limit)
        return {"keys": [identity_forms.key(row) for row in found], "next": following}

    return await orm.in_thread(read)


@router.post(
    "/keys", auth=MANAGE, response=answers(NewKeyOut, status=201, body=True), summary="Make a key"
)
async def create(request: HttpRequest, body: KeyIn) -> Any:
    """The key is in this answer and nowhere else. It ends after 90 days unless `days` differs."""
    access = access_of(request)
    more = sorted(set(body.scopes) - access.scopes)
    if more:
        raise ForbiddenError(f"You cannot give what you do not have: {', '.join(more)}.")

    def make() -> dict[str, Any]:
        maker = User.objects.filter(pk=access.user_id).first() if access.user_id else None
        days = body.days
        row, text = create_api_key(
            access.workspace,
            body.name,
            scopes=body.scopes,
            user=maker,
            expires_at=timezone.now() + timedelta(days=days) if days is not None else None,
            by=actor_of(access),
        )
        return {**identity_forms.key(row), "key": text}

    return Answer(201, await orm.in_thread(make))


@router.post("/keys/{prefix}/revoke", auth=MANAGE, response=answers(KeyOut), summary="Revoke a key")
async def revoke(request: HttpRequest, prefix: Word) -> Any:
    """It is refused from its next request on; a revoked one stays so."""
    access = access_of(request)

    def end() -> dict[str, Any]:
        rows = ApiKey.objects.select_related("user")
        # Of a whole key only the public part is looked at, and nothing of it is repeated.
        public = prefix.removeprefix("hb_").partition("_")[0]
        row = rows.filter(workspace=access.workspace, prefix=public).first()
        if row is None:
            raise KeyNotFoundError("No key begins like this: GET /keys lists them.")
        revoke_api_keys([row.pk], by=actor_of(access))
        row.refresh_from_db(fields=["revoked_at"])
        return identity_forms.key(row)

    return await orm.in_thread(end)
