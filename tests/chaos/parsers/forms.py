"""The admin's JSON fields, and the regular expressions that people write into schemas."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from django.db import transaction

from agents.admin.bindings import ToolBindingForm
from agents.admin.forms import AgentForm
from agents.models import Agent, ToolBinding
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.jsonschema import check_schema, fits, validate
from tests.admin.forms import values as filled
from tests.chaos.parsers import values

if TYPE_CHECKING:
    from django.forms import ModelForm

    from tests.chaos.parsers.found import Findings

PATTERNS = {
    "nested repetition": values.CATASTROPHIC,
    "overlapping alternatives": r"^(a|aa)+$",
    "many optional ones": "^" + "(a?)" * 200 + "a{200}$",
    "polynomial": r"^a*a*a*a*a*a*$",
    "unbounded middle": r"(.*,)*.*;.*!x$",
}
#: Only a matcher that backtracks can do these, or one that takes all memory.
UNUSABLE = {
    "back-reference": r"(a)\1",
    "look-ahead": r"(?=a)b",
    "look-behind": r"(?<=a)b",
    "huge repetition": "(a{1000}){1000}",
}


def ask(agent: Agent, found: Findings) -> None:
    """Type every text into every field that takes JSON."""
    for name, value in {**values.REFUSED, **values.BYTES}.items():
        text = value.decode("utf-8", "surrogateescape")
        for field in ("response_schema", "stop", "fallback_models"):
            fresh = Agent.objects.get(pk=agent.pk)  # a form writes into its row
            data = filled(AgentForm(instance=fresh)) | {field: text}
            _type(AgentForm(data, instance=fresh), field, name, found)
        for field, approval in (("approval_when", "when"), ("defaults", "")):
            binding = ToolBinding(agent=agent, tool="calculate")
            data = filled(ToolBindingForm(instance=binding)) | {"approval": approval, field: text}
            _type(ToolBindingForm(data, instance=binding), field, name, found)


def _type(form: ModelForm[Any], field: str, name: str, found: Findings) -> None:
    began = time.monotonic()
    said = _said(form, field)
    found.add("admin form", f"{field} {name}", said, time.monotonic() - began)


def _said(form: ModelForm[Any], field: str) -> str | None:
    """What the form says at that field; None: it takes everything."""
    with transaction.atomic():  # as the admin reads it
        if form.is_valid():
            return None
    return " ".join(map(str, form.errors.get(field, [f"Not at {field}: {dict(form.errors)}"])))


def match(found: Findings) -> None:
    """Patterns that a backtracking matcher never finishes are judged at once, or refused."""
    for name, pattern in PATTERNS.items():
        schema = {"type": "object", "properties": {"a": {"pattern": pattern}}}
        check_schema(schema)
        began = time.monotonic()
        problems = validate(schema, {"a": values.ENDLESS})
        seconds = time.monotonic() - began
        found.add("pattern", name, " ".join(problems) + "." if problems else None, seconds)
        began = time.monotonic()
        if fits(schema, {"a": values.ENDLESS}):
            found.unclear.append(f"pattern {name}: fits what does not match it")
        found.add("pattern", f"{name}, as a rule", "It does not fit.", time.monotonic() - began)
    for name, pattern in UNUSABLE.items():
        began, said = time.monotonic(), None
        try:
            check_schema({"pattern": pattern})
        except ConfigurationError as error:
            said = " ".join(str(error).split())
        said = said if said is None or said.endswith(".") else f"{said}."
        found.add("pattern", name, said, time.monotonic() - began)
