"""The page of one's own credentials: list, add, check and delete them without the admin."""

from __future__ import annotations

from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from pydantic import ValidationError

from heartbit_site.base.access import Access
from heartbit_site.base.credentials import CredentialType, entered_types
from heartbit_site.base.errors import HeartbitError
from heartbit_site.contract.credentials import CredentialIn
from heartbit_site.contract.validation import sentence
from heartbit_site.operations.credentials import (
    check_credential,
    create_credential,
    remove_credential,
)
from heartbit_site.web.page import page, show
from tools.credentials.values import label_of
from tools.errors import CredentialNotFoundError
from tools.models import Credential

PREFIX: Final = "field_"  # before the names of a type's fields


@never_cache
@require_http_methods(["GET", "POST"])
@page("runs:write")
def credentials(request: HttpRequest, access: Access) -> HttpResponse:
    """Show one's own credentials and, once a type is chosen, the form of a new one."""
    problem = ""
    if request.method == "POST":
        try:
            messages.success(request, _done(request, access))
            return redirect(request.path)
        except HeartbitError as error:
            problem = str(error)
        except ValidationError as error:
            details = error.errors(include_input=False, include_url=False)[0]
            problem = sentence({**details, "loc": ("body", "body", *details["loc"])})
    kind = entered_types().get(request.POST.get("kind") or request.GET.get("kind", ""))
    context = {
        "problem": problem,
        "rows": [(row, label_of(row.kind), _place(row)) for row in _own(access)],
        "types": [(each.kind, each.label) for each in entered_types().values()],
        "chosen": "" if kind is None else kind.kind,  # templates call classes
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


def _done(request: HttpRequest, access: Access) -> str:
    """Do what was asked for; return the result as a sentence."""
    if request.POST.get("do") == "add":
        made = create_credential(access, _asked(request))
        return f"{made.name} is added: your own runs use it."
    number = request.POST.get("id", "")
    row = next((one for one in _own(access) if str(one.pk) == number), None)
    if row is None:
        raise CredentialNotFoundError("There is no such credential of yours here.")
    if request.POST.get("do") == "check":
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
    """Return the fields of a type for the form, with what was entered, but never a secret."""
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
                "options": schema[name].get("enum", ()),
                "required": field.is_required(),
                "value": "" if name in hidden else entered,
            }
        )
    return found
