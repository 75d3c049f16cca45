"""Pages of the user's own account: password, permissions, API keys, and credentials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from django.contrib import messages
from django.contrib.auth import authenticate, update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods
from pydantic import ValidationError

from agents.actions.decide_call import revoke_grants
from agents.actions.notified_browsers import NEEDS, browsers_of, remove_browser
from agents.models import Grant
from agents.querysets import valid_grants
from heartbit_site.base.access import Access, role_of
from heartbit_site.base.actions.users import set_password
from heartbit_site.base.audit import actor_of
from heartbit_site.base.credentials import CHOICE_LABELS, CredentialType, entered_types
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.people import User
from heartbit_site.base.scopes import SCOPES, USUAL_SCOPES
from heartbit_site.contract.chat_apps import ChatCodeOut
from heartbit_site.contract.credentials import CredentialIn
from heartbit_site.contract.members import KeyIn, NewKeyOut
from heartbit_site.contract.model import MOST_ROWS
from heartbit_site.contract.problem import sentence
from heartbit_site.operations.chat_apps import (
    link_chat_account,
    list_chat_apps,
    unlink_chat_account,
)
from heartbit_site.operations.credentials import (
    check_credential,
    create_credential,
    remove_credential,
)
from heartbit_site.operations.members import create_own_key, list_own_keys, revoke_own_key
from heartbit_site.web.login import PAUSE
from heartbit_site.web.page import asked_action, page, show
from tools.credentials.values import label_of
from tools.errors import CredentialNotFoundError
from tools.models import Credential


@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
@page("runs:read")
def account(request: HttpRequest, access: Access) -> HttpResponse:
    """Show what belongs to the user: role, password, keys, chat accounts, permissions."""
    user = User.objects.get(username=access.name)
    problems: list[str] = []
    made: NewKeyOut | None = None
    code: ChatCodeOut | None = None
    is_sent = request.method == "POST"
    do = asked_action(request, *_ENDS, "make-key", "link", "password") if is_sent else None
    try:
        if do in _ENDS:
            _ENDS[do](request, access)
        elif do == "make-key":
            made = create_own_key(access, _asked_key(request))
        elif do == "link":
            code = link_chat_account(access, request.POST.get("id", ""))
        elif do == "password":
            problems = _change_password(request, access, user)
    except HeartbitError as error:
        problems = [str(error)]
    except ValidationError as error:
        problems = [_sentence(error)]
    if is_sent and not problems and made is None and code is None:
        return redirect(request.path)
    context = {
        "problems": problems,
        "email": user.email,
        "role": role_of(access.workspace, user.pk) or "superuser",
        "has_password": user.has_usable_password(),
        "browsers": browsers_of(access),
        "grants": _grants(access).select_related("agent", "root").order_by("-pk"),
        "chat_apps": list_chat_apps(access, limit=MOST_ROWS).chat_apps,
        "decides": access.allows(NEEDS),
        "code": code,
        "made": made,  # in this response alone: it can never be read again
        "keys": list_own_keys(access, limit=MOST_ROWS).keys,
        "scopes": [(name, SCOPES[name], name in USUAL_SCOPES) for name in sorted(access.scopes)],
        "days": DAYS,
    }
    status = 409 if problems else 200
    return show(request, access, "web/account.html", context, here="account", status=status)


def _asked_key(request: HttpRequest) -> KeyIn:
    given = {"name": request.POST.get("name", ""), "scopes": request.POST.getlist("scope")}
    days = request.POST.get("days", "")
    if not (days.isascii() and days.isdecimal() and len(days) < 5):
        raise HeartbitError("The days until the key ends are a number, such as 90.")
    return KeyIn.model_validate({**given, "days": int(days)})


def _sentence(error: ValidationError) -> str:
    details = error.errors(include_input=False, include_url=False)[0]
    return sentence({**details, "loc": ("body", "body", *details["loc"])})


def _grants(access: Access) -> QuerySet[Grant]:
    """Return the caller's grants that are still valid."""
    return valid_grants(access.workspace).filter(user=access.user_id)


def _revoke(request: HttpRequest, access: Access) -> None:
    number = request.POST.get("id", "")
    rows = [row for row in _grants(access) if str(row.pk) == number]
    if revoke_grants(rows, by=actor_of(access)):
        messages.success(request, f"Calls of {rows[0].tool} need approval again.")
    else:
        messages.info(request, "This permission has already ended.")


def _forget(request: HttpRequest, access: Access) -> None:
    number = request.POST.get("id", "")
    for row in browsers_of(access):
        if str(row.pk) == number:
            remove_browser(access, row)
            messages.success(request, "That browser notifies you no longer.")
            return
    messages.info(request, "This browser is already removed.")


def _revoke_key(request: HttpRequest, access: Access) -> None:
    ended = revoke_own_key(access, request.POST.get("prefix", ""))
    messages.success(request, f"The key {ended.name} is revoked.")


def _unlink(request: HttpRequest, access: Access) -> None:
    unlink_chat_account(access, request.POST.get("id", ""))
    messages.success(request, "No account there decides as you any more.")


#: What ends something of the user's, by the button's value.
_ENDS: Final[dict[str, Callable[[HttpRequest, Access], None]]] = {
    "revoke": _revoke,
    "forget": _forget,
    "revoke-key": _revoke_key,
    "unlink": _unlink,
}


def _change_password(request: HttpRequest, access: Access, user: User) -> list[str]:
    """Change the password and end the person's other sessions, or return the error.

    A wrong current password counts as a failed login, so that an open session cannot guess it; a
    missing one does not count.
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


#: Days until a key of one's own ends, in the form.
DAYS: Final = (30, 90, 365)
PREFIX: Final = "field_"  # before the names of a type's fields


@never_cache
@require_http_methods(["GET", "POST"])
@page("runs:write")
def credentials(request: HttpRequest, access: Access) -> HttpResponse:
    """Show the user's own credentials and, once a type is chosen, the form for a new one."""
    problem = ""
    if request.method == "POST":
        do = asked_action(request, "add", "check", "remove")
        try:
            messages.success(request, _done(request, access, do))
            return redirect(request.path)
        except HeartbitError as error:
            problem = str(error)
        except ValidationError as error:
            problem = _sentence(error)
    kind = entered_types().get(request.POST.get("kind") or request.GET.get("kind", ""))
    context = {
        "problem": problem,
        "rows": [(row, label_of(row.kind), _place(row)) for row in _own(access)],
        "types": [(each.kind, each.label) for each in entered_types().values()],
        "chosen": "" if kind is None else kind.kind,  # templates would call the class
        "label": kind.label if kind is not None else "",
        "fields": [] if kind is None else _fields(kind, request),
        "name": request.POST.get("name", ""),
    }
    status = 409 if problem else 200
    return show(request, access, "web/credentials.html", context, here="credentials", status=status)


def _own(access: Access) -> list[Credential]:
    rows = Credential.objects.filter(workspace=access.workspace, user=access.user_id)
    return list(rows.order_by("name"))


def _place(row: Credential) -> str:
    return str(row.settings.get("url") or row.settings.get("host") or "")


def _done(request: HttpRequest, access: Access, do: str) -> str:
    """Perform the requested action; return the result as a sentence."""
    if do == "add":
        made = create_credential(access, _asked(request))
        return f"{made.name} is added: your own runs use it."
    number = request.POST.get("id", "")
    row = next((one for one in _own(access) if str(one.pk) == number), None)
    if row is None:
        raise CredentialNotFoundError("You have no such credential here.")
    if do == "check":
        found = check_credential(access, number)
        if not found.healthy:
            raise HeartbitError(f"{found.name}: {found.health_message}")
        return f"{found.name}: its server accepts it."
    remove_credential(access, number)
    return f"{row.name} is deleted."


def _asked(request: HttpRequest) -> CredentialIn:
    given = {
        name.removeprefix(PREFIX): value
        for name, value in request.POST.items()
        if name.startswith(PREFIX) and value
    }
    return CredentialIn.model_validate(
        {
            "name": request.POST.get("name", ""),
            "kind": request.POST.get("kind", ""),
            "fields": given,
            "personal": True,
        }
    )


def _fields(kind: type[CredentialType], request: HttpRequest) -> list[dict[str, Any]]:
    """Return the fields of a type for the form, with the entered values, but never a secret."""
    schema = kind.model_json_schema()["properties"]
    hidden = kind.secret_fields()
    found = []
    for name, field in kind.model_fields.items():
        default = schema[name].get("default")
        entered = request.POST.get(PREFIX + name, "" if default is None else str(default))
        found.append(
            {
                "name": PREFIX + name,
                "label": name.replace("_", " ").capitalize().replace("Url", "URL"),
                "help": "Stored encrypted, and never shown again."
                if name in hidden
                else field.description,
                "type": "password" if name in hidden else "text",
                "options": [
                    (one, CHOICE_LABELS.get(one, one)) for one in schema[name].get("enum", ())
                ],
                "required": field.is_required(),
                "value": "" if name in hidden else entered,
            }
        )
    return found
