"""Buttons of the admin's pages: actions behind a dialog, and links."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from unfold.decorators import action as unfold_action
from unfold.enums import ActionVariant

from heartbit_site.base.audit import Actor
from heartbit_site.base.errors import HeartbitError

if TYPE_CHECKING:
    from django import forms

    class DialogForm(forms.Form):
        """A form in a dialog over the page of one object."""

        request: HttpRequest
        object_id: str | None
else:
    from unfold.forms import BaseDialogForm as DialogForm

__all__ = ["DialogForm", "actor_of", "dialog", "is_offered", "page_action"]

F = TypeVar("F", bound=Callable[..., Any])
#: A method ``(self, request, row, form)``; it returns the address to open, None for the same page.
Act = TypeVar("Act", bound=Callable[..., "str | None"])


def actor_of(request: HttpRequest) -> Actor:
    """Return the signed-in person as the audit names them."""
    return Actor(request.user.get_username(), "admin", request.user.pk)


def dialog(
    label: str,
    explanation: str,
    *,
    icon: str,
    permission: str,
    submit: str = "",
    variant: Literal["DEFAULT", "PRIMARY", "DANGER"] = "PRIMARY",
    form: type[DialogForm] = DialogForm,
    refused_at: str = "",
    offered: Callable[[Any], bool] | None = None,
) -> Callable[[Act], Act]:
    """Mark a method ``(self, request, row, form)`` as an action behind a dialog with a form.

    The method returns the address to open, or None to show the page again. An error for a person
    that it raises becomes a message.

    Args:
        label: The button above the page, and the dialog's title.
        explanation: What happens, below the title.
        icon: A name of Material Symbols.
        permission: A key of ``needs``.
        submit: The dialog's button; empty: the label's first word.
        variant: The button's colour.
        form: The dialog's form.
        refused_at: The field of the form that shows an error, instead of a message.
        offered: Return True while the action has an effect on a row; None: always.
    """
    submit = submit or label.partition(" ")[0]

    def decorate(method: Act) -> Act:
        @wraps(method)
        def acted(page: Any, request: HttpRequest, filled: Any, object_id: str) -> HttpResponse:
            row = page.get_object(request, object_id)
            if row is None:
                messages.warning(request, "It does not exist any more.")
                opts = page.opts
                rows = reverse(f"admin:{opts.app_label}_{opts.model_name}_changelist")
                return HttpResponse(headers={"HX-Redirect": rows})
            try:
                address = method(page, request, row, filled)
            except HeartbitError as error:
                if refused_at:
                    filled.add_error(refused_at, str(error))
                    return _ask_again(request, filled, submit)
                messages.error(request, str(error))
                address = None
            return HttpResponse(
                headers={"HX-Redirect": address} if address else {"HX-Refresh": "true"}
            )

        marked: Any = unfold_action(
            description=label,
            icon=icon,
            permissions=[permission],
            variant=ActionVariant[variant],
            dialog={
                "title": label,
                "description": explanation,
                "form_class": form,
                "form_submit_text": submit,
            },
        )(acted)
        marked.offered = offered
        return marked  # type: ignore[no-any-return]  # unfold has no types

    return decorate


def is_offered(action: Any, row: object) -> bool:
    """Return True if one of unfold's actions has an effect on a row now."""
    offered = getattr(action.method, "offered", None)
    return offered is None or (row is not None and offered(row))


def page_action(
    label: str, *, icon: str, permission: str, variant: Literal["DEFAULT", "PRIMARY"] = "DEFAULT"
) -> Callable[[F], F]:
    """Mark a method ``(request[, object_id])`` as a button above a page, without a dialog.

    The button is a link, and a foreign page can link there too: the method may redirect or show
    something, and change nothing. For a change use ``dialog``, whose form is posted with a token.
    """
    decorator: Callable[[F], F] = unfold_action(
        description=label, icon=icon, permissions=[permission], variant=ActionVariant[variant]
    )
    return decorator


def _ask_again(request: HttpRequest, form: DialogForm, submit: str) -> HttpResponse:
    """Return the dialog's form again with its errors; only the form is replaced on the page."""
    context = {"dialog": {}, "form": form, "form_submit_text": submit}
    return render(request, "unfold/helpers/dialog.html", context)
