"""Chat completions: an agent as a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import openai
import pytest
from pydantic import BaseModel

from agents.models import Run

if TYPE_CHECKING:
    from openai import OpenAI

    from heartbit_site.base.models import Workspace
    from tests.api.server import Caller


def test_agents_are_models(client: OpenAI) -> None:
    names = [model.id for model in client.models.list()]
    assert "writer" in names
    assert client.models.retrieve("writer").object == "model"
    with pytest.raises(openai.NotFoundError, match="nobody"):
        client.models.retrieve("nobody")


def test_a_completion_is_a_runs_answer(client: OpenAI, workspace: Workspace) -> None:
    found = client.chat.completions.create(
        model="writer", messages=[{"role": "user", "content": "[[text: Done.]]"}]
    )
    assert found.choices[0].message.content == "Done."
    assert found.choices[0].finish_reason == "stop"
    assert found.usage is not None
    assert found.usage.total_tokens > 0
    run = Run.objects.get(pk=found.id.removeprefix("chatcmpl-"))
    assert (run.workspace, run.agent, run.status) == (workspace, "writer", "succeeded")


def test_the_agent_reads_what_was_said_before(client: OpenAI, caller: Caller) -> None:
    found = client.chat.completions.create(
        model="writer",
        messages=[
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "My name is Ann."},
            {"role": "assistant", "content": None},
            {"role": "assistant", "content": "Hello Ann."},
            {"role": "assistant", "content": "Ask me."},
            {"role": "user", "content": "What is my name?"},
        ],
    )
    turn = caller.http.get(f"/runs/{found.id.removeprefix('chatcmpl-')}/turns/1").json()["request"]
    assert [(one["role"], one["text"]) for one in turn["messages"]] == [
        ("user", "Be brief.\n\nMy name is Ann."),
        ("assistant", "Hello Ann.\n\nAsk me."),
        ("user", "What is my name?"),
    ]


def test_a_chat_may_begin_with_the_assistant(client: OpenAI, caller: Caller) -> None:
    found = client.chat.completions.create(
        model="writer",
        messages=[
            {"role": "assistant", "content": "How can I help?"},
            {"role": "user", "content": "[[text: Done.]]"},
        ],
    )
    assert found.choices[0].message.content == "Done."
    turn = caller.http.get(f"/runs/{found.id.removeprefix('chatcmpl-')}/turns/1").json()["request"]
    assert [one["role"] for one in turn["messages"]] == ["assistant", "user"]


def test_the_last_message_is_the_users(client: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="The last message must be the user's"):
        client.chat.completions.create(
            model="writer", messages=[{"role": "assistant", "content": "Hello."}]
        )


def test_an_answer_has_the_form_that_a_client_asks_for(client: OpenAI) -> None:
    class Fact(BaseModel):
        name: str

    found = client.chat.completions.parse(
        model="writer",
        messages=[{"role": "user", "content": '[[text: {"name": "owl"}]]'}],
        response_format=Fact,
    )
    assert found.choices[0].message.parsed == Fact(name="owl")


def test_a_run_that_fails_is_an_error_that_is_not_tried_again(
    client: OpenAI, workspace: Workspace
) -> None:
    with pytest.raises(openai.InternalServerError) as refused:
        client.with_options(max_retries=2).chat.completions.create(
            model="writer", messages=[{"role": "user", "content": "[[error: 400]]"}]
        )
    assert Run.objects.filter(workspace=workspace).count() == 1
    assert refused.value.code == "run_failed"


def test_another_try_gets_the_run_of_the_first(client: OpenAI) -> None:
    def ask(tries: int) -> str:
        return client.chat.completions.create(
            model="writer",
            messages=[{"role": "user", "content": "[[text: Once.]]"}],
            extra_headers={"x-stainless-retry-count": str(tries)},
        ).id

    first = ask(0)
    assert [ask(1), ask(2)] == [first, first]
    assert ask(0) != first


def test_text_is_streamed_as_it_is_said(client: OpenAI) -> None:
    chunks = list(
        client.chat.completions.create(
            model="writer",
            messages=[{"role": "user", "content": "[[text: one two three]] [[stream: 200]]"}],
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    pieces = [one.choices[0].delta.content for one in chunks if one.choices]
    assert "".join(filter(None, pieces)) == "one two three"
    assert chunks[-1].usage is not None
    assert [one.choices[0].finish_reason for one in chunks if one.choices][-1] == "stop"
