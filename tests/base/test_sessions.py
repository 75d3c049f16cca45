"""What outlives a request asks whether the session it began with lasts."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from django.conf import settings

from heartbit_site.base.access import is_session_valid
from tests.web.people import member, session_of

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace


def test_a_session_lasts_until_it_is_left_or_the_password_is_another(workspace: Workspace) -> None:
    ada, bob = member(workspace), member(workspace)
    left, kept = session_of(ada), session_of(ada)
    assert is_session_valid(left, ada.pk)
    assert not is_session_valid(left, bob.pk), "it is somebody else's"
    assert not is_session_valid(left, None)
    assert not is_session_valid(None, ada.pk)
    engine: Any = import_module(settings.SESSION_ENGINE)
    engine.SessionStore(left).flush()
    assert not is_session_valid(left, ada.pk)
    assert is_session_valid(kept, ada.pk)
    ada.set_password("another one")
    ada.save()
    assert not is_session_valid(kept, ada.pk)
