"""Names of OpenTelemetry's semantic conventions: of GenAI, which are in development, and others.

Nothing else in Heartbit names them. Contents, such as prompts, answers, arguments and results, are
attributes that Heartbit never sets.
"""

from __future__ import annotations

from typing import Any, Final

RUN_ID: Final = "heartbit.run.id"
WORKSPACE_ID: Final = "heartbit.workspace.id"
#: Providers whose name in the conventions is not Heartbit's.
_PROVIDERS: Final = {"bedrock": "aws.bedrock", "google": "gcp.gemini", "mistral": "mistral_ai"}
_HTTP_FAILURE: Final = 500

Attributes = dict[str, Any]


def model_call(payload: dict[str, Any]) -> tuple[str, Attributes]:
    """Return name and attributes of the span of a model call, from its event's payload."""
    provider, _, model = str(payload["model"]).partition(":")
    usage = payload["usage"]
    attributes: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _PROVIDERS.get(provider, provider),
        "gen_ai.request.model": model,
        "gen_ai.usage.input_tokens": usage.get("input_tokens", 0),
        "gen_ai.usage.output_tokens": usage.get("output_tokens", 0),
        "gen_ai.usage.cache_read.input_tokens": usage.get("cached_input_tokens", 0),
    }
    if payload.get("finish_reason"):
        attributes["gen_ai.response.finish_reasons"] = [payload["finish_reason"]]
    if payload.get("cost_usd") is not None:
        attributes["heartbit.cost_usd"] = float(payload["cost_usd"])
    return f"chat {model}", attributes


def tool_call(tool: str, call_id: str, payload: dict[str, Any]) -> tuple[str, Attributes]:
    """Return name and attributes of the span of a tool call, from its result's payload."""
    attributes: Attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool,
        "gen_ai.tool.call.id": call_id,
        "heartbit.tool.status": payload["status"],
    }
    if payload.get("effect"):
        attributes["heartbit.tool.effect"] = payload["effect"]
    return f"execute_tool {tool}", attributes


def run(kind: str, agent: str, status: str, conversation: str | None) -> tuple[str, Attributes]:
    """Return name and attributes of the span of a run."""
    operation = "invoke_workflow" if kind == "workflow" else "invoke_agent"
    name = "gen_ai.workflow.name" if kind == "workflow" else "gen_ai.agent.name"
    attributes: Attributes = {
        "gen_ai.operation.name": operation,
        name: agent,
        "heartbit.run.kind": kind,
        "heartbit.run.status": status,
    }
    if conversation is not None:
        attributes["gen_ai.conversation.id"] = conversation
    return f"{operation} {agent}", attributes


def node(name: str, attempt: int) -> tuple[str, Attributes]:
    """Return name and attributes of the span of a workflow's node."""
    return f"node {name}", {"heartbit.node.name": name, "heartbit.node.attempt": attempt}


def queueing(queue: str) -> tuple[str, Attributes]:
    """Return name and attributes of the span of a run's time in a queue."""
    return f"process {queue}", {
        "messaging.system": "redis",
        "messaging.destination.name": queue,
        "messaging.operation.type": "process",
        "messaging.operation.name": "process",
    }


def request(method: str, path: str, status: int) -> tuple[str, Attributes, str]:
    """Return name, attributes and error type of the span of a request that was served."""
    attributes: Attributes = {
        "http.request.method": method,
        "url.path": path,
        "http.response.status_code": status,
    }
    return method, attributes, str(status) if status >= _HTTP_FAILURE else ""
