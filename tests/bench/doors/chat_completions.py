"""OpenAI's API: a chat completion, over one connection a workload."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar
from uuid import UUID

from tests.bench.doors import Aim
from tests.bench.doors.rest import Rest

if TYPE_CHECKING:
    from tests.bench.rest_client import RestClient
    from tests.bench.workloads import Workload


class ChatCompletions(Rest):
    """A program with a key, which asks an agent as a model."""

    name = "OpenAI chat completion"
    place = 4
    aims: ClassVar = {"W1": Aim("REST in one request", more_ms=1.0)}

    def takes(self, workload: Workload) -> bool:
        """See ``Door``."""
        return workload.messages == 1

    def answered(self, client: RestClient, body: dict[str, Any]) -> tuple[UUID, Any]:
        """See ``Rest``."""
        message = {"role": "user", "content": body["task"]}
        asked = {"model": body["agent"], "messages": [message]}
        found = client.ask("POST", "/chat/completions", asked, root="/v1")
        text = found["choices"][0]["message"]["content"]
        return UUID(found["id"].removeprefix("chatcmpl-")), {"status": "success", "text": text}
