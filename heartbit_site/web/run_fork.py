"""A turn as a playground: other words, another result or version, and a new run from there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from pydantic import ValidationError

from agents.choices import RunKind
from agents.models import Run, RunEvent
from agents.querysets import find_run
from heartbit_site.base.access import Access
from heartbit_site.base.errors import ConflictError, HeartbitError, NotFoundError
from heartbit_site.base.untrusted import UntrustedJSONError, parse_untrusted_json
from heartbit_site.base.visible_text import visible
from heartbit_site.contract.problem import sentence
from heartbit_site.contract.turns import ForkIn, TurnCallOut
from heartbit_site.operations import agents, turns
from heartbit_site.shell.fields import LongText
from heartbit_site.web.page import page, show
from heartbit_site.web.run_page import problem_part

_COMMITTED = "graph.committed"
_MOST_VERSIONS = 100
#: Characters of arguments or a result that are offered; a command takes longer ones.
_LONGEST = 40_000


class ForkForm(forms.Form):
    """The changes of a fork; fields that stay as they were drawn change nothing."""

    turn = forms.TypedChoiceField(label="Where it begins", coerce=int)
    version = forms.ChoiceField(required=False, help_text="Its prompt, model, tools and limits.")
    task = LongText(max_length=400_000, widget=forms.Textarea({"rows": 4}))
    message = LongText(
        label="Send it a message before it continues",
        required=False,
        max_length=20_000,
        widget=forms.Textarea({"rows": 2}),
    )
    state = forms.CharField(
        label="Other values of its state, as JSON",
        required=False,
        widget=forms.Textarea({"rows": 2, "class": "code", "placeholder": '{"rounds": 0}'}),
    )

    def __init__(
        self,
        data: Any,
        run: Run,
        begins: Sequence[tuple[int, str]],
        versions: Sequence[tuple[str, str]],
    ) -> None:
        super().__init__(data, initial={"task": run.task, "turn": begins[0][0]})
        self.run = run
        self.calls: dict[str, TurnCallOut] = {}
        self.fields["turn"].choices = begins  # type: ignore[attr-defined]
        self.fields["version"].label = f"Version of {run.agent}"
        self.fields["version"].choices = [("", "as it was"), *versions]  # type: ignore[attr-defined]
        if run.kind != RunKind.AGENT:
            del self.fields["task"], self.fields["message"]
        if run.kind != RunKind.WORKFLOW:
            del self.fields["state"]

    def offer(self, turn: int, calls: Sequence[TurnCallOut]) -> None:
        """Let the calls of a turn have other results or arguments."""
        self.initial["turn"] = turn
        for call in calls:
            if max(len(call.result or ""), len(call.arguments)) > _LONGEST:
                continue
            self.calls[call.call_id] = call
            name = f"{call.call_id} {visible(call.tool)}"
            area = {"rows": 3, "class": "code", "spellcheck": "false"}
            for what, text, label in (
                ("result", call.result or "", f"Result of {name}"),
                ("arguments", _pretty(call.arguments), f"Arguments of {name}"),
            ):
                self.fields[f"{what}:{call.call_id}"] = LongText(
                    label=label, required=False, widget=forms.Textarea(area)
                )
                self.initial[f"{what}:{call.call_id}"] = text

    @property
    def offered(self) -> list[tuple[TurnCallOut, Any, Any]]:
        """The calls, each with its fields."""
        return [
            (call, self[f"result:{call_id}"], self[f"arguments:{call_id}"])
            for call_id, call in self.calls.items()
        ]

    @property
    def again(self) -> str:
        """Names of the calls that have effects when the turn's calls run again."""
        found = [one for one in self.calls.values() if one.effect != "pure"]
        return ", ".join(f"{one.call_id} {visible(one.tool)}" for one in found)

    def body(self) -> ForkIn | None:
        """Return the request; None if a field does not fit, which has its error then."""
        changed = [name for name in self.fields if ":" in name and self._differs(name)]
        body: dict[str, Any] = {"turn": self.cleaned_data["turn"]}
        if len(changed) > 1:
            self.add_error(changed[1], "Change one thing of one call: the fork takes one.")
        for name in changed[:1]:
            what, _, body["call_id"] = name.partition(":")
            if body["turn"] != self.initial["turn"]:
                self.add_error("turn", "A call was changed: begin after its turn.")
            given = self._text(name)
            body[what] = given if what == "result" else self._object(name, "arguments")
        for name in ("message", "task"):
            if name in self.fields and self._differs(name) and self._text(name).strip():
                body[name] = self._text(name)
        if self.cleaned_data["version"]:
            body["version"] = int(self.cleaned_data["version"])
        if "state" in self.fields and self._text("state").strip():
            body["state"] = self._object("state", "values of the state")
        if self.errors:
            return None
        try:
            return ForkIn.model_validate(body)
        except ValidationError as error:
            self.add_error(None, sentence(error.errors()[0]))
            return None

    def _text(self, name: str) -> str:
        return str(self.cleaned_data.get(name, "")).replace("\r\n", "\n")

    def _differs(self, name: str) -> bool:
        # A browser sends \r\n for each end of a line, and drops the first one.
        before = str(self.initial.get(name, "")).replace("\r\n", "\n").removeprefix("\n")
        return self._text(name).removeprefix("\n") != before

    def _object(self, name: str, what: str) -> Any:
        try:
            value = parse_untrusted_json(self._text(name))
        except UntrustedJSONError as error:
            self.add_error(name, f"The {what} are not JSON that can be stored: {error}")
            return None
        if not isinstance(value, dict):
            self.add_error(name, f"The {what} have to be a JSON object.")
        return value


@page("runs:write")
def fork(request: HttpRequest, access: Access, run: UUID) -> HttpResponse:
    """Show the changes that a fork can make, or make it; with ``?part`` only the form."""
    found = find_run(access, run)
    given = request.GET.get("turn", "")
    try:
        form = _form(request, access, found, int(given) if given.isdecimal() else None)
    except ConflictError as error:
        return problem_part(request, error)
    if request.method == "POST" and form.is_valid() and (body := form.body()) is not None:
        try:
            made = turns.fork(access, str(found.pk), body)
        except HeartbitError as error:
            form.add_error(None, str(error))
        else:
            return redirect("web:run", access.workspace.slug, made.run_id)
    context = {"form": form, "run": found, "workspace": access.workspace, "turn": given}
    if "part" in request.GET and request.method == "GET":
        return render(request, "web/run/fork_form.html", context)
    status = 422 if form.errors else 200
    return show(request, access, "web/run/fork.html", context, here="runs", status=status)


def _form(request: HttpRequest, access: Access, run: Run, turn: int | None) -> ForkForm:
    begins = [(0, "from the beginning")]
    if run.kind == RunKind.WORKFLOW:
        steps = RunEvent.objects.filter(run=run, type=_COMMITTED).count()
        begins += [(n + 1, f"with superstep {n}, whose nodes run again") for n in range(steps)]
    elif run.kind == RunKind.AGENT:
        answered = turns.list_turns(access, str(run.pk), limit=1000).turns
        begins += [(one.number, f"after turn {one.number}") for one in answered]
    form = ForkForm(request.POST or None, run, begins[::-1], _versions(access, run.agent))
    last = begins[-1][0] if turn is None else turn
    if run.kind == RunKind.AGENT and last:
        form.offer(last, turns.show_turn(access, str(run.pk), last).calls)
    return form


def _versions(access: Access, agent: str) -> list[tuple[str, str]]:
    """Return the versions to choose from; none for an agent that a program defines."""
    try:
        found = agents.list_versions(access, agent, limit=_MOST_VERSIONS).versions
    except NotFoundError:
        return []
    return [
        (str(one.number), f"version {one.number}{', the current one' if one.current else ''}")
        for one in found
    ]


def _pretty(text: str) -> str:
    try:
        return json.dumps(parse_untrusted_json(text), ensure_ascii=False, indent=2)
    except UntrustedJSONError:
        return text
