"""JSON in a form, printed for people, and a tool's arguments as a table."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

from django import forms
from django.core.validators import EMPTY_VALUES
from django.forms.fields import InvalidJSONInput
from django.forms.widgets import Textarea

from heartbit_site.admin.themed import pretty_json, text_widget
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json

_ONE_LINE = 60  # characters


class JSONText(forms.JSONField):
    """A JSON value in a text field.

    Attributes:
        nothing: What an empty field means.
    """

    nothing: Any = None

    def to_python(self, value: Any) -> Any:
        """Read what was typed.

        Raises:
            ValidationError: One sentence that says where it is malformed.
        """
        if value in EMPTY_VALUES:
            return deepcopy(self.nothing)
        try:
            return parse_untrusted_json(str(value))
        except UntrustedJSONError as error:
            raise forms.ValidationError(str(error)) from error

    def bound_data(self, data: Any, initial: Any) -> Any:
        """Return the text as it was typed."""
        return None if data is None else InvalidJSONInput(data)

    def prepare_value(self, value: Any) -> str:
        """Indented, what is short on one line; nothing where there is nothing."""
        if isinstance(value, InvalidJSONInput):
            return str(value)
        if value == self.nothing:
            return ""
        line = json.dumps(value, ensure_ascii=False)
        return line if len(line) <= _ONE_LINE else pretty_json(value)

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Return True if the JSON means something else; the way it is written does not count."""
        try:
            return bool(self.to_python(data) != initial)
        except forms.ValidationError:
            return True


class JSONListText(JSONText):
    """A JSON list; empty: ``[]``."""

    nothing: Any = []


class JSONObjectText(JSONText):
    """A JSON object; empty: ``{}``."""

    nothing: Any = {}

    def to_python(self, value: Any) -> Any:
        """Read what was typed.

        Raises:
            ValidationError: As ``JSONText``; or it is no JSON object.
        """
        found = super().to_python(value)
        if found is not None and not isinstance(found, dict):
            raise forms.ValidationError("The value must be a JSON object.")
        return found


class OptionalJSONObjectText(JSONObjectText):
    """A JSON object; empty: null."""

    nothing: Any = None


def json_widget(*, rows: int, placeholder: str = "") -> Textarea:
    """Return a widget for JSON: monospaced, without the browser's spelling and quotes."""
    widget = text_widget(rows=rows, placeholder=placeholder)
    widget.attrs["class"] += " hb-json"
    widget.attrs |= {"spellcheck": "false", "autocomplete": "off", "autocapitalize": "off"}
    return widget


def argument_rows(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return name, type, description, default and whether required of each argument."""
    required = schema.get("required", ())
    return [
        {
            "name": name,
            "type": _type(each),
            "required": name in required,
            "description": each.get("description", ""),
            "default": json.dumps(each["default"]) if each.get("default") is not None else "",
        }
        for name, each in schema.get("properties", {}).items()
    ]


def _type(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(map(str, schema["enum"]))
    options = [_type(each) for each in schema.get("anyOf", ()) if each.get("type") != "null"]
    if options:
        return " or ".join(options)
    kind = schema.get("type", "any")
    if kind == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(kind)
