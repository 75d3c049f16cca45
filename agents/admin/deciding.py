"""Decide a waiting call, or settle one of unknown outcome, from its form on a run's page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.utils import timezone

from agents.actions.decide_call import VERDICTS, Always, Decider, decide_call
from agents.actions.settle_call import settle_call
from agents.choices import Outcome
from heartbit_site.base.admin.moments import checked
from tools.questions import read_answer

if TYPE_CHECKING:
    from datetime import datetime

    from django.http import HttpRequest, QueryDict

    from agents.models import ToolCall

PERMISSION = "agents.add_decision"
_DECIDED = {
    "approve": "was approved",
    "always": "was approved, and the next ones like it are",
    "edit": "was approved with your arguments",
    "answer": "was answered",
    "deny": "was denied; the model is told why",
}
_SETTLED: dict[Outcome, str] = {
    Outcome.RETRIED: "is made again",
    Outcome.DONE: "is taken to have had its effect",
    Outcome.SKIPPED: "is left as it is; the model is told that nobody knows",
}
_DIGEST = 64  # characters of a SHA-256


class SentForm(forms.Form):
    """What was sent about a call."""

    def problem(self) -> str:
        """The first thing that is wrong, as a sentence."""
        return next(str(problems[0]) for problems in self.errors.values())


class SettleForm(SentForm):
    """What the buttons of a call of unknown outcome send."""

    outcome = forms.ChoiceField(choices=Outcome.choices)
    result = forms.CharField(required=False, max_length=4_000)


class DecisionForm(SentForm):
    """What the buttons of a waiting call send."""

    verdict = forms.ChoiceField(choices=[(name, name) for name in _DECIDED])
    digest = forms.CharField(max_length=_DIGEST)
    reason = forms.CharField(required=False, max_length=4_000)
    arguments = forms.CharField(required=False, strip=False)
    answer = forms.CharField(required=False)
    scope = forms.ChoiceField(required=False, choices=[("run", "run"), ("agent", "agent")])
    until = forms.DateTimeField(
        required=False,
        input_formats=["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"],
        error_messages={"invalid": "Write until when it is allowed as a date and a time."},
    )

    def clean_answer(self) -> str:
        """Its lines end as everywhere but in forms."""
        answer: str = self.cleaned_data["answer"]
        return answer.replace("\r\n", "\n")

    def clean_until(self) -> datetime | None:
        """A permission that has ended already would be none."""
        until: datetime | None = self.cleaned_data["until"]
        if until is not None and until <= timezone.now():
            raise forms.ValidationError("The end of the permission is over: choose a later time.")
        return checked(until)

    def clean(self) -> dict[str, Any] | None:
        """What a button needs beside itself."""
        cleaned = super().clean()
        verdict = self.cleaned_data.get("verdict")
        if verdict == "always" and not self.cleaned_data.get("scope"):
            self.add_error("scope", "Choose whether it is for this run or for the agent.")
        return cleaned


def form_of(sent: QueryDict) -> DecisionForm | SettleForm:
    """The form that was sent."""
    return SettleForm(sent) if "outcome" in sent else DecisionForm(sent)


def decide(call: ToolCall, form: DecisionForm | SettleForm, request: HttpRequest) -> str:
    """Do what the form says.

    Returns:
        One sentence on what was done.

    Raises:
        CallClosedError: Somebody was quicker; the sentence says who.
        InvalidEditError: The arguments do not fit the tool, or the answer does not fit its form.
        UntrustedJSONError: The answer is to be JSON, and is none.
    """
    asked = form.cleaned_data
    by = Decider(name=request.user.get_username(), via="admin", user_id=request.user.pk)
    if isinstance(form, SettleForm):
        outcome = Outcome(asked["outcome"])
        settle_call(call, outcome, by=by, result=asked["result"])
        return f"{call} {_SETTLED[outcome]}."
    button: str = asked["verdict"]
    decide_call(
        call,
        VERDICTS["approve" if button == "always" else button],
        digest=asked["digest"],
        by=by,
        always=Always(asked["scope"], asked["until"]) if button == "always" else None,
        arguments=asked["arguments"],
        answer=_answer(call, asked["answer"]) if button == "answer" else None,
        reason=asked["reason"],
    )
    return f"{call} {_DECIDED[button]}."


def _answer(call: ToolCall, text: str) -> Any:
    return read_answer((call.shown or {}).get("arguments", {}), text)
