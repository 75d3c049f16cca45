"""The studio: the draft of an agent edited, tested, compared, published and brought back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import lxml.html  # type: ignore[import-untyped]
import pytest
from django.urls import reverse
from playwright.sync_api import expect

from agents.models import Agent, Run
from agents.models.draft import DRAFT
from agents.reads.agents import find_editable
from agents.reads.drafts import draft_of
from heartbit_site.base.models import Role
from tests.admin.test_untouched_forms import sent, visitor
from tests.clients import Client
from tests.versions.test_drafts import keep

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from heartbit_site.base.models import Workspace
    from tests.web.conftest import Visitors
    from tests.web.visitor import Visitor

MOST_TABS = 30


@pytest.fixture
def editor(workspace: Workspace) -> Client:
    return visitor(workspace, Role.EDITOR)


def address(
    workspace: Workspace, name: str = "web:agent", *more: Any, agent: str = "writer"
) -> str:
    return reverse(name, args=[workspace.slug, agent, *more])


def form_of(client: Client, url: str) -> dict[str, list[str]]:
    page = lxml.html.fromstring(client.get(url).content)
    return sent(page.get_element_by_id("studio"))


def post(client: Client, url: str, data: dict[str, Any], do: str = "save") -> Any:
    return client.post(url, data | {"do": do})


def test_given_changed_fields_then_a_draft_is_kept_and_the_page_shows_it(
    workspace: Workspace, editor: Client
) -> None:
    url = address(workspace)
    data = form_of(editor, url)
    changed = {"system_prompt": "Short.\r\nPlain.", "max_turns": "3", "tools": ["calculate"]}
    assert post(editor, url, data | changed).status_code == 302
    agent = find_editable(workspace, "writer")
    draft = draft_of(agent)
    assert draft is not None
    assert (draft.row.system_prompt, draft.row.max_turns) == ("Short.\nPlain.", 3)
    given = {one.tool: one.enabled for one in draft.row.bindings.all()}
    assert given == {
        "blackboard_list": False,
        "blackboard_read": False,
        "blackboard_write": False,
        "calculate": True,
    }
    assert form_of(editor, url)["max_turns"] == ["3"]
    assert "Draft" in editor.get(reverse("web:agents", args=[workspace.slug])).content.decode()


def test_given_a_tools_panel_then_what_it_does_not_show_is_kept(
    workspace: Workspace, editor: Client
) -> None:
    url = address(workspace, agent="analyst")
    data = form_of(editor, url)
    panel = {
        "panel": ["calculate"],
        "tool.calculate-approval": "always",
        "tool.calculate-defaults": '{"expression": "1 + 1"}',
        "tool.calculate-timeout_seconds": "4",
    }
    assert post(editor, url, data | panel).status_code == 302
    assert post(editor, url, form_of(editor, url) | {"max_turns": "4"}).status_code == 302
    draft = draft_of(find_editable(workspace, "analyst"))
    assert draft is not None
    binding = draft.row.bindings.get(tool="calculate")
    assert (binding.approval, binding.defaults, binding.timeout_seconds, binding.enabled) == (
        "always",
        {"expression": "1 + 1"},
        4,
        True,
    )


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"max_turns": "0"}, "id_max_turns_error"),
        ({"model": "gpt-5"}, "id_model_error"),
        ({"panel": ["calculate"], "tool.calculate-timeout_seconds": "0"}, "timeout_seconds_error"),
        ({"skills": ["scheduling"]}, "give the agent that too"),
        ({"tools": ["no_such"]}, "no_such"),
    ],
)
def test_given_something_wrong_then_it_is_said_where_it_is_and_nothing_is_kept(
    workspace: Workspace, editor: Client, wrong: dict[str, Any], said: str
) -> None:
    url = address(workspace)
    data = form_of(editor, url) | {"system_prompt": "What I typed."} | wrong
    answer = post(editor, url, data)
    assert answer.status_code == 409
    text = answer.content.decode()
    assert said in text
    assert "What I typed." in text
    assert draft_of(find_editable(workspace, "writer")) is None


def test_given_two_editors_then_the_second_reads_one_sentence_and_both_texts(
    workspace: Workspace, editor: Client
) -> None:
    url = address(workspace)
    data = form_of(editor, url)
    keep(workspace, system_prompt="Theirs, saved first.")
    answer = post(editor, url, data | {"system_prompt": "Mine, saved second."})
    assert answer.status_code == 409
    page = lxml.html.fromstring(answer.content)
    (problem,) = page.xpath("//*[@id='problem']")
    assert problem.text_content().startswith("anna has saved writer since you opened it.")
    (theirs,) = page.xpath("//section[@aria-labelledby='theirs']")
    assert "Theirs, saved first." in theirs.text_content()
    again = sent(page.get_element_by_id("studio"))
    assert again["system_prompt"] == ["Mine, saved second."]
    assert post(editor, url, again).status_code == 302
    draft = draft_of(find_editable(workspace, "writer"))
    assert draft is not None
    assert draft.row.system_prompt == "Mine, saved second."


def test_given_a_viewer_then_they_read_and_change_nothing(workspace: Workspace) -> None:
    viewer, url = visitor(workspace, Role.VIEWER), address(workspace)
    page = lxml.html.fromstring(viewer.get(url).content)
    assert page.xpath("//fieldset[@disabled]")
    assert not page.xpath("//form[@id='studio' and @method]")
    data = sent(page.get_element_by_id("studio"))
    answer = post(viewer, url, data | {"system_prompt": "Mine.", "name": "writer"})
    assert answer.status_code in (403, 409)
    assert draft_of(find_editable(workspace, "writer")) is None
    assert viewer.get(address(workspace, "web:agent-publish")).status_code == 403
    rolled = viewer.post(address(workspace, "web:agent-version", 1))
    assert rolled.status_code in (403, 409)


def test_given_versions_then_they_have_notes_and_a_click_brings_one_back(
    workspace: Workspace, editor: Client
) -> None:
    keep(workspace, system_prompt="Second.")
    publish = address(workspace, "web:agent-publish")
    page = lxml.html.fromstring(editor.get(publish).content)
    assert "+Second." in page.text_content()
    (seen,) = page.xpath("//input[@name='seen']/@value")
    assert editor.post(publish, {"seen": "old", "note": "x"}).status_code == 409
    assert editor.post(publish, {"seen": seen, "note": "Shorter"}).status_code == 302
    listed = editor.get(address(workspace, "web:agent-versions")).content.decode()
    assert "Shorter" in listed
    assert editor.post(address(workspace, "web:agent-version", 1)).status_code == 302
    version = find_editable(workspace, "writer").current_version
    assert version is not None
    assert version.number == 1


@pytest.mark.usefixtures("worker")
def test_given_a_message_then_the_draft_answers_and_its_run_is_marked_as_a_test(
    signed_in: Visitor, workspace: Workspace
) -> None:
    signed_in.go("agents/writer/")
    page = signed_in.page
    page.get_by_label("Model", exact=True).fill("openai:fake")
    page.get_by_label("Prompt").fill("Answer as a draft.")
    page.get_by_label("Message", exact=True).fill("Hello. [[text: Hello from the **draft**.]]")
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".answer")).to_contain_text("Hello from the draft.")
    expect(page.locator("#draft")).to_be_visible()
    run = Run.objects.get(workspace=workspace)
    assert run.version.agent.origin == DRAFT
    assert run.version.snapshot["system_prompt"] == "Answer as a draft."
    agent = find_editable(workspace, "writer")
    assert agent.system_prompt != "Answer as a draft."
    page.reload()
    expect(page.locator(".answer")).to_contain_text("Hello from the draft.")
    expect(page.get_by_label("Prompt")).to_have_value("Answer as a draft.")
    page.get_by_role("link", name="Open the run").click()
    expect(page.get_by_text("A test of the draft of")).to_be_visible()
    signed_in.go("runs/")
    expect(page.locator(".run-link .pill")).to_have_text("Test")
    signed_in.go("agents/")
    expect(page.get_by_role("row", name="writer")).to_contain_text("None")


def test_given_a_tool_row_then_its_panel_is_a_form_of_its_schema_and_the_text_is_kept(
    signed_in: Visitor, workspace: Workspace
) -> None:
    signed_in.go("agents/analyst/")
    page = signed_in.page
    page.get_by_label("Prompt").fill("Half-written")
    page.get_by_role("searchbox", name="Find a tool").fill("calc")
    expect(page.locator(".pick:visible", has_text="blackboard")).to_have_count(0)
    row = page.locator(".pick", has_text="calculate")
    assert row.bounding_box()["height"] == 36  # type: ignore[index]
    row.get_by_role("link", name="Set up calculate").press("Enter")
    panel = page.get_by_role("region", name="calculate")
    panel.get_by_label("expression").fill("1 + 1")
    panel.get_by_label("Approval", exact=True).select_option("always")
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("The draft is saved.")).to_be_visible()
    draft = draft_of(find_editable(workspace, "analyst"))
    assert draft is not None
    binding = draft.row.bindings.get(tool="calculate")
    assert (draft.row.system_prompt, binding.defaults, binding.approval) == (
        "Half-written",
        {"expression": "1 + 1"},
        "always",
    )


def test_given_the_keyboard_alone_then_an_agent_is_published_in_few_tabs(
    signed_in: Visitor, workspace: Workspace
) -> None:
    keep(workspace, system_prompt="By keyboard.")
    signed_in.go("agents/writer/")
    page = signed_in.page
    tabs = tab_to(page, "Publish…")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Note")).to_be_focused()
    page.keyboard.type("By keyboard")
    tabs += tab_to(page, "Publish v2")
    page.keyboard.press("Enter")
    expect(page.get_by_text("v2 is published")).to_be_visible()
    assert tabs <= MOST_TABS
    version = Agent.objects.get(workspace=workspace, name="writer", origin="").current_version
    assert version is not None
    assert (version.number, version.note) == (2, "By keyboard")


def tab_to(page: Page, name: str) -> int:
    """Press Tab until the element of that name has the focus; return how often."""
    for pressed in range(1, MOST_TABS + 1):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent.trim()") == name:
            return pressed
    raise AssertionError(f"{name} is not reached in {MOST_TABS} Tabs")


def test_given_a_phone_then_the_studio_fits(visitors: Visitors, workspace: Workspace) -> None:
    from tests.web.people import member  # noqa: PLC0415

    phone = visitors(user=member(workspace), width=390, height=844)
    phone.go("agents/writer/")
    assert phone.page.evaluate("document.documentElement.scrollWidth") == 390
    phone.page.get_by_role("link", name="Set up blackboard_list").click()
    expect(phone.page.get_by_role("region", name="blackboard_list")).to_be_in_viewport()
