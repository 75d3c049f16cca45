"""The form of a credential: the fields of its type, secrets as passwords."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from unfold import widgets

from heartbit_site.admin.saved_by_verb import VerbForm
from heartbit_site.base.credentials import CredentialType
from tools.models import Credential

#: Before the names of a type's fields, which may be those of columns.
PREFIX: Final = "field_"
_SECRET: Final = "Encrypted when saved, and never shown again."  # noqa: S105
_KEPT: Final = "Empty: the present one is kept."


class CredentialForm(VerbForm[Credential]):
    """The fields that all types of credentials have."""

    class Meta:
        model = Credential
        fields = ("workspace", "name", "enabled")


def form_for(kind: type[CredentialType], row: Credential | None) -> type[CredentialForm]:
    """Return the form of a type, to change a credential; None: to add one."""
    if not kind.is_entered:
        return CredentialForm
    schema = kind.model_json_schema()["properties"]
    hidden = kind.secret_fields()
    fields: dict[str, Any] = {}
    for name, field in kind.model_fields.items():
        described = schema[name]
        label = name.replace("_", " ").capitalize()
        common = {
            "label": label,
            "help_text": field.description or "",
            "required": field.is_required() and not (row is not None and name in hidden),
            "initial": row.settings.get(name) if row is not None else described.get("default"),
        }
        fields[f"{PREFIX}{name}"] = _field(described, common, secret=name in hidden, row=row)
    names = {name: f"{PREFIX}{name}" for name in kind.model_fields}
    return type("CredentialForm", (CredentialForm,), {**fields, "renamed": names})


def given(form: Any) -> dict[str, object]:
    """Return the entered fields of the type, without the empty fields of a new row."""
    return {
        name.removeprefix(PREFIX): value
        for name, value in form.cleaned_data.items()
        if name.startswith(PREFIX) and value not in ("", None)
    }


def _field(
    described: dict[str, Any], common: dict[str, Any], *, secret: bool, row: Credential | None
) -> forms.Field:
    if secret:
        widget = widgets.UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"})
        common |= {"help_text": _SECRET if row is None else _KEPT, "initial": None}
        return forms.CharField(widget=widget, max_length=10_000, strip=False, **common)
    if "enum" in described:
        choices = [(value, value) for value in described["enum"]]
        return forms.ChoiceField(choices=choices, widget=widgets.UnfoldAdminSelectWidget, **common)
    if described.get("type") == "integer":
        return forms.IntegerField(widget=widgets.UnfoldAdminIntegerFieldWidget, **common)
    return forms.CharField(widget=widgets.UnfoldAdminTextInputWidget, max_length=1_000, **common)
