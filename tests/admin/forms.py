"""What a browser would send back from an admin form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib.auth import get_user
from django.test import RequestFactory
from django.urls import resolve

if TYPE_CHECKING:
    from django.test import Client


def filled(response: Any) -> dict[str, Any]:
    """The fields of a page's form and inlines as they are shown."""
    return _fields(response.context)


def filled_undrawn(browser: Client, path: str) -> dict[str, Any]:
    """Return the values of a page's forms without rendering it, most of a request's time."""
    request = RequestFactory(headers={"host": "localhost"}).get(path)
    request.session = browser.session
    request.user = get_user(request)
    view = resolve(request.path)
    response: Any = view.func(request, *view.args, **view.kwargs)
    assert not response.is_rendered
    return _fields(response.context_data)


def _fields(context: Any) -> dict[str, Any]:
    forms = [context["adminform"].form]
    for inline in context["inline_admin_formsets"]:
        forms += [inline.formset.management_form, *inline.formset.forms]
    return values(*forms)


def values(*forms: Any) -> dict[str, Any]:
    """The same of forms that no page has drawn."""
    data: dict[str, Any] = {}
    for form in forms:
        for field in form:
            value = field.value()
            if value is not None and value is not False:
                data[field.html_name] = (
                    [v.pk if hasattr(v, "pk") else v for v in value]
                    if (isinstance(value, list))
                    else value
                )
    return data
