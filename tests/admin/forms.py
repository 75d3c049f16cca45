"""What a browser would send back from an admin form."""

from __future__ import annotations

from typing import Any


def filled(response: Any) -> dict[str, Any]:
    """The fields of a page's form and inlines as they are shown."""
    forms = [response.context["adminform"].form]
    for inline in response.context["inline_admin_formsets"]:
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
