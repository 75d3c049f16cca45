"""API keys: shown once, kept as a digest, refused when their time is over."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from heartbit_site.base.access import access_of_key
from heartbit_site.base.actions.api_keys import (
    authenticate_api_key,
    create_api_key,
    revoke_api_keys,
)
from heartbit_site.base.audit import actor_of
from heartbit_site.base.errors import ConfigurationError, ForbiddenError
from heartbit_site.base.models import ApiKey, AuditEntry
from heartbit_site.base.scopes import SCOPES

if TYPE_CHECKING:
    from typing import Any

    from heartbit_site.base.models import Workspace

pytestmark = pytest.mark.django_db


def test_a_key_opens_its_workspace_within_its_scopes(workspace: Workspace) -> None:
    made, text = create_api_key(workspace, "import", scopes=["runs:write", "runs:read"])
    found = authenticate_api_key(f" {text}\n")
    assert found == made
    assert found.workspace == workspace
    assert found.scopes == ["runs:read", "runs:write"]


def test_the_row_holds_a_digest_and_not_the_key(workspace: Workspace) -> None:
    made, text = create_api_key(workspace, "import", scopes=["runs:read"])
    _, prefix, secret = text.split("_", 2)
    assert prefix == made.prefix
    assert len(secret) >= 43  # 256 bits in base64
    row = ApiKey.objects.filter(pk=made.pk).values().get()
    assert secret not in str(row)
    assert len(row["hash"]) == 64
    assert secret not in repr(made)


def test_two_keys_are_different(workspace: Workspace) -> None:
    texts = {create_api_key(workspace, "x", scopes=["runs:read"])[1] for _ in range(20)}
    assert len(texts) == 20


def test_a_wrong_text_opens_nothing(workspace: Workspace) -> None:
    made, text = create_api_key(workspace, "import", scopes=["runs:read"])
    _, other = create_api_key(workspace, "other", scopes=["runs:read"])
    mixed = f"hb_{made.prefix}_{other.split('_', 2)[2]}"
    for wrong in (
        *("", "hb_", "hb__", "hb_a_b", text[:-1], text + "x", text.upper(), text[3:], mixed),
        *(
            f"hb_{made.prefix}_",
            f"hb_{made.prefix}_{made.hash}",
            f"hb_{made.prefix}\0_x",
            "hb_\u00e9_x",
        ),
    ):
        assert authenticate_api_key(wrong) is None, wrong


def test_a_revoked_key_is_refused_from_then_on(workspace: Workspace) -> None:
    made, text = create_api_key(workspace, "import", scopes=["runs:read"])
    assert revoke_api_keys([made.pk]) == 1
    assert revoke_api_keys([made.pk]) == 0
    assert authenticate_api_key(text) is None


def test_keys_that_a_key_made_are_revoked_with_it(workspace: Workspace) -> None:
    def made_with(maker: ApiKey, name: str) -> tuple[ApiKey, str]:
        by = actor_of(access_of_key(maker))
        return create_api_key(workspace, name, scopes=SCOPES, by=by)

    manager, _ = create_api_key(workspace, "manager", scopes=SCOPES)
    other, other_text = create_api_key(workspace, "other", scopes=SCOPES)
    child, child_text = made_with(manager, "child")
    _, grandchild_text = made_with(child, "grandchild")
    _, cousin_text = made_with(other, "cousin")
    assert revoke_api_keys([manager.pk]) == 3
    for text in (child_text, grandchild_text):
        assert authenticate_api_key(text) is None
    for text in (other_text, cousin_text):
        assert authenticate_api_key(text) is not None
    with pytest.raises(ForbiddenError, match="revoked"):
        made_with(child, "late")
    revoked = AuditEntry.objects.filter(workspace=workspace, action="api_key.revoke")
    assert revoked.count() == 3


def test_an_expired_key_is_refused(workspace: Workspace) -> None:
    soon = timezone.now() + timedelta(hours=1)
    made, text = create_api_key(workspace, "import", scopes=["runs:read"], expires_at=soon)
    assert authenticate_api_key(text) == made
    ApiKey.objects.filter(pk=made.pk).update(expires_at=timezone.now())
    assert authenticate_api_key(text) is None


def test_the_key_of_somebody_who_left_is_refused(workspace: Workspace) -> None:
    user = User.objects.create(username=f"u-{secrets.token_hex(4)}")
    made, text = create_api_key(workspace, "import", scopes=["runs:read"], user=user)
    assert authenticate_api_key(text) == made
    User.objects.filter(pk=user.pk).update(is_active=False)
    assert authenticate_api_key(text) is None


@pytest.mark.parametrize("scopes", [[], ["runs:delete"], ["runs:read", "*"]])
def test_an_unknown_scope_is_refused(workspace: Workspace, scopes: list[str]) -> None:
    with pytest.raises(ConfigurationError, match="choose from runs:read"):
        create_api_key(workspace, "import", scopes=scopes)


def test_the_last_use_is_written_at_most_once_a_minute(
    workspace: Workspace, django_assert_num_queries: Any
) -> None:
    made, text = create_api_key(workspace, "import", scopes=["runs:read"])
    with django_assert_num_queries(2):
        authenticate_api_key(text)
    first = ApiKey.objects.get(pk=made.pk).last_used_at
    assert first is not None
    with django_assert_num_queries(1):
        authenticate_api_key(text)
    earlier = first - timedelta(seconds=61)
    ApiKey.objects.filter(pk=made.pk).update(last_used_at=earlier)
    found = authenticate_api_key(text)
    assert found is not None
    assert found.last_used_at is not None
    assert ApiKey.objects.get(pk=made.pk).last_used_at == found.last_used_at
    assert found.last_used_at >= first
