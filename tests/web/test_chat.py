"""The chat: its API, its addresses, and one conversation in a browser."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from django.conf import settings
from playwright.sync_api import expect

from agents.actions.publish_agent import publish_agent
from agents.actions.run_request import start_conversation
from agents.models import Agent, Conversation, Run
from heartbit_site.base.models import AuditEntry
from tests.api.server import Caller, key_for
from tests.clients import Client
from tests.starts import post_message
from tests.web.people import member, session_of

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer
    from tests.web.visitor import Visitor

ATTACHED = (
    'What is it?\n\n<attachment id="0a1b2c3d" name="n.txt" bytes="2">\n'
    'hi\n</attachment id="0a1b2c3d">'
)


@pytest.fixture
def parked(workspace: Workspace) -> Agent:
    """An agent whose runs nobody executes."""
    agent = Agent.objects.create(
        workspace=workspace, name="parked", system_prompt="Wait.", queue="nobody-serves-this"
    )
    publish_agent(agent)
    return agent


def said(caller: Caller, text: str, *, agent: str = "writer", **fields: Any) -> tuple[str, str]:
    """A new conversation with one message: their ids."""
    begun = caller.post("/conversations", {"agent": agent}).json()["id"]
    posted = caller.post(f"/conversations/{begun}/messages", {"text": text, **fields})
    assert posted.status_code == 201, posted.text
    return begun, posted.json()["run_id"]


@pytest.mark.usefixtures("worker")
def test_given_an_answered_message_then_the_thread_has_its_steps_answer_and_cost(
    caller: Caller,
) -> None:
    task = '[[calls: calculate {"expression": "6*7"}]] [[text: It is **42**.]]'
    thread, run = said(caller, task, agent="analyst")
    caller.ended(run)
    found = caller.get(f"/conversations/{thread}").json()
    assert found["heading"].startswith("[[calls: calculate")
    assert found["status"] == "succeeded"
    assert found["before"] is None
    (message,) = found["messages"]
    assert (message["run_id"], message["waits_for_previous"], message["error"]) == (
        run,
        False,
        None,
    )
    assert message["answer"] == "It is **42**."
    assert message["html"] == "<p>It is <strong>42</strong>.</p>\n"
    (call,) = message["steps"]
    assert (call["kind"], call["tool"], call["status"]) == ("call", "calculate", "ok")
    assert call["arguments"] == '{"expression":"6*7"}'
    assert call["result"] == "42"
    assert message["usage"]["input_tokens"] > 0


@pytest.mark.usefixtures("worker")
def test_given_sub_agents_then_their_runs_are_with_the_call_and_in_the_usage(
    caller: Caller,
) -> None:
    task = '[[delegate: {"agent": "writer", "task": "Write. [[text: Done.]]"}]] [[text: All done.]]'
    thread, run = said(caller, task, agent="orchestrator")
    caller.ended(run)
    (message,) = caller.get(f"/conversations/{thread}").json()["messages"]
    (call,) = message["steps"]
    (helper,) = call["children"]
    assert (helper["agent"], helper["status"]) == ("writer", "succeeded")
    alone = caller.get(f"/runs/{run}").json()["usage"]["input_tokens"]
    assert message["usage"]["input_tokens"] > alone


@pytest.mark.usefixtures("worker")
def test_given_a_hostile_answer_then_its_html_holds_no_markup_of_its_own(caller: Caller) -> None:
    thread, run = said(caller, "[[text: <script>alert(1)</script> ![x](https://evil.example/a)]]")
    caller.ended(run)
    (message,) = caller.get(f"/conversations/{thread}").json()["messages"]
    assert "<script" not in message["html"]
    assert "<img" not in message["html"]


def test_given_a_message_after_a_live_one_then_it_is_held_or_steers_as_it_says(
    caller: Caller, parked: Agent
) -> None:
    thread, first = said(caller, "one", agent=parked.name)

    def say(text: str, way: str) -> Any:
        body = {"text": text, "busy_policy": way}
        return caller.post(f"/conversations/{thread}/messages", body)

    assert say("two", "steer").json() == {"run_id": first, "outcome": "steered"}
    held = say("three", "queue").json()
    assert held["outcome"] == "queued"
    assert say("four", "reject").status_code == 409
    messages = caller.get(f"/conversations/{thread}").json()["messages"]
    assert [(one["run_id"], one["waits_for_previous"]) for one in messages] == [
        (first, False),
        (held["run_id"], True),
    ]
    assert [(step["kind"], step["text"]) for step in messages[0]["steps"]] == [("steer", "two")]


def test_given_several_pages_of_messages_then_the_cursor_leads_to_the_earlier_ones(
    caller: Caller, workspace: Workspace, parked: Agent
) -> None:
    thread = start_conversation(workspace, agent=parked.name)
    texts = ["one", "two", "three"]
    for text in texts:
        post_message(thread, text)
    last = caller.get(f"/conversations/{thread.pk}", limit=2).json()
    assert [one["text"] for one in last["messages"]] == ["two", "three"]
    first = caller.get(f"/conversations/{thread.pk}", limit=2, before=last["before"]).json()
    assert [one["text"] for one in first["messages"]] == ["one"]
    assert first["before"] is None
    elsewhere = post_message(start_conversation(workspace, agent=parked.name), "x").run_id
    assert caller.get(f"/conversations/{thread.pk}", before=elsewhere).status_code == 404


def test_given_conversations_then_the_one_last_used_is_first_and_pages_hold_each_once(
    caller: Caller, workspace: Workspace, parked: Agent
) -> None:
    threads = [start_conversation(workspace, agent=parked.name) for _ in range(3)]
    start_conversation(workspace, agent="writer")
    post_message(threads[0], ATTACHED)
    page = caller.get("/conversations", agent=parked.name, limit=2).json()
    assert [one["heading"] for one in page["conversations"]] == ["What is it?", ""]
    rest = caller.get(
        "/conversations", agent=parked.name, limit=2, cursor=page["next_cursor"]
    ).json()
    found = [one["id"] for one in page["conversations"] + rest["conversations"]]
    assert found == [str(threads[index].pk) for index in (0, 2, 1)]
    assert rest["next_cursor"] is None


def test_given_a_title_then_it_is_the_heading_until_it_is_emptied(
    caller: Caller, parked: Agent
) -> None:
    thread, _ = said(caller, "the first words", agent=parked.name)
    path = f"/conversations/{thread}"

    def renamed(body: Any) -> Any:
        return caller.http.patch(path, json=body)

    assert renamed({"title": "Plans", "busy_policy": "steer"}).json()["title"] == "Plans"
    found = caller.get(path).json()
    assert (found["heading"], found["busy_policy"]) == ("Plans", "steer")
    renamed({"title": ""})
    assert caller.get(path).json()["heading"] == "the first words"
    assert renamed({}).status_code == 422


def test_given_a_live_run_then_the_conversation_is_not_deleted_and_after_its_end_the_run_stays(
    caller: Caller, workspace: Workspace, parked: Agent
) -> None:
    thread, run = said(caller, "wait", agent=parked.name)
    refused = caller.http.delete(f"/conversations/{thread}")
    assert refused.status_code == 409
    assert run in refused.json()["detail"]
    caller.post(f"/runs/{run}/cancel")
    assert caller.http.delete(f"/conversations/{thread}").status_code == 204
    assert not Conversation.objects.filter(pk=thread).exists()
    assert Run.objects.get(pk=run).conversation_id is None
    entry = AuditEntry.objects.get(workspace=workspace, action="conversation.delete")
    assert entry.target == f"conversation:{thread}"
    posted = caller.post(f"/conversations/{thread}/messages", {"text": "late"})
    assert posted.status_code == 404


def test_given_another_workspace_then_nothing_of_a_conversation_is_there(
    site: WebServer, caller: Caller, parked: Agent
) -> None:
    thread, _ = said(caller, "mine", agent=parked.name)
    other = type(parked.workspace).objects.create(slug="other-of-chat", name="other")
    foreign = Caller(site, key_for(other))
    with foreign.http:
        assert foreign.get(f"/conversations/{thread}").status_code == 404
        assert (
            foreign.http.patch(f"/conversations/{thread}", json={"title": "x"}).status_code == 404
        )
        assert foreign.http.delete(f"/conversations/{thread}").status_code == 404
        assert foreign.get("/conversations").json()["conversations"] == []


@pytest.mark.parametrize(
    ("role", "path", "status"),
    [
        ("operator", "chat/", 200),
        ("operator", "chat/parked/", 200),
        ("viewer", "chat/", 200),
        ("viewer", "chat/parked/{thread}/", 200),
        ("operator", "chat/parked/{thread}/", 200),
        ("operator", "chat/writer/{thread}/", 404),
        ("operator", "chat/parked/00000000-0000-0000-0000-000000000000/", 404),
    ],
)
def test_given_a_role_then_the_page_is_shown_refused_or_not_there(
    workspace: Workspace, parked: Agent, role: str, path: str, status: int
) -> None:
    thread = start_conversation(workspace, agent=parked.name)
    client = Client(headers={"host": "127.0.0.1"})
    client.cookies[settings.SESSION_COOKIE_NAME] = session_of(member(workspace, role))
    address = f"/w/{workspace.slug}/{path.format(thread=thread.pk)}"
    assert client.get(address).status_code == status


@pytest.mark.usefixtures("worker")
def test_given_the_chat_when_somebody_talks_then_it_streams_and_a_reload_shows_the_same(
    signed_in: Visitor,
) -> None:
    page = signed_in.page
    signed_in.go("chat/")
    page.get_by_role("link", name="analyst").click()
    page.get_by_role("textbox", name="Message").fill(
        'Work it out. [[calls: calculate {"expression": "6*7"}]] [[latency: 300]] [[stream: 1500]] '
        "[[chunks: 30]] [[text: The answer is **forty-two**, as everybody knows who has read it.]]"
    )
    page.locator("input[type=file]").set_input_files(
        {"name": "notes.md", "mimeType": "text/markdown", "buffer": b"# Six times seven"}
    )
    page.keyboard.press("Enter")

    reply = page.locator(".message .reply").first
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    expect(reply.locator(".call")).to_contain_text("calculate")
    expect(reply.locator(".writing")).to_have_text(
        re.compile("^The answer.{0,40}$")
    )  # a part of it
    page.get_by_role("textbox", name="Message").fill("In one word, please. [[text: Forty-two!]]")
    page.get_by_role("button", name="Send").click()
    expect(reply.locator(".said")).to_contain_text("In one word, please.")

    page.reload()  # in the middle of the answer
    reply = page.locator(".message .reply").first
    expect(reply.locator(".took")).to_contain_text("Open the run")
    expect(reply.locator(".said")).to_contain_text("In one word, please.")
    expect(page.locator(".message")).to_have_count(1)
    expect(page.locator(".message > div > .said")).to_contain_text("notes.md")
    before = page.locator(".messages").inner_text()
    assert "Forty-two!" in before
    page.reload()
    expect(page.locator(".messages .took")).to_be_visible()
    assert page.locator(".messages").inner_text() == before


@pytest.mark.usefixtures("worker")
def test_given_a_call_that_waits_when_it_is_approved_in_the_thread_then_the_answer_comes_there(
    caller: Caller, signed_in: Visitor
) -> None:
    task = '[[calls: calculate {"expression": "6*7"}]] [[text: Forty-two.]]'
    thread, _ = said(caller, task, agent="analyst", require_approval=True)
    signed_in.go(f"chat/analyst/{thread}/")
    page = signed_in.page
    card = page.get_by_role("article", name="calculate of analyst")
    card.wait_for()
    line = page.get_by_role("link", name="waits for a person")
    expect(line).to_have_count(1)
    [row] = caller.get("/conversations", agent="analyst").json()["conversations"]
    assert (row["id"], row["status"], row["waits_for_person"]) == (thread, "waiting", True)
    card.get_by_role("button", name="Approve").click()
    expect(line).to_have_count(0)
    reply = page.locator(".message .reply")
    expect(reply.locator(".answer")).to_have_text("Forty-two.")
    expect(reply.locator(".call")).to_contain_text("Ok")
    expect(reply.locator(".asked")).to_have_count(0)
