"""Signed links with which one person decides one call as it was shown, without logging in.

A link opens while its call waits; a decided call refuses further decisions, so a link works once.
A person who has left the workspace since it was sent cannot use it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core import signing

from agents.errors import CallClosedError
from agents.models import ToolCall
from heartbit_site.base.access import Access, NoWorkspaceError, access_of_user
from heartbit_site.base.rights import describe_refusal

_SALT = "heartbit.approval-link.1"
_SCOPE = "approvals:decide"


@dataclass(frozen=True, slots=True)
class Opened:
    """A valid link: its person's access, and its call.

    Attributes:
        digest: Digest of the call when the link was sent; a decision on another digest is refused.
    """

    access: Access
    call: ToolCall
    digest: str


def token_of(call: ToolCall, user_id: int) -> str:
    """Return the last part of the link's URL, for one person."""
    content = [str(call.run_id), call.call_id, call.digest, user_id]
    return signing.dumps(content, salt=_SALT)


def open_link(token: str) -> Opened:
    """Return the access and the call of a link.

    Raises:
        CallClosedError: The link is forged or expired, its call is gone, or its person has no right
            to decide.
    """
    age = timedelta(hours=settings.HEARTBIT_APPROVAL_LINK_HOURS)
    try:
        run_id, call_id, digest, user_id = signing.loads(token, salt=_SALT, max_age=age)
    except signing.SignatureExpired as error:
        raise CallClosedError("The link is too old: open the approvals page instead.") from error
    except (signing.BadSignature, ValueError) as error:
        raise CallClosedError("The link is not whole: open it as it was sent.") from error
    calls = ToolCall.objects.select_related("run__workspace", "run__version__agent")
    call = calls.filter(run_id=run_id, call_id=call_id).first()
    user = get_user_model().objects.filter(pk=user_id).first()
    if call is None or user is None:
        raise CallClosedError("The call of this link is gone: nothing can be decided.")
    try:
        access = access_of_user(user, call.run.workspace.slug)
    except NoWorkspaceError as error:
        raise CallClosedError(str(error)) from error
    if not access.allows(_SCOPE):
        raise CallClosedError(describe_refusal(access, _SCOPE))
    return Opened(access, call, digest)
