"""The page of one's own account: change the password, see and revoke what one always allowed."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import authenticate, update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from agents.actions.decide_call import revoke_grants
from agents.models import Grant
from heartbit_site.base.access import Access, role_of
from heartbit_site.base.actions.users import set_password
from heartbit_site.base.audit import actor_of
from heartbit_site.web.login import PAUSE
from heartbit_site.web.page import page, show


@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
@page("runs:read")
def account(request: HttpRequest, access: Access) -> HttpResponse:
    """Show one's role, the form of a new password, and one's standing permissions."""
    user = User.objects.get(username=access.name)
    problems: list[str] = []
    if request.POST.get("do") == "revoke":
        _revoke(request, access)
        return redirect(request.path)
    if request.method == "POST":
        problems = _change_password(request, access, user)
        if not problems:
            return redirect(request.path)
    context = {
        "problems": problems,
        "email": user.email,
        "role": role_of(access.workspace, user.pk) or "superuser",
        "has_password": user.has_usable_password(),
        "grants": _grants(access).select_related("agent", "root").order_by("-pk"),
    }
    status = 409 if problems else 200
    return show(request, access, "web/account.html", context, here="account", status=status)


def _grants(access: Access) -> QuerySet[Grant]:
    """Return the caller's grants that still hold."""
    rows = Grant.objects.filter(workspace=access.workspace, user=access.user_id, revoked_at=None)
    lasting = Q(expires_at=None) | Q(expires_at__gt=Now())
    return rows.filter(lasting, Q(root=None) | Q(root__finished_at=None))


def _revoke(request: HttpRequest, access: Access) -> None:
    number = request.POST.get("id", "")
    rows = [row for row in _grants(access) if str(row.pk) == number]
    if revoke_grants(rows, by=actor_of(access)):
        messages.success(request, f"Calls of {rows[0].tool} wait for a person again.")
    else:
        messages.info(request, "This permission had ended already.")


def _change_password(request: HttpRequest, access: Access, user: User) -> list[str]:
    """Change the password, or return what is wrong; the other sessions of the person end.

    A wrong current password counts as a failed login, so that an open session cannot guess it; none
    is no guess.
    """
    given = request.POST.get("old_password", "")
    known = authenticate(request, username=user.username, password=given) if given else None
    form = PasswordChangeForm(user, request.POST)
    if not form.is_valid():
        return [str(text) for texts in form.errors.values() for text in texts]
    if known is None:
        return [PAUSE]
    changed = set_password(user.username, form.cleaned_data["new_password1"], by=actor_of(access))
    update_session_auth_hash(request, changed)
    messages.success(request, "Your password is changed, and your other sessions have ended.")
    return []
