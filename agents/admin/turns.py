"""A past turn of a run, and the form that forks the run there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django import forms

from agents.actions.fork_run import Edits
from agents.turns import describe_turn
from agents.versions import versions_of
from heartbit_site.base.visible_text import readable_json, visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agents.models import Run


@dataclass(frozen=True, slots=True)
class Spoken:
    """One message, ready to be shown."""

    who: str
    text: str
    calls: list[tuple[str, str]]
    is_error: bool


@dataclass(frozen=True, slots=True)
class TurnPage:
    """A turn's page.

    Attributes:
        turn: As every surface has it (``agents.turns``).
        facts: The figures.
        messages: What the model was sent.
        answer: What it answered.
        calls: What came of its calls.
        tools: What it was offered, with each tool's parameters as JSON.
    """

    run: Run
    turn: Mapping[str, Any]
    facts: list[tuple[str, str]]
    messages: list[Spoken]
    answer: Spoken
    calls: list[dict[str, Any]]
    tools: list[tuple[str, str, str]]


def read(run: Run, number: int) -> TurnPage:
    """Read the page.

    Raises:
        TurnNotFoundError: The model has not answered that often.
        RunStateError: A newer Heartbit wrote the journal.
    """
    turn = describe_turn(run, number)
    return TurnPage(
        run=run,
        turn=turn,
        facts=_facts(turn),
        messages=[_spoken(message) for message in turn["request"]["messages"]],
        answer=_spoken(turn["answer"]),
        calls=[_call(call) for call in turn["calls"]],
        tools=[
            (tool["name"], tool["description"], readable_json(tool["parameters"]))
            for tool in turn["request"]["tools"]
        ],
    )


def _facts(turn: Mapping[str, Any]) -> list[tuple[str, str]]:
    usage, request = turn["usage"], turn["request"]
    cached = f" · {usage['cached_input_tokens']:,} cached" if usage["cached_input_tokens"] else ""
    temperature = request["temperature"]
    facts = [
        ("Agent", f"{turn['agent']}, version {turn['version']}"),
        ("Model", turn["model"]),
        ("Took", f"{turn['duration_ms']:,} ms"),
        ("Tokens", f"{usage['input_tokens']:,} in · {usage['output_tokens']:,} out{cached}"),
        ("Cost", "unknown" if turn["cost_usd"] is None else f"${turn['cost_usd']}"),
        ("Ended with", turn["answer"]["finish_reason"].replace("_", " ")),
        ("Longest answer", f"{request['max_tokens']:,} tokens"),
        ("Tool choice", request["tool_choice"]),
    ]
    if temperature is not None:
        facts.append(("Temperature", str(temperature)))
    if request["omitted_messages"]:
        facts.append(
            ("Left out", f"{request['omitted_messages']} messages, by the context strategy")
        )
    return facts


def _spoken(message: Mapping[str, Any]) -> Spoken:
    if message["role"] == "tool":
        who = f"Result of {visible(message['name'])}"
        return Spoken(who, visible(message["content"]), [], message["is_error"])
    calls = [
        (visible(call["name"]), visible(call["arguments"]))
        for call in message.get("tool_calls", ())
    ]
    who = "Model" if message["role"] == "assistant" else "User"
    return Spoken(who, visible(message["text"]), calls, is_error=False)


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    result = call["result"]
    return {
        **call,
        "tool": visible(call["tool"]),
        "effect": call["effect"].replace("_", " "),
        "arguments": visible(call["arguments"]),
        "result": None if result is None else visible(result),
    }


class ForkForm(forms.Form):
    """What is different in a fork."""

    message = forms.CharField(
        required=False, widget=forms.Textarea({"rows": 3, "class": "hb-input"})
    )
    task = forms.CharField(required=False, widget=forms.Textarea({"rows": 3, "class": "hb-input"}))
    instead = forms.ChoiceField(
        required=False,
        choices=[("arguments", "arguments"), ("result", "result")],
        widget=forms.RadioSelect(),
    )
    text = forms.CharField(
        required=False,
        strip=False,
        widget=forms.Textarea({"rows": 6, "class": "hb-input hb-json", "spellcheck": "false"}),
    )

    def __init__(self, run: Run, page: TurnPage | None, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        agent = run.version.agent
        current = agent.current_version_id
        self.fields["version"] = forms.TypedChoiceField(
            required=False,
            coerce=int,
            empty_value=None,
            choices=[
                ("", f"v{run.version.number}, the run's own"),
                *(
                    (v.number, f"v{v.number}{', the current one' if v.pk == current else ''}")
                    for v, _ in versions_of(agent)
                    if v.pk != run.version_id
                ),
            ],
            widget=forms.Select({"class": "hb-input"}),
        )
        calls = page.calls if page is not None else []
        self.fields["call"] = forms.ChoiceField(
            required=False,
            choices=[("", "None"), *((c["call_id"], f"{c['call_id']} {c['tool']}") for c in calls)],
            widget=forms.Select({"class": "hb-input"}),
        )

    def edits(self) -> Edits:
        """What was asked; call it when the form is valid."""
        asked = self.cleaned_data
        text = asked["text"].replace("\r\n", "\n")
        with_result = asked["instead"] == "result"
        chosen = asked["call"]
        return Edits(
            message=asked["message"].replace("\r\n", "\n"),
            task=asked["task"].replace("\r\n", "\n"),
            call=chosen,
            arguments=text if chosen and not with_result else None,
            result=text if chosen and with_result else None,
            version=asked["version"],
        )
