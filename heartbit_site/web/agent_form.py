"""The studio's form: an agent's settings, derived from the one list of them, and its tools.

What a request does not mention is kept as it is stored.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from django import forms
from django.contrib.admin.utils import flatten
from django.http import QueryDict

from agents.admin import strategy_form
from agents.admin.agent import TABS
from agents.admin.bindings import GrantForm
from agents.admin.forms import AgentForm, add_complaints
from agents.definitions.kinds import AGENT
from agents.definitions.server_grants import servers_of
from agents.definitions.spec import GRANT_SETTINGS, AgentSpec
from agents.definitions.validation_messages import InvalidSettingError, check, sentence_of
from agents.models import Agent, ToolBinding
from agents.reads.agents import table_of
from heartbit_site.base.toolspec import ToolSpec
from tools.models import Credential

#: Settings that are shown first, before the folded groups.
FIRST = ("description", "model", "temperature", "max_turns", "approval", "max_run_cost_usd")
SEARCH = "search_knowledge"
#: Settings that rows and switches show instead of a field.
_ELSEWHERE = ("context_strategy", "skills", "enabled")
_WEIGHTS = ("relevance", "recency", "importance", "strength")


class SettingsForm(forms.ModelForm[Agent], strategy_form.StrategyForm):
    """Fields of an agent, derived from the columns and so from ``AgentSpec``."""

    class Meta(AgentForm.Meta):
        fields = tuple(name for name in AGENT.columns if name not in _ELSEWHERE)
        widgets: dict[str, Any] = {"system_prompt": forms.Textarea({"rows": 18})}  # noqa: RUF012

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial = {**strategy_form.initial(self.instance.context_strategy), **self.initial}
        for field in self.fields.values():
            field.widget.attrs.pop("class", None)  # of the admin's theme
            if "rows" in field.widget.attrs and field is not self.fields["system_prompt"]:
                field.widget.attrs["rows"] = "5"
        schemas = AgentSpec.model_json_schema()["properties"]
        for name in ("stop", "fallback_models"):
            _draw(self.fields[name], schemas[name])
        weights = {name: {"type": "number", "minimum": 0} for name in _WEIGHTS}
        _draw(self.fields["memory_weights"], {"type": "object", "properties": weights})

    def clean(self) -> dict[str, Any] | None:
        """Read the context strategy."""
        cleaned = super().clean()
        if not set(strategy_form.FIELDS) & set(self.errors):
            chosen, problems = strategy_form.read(self.cleaned_data)
            for field, problem in problems.items():
                self.add_error(field, problem)
            if chosen is not None:
                self.instance.context_strategy = chosen
        return cleaned

    def _post_clean(self) -> None:
        """Check the settings once the row has its values."""
        super()._post_clean()  # type: ignore[misc]  # not in the stubs
        if not self.errors:
            settings = {**table_of(self.instance), "tools": [], "team": [], "skills": []}
            add_complaints(self, AgentSpec, settings)

    def first(self) -> list[forms.BoundField]:
        """Return the fields that are shown first."""
        return [self[name] for name in FIRST]

    def groups(self) -> Iterator[tuple[str, list[forms.BoundField], bool]]:
        """Yield the other fields by group, and whether one of the group has an error."""
        for title, rows in TABS.items():
            shown = [*FIRST, "system_prompt"]
            names = [name for name in flatten(rows) if name in self.fields and name not in shown]
            if names:
                yield title, [self[name] for name in names], any(n in self.errors for n in names)


class StudioForm:
    """All that the studio edits: settings, tools, skills, team and knowledge bases.

    Attributes:
        settings: The form of the settings.
        grants: The forms of the tools whose panels are open, by tool.
        problems: Sentences about tools, skills and team, by the section that shows them.
    """

    def __init__(
        self, source: Agent, known: Mapping[str, ToolSpec], data: QueryDict | None = None
    ) -> None:
        self.source, self.known, self.data = source, known, data
        self.settings = SettingsForm(data, instance=source)
        self.table = table_of(source)
        self.stored = {grant["name"]: grant for grant in self.table["tools"]}
        self.problems: dict[str, list[str]] = {}
        panels = filter(self.offers, self._sent("panel"))
        self.grants = {name: self.panel(name) for name in panels}

    def offers(self, tool: str) -> bool:
        """Return True if the agent has the tool, or could be given it."""
        return tool in self.stored or tool in self.known or tool in servers_of(self.known)

    def panel(self, tool: str) -> GrantForm:
        """Return the form of how a tool is given."""
        stored = self.stored.get(tool, {})
        values = {name: stored[name] for name in GRANT_SETTINGS if name in stored}
        form = GrantForm(
            self.data, instance=ToolBinding(tool=tool, **values), prefix=f"tool.{tool}"
        )
        form.fields.pop("knowledge_bases")  # rows of their own
        form.fields.pop("enabled")  # the switch of the tool's row
        for field in form.fields.values():
            field.widget.attrs["form"] = "studio"  # the panel lies beside the form
            if "rows" in field.widget.attrs:
                field.widget.attrs["rows"] = "5"
        spec = self.known.get(tool)
        if spec is not None:
            arguments = {
                "type": "object",
                "properties": dict(spec.parameters.get("properties", {})),
            }
            defs = spec.parameters.get("$defs")
            _draw(form.fields["defaults"], arguments | ({"$defs": defs} if defs else {}))
            _draw(form.fields["credentials"], _credentials(spec, self.source.workspace_id))
            if not spec.credentials and not stored.get("credentials"):
                form.fields.pop("credentials")
        return form

    def is_valid(self) -> bool:
        """Return True if each field can be read; other rules are the verb's."""
        forms_valid = [form.is_valid() for form in (self.settings, *self.grants.values())]
        return all(forms_valid)

    def spec(self) -> AgentSpec:
        """Return the settings of the valid form.

        Raises:
            InvalidSettingError: A skill, an agent of the team or a tool is not named as one.
        """
        skills = self._sent("skills")
        if set(skills) == set(self.table["skills"]):
            skills = self.table["skills"]  # in the order in which they were given
        table = {
            **table_of(self.settings.instance),
            "tools": self._tools(),
            "skills": skills,
            "team": sorted(self._sent("team")),
        }
        for path, message in check(AgentSpec, table, ()):
            raise InvalidSettingError(path, message)
        return AgentSpec.model_validate(table)

    def _sent(self, name: str) -> list[str]:
        return [] if self.data is None else self.data.getlist(name)

    def _tools(self) -> list[dict[str, Any]]:
        on, bases = set(self._sent("tools")), self._sent("bases")
        found = []
        for name in sorted({*self.stored, *on, *self.grants, *([SEARCH] if bases else [])}):
            grant = {"name": name, "enabled": name in on, **self._rules(name)}
            former = self.stored.get(name, {}).get("knowledge_bases", [])
            if name == SEARCH:
                grant["knowledge_bases"] = former if set(former) == set(bases) else bases
                grant["enabled"] = name in on or not set(bases) <= set(former)
            is_new = name not in self.stored and not grant["enabled"]
            if not (is_new and not (name in self.grants and self.grants[name].has_changed())):
                found.append(grant)
        return found

    def _rules(self, tool: str) -> dict[str, Any]:
        """Return how a tool is given: as its panel says, else as it is stored."""
        if tool in self.grants:
            row = self.grants[tool].instance
            return {name: getattr(row, name) for name in GRANT_SETTINGS if name != "enabled"}
        stored = self.stored.get(tool, {})
        return {
            name: stored[name] for name in GRANT_SETTINGS if name in stored and name != "enabled"
        }

    def refuse(self, error: InvalidSettingError) -> None:
        """Show at its field or section why the verb refused the settings."""
        field = error.field
        if field == "tools" and len(error.path) > 2:
            name = self._tools()[int(error.path[1])]["name"]
            form = self.grants.setdefault(name, self.panel(name))
            setting = str(error.path[2])
            if form.is_valid() and setting in form.fields:
                form.add_error(setting, sentence_of(error.path[2:], error.message))
                return
            self.problems.setdefault("tools", []).append(f"{name}: {error.message}")
        elif field in self.settings.fields:
            self.settings.add_error(field, sentence_of(error.path, error.message))
        else:
            known = field if field in ("tools", "skills", "team") else "form"
            self.problems.setdefault(known, []).append(sentence_of(error.path, error.message))

    def first_problem(self) -> str:
        """Return the first sentence about what was sent."""
        for form in (self.settings, *self.grants.values()):
            for name, errors in form.errors.items():
                return f"{name.replace('_', ' ').capitalize()}: {errors[0]}"
        return next((found[0] for found in self.problems.values()), "")

    def is_on(self, kind: str, name: str) -> bool:
        """Return True if a row of a kind (tools, skills, team, bases) is switched on."""
        if self.data is not None:
            return name in self._sent(kind)
        if kind == "tools":
            return bool(self.stored.get(name, {}).get("enabled"))
        if kind == "bases":
            return name in self.stored.get(SEARCH, {}).get("knowledge_bases", ())
        return name in self.table[kind]


def _draw(field: forms.Field, schema: Mapping[str, Any]) -> None:
    """Let the page draw a field of JSON as a form of a schema."""
    field.widget.attrs["data-schema"] = json.dumps(schema)


def _credentials(spec: ToolSpec, workspace_id: int) -> dict[str, Any]:
    """Return the schema of the names of a tool's credentials, by its parameter."""
    rows = Credential.objects.filter(workspace_id=workspace_id, user=None)
    properties = {}
    for need in spec.credentials:
        names = rows.filter(kind__in=need.kinds).order_by("name").values_list("name", flat=True)
        properties[need.parameter] = cast("dict[str, Any]", {"enum": list(names)})
    return {"type": "object", "properties": properties}
