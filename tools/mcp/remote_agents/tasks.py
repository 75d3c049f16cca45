"""Tasks of remote agents, read from what they answer. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic.alias_generators import to_camel

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.jsonschema import check_schema
from heartbit_site.base.untrusted import clean_json, clean_text

MOST_FORM_CHARACTERS: Final = 20_000
_PREFIX: Final = "TASK_STATE_"
#: States after which a task does not change.
ENDED: Final = frozenset({"COMPLETED", "FAILED", "CANCELED", "REJECTED"})
ASKING: Final = frozenset({"INPUT_REQUIRED", "AUTH_REQUIRED"})


class _Told(BaseModel):
    model_config = ConfigDict(extra="ignore", alias_generator=to_camel)


class _Part(_Told):
    text: str | None = None
    data: JsonValue = None
    filename: str = ""
    media_type: str = ""
    url: str = ""

    def written(self) -> str:
        if self.text is not None:
            return clean_text(self.text)
        if "data" in self.model_fields_set:
            return json.dumps(clean_json(self.data), ensure_ascii=False)
        name = clean_text(self.filename or self.url or "without a name")[:200]
        return f"[a file that is not taken over: {name} {clean_text(self.media_type)[:100]}]"


class _Message(_Told):
    message_id: str = ""
    role: str = ""
    parts: list[_Part] = []


class _Artifact(_Told):
    parts: list[_Part] = []


class _Status(_Told):
    state: str = ""
    message: _Message | None = None
    timestamp: str = ""


class RemoteTask(_Told):
    """A task of a remote agent."""

    id: str = Field(min_length=1, max_length=500)
    context_id: str = Field("", max_length=500)
    status: _Status
    artifacts: list[_Artifact] = []
    history: list[_Message] = []

    @property
    def state(self) -> str:
        """Its state, such as ``WORKING``; unknown ones are kept."""
        return self.status.state.removeprefix(_PREFIX)

    @property
    def mark(self) -> str:
        """Mark of its status, by which a question that was answered is not asked again."""
        said = self.status.message
        ids = f"{self.status.timestamp} {said.message_id if said else ''}"
        return f"{ids[:200]} {self.said()[:100]}"

    def said(self) -> str:
        """Return the text of its status; its data, which is for programs, only without a text."""
        said = self.status.message
        parts = said.parts if said else []
        return _written([part for part in parts if part.text is not None] or parts)

    def form(self) -> dict[str, Any] | None:
        """Return the schema of the answer to its one question, as Heartbit tells it; else None."""
        said = self.status.message
        for data in [part.data for part in said.parts] if said else []:
            asks = data.get("asks") if isinstance(data, dict) else None
            ask = asks[0] if isinstance(asks, list) and len(asks) == 1 else None
            form: Any = clean_json(ask.get("schema")) if isinstance(ask, dict) else None
            if isinstance(form, dict) and len(json.dumps(form)) <= MOST_FORM_CHARACTERS:
                with suppress(ConfigurationError):
                    check_schema(form)
                    return form
        return None

    def result(self) -> str:
        """Return its artifacts as text, or else what it said at the end."""
        spoken = [one for one in self.history if one.role == "ROLE_AGENT"][-1:]
        return _text(self.artifacts) or self.said() or _text(spoken)


class SentAnswer(_Told):
    """Result of ``SendMessage``: a task, or the agent's whole answer."""

    task: RemoteTask | None = None
    message: _Message | None = None

    def result(self) -> str:
        """Return the answer of an agent that made no task."""
        return _text([self.message] if self.message else [])


def _text(holders: Iterable[_Message | _Artifact]) -> str:
    return _written(part for one in holders for part in one.parts)


def _written(parts: Iterable[_Part]) -> str:
    return "\n\n".join(part.written() for part in parts)
